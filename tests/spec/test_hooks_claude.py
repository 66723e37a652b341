"""Hooks written for Claude Code: loaded unchanged, told in its names, and still guards.

The scripts are ours, in the form in which people publish such guards: they read JSON from
standard input, look at `tool_input`, and end with 2 or print a decision.
"""

import json
import sys
import tempfile

import pytest

from handrail import ProblemRaised

PYTHON = "#!/usr/bin/env python3\nimport json, os, re, sys\ndata = json.load(sys.stdin)\n"
SHELL = "#!/usr/bin/env bash\ninput=$(cat)\n"

# name → matcher, language, script, a call that it blocks, a call that it lets pass
GUARDS = {
    "rm": (
        "Bash",
        PYTHON,
        "cmd = data['tool_input'].get('command', '')\n"
        "if re.search(r'\\brm\\s+.*-[a-z]*r', cmd):\n"
        "    print('recursive rm is not allowed', file=sys.stderr); sys.exit(2)\n",
        ("run_command", {"command": "rm -rf build"}),
        ("run_command", {"command": "ls"}),
    ),
    "env-files": (
        "Read|Edit|Write|MultiEdit",
        PYTHON,
        "path = data.get('tool_input', {}).get('file_path', '')\n"
        "if os.path.basename(path).startswith('.env'):\n"
        "    print(f'{path} holds secrets', file=sys.stderr); sys.exit(2)\n",
        ("write_file", {"path": "sub/../.env", "content": "A=1\n"}),
        ("write_file", {"path": "env.txt", "content": "A=1\n"}),
    ),
    "env-files-by-patch": (
        "Edit|Write",
        PYTHON,
        "if '.env' in data['tool_input']['file_path']:\n    sys.exit(2)\n",
        ("apply_patch", {"patch": "--- /dev/null\n+++ b/.env\n@@ -0,0 +1 @@\n+A=1\n"}),
        ("apply_patch", {"patch": "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+A=1\n"}),
    ),
    "lock-files": (
        "Edit|Write",
        SHELL,
        'file=$(printf %s "$input" | grep -o \'"file_path": *"[^"]*"\' | head -1 | cut -d\\" -f4)\n'
        'case "$(basename "$file")" in package-lock.json|yarn.lock|poetry.lock)\n'
        '  echo "lock files are generated" >&2; exit 2;; esac\n',
        ("write_file", {"path": "poetry.lock", "content": "x"}),
        ("write_file", {"path": "poetry.toml", "content": "x"}),
    ),
    "main-branch": (
        "Bash",
        SHELL,
        'if printf %s "$input" | grep -qE "git push.*(main|master)"; then\n'
        '  echo "{\\"hookSpecificOutput\\": {\\"hookEventName\\": \\"PreToolUse\\",'
        ' \\"permissionDecision\\": \\"deny\\", \\"permissionDecisionReason\\": \\"use a branch\\"}}"\n'
        "fi\n",
        ("run_command", {"command": "git push origin main"}),
        ("run_command", {"command": "git status"}),
    ),
    "secrets-in-text": (
        "Write|Edit",
        PYTHON,
        "given = data['tool_input']\n"
        "text = given.get('content') or given.get('new_string') or ''\n"
        "if re.search(r'AKIA[0-9A-Z]{16}', text):\n"
        "    print(json.dumps({'decision': 'block', 'reason': 'that looks like a key'}))\n",
        ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "AKIA" + "A" * 16}),
        ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "two"}),
    ),
    "outside-project": (
        "Read|Write|Edit",
        PYTHON,
        "root = os.environ['CLAUDE_PROJECT_DIR']\n"
        "if not data['tool_input']['file_path'].startswith(root + '/src/'):\n"
        "    print('only src/', file=sys.stderr); sys.exit(2)\n",
        ("write_file", {"path": "src/../a.txt", "content": "x"}),
        ("write_file", {"path": "src/a.txt", "content": "x"}),
    ),
    "use-rg": (
        "Bash",
        PYTHON,
        "RULES = [(r'^grep\\b(?!.*\\|)', 'use rg'), (r'^find\\s+\\S+\\s+-name\\b', 'use rg --files')]\n"
        "if data.get('tool_name') != 'Bash':\n    sys.exit(1)\n"
        "issues = [why for rule, why in RULES if re.search(rule, data['tool_input']['command'])]\n"
        "if issues:\n    print('\\n'.join(issues), file=sys.stderr); sys.exit(2)\n",
        ("run_command", {"command": "grep x a.txt"}),
        ("run_command", {"command": "cat a.txt"}),
    ),
    "code": (
        "Bash",
        PYTHON,
        "if 'rmtree' in data['tool_input']['command']:\n    sys.exit(2)\n",
        ("execute_code", {"language": "python", "code": "import shutil; shutil.rmtree('x')"}),
        ("execute_code", {"language": "python", "code": "print(1)"}),
    ),
    "deletion": (
        "Bash|Write",
        PYTHON,
        "given = data['tool_input']\n"
        "if 'keep.txt' in given.get('command', '') + given.get('file_path', ''):\n"
        "    print(json.dumps({'continue': False, 'stopReason': 'it stays'}))\n",
        ("delete_file", {"path": "keep.txt"}),
        ("delete_file", {"path": "a.txt"}),
    ),
    "any-tool": (
        "*",
        PYTHON,
        "if 'handrail' not in data or data['hook_event_name'] != 'PreToolUse':\n    sys.exit(1)\n"
        "if data['handrail']['tool_name'] == 'list_files':\n    sys.exit(2)\n",
        ("list_files", {"path": "."}),
        ("find_files", {"pattern": "*"}),
    ),
}


@pytest.fixture
def claude_settings(tmp_path):
    """Write a settings file of Claude Code's that runs a script, as people have it at home."""

    def write(script, matcher, event="PreToolUse", **hook):
        folder = tmp_path / "home" / ".claude"
        (folder / "hooks").mkdir(parents=True, exist_ok=True)
        file = folder / "hooks" / f"guard-{len(list(folder.iterdir()))}"
        file.write_text(script.replace("/usr/bin/env python3", sys.executable))
        file.chmod(0o755)
        command = {"type": "command", "command": str(file), **hook}
        settings = {"hooks": {event: [{"matcher": matcher, "hooks": [command]}]}}
        (folder / "settings.json").write_text(json.dumps(settings))
        return {"hooks": {"claude": str(folder / "settings.json")}}

    return write


@pytest.mark.parametrize("name", GUARDS)
async def test_a_published_guard_still_blocks(open_runtime, workspace, claude_settings, name):
    matcher, head, script, bad, good = GUARDS[name]
    for path in ("a.txt", "keep.txt", "sub/x", "src/x"):
        workspace.write(path, "one\n")
    config = {**claude_settings(head + script, matcher), "allow_delete": True}
    async with open_runtime(config=config, mode="bypass") as rt:
        before = workspace.tree()
        blocked = await rt.call(*bad)
        same = workspace.tree() == before
        passed = await rt.call(*good)

    assert blocked.problem.code == "blocked", blocked.text
    assert same
    assert not (passed.problem and passed.problem.code == "blocked"), passed.text


@pytest.mark.finding("F07")
@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"unconfined": True}, None),
        ({"on_failure": "allow"}, None),
        ({"on_failure": "deny"}, "blocked"),
        ({"on_failure": "ask"}, "needs_approval"),
        ({"on_failure": "deny", "unconfined": True}, "blocked"),
    ],
)
@pytest.mark.parametrize("script", ["echo oops >&2\nexit 1\n", "sleep 30\n"])
async def test_failure_outside_the_sandbox_keeps_that_format_s_meaning_unless_overridden(
    open_runtime, claude_settings, options, code, script
):
    file = claude_settings(f"#!/bin/sh\n{script}", "*", timeout=1)["hooks"]["claude"]
    async with open_runtime(config={"hooks": {"claude": [{"file": file, **options}]}}) as rt:
        result = await rt.call("write_file", {"path": "a", "content": "x"})

    assert (result.problem.code if result.problem else None) == code


async def test_failure_keeps_that_format_s_meaning_where_nothing_confines_hooks(
    open_runtime, claude_settings
):
    config = claude_settings("#!/bin/sh\nexit 1\n", "*")
    async with open_runtime(config=config, sandbox="none") as rt:
        assert (await rt.call("write_file", {"path": "a", "content": "x"})).ok


@pytest.fixture
def outside():
    """A directory of the user's that is not in `/tmp`, of which programs have one of their own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield folder


# Guards that would block with exit code 2 if nothing kept them from what they do first.
HINDERED = {
    "logs outside": "echo seen >> {outside}/guard.log || exit 1\nexit 2",
    "logs outside, says nothing": "exec 2>/dev/null\necho x > {outside}/log || exit 1\nexit 2",
    "logs at home": "mkdir -p ~/.guard-test-{name} || exit 3\nrmdir ~/.guard-test-{name}\nexit 2",
    "python traceback": "exec {python} -c \"open('{outside}/log', 'a')\nraise SystemExit(2)\"",
    "dies at once": "set -e\necho seen >> {outside}/guard.log\nexit 2",
    "is killed": "echo seen >> {outside}/guard.log || kill -9 $$\nexit 2",
    "waits for ever": "echo seen >> {outside}/guard.log || sleep 60\nexit 2",
    "logs at a protected name": "echo x > .envrc || exit 1\nexit 2",
}
CONFINED = [
    pytest.param("bubblewrap", marks=pytest.mark.needs_bubblewrap),
    pytest.param("landlock", marks=pytest.mark.needs_landlock),
]


@pytest.mark.finding("F07")
@pytest.mark.parametrize("backend", [*CONFINED, "none"])
@pytest.mark.parametrize("name", HINDERED)
async def test_a_guard_that_the_sandbox_breaks_lets_nothing_pass(
    open_runtime, workspace, claude_settings, tmp_path, outside, backend, name
):
    script = HINDERED[name].format(
        outside=outside, python=sys.executable, name=tmp_path.name.replace("_", "")
    )
    config = claude_settings(f"#!/bin/bash\n{script}\n", "Write", timeout=2)
    async with open_runtime(config=config, sandbox=backend) as rt:
        result = await rt.call("write_file", {"path": "a", "content": "x"})

    assert result.problem.code == "blocked", result.text
    assert not (workspace.root / "a").exists()


@pytest.mark.finding("F07")
@pytest.mark.parametrize("backend", CONFINED)
async def test_a_denial_by_a_failed_guard_says_what_the_sandbox_had_to_do_with_it(
    open_runtime, claude_settings, outside, backend
):
    messages = []
    for script in (f"echo seen >> {outside}/guard.log || exit 1", "exit 1"):
        config = claude_settings(f"#!/bin/bash\n{script}\nexit 2\n", "Write")
        async with open_runtime(config=config, sandbox=backend) as rt:
            problem = (await rt.call("write_file", {"path": "a", "content": "x"})).problem
        assert problem.code == "blocked"
        assert "unconfined = true" in problem.hint
        messages.append(problem.message)

    assert f"{outside}/guard.log" in messages[0]
    assert "whether the sandbox caused" in messages[1]


@pytest.mark.finding("F07")
async def test_a_no_that_is_printed_stands_although_the_guard_touched_protected_names(
    open_runtime, workspace, claude_settings
):
    script = """echo x > .envrc; echo '{"decision": "block", "reason": "not today"}'"""
    config = claude_settings(f"#!/bin/bash\n{script}\n", "Write")
    async with open_runtime(config=config, sandbox="none") as rt:
        result = await rt.call("write_file", {"path": "a", "content": "x"})

    assert result.problem.code == "blocked"
    assert "not today" in result.problem.message
    assert workspace.tree() == {}


# Guards whose printed no is one that Claude Code would read.
LONG_OR_ODD = {
    "longer than is read": "sys.stdout.write(json.dumps({'decision': 'block', 'reason': 'x' * 200_000}))",
    "cut within a character": (
        'sys.stdout.buffer.write(b\'{"decision": "block", "reason": "caf\\xc3"}\')'
    ),
    "behind a byte order mark": 'print(\'\\ufeff{"decision": "block"}\')',
}


@pytest.mark.finding("F07")
@pytest.mark.parametrize("sandbox", ["auto", "none"])
@pytest.mark.parametrize("name", LONG_OR_ODD)
async def test_a_printed_no_blocks_whatever_its_length_and_bytes(
    open_runtime, workspace, claude_settings, name, sandbox
):
    config = claude_settings(PYTHON + LONG_OR_ODD[name] + "\n", "Write")
    async with open_runtime(config=config, sandbox=sandbox) as rt:
        result = await rt.call("write_file", {"path": "a", "content": "x"})

    assert result.problem.code == "blocked", result.text
    assert workspace.tree() == {}


@pytest.mark.finding("F07")
@pytest.mark.parametrize(("option", "code"), [({}, "blocked"), ({"on_failure": "allow"}, None)])
async def test_a_call_about_too_many_files_does_not_pass_its_guard(
    open_runtime, workspace, claude_settings, option, code
):
    file = claude_settings("#!/bin/sh\nexit 2\n", "Write|Edit")["hooks"]["claude"]
    files = "".join(f"*** Add File: f{number}\n+x\n" for number in range(60))
    patch = f"*** Begin Patch\n{files}*** End Patch\n"
    async with open_runtime(config={"hooks": {"claude": [{"file": file, **option}]}}) as rt:
        result = await rt.call("apply_patch", {"patch": patch})

    assert (result.problem.code if result.problem else None) == code
    assert bool(workspace.tree()) is (code is None)


async def test_the_format_s_names_arguments_and_answers(open_runtime, workspace, claude_settings):
    workspace.write("a.txt", "one\n")
    script = PYTHON + (
        "open('seen.json', 'w').write(json.dumps(data))\n"
        "given = {**data['tool_input'], 'new_string': 'three'}\n"
        "print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PreToolUse',"
        " 'updatedInput': given, 'additionalContext': 'counted'}}))\n"
    )
    async with open_runtime(config=claude_settings(script, "Edit")) as rt:
        edit = {"path": "a.txt", "old_string": "one", "new_string": "two"}
        result = await rt.call("edit_file", edit, id="e1")

    seen = json.loads(workspace.read("seen.json"))
    root = str(workspace.root)
    assert seen["tool_name"] == "Edit"
    assert seen["tool_input"] == {
        "file_path": f"{root}/a.txt",
        "old_string": "one",
        "new_string": "two",
    }
    assert (seen["hook_event_name"], seen["cwd"], seen["tool_use_id"]) == ("PreToolUse", root, "e1")
    assert seen["permission_mode"] == "acceptEdits"
    assert seen["handrail"] == {"tool_name": "edit_file", "tool_input": edit}
    assert result.ok, result.text
    assert "counted" in result.text
    assert workspace.read("a.txt") == b"three\n"


async def test_units_of_changed_arguments_are_that_format_s(open_runtime, claude_settings):
    script = PYTHON + (
        "print(json.dumps({'hookSpecificOutput': {'updatedInput':"
        " {**data['tool_input'], 'timeout': 5000}}}))\n"
    )
    config = claude_settings(script, "Bash")
    async with open_runtime(config=config, mode="sandboxed", dialect="architect") as rt:
        await rt.call("run_command", {"command": "echo hi", "timeout": 20}, id="c")
        (record,) = await rt.store.calls(call_id="c")

    assert record.completed["rewritten"]["timeout_s"] == 5


async def test_what_has_no_name_there_cannot_be_changed_there(
    open_runtime, workspace, claude_settings
):
    script = (
        PYTHON + "print(json.dumps({'hookSpecificOutput': {'updatedInput': {'command': 'ls'}}}))"
    )
    workspace.write("a.txt", "x")
    config = {**claude_settings(script, "Bash"), "allow_delete": True}
    async with open_runtime(config=config, mode="bypass") as rt:
        result = await rt.call("delete_file", {"path": "a.txt"})

    assert result.problem.code == "blocked"
    assert workspace.tree() == {"a.txt": b"x"}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("cat > seen.json; echo 'format it' >&2; exit 2", "[Hook"),
        ("""echo '{"decision": "block", "reason": "format it"}'""", "[Hook"),
        ("echo format it", None),
        ("echo format it >&2; exit 1", None),
    ],
)
async def test_after_a_call_only_a_block_is_told_to_the_model(
    open_runtime, workspace, claude_settings, script, said
):
    config = claude_settings(f"#!/bin/bash\n{script}\n", "Write", "PostToolUse")
    async with open_runtime(config=config) as rt:
        result = await rt.call("write_file", {"path": "a.txt", "content": "x"})

    assert result.ok
    assert ("format it" in result.text) is (said is not None)
    if "seen.json" in script:
        response = json.loads(workspace.read("seen.json"))["tool_response"]
        assert response["filePath"] == str(workspace.root / "a.txt")


async def test_a_session_s_start_is_matched_by_its_source(open_runtime, claude_settings):
    texts = {}
    for matcher in ("startup", "resume", "*"):
        config = claude_settings("#!/bin/sh\necho remember\n", matcher, "SessionStart")
        async with open_runtime(config=config) as rt:
            texts[matcher] = (await rt.call("list_files", {})).text

    assert {matcher: "remember" in text for matcher, text in texts.items()} == {
        "startup": True,
        "resume": False,
        "*": True,
    }


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (".claude/settings.json", "must be absolute"),
        ("{work}/settings.json", "choose its own hooks"),
        ("{work}/none/.claude/settings.json", "there is no file"),
        ("{work}/.claude/broken.json", "not JSON"),
        ("{work}/.claude/deep.json", "nested deeper"),
    ],
)
async def test_a_file_of_hooks_must_be_one_that_the_person_chose(
    open_runtime, workspace, path, why
):
    workspace.write("settings.json", "{}")
    workspace.write(".claude/broken.json", "{")
    workspace.write(".claude/deep.json", "[" * 5000 + "]" * 5000)
    config = {"hooks": {"claude": path.format(work=workspace.root)}}

    with pytest.raises(ProblemRaised) as caught:
        async with open_runtime(config=config):
            pass

    assert why in caught.value.problem.message


async def test_a_file_in_the_workspace_cannot_claim_what_is_the_person_s(open_runtime, workspace):
    hook = {"type": "command", "command": "true", "unconfined": True}
    settings = {"hooks": {"PreToolUse": [{"hooks": [hook]}]}}
    file = workspace.write(".claude/settings.json", json.dumps(settings))

    with pytest.raises(ProblemRaised) as caught:
        async with open_runtime(config={"hooks": {"claude": str(file)}}):
            pass

    assert "only your own settings" in caught.value.problem.message
