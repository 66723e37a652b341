"""`handrail serve` and `handrail doctor --mcp` as a person types them."""

import json
import shlex
import subprocess
import sys
import tomllib

import pytest
from tests.cli.conftest import PROGRAM

from handrail.cli.commands.setup.serve import CLIENTS

# What each of them was seen to need: some show a model the data of a result and not its text,
# and one that hides its own `read_file` hides every server's.
NEEDED = {
    "claude-code": ["--read-only", "--text-only"],
    "codex": ["--read-only", "--text-only"],
    "gemini": ["--dialect", "claude", "--read-only"],
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_clients_configuration_starts_the_installed_program_on_this_workspace(
    handrail, workspace, client
):
    done = handrail("serve", "--client", client, "--mode", "sandboxed", "--read-only")

    shown = _shown(done.out)
    words = [str(PROGRAM), "serve", "--workspace", str(workspace), "--mode", "sandboxed"]
    assert done.code == 0
    assert "-m handrail" not in done.out
    assert _server(client, shown)[0] == [*words, *NEEDED.get(client, ["--read-only"])]
    assert "tools" in done.out.partition(shown)[2]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_that_is_started_without_the_environment_finds_the_same_record(
    handrail, monkeypatch, tmp_path, client
):
    places = {"XDG_STATE_HOME": f"{tmp_path}/a state", "XDG_CONFIG_HOME": f"{tmp_path}/config"}
    for name, place in places.items():
        monkeypatch.setenv(name, place)

    done = handrail("serve", "--client", client)

    assert _server(client, _shown(done.out))[1] == places


def test_a_dialect_that_was_named_is_not_replaced_by_the_one_a_client_needs(handrail):
    done = handrail("serve", "--client", "gemini", "--dialect", "canonical")

    assert _server("gemini", _shown(done.out))[0][-2:] == ["--dialect", "canonical"]


def _shown(out):
    """What is to be copied, without what is said about it."""
    return "\n".join(line for line in out.splitlines() if not line.startswith("#")).strip()


def _server(client, shown):
    """The command and the environment that a client would start the server with."""
    if client == "claude-code":
        before, _, command = shown.partition(" -- ")
        words = shlex.split(before)
        env = [words[at + 1] for at, word in enumerate(words) if word == "--env"]
        return shlex.split(command), dict(one.split("=", 1) for one in env)
    if client == "opencode":
        server = json.loads(shown)["mcp"]["handrail"]
        return server["command"], server.get("environment", {})
    if client == "codex":
        server = tomllib.loads(shown)["mcp_servers"]["handrail"]
    else:
        outer = {"vscode": "servers", "zed": "context_servers"}.get(client, "mcpServers")
        server = json.loads(shown)[outer]["handrail"]
    return [server["command"], *server["args"]], server.get("env", {})


@pytest.mark.parametrize(
    "words",
    [
        ("--config", "my.toml", "serve", "--client", "generic"),
        ("--config", "my.toml", "serve", "--config", "generic"),
        ("serve", "--config", "my.toml", "--config", "generic"),
        ("serve", "--config", "generic", "--config", "my.toml"),
        ("--config", "generic", "serve", "--config", "my.toml", "--client", "generic"),
    ],
    ids=" ".join,
)
def test_the_settings_that_were_named_stay_in_a_clients_configuration(handrail, workspace, words):
    (workspace / "my.toml").write_text('mode = "sandboxed"\n')
    done = handrail(*words)

    assert done.code == 0, done.err
    assert _server("generic", _shown(done.out))[0][-2:] == ["--config", str(workspace / "my.toml")]


@pytest.mark.parametrize("option", ["--config", "--client"])
def test_a_client_that_is_not_known_is_answered_with_those_that_are(handrail, option):
    done = handrail("serve", option, "claude")

    assert done.code == 2
    assert "'claude'" in done.err
    assert "claude-code, claude-desktop, cursor" in done.err


def test_without_the_extra_serving_says_what_to_install(handrail, monkeypatch):
    monkeypatch.setattr("handrail.cli.commands.setup.serve.find_spec", lambda name: None)

    done = handrail("serve")

    assert (done.code, 'install "handrail[mcp]"' in done.err) == (1, True)


@pytest.mark.parametrize(
    "words",
    [
        ("--expose",),
        ("--add", "x=."),
        ("--http", "0.0.0.0:0"),
        ("--http", "127.0.0.1:0", "--session", "mine"),
        ("--http", "127.0.0.1:0", "--add", "nowhere=/no/such"),
        ("--http", "127.0.0.1:0", "--add", "../x=."),
    ],
    ids=" ".join,
)
def test_options_that_cannot_be_meant_are_refused_before_anything_starts(handrail, words):
    done = handrail("serve", *words)

    assert done.code == 2
    assert done.out == ""


def test_other_commands_do_not_load_the_protocol(workspace):
    code = (
        "import sys; from handrail.cli.main import main; main(['tools']); "
        "sys.exit('mcp' in sys.modules or 'handrail.mcp' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)

    assert done.returncode == 0, done.stderr


def test_a_client_is_greeted_before_the_tools_are_loaded():
    code = "import sys, handrail.mcp.server.stdio; sys.exit('handrail.assembly.runtime_opener' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)

    assert done.returncode == 0, done.stderr


def doctor(*words):
    return subprocess.run(
        [PROGRAM, "doctor", "--mcp", *words], capture_output=True, text=True, check=True
    ).stdout


def test_doctor_tells_what_a_client_would_see(workspace):
    eras = json.loads(doctor("--json"))["eras"]

    assert [era["protocol"] for era in eras] == ["2026-07-28", "2025-11-25"]
    assert [era["failed"] for era in eras] == [False, False]
    assert {"name": "read_file", "read_only": True} in eras[0]["tools"]


def test_doctor_says_it_to_a_person_too(workspace):
    told = doctor()

    assert "may change" in told
    assert str(PROGRAM) in told


@pytest.mark.finding("F38")
@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("no_such_module_here", None, "ModuleNotFoundError"),
        ("broken.py", "1 / 0\n", "ZeroDivisionError"),
        ("empty.py", "TOOLS = []\n", "defines no tools"),
        ("wrong.py", "TOOLS = [1]\n", "defines no tools"),
    ],
)
def test_a_module_without_tools_is_a_usage_error(handrail, workspace, name, text, complaint):
    if text is not None:
        (workspace / name).write_text(text)

    done = handrail("serve", "--tools-from", name)

    assert done.code == 2
    assert complaint in done.err
