"""`handrail serve` as a process: a hostile client, and nothing left when a client goes."""

import json
import resource
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.mcp.server.conftest import SCRIPT
from tests.mcp.server.traces import all_ended, pids_of
from tests.support.waiting import running, wait_exit, wait_until

from handrail.core.call import is_call_id
from handrail.mcp.server.stdio import MAX_BYTES, UnreadableMessage, lines

HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "0"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(number, tool, **arguments):
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Raw:
    """A client that sends bytes as it likes."""

    def __init__(self, process):
        self.process = process

    def send(self, message):
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def answer(self, number):
        """The answer to a request; what comes before it is let go."""
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == number and "method" not in message:
                return message
        raise AssertionError(f"no answer to {number!r}")


@contextmanager
def raw_client(root, *words, hello=True, **given):
    process = subprocess.Popen(
        [SCRIPT, "serve", "-w", str(root), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **given,
    )
    client = Raw(process)
    try:
        if hello:
            client.send(HELLO)
            client.answer("hello")
            client.send(READY)
        yield client
        process.stdin.close()
        assert process.wait(30) == 0
    finally:
        process.kill()
        wait_exit(process)
        process.stdout.close()


def test_a_hostile_client_gets_errors_and_the_next_call_works(root):
    deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b'{"a":' * 5000 + b"1"
    with raw_client(root) as client:
        for bad in (
            b"{",
            b"[]",
            b"null",
            b"\xff\xfe\x00",
            b'{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
            b'{"jsonrpc":"2.0"}',
            b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
            deep + b"}" * 5001,
        ):
            client.send(bad)
            assert client.answer(None)["error"]["code"] in (-32700, -32600), bad[:40]
        client.send({"jsonrpc": "2.0", "id": 2, "method": "no/such"})
        unknown = client.answer(2)
        client.send({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": 5}})
        wrong = client.answer(3)
        client.send({"jsonrpc": "2.0", "id": 99, "result": {"action": "accept"}})
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}})
        client.send(call(4, "read_file", path="a.txt"))
        read = client.answer(4)

    assert unknown["error"]["code"] == -32601
    assert wrong["error"]["code"] == -32602
    assert read["result"]["content"][0]["text"] == "hello"


def test_a_message_of_100_megabytes_is_refused_in_bounded_memory(root):
    with raw_client(root) as client:
        client.send(call(1, "read_file", path="a.txt"))
        client.answer(1)
        before = peak_mb(client.process.pid)
        client.process.stdin.write(b'{"jsonrpc":"2.0","id":2,"method":"')
        for _ in range(100):
            client.process.stdin.write(b"x" * 1_000_000)
        client.send(b'"}')
        refused = client.answer(None)
        grown = peak_mb(client.process.pid) - before
        client.send(call(3, "read_file", path="a.txt"))
        read = client.answer(3)

    assert "longer than" in refused["error"]["message"]
    assert read["result"]["content"][0]["text"] == "hello"
    # Twice the limit at most: the line so far, and the chunk that made it too long.
    assert grown < 3 * MAX_BYTES / 1e6


def peak_mb(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


def test_the_same_request_again_returns_what_was_recorded(root):
    with raw_client(root, "--mode", "accept-edits") as client:
        request = call(5, "write_file", path="log.txt", content="once\n", mode="append")
        client.send(request)
        first = client.answer(5)
        client.send(request)
        again = client.answer(5)

    assert first["result"]["content"] == again["result"]["content"]
    assert (root / "log.txt").read_text() == "once\n"


@pytest.mark.finding("F18")
@pytest.mark.threat("A02")
@pytest.mark.parametrize("odd", ["", "../../x", "\x1b[2J", "x" * 200_000], ids=lambda one: one[:8])
def test_an_odd_request_id_comes_back_and_is_no_id_of_ours(root, odd):
    with raw_client(root, "--mode", "accept-edits") as client:
        request = call(odd, "write_file", path="log.txt", content="once\n", mode="append")
        client.send(request)
        first = client.answer(odd)
        client.send(request)
        again = client.answer(odd)

    assert first["id"] == again["id"] == odd
    assert is_call_id(first["result"]["_meta"]["handrail/result"]["call_id"])
    assert (root / "log.txt").read_text() == "once\n"


@pytest.mark.finding("F18")
@pytest.mark.threat("A02")
def test_arguments_over_the_limit_are_an_error_and_nothing_is_written(root):
    with raw_client(root, "--mode", "accept-edits") as client:
        client.send(call(1, "write_file", path="big.txt", content="x" * 9_000_000))
        refused = client.answer(1)

    assert "larger than" in refused["error"]["message"]
    assert not (root / "big.txt").exists()


def test_two_hundred_calls_that_are_sent_before_any_answer_is_read_keep_their_order(root):
    with raw_client(root, "--mode", "accept-edits") as client:
        for number in range(200):
            client.send(
                call(number, "write_file", path="log.txt", content=f"{number}\n", mode="append")
            )
        answers = [json.loads(client.process.stdout.readline()) for _ in range(200)]

    assert sorted(answer["id"] for answer in answers) == list(range(200))
    assert [answer["result"]["isError"] for answer in answers] == [False] * 200
    assert (root / "log.txt").read_text().split() == [str(number) for number in range(200)]


def test_a_client_that_never_reads_does_not_keep_the_server_alive(root):
    (root / "big.txt").write_text("x" * 200 + "\n")
    process = subprocess.Popen(
        [SCRIPT, "serve", "-w", str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        for message in (HELLO, READY, *(call(n, "read_file", path="big.txt") for n in range(500))):
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.close()
        assert process.wait(40) == 0
    finally:
        process.kill()
        wait_exit(process)
        process.stdout.close()


def test_what_others_print_never_reaches_the_wire(root):
    with raw_client(root, "--mode", "sandboxed") as client:
        client.send(call(1, "run_command", command="echo loud; echo louder >&2"))
        answer = client.answer(1)

    assert "loud" in answer["result"]["content"][0]["text"]


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_server_and_its_jobs(root, number):
    with raw_client(root, "--mode", "sandboxed") as client:
        client.send(call(1, "run_command", command=f"sleep 613 # {root}", background=True))
        client.answer(1)
        started = pids_of(f"sleep 613 # {root}")
        client.process.send_signal(number)
        assert client.process.wait(30) == 0

    assert started
    assert all_ended(started)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_server_that_still_waits_for_its_first_message(root, tmp_path, number):
    # A file as output: then input is read in a thread, as at a terminal.
    output = tmp_path / "output"
    command = ["sh", "-c", 'exec "$0" -w "$1" serve > "$2"', SCRIPT, root, output]
    with running(subprocess.Popen(command, stdin=subprocess.PIPE)) as process:
        status = Path(f"/proc/{process.pid}/status")
        wait_until(lambda: _catches(status.read_text(), number))
        process.send_signal(number)

        assert process.wait(30) == 0


def _catches(status: str, number: int) -> bool:
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return all(int(caught.split()[1], 16) >> (one - 1) & 1 for one in (number, signal.SIGTERM))


@pytest.mark.needs_bubblewrap
def test_a_killed_server_leaves_no_job_behind(root):
    with raw_client(root, "--mode", "sandboxed") as client:
        client.send(call(1, "run_command", command=f"sleep 614 # {root}", background=True))
        client.answer(1)
        started = pids_of(f"sleep 614 # {root}")
        client.process.kill()
        wait_exit(client.process)
        client.process.returncode = 0

    assert started
    assert all_ended(started)


async def test_lines_are_found_wherever_the_chunks_end():
    whole = b'{"a":1}\n\n{"b":2}\n' + b"y" * (MAX_BYTES + 1) + b'\n{"c":3}\n'
    chunks = [whole[at : at + 1_000_003] for at in range(0, len(whole), 1_000_003)]

    class Pipe:
        async def read(self):
            return chunks.pop(0) if chunks else b""

    found = [line async for line in lines(Pipe())]

    assert [line for line in found if not isinstance(line, UnreadableMessage)] == [
        b'{"a":1}',
        b'{"b":2}',
        b'{"c":3}',
    ]
    assert sum(isinstance(line, UnreadableMessage) for line in found) == 1


def test_few_open_files_are_told_not_crashed_over(root):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    with raw_client(root, preexec_fn=few) as client:
        client.send(call(1, "read_file", path="a.txt"))
        answer = client.answer(1)

    assert "result" in answer or "error" in answer
