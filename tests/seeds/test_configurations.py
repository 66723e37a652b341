"""Configurations of the five systems are loaded as they are, or refused with line and reason."""

import json

import pytest

import handrail
import handrail.sync

# Architect: hooks, guardrails, workspace, commands and agents, as YAML.
ARCHITECT = """\
workspace:
  root: .
  allow_delete: true
commands:
  enabled: true
  default_timeout: 30
  max_output_lines: 200
  allowed_only: false
hooks:
  pre_tool_use:
    - name: validate-secrets
      command: "bash scripts/check.sh"
      matcher: "write_file|edit_file|apply_patch|notebook_edit"
      file_patterns: ["*.py"]
      timeout: 5
  post_tool_use:
    - name: python-lint
      command: "echo linted {file}"
      file_patterns: ["*.py"]
      timeout: 15
  post_edit:
    - name: types
      command: "true"
guardrails:
  protected_files: ["*.lock"]
  blocked_commands: ["npm publish"]
  max_files_modified: 10
  code_rules:
    - pattern: "eval\\\\("
      message: "no eval"
      severity: block
  quality_gates:
    - name: tests
      command: "pytest -q"
agents:
  build:
    allowed_tools: [read_file, write_file, edit_file, run_command]
"""

# Claude Code: rules, mode, directories and hooks of its settings file.
CLAUDE = {
    "$schema": "https://json.example.org/claude-code-settings.json",
    "permissions": {
        "allow": ["Bash(npm run lint)", "Bash(npm run test:*)", "WebFetch(domain:example.org)"],
        "ask": ["Bash(git push:*)"],
        "deny": ["Bash(curl:*)", "Read(./.env)", "Read(./secrets/**)"],
        "additionalDirectories": ["MORE"],
        "defaultMode": "acceptEdits",
    },
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Write",
                "hooks": [{"type": "command", "command": "grep -q SECRET && exit 2; exit 0"}],
            }
        ]
    },
}


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "work"
    (root / "scripts").mkdir(parents=True)
    (root / "scripts/check.sh").write_text("! grep -q SECRET || { echo secret >&2; exit 2; }\n")
    (tmp_path / "more").mkdir()
    return root


@pytest.fixture
def open_with(root, tmp_path):
    """Open the workspace with a settings file of this name and text."""

    def opened(name, text, **settings):
        file = tmp_path / name
        file.write_text(text)
        return handrail.sync.open(root, config=file, store=":memory:", **settings)

    return opened


def refusal(opening, *arguments):
    """The message with which settings are refused."""
    with pytest.raises(handrail.ProblemRaised) as raised, opening(*arguments):
        pass
    return raised.value.problem.message


def line_of(text, at):
    """The number of the line with this text, of the second one for None."""
    rows = text.splitlines()
    if at is None:
        return [number for number, row in enumerate(rows, 1) if '"allow"' in row][1]
    return next(number for number, row in enumerate(rows, 1) if at in row)


class TestArchitect:
    @pytest.mark.feature("K08", "K09", "K11", "J07", "Y06", "C17")
    def test_its_sections_are_in_force(self, open_with):
        with open_with("config.yaml", ARCHITECT, dialect="architect", mode="yolo") as rt:
            made = rt.call("write_file", {"path": "a.py", "content": "x = 1\n"})
            secret = rt.call("write_file", {"path": "b.py", "content": "SECRET\n"})
            locked = rt.call("write_file", {"path": "uv.lock", "content": ""})
            code = rt.call("write_file", {"path": "c.py", "content": "eval(1)\n"})
            publish = rt.call("run_command", {"command": "npm publish"})
            agent = [one["function"]["name"] for one in rt.declare("openai", agent="build")]

        assert "linted" in made.text
        assert secret.text.startswith("Blocked by hook: secret")
        assert [one.text.split(":")[0] for one in (locked, code, publish)] == ["Guardrail"] * 3
        assert agent == ["edit_file", "read_file", "run_command", "write_file"]

    @pytest.mark.feature("K08", "J07")
    @pytest.mark.parametrize(
        ("old", "new", "at", "word"),
        [
            ("timeout: 5", "timeout: 900", "- name: validate", "timeout"),
            ("scripts/check.sh", "scripts/none.sh", "- name: validate", "none.sh"),
            ("protected_files", "protekted_files", "protekted_files", "protekted_files"),
            ("enabled: true", "enabled: perhaps", "enabled: perhaps", "commands.enabled"),
            ("pre_tool_use", "before_tool_use", "before_tool_use", "before_tool_use"),
        ],
    )
    def test_what_cannot_be_used_is_refused_with_its_line(self, open_with, old, new, at, word):
        text = ARCHITECT.replace(old, new, 1)
        message = refusal(open_with, "config.yaml", text)

        assert f"config.yaml:{line_of(text, at)}" in message
        assert word in message


class TestClaude:
    @pytest.fixture
    def settings(self, tmp_path):
        return json.dumps(CLAUDE, indent=2).replace("MORE", str(tmp_path / "more"))

    @pytest.mark.feature("G10", "G17", "I05", "K03")
    def test_its_settings_file_is_in_force(self, root, tmp_path, open_with, settings):
        (root / ".env").write_text("KEY=1\n")
        with open_with("settings.json", settings, dialect="claude") as rt:
            made = rt.call("Write", {"file_path": "a.txt", "content": "x\n"})
            more = rt.call("Write", {"file_path": str(tmp_path / "more/b.txt"), "content": "x\n"})
            codes = {
                "secret": rt.call("Write", {"file_path": "s.txt", "content": "SECRET"}),
                "env": rt.call("Read", {"file_path": ".env"}),
                "curl": rt.call("Bash", {"command": "curl https://example.org"}),
                "push": rt.call("Bash", {"command": "git push"}),
            }

        assert made.ok
        assert more.ok
        assert {name: result.problem.code for name, result in codes.items()} == {
            "secret": "blocked",
            "env": "denied",
            "curl": "denied",
            "push": "needs_approval",
        }

    @pytest.mark.feature("G10")
    def test_its_rules_allow(self, open_with):
        # Without denials about reading, which commands may need a sandbox for.
        rules = {"permissions": {"allow": CLAUDE["permissions"]["allow"]}}
        with open_with("settings.json", json.dumps(rules), dialect="claude") as rt:
            lint = rt.call("Bash", {"command": "npm run lint"})
            other = rt.call("Bash", {"command": "npm run build"})

        assert lint.status != "refused"
        assert other.problem.code == "needs_approval"

    @pytest.mark.feature("G10")
    @pytest.mark.parametrize(
        ("old", "new", "at", "word"),
        [
            ('"Bash(npm run lint)"', '"Bash"', '"Bash"', "Bash"),
            ('"hooks": {', '"env": {"A": "1"},\n  "hooks": {', '"env"', "env"),
            ('"ask": [', '"asks": [', '"asks"', "asks"),
            ('"deny": [', '"allow": [', None, "set twice"),
            ('"defaultMode"', "defaultMode", "defaultMode", "double quotes"),
        ],
    )
    def test_what_cannot_be_used_is_refused_with_its_line(
        self, open_with, settings, old, new, at, word
    ):
        text = settings.replace(old, new, 1)
        message = refusal(open_with, "settings.json", text)

        assert f"settings.json:{line_of(text, at)}" in message
        assert word in message

    @pytest.mark.feature("K03")
    def test_its_hooks_are_loaded_from_the_settings_of_the_user(self, root, tmp_path):
        file = tmp_path / "settings.json"
        file.write_text(json.dumps(CLAUDE))
        config = {"hooks": {"claude": str(file)}}
        with handrail.sync.open(root, config=config, store=":memory:", mode="accept-edits") as rt:
            blocked = rt.call("write_file", {"path": "s.txt", "content": "SECRET"})

        assert blocked.problem.code == "blocked"

    @pytest.mark.feature("G10")
    def test_the_command_line_checks_it(self, command_line, tmp_path, settings):
        (tmp_path / "more").mkdir()
        file = tmp_path / "settings.json"
        file.write_text(settings)
        checked = command_line("config", "check", file)
        shown = command_line("config", "show", "--config", file)

        assert checked.code == 0
        assert f"{file}:{line_of(settings, 'defaultMode')}" in shown.out


SERVERS = """\
{
  "mcpServers": {
    "github": {
      "command": "/usr/local/bin/github-mcp",
      "args": ["stdio"],
      "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}", "LEVEL": "info"}
    },
    "tickets": {
      "type": "http",
      "url": "https://tickets.example.org/mcp",
      "headers": {"Authorization": "Bearer ${TICKETS_TOKEN}"}
    }
  }
}
"""


class TestServers:
    @pytest.mark.feature("N03")
    def test_a_file_of_servers_is_loaded(self, command_line, tmp_path):
        file = tmp_path / ".mcp.json"
        file.write_text(SERVERS)
        rows = command_line("--json", "config", "show", "--config", file).out.splitlines()
        (row,) = [one for one in map(json.loads, rows) if one["setting"] == "mcp"]
        github, tickets = (row["value"]["servers"][name] for name in ("github", "tickets"))

        assert github["env_from"] == ["GITHUB_TOKEN"]
        assert github["env"] == {"LEVEL": "info"}
        assert tickets["bearer_env"] == "TICKETS_TOKEN"

    @pytest.mark.feature("N03")
    @pytest.mark.parametrize(
        ("old", "new", "at"),
        [
            ('"info"', '"${LEVEL_OF_LOG}"', "env"),
            ('"stdio"]', '"--root=${HOME}"]', "args"),
            ('"type": "http"', '"type": "sse"', "type"),
            ('"args"', '"cwd": "/", "args"', "cwd"),
            ('"Authorization"', '"X-Key"', "headers"),
        ],
    )
    def test_what_cannot_be_used_is_refused_with_its_line(self, open_with, old, new, at):
        text = SERVERS.replace(old, new, 1)
        message = refusal(open_with, "servers.json", text)

        assert f"servers.json:{line_of(text, at)}: mcpServers." in message
        assert at in message


class TestLinggen:
    @pytest.mark.feature("C18", "C19", "H09")
    def test_agents_and_allowlist(self, open_with):
        text = """
            command_policy = "allowlist"
            allowed_commands = ["ls", "cat"]
            freshness = "strict"
            [agents.coder]
            tools = ["*"]
            policy = ["Patch", "Finalize"]
        """
        with open_with("config.toml", text, dialect="linggen", mode="yolo") as rt:
            refused = rt.call("Bash", {"cmd": "make"})
            assert rt.agents.of("coder").may("Patch")
            assert not rt.agents.of("coder").may("Delegate")

        assert refused.problem.code == "denied"
