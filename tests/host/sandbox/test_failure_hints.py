"""A failure that the confinement probably caused says so, and names the setting that lifts it."""

import pytest

from handrail.core.ports.processes import CapturedStream, Confinement, Connection, ProcessResult
from handrail.host import messages
from handrail.host.sandbox.failure_hints import explain_failure

WORKSPACE = Confinement(("/w",), read_only=("/w/.git", "/w/.venv/bin"))


def why(stderr, *, code=1, confinement=WORKSPACE, backend="bubblewrap", stdout="", connections=()):
    def captured(text):
        return CapturedStream(text.encode(), b"", len(text.encode()))

    ended = ProcessResult(code, captured(stdout), captured(stderr), 0.1)
    return explain_failure(ended._replace(connections=connections), confinement, backend)


@pytest.mark.parametrize(
    "said",
    [
        "curl: (6) Could not resolve host: example.com",
        "fatal: unable to access 'https://x/': Could not resolve host: x",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "connect: Network is unreachable",
        "npm ERR! code EAI_AGAIN",
        "Error: getaddrinfo ENOTFOUND registry.example",
        "OSError: [Errno 97] Address family not supported by protocol",
        "dial tcp: lookup proxy.example: no such host",
        "error: failed to lookup address information: Try again",
        "java.net.UnknownHostException: repo.example",
    ],
)
def test_a_closed_network_is_named(said):
    assert "network = true" in why(said)
    assert why(said, confinement=WORKSPACE._replace(network=True)) is None


def test_a_server_outside_is_told_from_one_of_the_command():
    assert "loopback network of their own" in why("psql: error: connection refused")
    assert why("psql: error: connection refused", backend="landlock") is None


@pytest.mark.parametrize("words", ["Couldn't connect to server", "Could not connect to server"])
def test_what_curl_says_without_a_network_is_explained(words):
    said = f"curl: (7) Failed to connect to 192.0.2.1 port 80 after 0 ms: {words}"

    assert why(said) == messages.OWN_LOOPBACK
    assert why(said, backend="landlock") == messages.NETWORK_CLOSED
    assert why(said, confinement=WORKSPACE._replace(network=True)) is None


@pytest.mark.parametrize(
    "said", ["socket.gaierror: [Errno -3] Temporary failure in name resolution", "ECONNREFUSED"]
)
def test_with_a_list_of_hosts_the_proxy_is_named(said):
    listed = WORKSPACE._replace(hosts=("example.org",))
    reached, refused = Connection("example.org", 443), Connection("a.example", 443, "not listed")

    assert why(said, confinement=listed) == messages.PROXY_NOT_USED
    assert why(said, confinement=listed, connections=(reached,)) == messages.PROXY_NOT_USED
    assert why(said, confinement=listed, connections=(refused,)) is None


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ("error: could not lock config file .git/config: Read-only file system", "/w/.git/config"),
        ("bash: /w/.git/hooks/pre-commit: Read-only file system", "/w/.git/hooks/pre-commit"),
        ("mv: cannot move '.git' to 'x': Device or resource busy", "/w/.git"),
        ("cp: cannot create regular file './.venv/bin/x': Read-only file system", "/w/.venv/bin/x"),
        ("Error: EROFS: read-only file system, open '/w/.git/index.lock'", "/w/.git/index.lock"),
    ],
)
def test_a_protected_name_is_named(said, path):
    assert repr(path) in why(said)
    assert "allow_protected" in why(said)


@pytest.mark.parametrize(
    "said",
    [
        "bash: /home/x/notes: Read-only file system",
        "touch: cannot touch '/usr/lib/x': Permission denied",
        "PermissionError: [Errno 13] Permission denied: '/srv/data/x'",
        "cat: /home/x/data.csv: No such file or directory",
    ],
)
def test_a_place_outside_is_named(said):
    assert "the setting directories" in why(said)


@pytest.mark.parametrize(
    "said",
    [
        "cat: .env: Permission denied",
        "grep: ./.env: Permission denied",
        "grep: ./pkg/.env: Permission denied",
        "PermissionError: [Errno 13] Permission denied: '/w/keys/a.pem'",
        "mv: cannot move '/w/.env' to '/w/x': Device or resource busy",
    ],
)
@pytest.mark.parametrize("writable", [("/w",), ()])
def test_a_withheld_path_is_named(said, writable):
    withheld = ("/w/.env", "/w/pkg/.env", "/w/keys")
    confinement = Confinement(writable, denied_reads=withheld)

    assert "denied to commands" in why(said, confinement=confinement)
    assert "withheld" not in (why(said, confinement=Confinement(writable)) or "")


def test_the_answer_does_not_depend_on_what_exists_outside():
    assert why("cat: /etc/../root/x: No such file or directory") == why(
        "cat: /etc/../root/x: No such file or directory"
    )
    assert why("cat: /proc-not/here: No such file or directory") is not None


def test_under_landlock_the_temporary_directory_is_named():
    said = "bash: /tmp/x: Permission denied"

    assert "$TMPDIR" in why(said, backend="landlock")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "AssertionError: 1 != 2",
        "make: *** [all] Error 1",
        "cat: missing.txt: No such file or directory",
        "cat: /w/missing.txt: No such file or directory",
        "/usr/bin/env: 'x': No such file or directory",
        "/bin/bash: line 1: nonsense: command not found",
        "bash: ./script.sh: Permission denied",
    ],
)
def test_an_ordinary_failure_is_left_alone(said):
    assert why(said) is None


def test_success_no_sandbox_and_a_lifted_one_say_nothing():
    said = "Could not resolve host"

    assert why(said, code=0) is None
    assert why(said, backend="none") is None
    assert why(said, confinement=WORKSPACE._replace(off=True)) is None


def test_what_was_said_on_the_other_stream_counts_too():
    assert "network = true" in why("", stdout="E: Temporary failure resolving 'deb.example'")


def test_a_flood_of_output_is_looked_at_only_at_its_end():
    assert why("Could not resolve host\n" + "x" * 100_000) is None


@pytest.mark.finding("F29")
@pytest.mark.parametrize(
    "said",
    [
        "/usr/bin/bash: line 1: /srv/foo: Read-only file system",
        "/bin/sh: 1: cannot create /srv/foo: Permission denied",
        "/usr/bin/bash: /srv/foo: Permission denied",
        "bash: line 12: /srv/foo: Read-only file system",
    ],
)
def test_the_target_of_a_redirect_is_named_and_not_the_shell(said):
    assert "'/srv/foo' lies outside the workspace" in why(said)


def test_a_program_that_names_only_itself_is_named():
    assert "'/usr/sbin/thing' lies outside" in why("/usr/sbin/thing: Operation not permitted")
