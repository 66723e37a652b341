"""`handrail mcp`: servers are listed, tested, approved at the terminal and revoked."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from handrail.assembly.extras.server_records import server_records

SERVER = Path(__file__).parents[3] / "mcp" / "client" / "hostile_server.py"
# Behaves well: the argument names no misbehaviour.
KIND = "none"


@pytest.fixture
def settings(tmp_path):
    file = tmp_path / "config.toml"
    words = json.dumps(["-I", str(SERVER), KIND])
    table = f'[mcp.servers.tools]\ncommand = "{sys.executable}"\nargs = {words}\n'
    file.write_text(f'mode = "bypass"\n{table}')
    return ["--config", str(file)]


def approve(terminal, settings, text):
    running = terminal(["mcp", "approve", "tools", *settings])
    running.wait_for("[y/n]")
    running.type(text)
    return running.end(), running.screen.decode()


def test_without_servers_there_is_nothing_to_list(handrail):
    assert handrail("mcp", "--json").out == ""


def test_an_unknown_server_is_an_error(handrail, settings):
    done = handrail("mcp", "test", "other", *settings, "--json")
    assert done.code == 1
    assert "not_found" in done.out


def test_a_server_is_tested_without_being_approved(handrail, settings):
    done = handrail("mcp", "test", "tools", *settings, "--json")
    assert done.code == 0
    assert done.json["ok"] is True
    assert [one["name"] for one in done.json["tools"]] == ["act"]
    (listed,) = handrail("mcp", *settings, "--json").lines
    assert listed["state"] == "configured"


@pytest.mark.threat("A39")
def test_a_description_that_is_not_shown_whole_says_so(handrail, settings):
    file = Path(settings[1])
    file.write_text(file.read_text().replace(f'"{KIND}"', '"wordy"'))
    done = handrail("mcp", "test", "tools", *settings)
    assert done.out.count("d" * 50) > 0
    assert "200 more characters" in done.out


def test_an_approval_needs_a_terminal(handrail, settings):
    refused = handrail("mcp", "approve", "tools", *settings)

    assert refused.code == 3
    assert "`handrail mcp approve tools`" in refused.err


def test_after_a_yes_the_tools_can_be_called(terminal, handrail, settings):
    code, screen = approve(terminal, settings, "y\n")
    assert code == 0
    assert "│ act: " in screen
    (listed,) = handrail("mcp", *settings, "--json").lines
    assert (listed["state"], listed["tools"]) == ("known", 1)
    called = handrail("call", "mcp__tools__act", *settings)
    assert (called.code, called.out.splitlines()[0]) == (0, "done")
    assert handrail("mcp", "revoke", "tools", *settings).code == 0
    assert handrail("call", "mcp__tools__act", *settings).code != 0


def test_after_a_no_nothing_is_approved(terminal, handrail, settings):
    code, _ = approve(terminal, settings, "n\n")
    assert code == 5
    (listed,) = handrail("mcp", *settings, "--json").lines
    assert listed["state"] == "configured"


@pytest.mark.threat("A36")
@pytest.mark.parametrize(
    ("file", "key"), [(".mcp.json", "mcpServers"), (".vscode/mcp.json", "servers")]
)
def test_a_server_of_a_project_is_not_started_before_the_user_agrees(
    handrail, terminal, workspace, tmp_path, file, key
):
    started = tmp_path / "started"
    path = workspace / file
    path.parent.mkdir(exist_ok=True)
    entry = {"command": "/usr/bin/touch", "args": [str(started)], "env": {"KEY": "${HOME}"}}
    path.write_text(json.dumps({key: {"cloned": entry}}))

    (listed,) = handrail("mcp", "--json").lines
    assert (listed["name"], listed["source"], listed["state"]) == (
        "cloned",
        "project",
        "configured",
    )
    assert handrail("call", "mcp__cloned__touch", "--mode", "bypass").code != 0
    assert handrail("mcp", "test", "cloned").code == 3
    running = terminal(["mcp", "approve", "cloned"])
    running.wait_for("[y/n]")
    running.type("n\n")
    assert running.end() == 5
    assert not started.exists()


@pytest.mark.needs_bubblewrap
@pytest.mark.feature("R-22")
def test_a_server_of_a_project_is_approved_and_runs_confined(handrail, terminal, workspace):
    (workspace / "server.py").write_text(SERVER.read_text())
    entry = {"command": sys.executable, "args": ["-I", str(workspace / "server.py"), KIND]}
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"cloned": entry}}))
    running = terminal(["mcp", "approve", "cloned"])
    running.wait_for("Start it")
    running.type("y\n")
    running.wait_for("Approve these tools")
    running.type("y\n")
    assert running.end() == 0
    called = handrail("call", "mcp__cloned__act", "--mode", "bypass")
    assert (called.code, called.out.splitlines()[0]) == (0, "done")


def test_a_project_cannot_name_a_server(handrail, workspace):
    file = workspace / ".handrail" / "config.toml"
    file.parent.mkdir()
    file.write_text(f'[mcp.servers.tools]\ncommand = "{sys.executable}"\n')
    assert handrail("mcp", "--json").out == ""


@pytest.fixture
def own_file(tmp_path, monkeypatch):
    """The user's settings file, which does not exist yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "handrail" / "config.toml"


def test_servers_are_added_to_the_settings_and_removed_again(handrail, own_file):
    words = ["-I", str(SERVER), KIND, 'say "\\ ü\x7f"']
    options = ["--env", "A=b=c", "--env-from", "HOME"]
    assert handrail("mcp", "add", "tools", *options, "--", sys.executable, *words).code == 0
    assert handrail("mcp", "add", "web", "https://example.org/mcp", "--bearer-env", "T").code == 0
    assert tomllib.loads(own_file.read_text())["mcp"]["servers"] == {
        "tools": {
            "command": sys.executable,
            "args": words,
            "env": {"A": "b=c"},
            "env_from": ["HOME"],
        },
        "web": {"url": "https://example.org/mcp", "bearer_env": "T"},
    }
    assert own_file.stat().st_mode & 0o777 == 0o600
    assert [one["state"] for one in handrail("mcp", "--json").lines] == ["configured"] * 2
    assert handrail("mcp", "remove", "tools").code == 0
    assert [one["name"] for one in handrail("mcp", "--json").lines] == ["web"]


def test_what_else_is_in_the_settings_file_stays(handrail, own_file):
    before = '# mine\nmode = "bypass"\n\n[mcp.servers.a]\ncommand = "/bin/a"\n'
    after = "\n# about b\n[mcp.servers.b]\ncommand = '/bin/b'\n[mcp.servers.b.env]\nX = '1'\n"
    own_file.parent.mkdir(parents=True)
    real = own_file.with_name("real.toml")
    real.write_text(before + after)
    real.chmod(0o640)
    own_file.symlink_to(real)
    assert handrail("mcp", "add", "c", "/bin/c", "--dry-run").code == 0
    assert real.read_text() == before + after
    assert handrail("mcp", "add", "c", "./c").code == 0
    assert real.read_text().startswith(before + after)
    assert handrail("mcp", "remove", "c").code == 0
    assert real.read_text().strip() == (before + after).strip()
    assert handrail("mcp", "remove", "a").code == 0
    assert real.read_text().rstrip() == ('# mine\nmode = "bypass"\n\n' + after[1:]).rstrip()
    assert handrail("mcp", "remove", "b").code == 0
    assert tomllib.loads(real.read_text()).get("mode") == "bypass"
    assert (own_file.is_symlink(), real.stat().st_mode & 0o777) == (True, 0o640)


_INLINE = "mcp = {servers = {a = {command = 'x'}}}\n"
_HEADER_IN_TEXT = '[mcp.servers.a]\ncommand = "x"\nargs = ["""\n[mcp.servers.b]\n"""]\n'


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        ("", "add a__b /bin/a", "invalid_arguments"),
        ("", "add a", "invalid_arguments"),
        ("", "add a https://a.example --env-from B", "invalid_arguments"),
        ("", "add a /bin/a --bearer-env not/a/name", "invalid_arguments"),
        ("", "remove a", "not_found"),
        ("", "list a", "invalid_arguments"),
        ("", "test", "invalid_arguments"),
        ("", "test a --env A=b", "invalid_arguments"),
        ("mode = 7\n", "add a /bin/a", "invalid_arguments"),
        (_INLINE, "add b /bin/b", "unavailable"),
        (_INLINE, "add a /bin/b", "exists"),
        (_INLINE, "remove a", "unavailable"),
        ("[mcp]\nservers.a.command = 'x'\n", "remove a", "unavailable"),
        (_HEADER_IN_TEXT, "remove a", "unavailable"),
    ],
)
def test_a_settings_file_that_cannot_be_changed_stays(handrail, own_file, text, words, code):
    own_file.parent.mkdir(parents=True)
    own_file.write_text(text)
    done = handrail("mcp", *words.split(), "--json")
    assert (done.json["problem"]["code"], own_file.read_text()) == (code, text)
    assert [one.name for one in own_file.parent.iterdir()] == ["config.toml"]


def test_a_settings_file_in_another_format_is_not_changed(handrail, tmp_path):
    file = tmp_path / "own.json"
    file.write_text("{}")
    done = handrail("mcp", "add", "a", "/bin/a", "--config", str(file), "--json")
    assert (done.json["problem"]["code"], file.read_text()) == ("invalid_arguments", "{}")


def test_the_list_says_that_a_server_has_changed(terminal, handrail, tmp_path):
    program, marker = tmp_path / "server.py", tmp_path / "marker"
    program.write_text(SERVER.read_text())
    file = tmp_path / "config.toml"
    words = json.dumps(["-I", str(program), "changes", str(marker)])
    table = f'[mcp.servers.tools]\ncommand = "{sys.executable}"\nargs = {words}\n'
    file.write_text(f'mode = "bypass"\n{table}')
    settings = ["--config", str(file)]
    approve(terminal, settings, "y\n")
    (known,) = handrail("mcp", *settings, "--json").lines
    assert (known["state"], known["change"]) == ("known", None)

    marker.touch()
    assert handrail("call", "mcp__tools__act", *settings).code != 0
    (changed,) = handrail("mcp", *settings, "--json").lines
    assert (changed["state"], changed["change"]) == ("changed", "new: other")
    assert "handrail mcp approve tools" in handrail("mcp", *settings).out

    approve(terminal, settings, "y\n")
    assert handrail("mcp", *settings, "--json").lines[0]["state"] == "known"
    program.write_text("# other\n" + SERVER.read_text())
    (other,) = handrail("mcp", *settings, "--json").lines
    assert other["state"] == "changed"
    assert "program" in other["change"]


def test_the_end_of_what_a_server_wrote_to_stderr_is_kept(handrail, own_file):
    handrail("mcp", "add", "tools", "--", sys.executable, "-I", SERVER, "exit")
    assert handrail("mcp", "logs", "tools", "--json").json["log"] is None
    failed = handrail("mcp", "test", "tools")
    assert failed.code != 0
    assert "`handrail mcp logs tools`" in failed.err
    assert handrail("mcp", "logs", "tools", "--json").json["log"] == "no licence\n"
    assert handrail("mcp", "logs", "tools").out == "no licence\n"
    assert handrail("mcp", "remove", "tools").code == 0
    handrail("mcp", "add", "tools", "--", "/bin/true")
    assert handrail("mcp", "logs", "tools", "--json").json["log"] is None


def test_a_log_is_bounded_and_private(handrail, own_file):
    program = r"import sys; sys.stderr.write('line\x1b[2J\n' * 100_000)"
    handrail("mcp", "add", "tools", "--", sys.executable, "-c", program)
    handrail("mcp", "test", "tools")
    log = handrail("mcp", "logs", "tools", "--json").json["log"]
    assert 0 < len(log) <= 64 << 10
    shown = handrail("mcp", "logs", "tools").out
    assert 0 < len(shown.splitlines()) <= 200
    assert "\x1b" not in shown
    kept = server_records().folder / "tools.log"
    assert kept.stat().st_mode & 0o777 == 0o600


def test_arguments_of_the_command_line_have_the_types_of_the_schema(terminal, handrail, own_file):
    handrail("mcp", "add", "tools", "--", sys.executable, "-I", SERVER, "typed")
    approve(terminal, [], "y\n")
    words = ["n=3", "x=2.5", "flag=true", "list=[1, 2]", "text=4", "either=5"]
    called = handrail("call", "mcp__tools__act", *words, "--mode", "bypass", "--json")
    assert json.loads(called.json["text"]) == {
        "n": 3,
        "x": 2.5,
        "flag": True,
        "list": [1, 2],
        "text": "4",
        "either": "5",
    }
    wrong = handrail("call", "mcp__tools__act", "n=three", "--mode", "bypass", "--json")
    assert wrong.json["problem"]["code"] == "invalid_arguments"


def test_an_argument_of_another_type_is_named_without_all_the_others(terminal, handrail, settings):
    file = Path(settings[1])
    file.write_text(file.read_text().replace(json.dumps(KIND), '"path"'))
    approve(terminal, settings, "y\n")

    refused = handrail("call", "mcp__tools__act", '{"a": {"b": 1}}', *settings)

    assert refused.code != 0
    assert "is not of type" in refused.err
    assert ", not {" not in refused.err
