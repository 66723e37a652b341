"""Commands that reach the hosts of a list through a proxy, and nothing else."""

import http.server
import json
import socket
import threading
from contextlib import contextmanager

import pytest
from tests.support.confined import USERS, confined, folder_of, python_of
from tests.support.machine import SANDBOXES
from tests.support.waiting import join_threads

from handrail.engine import messages
from handrail.host.snapshots.local_snapshots import LocalSnapshots

# Prints what came of each attempt: the answer, or the name of the error.
ATTEMPTS = """
import json, os, socket, sys, urllib.request
port, other = int(sys.argv[1]), int(sys.argv[2])
def get(url):
    try:
        return urllib.request.urlopen(url, timeout=20).read().decode()
    except urllib.error.HTTPError as error:
        return error.code
    except OSError as error:
        return type(error).__name__
def connect(*address, kind=socket.SOCK_STREAM, protocol=0, family=socket.AF_INET):
    try:
        with socket.socket(family, kind, protocol) as client:
            client.settimeout(5)
            client.connect(address)
            client.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            return "reached" if client.recv(100) else "closed"
    except OSError as error:
        return "refused"
def fast(*address):
    try:
        with socket.socket() as client:
            client.settimeout(5)
            client.sendto(b"GET / HTTP/1.0\\r\\n\\r\\n", 0x20000000, address)
            return "reached" if client.recv(100) else "closed"
    except OSError as error:
        return "refused"
def again():
    # A socket that is connected to the proxy must not be connected to another address.
    client = socket.create_connection(("127.0.0.1", 3128), 5)
    try:
        client.connect(("127.0.0.1", other))
        # The kernel may call it a success that the first connection is complete.
        return "reached" if client.getpeername()[1] == other else "refused"
    except OSError:
        return "refused"
print(json.dumps({
    "listed": get(f"http://localhost:{port}/a"),
    "redirected": get(f"http://localhost:{port}/redirect"),
    "not listed": get(f"http://localhost:{other}/b"),
    "by address": get(f"http://127.0.0.1:{port}/c"),
    "named": get("http://example.org/"),
    "direct": connect("127.0.0.1", port),
    "direct, other": connect("127.0.0.1", other),
    "another address at the proxy's port": connect("127.0.0.2", 3128),
    "without connect": fast("127.0.0.1", other),
    "again": again(),
    "mptcp": connect("127.0.0.1", other, protocol=262),
    "ipv6": connect("::1", other, family=socket.AF_INET6),
    "mapped": connect("::ffff:127.0.0.1", other, family=socket.AF_INET6),
    "mapped, the proxy's port": connect("::ffff:127.0.0.2", 3128, family=socket.AF_INET6),
    "any address": connect("0.0.0.0", other),
    "raw": connect("127.0.0.1", 0, kind=socket.SOCK_RAW, protocol=socket.IPPROTO_ICMP),
    "udplite": connect("127.0.0.1", other, kind=socket.SOCK_DGRAM, protocol=136),
}))
"""


@contextmanager
def web_server(elsewhere=None):
    """A server on this machine; yields its port and the paths that it was asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            if self.path == "/redirect":
                self.send_response(302)
                self.send_header("Location", f"http://localhost:{elsewhere}/stolen")
                self.end_headers()
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        server.server_close()
        join_threads(thread)


@pytest.mark.parametrize("backend", SANDBOXES)
@pytest.mark.parametrize("uid", USERS)
def test_only_listed_hosts_are_reached(uid, backend):
    with web_server() as (other, stolen), web_server(other) as (port, asked), folder_of(uid) as top:
        (top / "attempts.py").write_text(ATTEMPTS)
        job = {"do": "commands", "backend": backend, "roots": [str(top)], "home": str(top)}
        job |= {"commands": [f"{python_of(uid)} attempts.py {port} {other}"]}
        ((code, out, err),) = confined(uid, job | {"hosts": [f"localhost:{port}"]})["done"]

    assert code == 0, err
    told = json.loads(out)
    assert told.pop("listed") == "hello"
    for name in ("redirected", "not listed", "by address", "named"):
        assert told.pop(name) == 403
    assert set(told.values()) == {"refused"}, told
    assert asked == ["/a", "/redirect"]
    assert stolen == []


@pytest.mark.parametrize("backend", SANDBOXES)
async def test_connections_are_recorded_and_refusals_are_in_the_result(open_runtime, backend):
    code = "import sys, urllib.request as u\nprint(u.urlopen(sys.argv[1]).read())\nu.urlopen('http://example.org')"
    with web_server() as (port, _):
        config = {"network": [f"localhost:{port}"]}
        async with open_runtime(mode="sandboxed", sandbox=backend, config=config) as rt:
            text = code.replace("sys.argv[1]", repr(f"http://localhost:{port}"))
            result = await rt.call("execute_code", {"language": "python", "code": text})

    assert result.problem.code == "command_failed"
    assert "hello" in result.text
    assert "example.org:80" in result.text.split("exit_code")[1]
    assert [(one["host"], bool(one["refused"])) for one in result.meta["connections"]] == [
        ("localhost", False),
        ("example.org", True),
    ]


async def test_a_question_says_which_hosts_a_yes_opens_and_which_not(open_runtime):
    asked = []
    config = {"network": ["localhost:8765", "*.example.org"]}
    command = "curl http://other.example/a http://localhost:8765/b https://a.example.org/c"
    async with open_runtime(config=config, approver=lambda one: asked.append(one) or False) as rt:
        await rt.call("run_command", {"command": command})
        await rt.call("execute_code", {"language": "python", "code": "print(1)"})
        await rt.call("run_command", {"command": "curl http://localhost:8765/", "unconfined": True})

    listed = messages.NETWORK_LISTED.format(hosts="localhost:8765, *.example.org")
    refused = messages.NETWORK_REFUSES.format(hosts="other.example")
    assert asked[0].preview.endswith(f"{listed}\n{refused}")
    assert asked[1].preview.endswith(listed)
    assert listed not in asked[2].preview
    assert all(messages.NETWORK_IF_APPROVED not in one.preview for one in asked)


async def test_a_question_where_commands_have_the_network_does_not_offer_it(open_runtime):
    asked = []
    async with open_runtime(
        config={"network": True}, approver=lambda one: asked.append(one) or False
    ) as rt:
        await rt.call("run_command", {"command": "curl http://other.example/a"})
        await rt.call("run_command", {"command": "make"})

    assert [one.preview.splitlines()[-1] for one in asked] == [messages.NETWORK_ON] * 2


def _fail(*arguments, **options):
    raise OSError("the disk fails")


@pytest.mark.parametrize("backend", SANDBOXES)
@pytest.mark.parametrize("snapshot", [True, False])
async def test_connections_of_a_background_job_are_recorded(
    open_runtime, backend, snapshot, monkeypatch
):
    if not snapshot:
        monkeypatch.setattr(LocalSnapshots, "capture", _fail)
    code = "import urllib.request as u\nu.urlopen('http://localhost:{}')\nu.urlopen('http://example.org')\n"
    with web_server() as (port, _):
        config = {"network": [f"localhost:{port}"]}
        async with open_runtime(mode="sandboxed", sandbox=backend, config=config) as rt:
            text = code.format(port)
            start = {"command": f'python3 -c "{text}"', "background": True}
            job = (await rt.call("run_command", start)).unwrap().data["job"]
            shown = await rt.call("job_output", {"job": job, "timeout_s": 60})
            await rt.call("run_command", {"command": "touch b"})
            recorded = await rt.store.find_completed(rt.session.id, f"job:{job}")

    for meta in (shown.meta, recorded.completed["meta"]):
        found = [(one["host"], bool(one["refused"])) for one in meta["connections"]]
        assert found == [("localhost", False), ("example.org", True)]


@pytest.mark.needs_bubblewrap
def test_a_command_still_reaches_its_own_servers():
    code = (
        "import http.server, threading, urllib.request\n"
        "s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "threading.Thread(target=s.handle_request).start()\n"
        "print(urllib.request.urlopen(f'http://127.0.0.1:{s.server_port}/').status)"
    )
    uid = USERS[0]
    with folder_of(uid) as top:
        (top / "own.py").write_text(code)
        job = {"do": "commands", "backend": "bubblewrap", "roots": [str(top)], "home": str(top)}
        job |= {"commands": [f"{python_of(uid)} own.py"], "hosts": ["example.org"]}
        ((exit_code, out, err),) = confined(uid, job)["done"]

    assert (exit_code, out) == (0, "200\n"), err


@pytest.mark.needs_landlock
def test_without_a_listener_nothing_is_reached(monkeypatch, tmp_path):
    from tests.support.scenes import scenery

    from handrail.host.supervisor.tracing import syscall_tracer

    monkeypatch.setattr(syscall_tracer, "_new_listener", lambda **_: -1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        with scenery("landlock", [tmp_path]) as scene:
            done = scene.run(command, hosts=(f"localhost:{port}",))

    assert done[0] != 0
    assert done[1] == ""
