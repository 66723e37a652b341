"""Hooks through the front door: programs of the person's own around calls and sessions."""

import json
import logging
import os
import sys

import anyio
import pytest
from tests.support.machine import SANDBOXES

from handrail import ProblemRaised, Status

WRITE = ("write_file", {"path": "a.py", "content": "x = 1\n"})
SHOW = (
    "cat > seen-$HANDRAIL_EVENT.json; env | grep -E '^(HANDRAIL|ARCHITECT)_' > env-$HANDRAIL_EVENT"
)


def hooks(**events):
    return {"hooks": events}


def variables(workspace, event):
    lines = workspace.read(f"env-{event}").decode().splitlines()
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.feature("K02", "K03", "K05", "F06")
async def test_a_hook_before_a_call_blocks_it_and_says_why(open_runtime, workspace):
    guard = "grep -q forbidden && { echo 'not that word' >&2; exit 2; }; exit 0"
    config = hooks(
        pre_tool_use=[
            {"name": "words", "command": guard, "matcher": "write_file|Edit"},
            {"name": "later", "command": "touch ran-later"},
        ]
    )
    async with open_runtime(config=config) as rt:
        blocked = await rt.call("write_file", {"path": "b.txt", "content": "forbidden"}, id="b")
        assert not (workspace.root / "ran-later").exists()
        other = await rt.call("list_files", {"path": "."})
        passed = await rt.call(*WRITE)
        (record,) = await rt.store.calls(call_id="b")

    assert (blocked.status, blocked.problem.code) == (Status.REFUSED, "blocked")
    assert blocked.text.startswith("Blocked by hook: not")
    assert "'words'" in blocked.problem.hint
    assert record.completed["cleared"] == ["deny", "hook:words"]
    assert other.ok
    assert passed.ok
    assert set(workspace.tree()) == {"a.py", "ran-later"}


@pytest.mark.feature("K07", "K14", "R-07", "F24")
async def test_a_hook_is_told_in_variables_and_in_json(open_runtime, workspace):
    tell = [{"command": SHOW}]
    config = hooks(pre_tool_use=tell, post_tool_use=tell, post_tool_use_failure=tell)
    workspace.write("sub/x", "")
    async with open_runtime(config=config) as rt:
        await rt.call("write_file", {"path": "./sub/../a.txt", "content": "y" * 5000})
        before = json.loads(workspace.read("seen-pre_tool_use.json"))
        after = json.loads(workspace.read("seen-post_tool_use.json"))
        environment = variables(workspace, "post_tool_use")
        await rt.call("edit_file", {"path": "a.txt", "old_string": "z", "new_string": "q"})
        failure = json.loads(workspace.read("seen-post_tool_use_failure.json"))
        failed = variables(workspace, "post_tool_use_failure")

    path = str(workspace.root / "a.txt")
    assert (before["event"], before["tool_name"]) == ("pre_tool_use", "write_file")
    assert before["tool_input"] == {"path": "a.txt", "content": "y" * 5000}
    assert before["file_path"] == path
    assert after["success"] is True
    assert after["tool_output"].startswith("created a.txt")
    assert len(after["tool_output"]) <= 2000
    assert environment["HANDRAIL_EVENT"] == "post_tool_use"
    assert environment["HANDRAIL_WORKSPACE"] == str(workspace.root)
    assert environment["HANDRAIL_TOOL_NAME"] == "write_file"
    assert environment["HANDRAIL_FILE_PATH"] == environment["ARCHITECT_FILE_PATH"] == path
    assert environment["HANDRAIL_TOOL_RESULT_SUCCESS"] == "true"
    assert failure["success"] is False
    assert failure["error_code"] == "no_match"
    assert failure["error"]
    assert failed["HANDRAIL_TOOL_RESULT_SUCCESS"] == "false"


async def test_a_command_is_told_as_it_stands(open_runtime, workspace):
    config = hooks(pre_tool_use=[{"command": SHOW, "matcher": "Bash"}])
    async with open_runtime(config=config, mode="sandboxed") as rt:
        await rt.call("run_command", {"command": "echo 'two words'"})

    assert variables(workspace, "pre_tool_use")["HANDRAIL_COMMAND"] == "echo 'two words'"
    assert "HANDRAIL_FILE_PATH" not in variables(workspace, "pre_tool_use")


@pytest.mark.feature("K12", "B15", "F18")
async def test_what_hooks_say_after_a_call_is_added_to_its_result(open_runtime, workspace):
    config = hooks(
        post_tool_use=[
            {"name": "lint", "command": "echo '{file}:1: bad' >&2; exit 1"},
            {"name": "quiet", "command": "true"},
            {"name": "note", "command": """echo '{"additionalContext": "mind the tests"}'"""},
            {"name": "back", "command": "echo 'please fix' >&2; exit 2"},
        ],
        post_tool_use_failure=[{"name": "help", "command": "echo look again"}],
        on_error=[{"name": "bell", "command": "touch bell"}],
    )
    async with open_runtime(config=config) as rt:
        written = await rt.call(*WRITE)
        assert not (workspace.root / "bell").exists()
        missing = await rt.call("read_file", {"path": "none"})
        refused = await rt.call("no_such_tool", {})

    path = workspace.root / "a.py"
    assert written.ok
    assert written.text.split("\n", 1)[1] == (
        f"[Hook lint: FAILED (exit 1)]\n{path}:1: bad\n"
        "[Hook note]\nmind the tests\n"
        "[Hook back: FAILED (exit 2)]\nplease fix"
    )
    assert missing.status is Status.FAILED
    assert missing.text.endswith("[Hook help]\nlook again")
    assert (workspace.root / "bell").exists()
    assert "Hook" not in refused.text


@pytest.mark.feature("K04")
async def test_what_a_hook_says_before_a_call_reaches_the_model_too(open_runtime):
    config = hooks(pre_tool_use=[{"name": "note", "command": "echo use tabs"}])
    async with open_runtime(config=config) as rt:
        result = await rt.call(*WRITE)

    assert result.text.endswith("[Hook note]\nuse tabs")


@pytest.mark.feature("K04", "K10", "F06")
async def test_other_arguments_are_prepared_and_guarded_like_any(open_runtime, workspace):
    def to(**given):
        return f"echo '{json.dumps({'updatedInput': given})}'"

    async def run(command, **more):
        config = hooks(pre_tool_use=[{"command": command, "matcher": "write_file", **more}])
        async with open_runtime(config=config) as rt:
            return await rt.call("write_file", {"path": "a", "content": "x"})

    moved = await run(to(path="b", content="y"))
    outside = await run(to(path="../c", content="y"))
    protected = await run(to(path=".git/config", content="y"))
    senseless = await run(to(file="b"))

    assert moved.ok
    assert outside.problem.code == "outside_workspace"
    assert protected.problem.code == "protected"
    assert senseless.problem.code == "invalid_arguments"
    assert workspace.tree() == {"b": b"y"}


async def test_a_guard_sees_what_a_later_hook_made_of_the_call(open_runtime, workspace):
    guard = """case "$HANDRAIL_FILE_PATH" in *secret*) echo no secrets >&2; exit 2;; esac"""
    rewrite = """echo '{"updatedInput": {"path": "secret", "content": "x"}}'"""
    config = hooks(
        pre_tool_use=[{"name": "guard", "command": guard}, {"name": "rewrite", "command": rewrite}]
    )
    async with open_runtime(config=config) as rt:
        result = await rt.call("write_file", {"path": "a", "content": "x"})

    assert result.text.startswith("Blocked by hook: no secrets")
    assert workspace.tree() == {}


async def test_two_hooks_that_undo_each_other_stop_the_call(open_runtime, workspace):
    def to(path):
        return f"""echo '{{"updatedInput": {{"path": "{path}", "content": "x"}}}}'"""

    config = hooks(pre_tool_use=[{"command": to("a")}, {"command": to("b")}])
    async with open_runtime(config=config) as rt:
        result = await rt.call("write_file", {"path": "c", "content": "x"})

    assert "different arguments" in result.problem.message
    assert workspace.tree() == {}


@pytest.mark.feature("K06")
@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("exit 1", "exit code 1"),
        ("kill -SEGV $$", "exit code"),
        ("sleep 30 & sleep 30", "did not finish within 1 s"),
        ("head -c 100000000 /dev/zero", "100,000,000 bytes"),
        ("echo '{'", "JSON that cannot be read"),
        ("""echo '{"decision": "maybe"}'""", "is no decision"),
        ("head -c 200 /dev/urandom; printf '\\xff'", "no text"),
        ("no_such_program_anywhere || exit 127", None),
    ],
)
async def test_a_guard_that_does_not_work_denies(open_runtime, workspace, command, why):
    async def run(**more):
        # Only the one that sleeps needs all of its time.
        limit_s = 1 if "sleep" in command else 60
        config = hooks(pre_tool_use=[{"name": "g", "command": command, "timeout": limit_s, **more}])
        async with open_runtime(config=config) as rt:
            return await rt.call(*WRITE)

    if why is None:
        with pytest.raises(ProblemRaised) as caught:
            await run()
        assert "no_such_program_anywhere" in caught.value.problem.message
        return
    denied = await run()
    asked = await run(on_failure="ask")
    tree = workspace.tree()
    allowed = await run(on_failure="allow")

    assert denied.problem.code == "blocked"
    assert why in denied.problem.message
    assert asked.problem.code == "needs_approval"
    assert tree == {}
    assert allowed.ok


@pytest.mark.feature("K08")
async def test_a_hook_for_files_is_not_run_for_calls_without_them(open_runtime, workspace):
    log = "echo $HANDRAIL_TOOL_NAME:${HANDRAIL_FILE_PATH##*/} >> log"
    config = hooks(pre_tool_use=[{"command": log, "file_patterns": ["*.py", "secrets/**"]}])
    patch = "--- /dev/null\n+++ b/one.py\n@@ -0,0 +1 @@\n+1\n--- /dev/null\n+++ b/two.txt\n@@ -0,0 +1 @@\n+1\n"
    async with open_runtime(config=config, mode="sandboxed") as rt:
        await rt.call("write_file", {"path": "a.txt", "content": "x"})
        await rt.call("find_files", {"pattern": "*.py"})
        await rt.call("write_file", {"path": "b.PY", "content": "x"})
        await rt.call("write_file", {"path": "secrets/key", "content": "x"})
        await rt.call("apply_patch", {"patch": patch})
        await rt.call("run_command", {"command": "echo 1 > three.py"})
        await rt.call("run_command", {"command": "echo 1 > four"})

    assert workspace.read("log").decode().split() == [
        "write_file:b.PY",
        "write_file:key",
        "apply_patch:one.py",
        "run_command:three.py",
    ]


async def test_a_guard_sees_a_file_by_every_name_on_the_way(open_runtime, workspace):
    workspace.write("plain.txt", "x\n")
    (workspace.root / ".env").symlink_to("plain.txt")
    guard = """case "$HANDRAIL_FILE_PATH" in */.env) echo no >&2; exit 2;; esac"""
    workspace.write("sub/x", "")
    async with open_runtime(config=hooks(pre_tool_use=[{"command": guard}])) as rt:
        spelled = [
            await rt.call("read_file", {"path": path})
            for path in (".env", "./sub/../.env", str(workspace.root / ".env"), "plain.txt")
        ]

    assert [result.ok for result in spelled] == [False, False, False, True]


@pytest.mark.feature("R-07")
async def test_hooks_in_the_background_are_bounded_and_end_with_the_runtime(
    open_runtime, workspace, caplog
):
    slow = {"name": "slow", "command": "echo $$ && sleep 60", "async": True}
    quick = {"name": "quick", "command": "exit 2", "async": True}
    with caplog.at_level(logging.INFO, "handrail"), anyio.fail_after(50):
        async with open_runtime(config=hooks(pre_tool_use=[quick], post_tool_use=[slow])) as rt:
            results = [
                await rt.call("write_file", {"path": f"{number}", "content": "x"})
                for number in range(12)
            ]

    assert all(result.ok for result in results)
    assert "others are still running" in caplog.text


@pytest.mark.feature("K13")
async def test_every_run_leaves_a_line_for_people_and_an_event(open_runtime, caplog):
    config = hooks(
        pre_tool_use=[{"name": "guard", "command": "true"}],
        post_tool_use=[{"name": "li\x1b[31mnt", "command": "printf 'a\\x1b[2Jb' >&2; exit 3"}],
    )
    events = []
    with caplog.at_level(logging.INFO, "handrail"):
        async with open_runtime(config=config) as rt:
            rt.subscribe(events.append)
            result = await rt.call(*WRITE)

    lines = [line for line in caplog.messages if "Hook" in line]
    ok, failed = lines
    assert ok == "✓ Hook guard (pre_tool_use): ok"
    assert failed.startswith("⚠ Hook li\\x1b[31mnt (post_tool_use): failed")
    assert failed.endswith("exit code 3")
    ran = [event.to_dict() for event in events if event.type == "hook_ran"]
    assert [(one["hook"], one["event"], one["outcome"], one["exit_code"]) for one in ran] == [
        ("guard", "pre_tool_use", "ok", 0),
        ("li\\x1b[31mnt", "post_tool_use", "failed", 3),
    ]
    assert ran[0]["tool"] == "write_file"
    assert "[Hook li\\x1b[31mnt: FAILED (exit 3)]" in result.text


async def test_a_session_s_hooks_run_at_its_ends_and_the_first_result_carries_their_words(
    open_runtime, workspace
):
    config = hooks(
        session_start=[{"name": "hello", "command": "cat > start.json; echo be kind"}],
        session_end=[{"command": "cat > end.json"}],
    )
    async with open_runtime(config=config) as rt:
        assert not (workspace.root / "end.json").exists()
        first = await rt.call("list_files", {})
        second = await rt.call("list_files", {})

    assert json.loads(workspace.read("start.json"))["source"] == "startup"
    assert json.loads(workspace.read("end.json"))["event"] == "session_end"
    assert first.text.endswith("[Hook hello]\nbe kind")
    assert "be kind" not in second.text


async def test_hooks_run_where_the_model_can_run_nothing(open_runtime):
    config = {"commands": False, **hooks(pre_tool_use=[{"command": "echo no >&2; exit 2"}])}
    async with open_runtime(config=config) as rt:
        result = await rt.call(*WRITE)

    assert result.text.startswith("Blocked by hook: no")


@pytest.mark.parametrize("settings", [{"dry_run": True}, {"mode": "plan"}])
async def test_where_nothing_may_change_guards_are_asked_and_change_nothing(
    open_runtime, workspace, settings
):
    config = hooks(
        pre_tool_use=[{"command": "echo x > left-behind; grep -q good", "on_failure": "deny"}],
        post_tool_use=[{"command": "touch after"}],
    )
    async with open_runtime(config=config, **settings) as rt:
        good = await rt.call("write_file", {"path": "good", "content": "x"})
        bad = await rt.call("write_file", {"path": "bad", "content": "x"})

    assert good.status is Status.PLANNED
    assert bad.problem.code == "blocked"
    assert workspace.tree() == {}


@pytest.mark.parametrize("may_allow", [False, True])
async def test_a_hook_s_yes_counts_only_if_the_person_said_so(open_runtime, workspace, may_allow):
    yes = """echo '{"hookSpecificOutput": {"permissionDecision": "allow"}}'"""
    config = {
        "permissions": {"ask": ["write_file(docs/**)"], "deny": ["write_file(no/**)"]},
        **hooks(pre_tool_use=[{"command": yes, "may_allow": may_allow}]),
    }
    async with open_runtime(config=config, mode="default") as rt:
        results = {
            path: await rt.call("write_file", {"path": path, "content": "x"})
            for path in ("a", "docs/a", "no/a", ".git/config")
        }

    codes = {path: one.problem.code if one.problem else None for path, one in results.items()}
    assert codes == {
        "a": None if may_allow else "needs_approval",
        "docs/a": "needs_approval",
        "no/a": "denied",
        ".git/config": "protected",
    }


@pytest.mark.parametrize("mode", ["default", "dont-ask"])
async def test_a_hook_may_want_the_person_asked(open_runtime, mode):
    ask = """echo '{"decision": "ask", "reason": "sure?"}'"""
    asked = []
    async with open_runtime(
        config=hooks(pre_tool_use=[{"command": ask, "matcher": "list_files"}]),
        mode=mode,
        approver=lambda request: asked.append(request.reason) or True,
    ) as rt:
        result = await rt.call("list_files", {})

    assert result.ok is (mode == "default")
    assert asked == (["sure?"] if mode == "default" else [])


async def test_a_call_that_is_cancelled_ends_its_hook_and_returns(open_runtime, workspace):
    started = workspace.root / "started"
    config = hooks(post_tool_use=[{"command": "touch started; sleep 60", "timeout": 100}])
    async with open_runtime(config=config) as rt, anyio.create_task_group() as group:
        results = []

        async def call():
            results.append(await rt.call(*WRITE, id="w"))

        with anyio.fail_after(20):
            group.start_soon(call)
            while not started.exists():
                await anyio.sleep(0.01)
            await rt.cancel("w")
            while not results:
                await anyio.sleep(0.01)

    assert results[0].ok
    assert "cut short" in results[0].text


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "no_such_program --x"}, "no program 'no_such_program'"),
        ({"command": "bash scripts/none.sh"}, "scripts/none.sh"),
        ({"command": "if true; then"}, "cannot be read"),
        ({"command": "true", "matcher": "wirte_file"}, "did you mean 'write_file'"),
        ({"command": "true", "matcher": "("}, "hooks.pre_tool_use[0].matcher"),
    ],
)
async def test_a_guard_that_could_never_work_stops_the_opening(open_runtime, entry, said):
    with pytest.raises(ProblemRaised) as caught:
        async with open_runtime(config=hooks(pre_tool_use=[entry])):
            pass

    assert said in caught.value.problem.message


async def test_an_error_in_the_person_s_file_names_file_line_and_key(open_runtime, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('mode = "default"\n\n[[hooks.pre_tool_use]]\ncommand = "true"\ntimeout = 0\n')

    with pytest.raises(ProblemRaised) as caught:
        async with open_runtime(config=file, mode=None):
            pass

    assert caught.value.problem.message.startswith(f"{file}:3: hooks.pre_tool_use[0].timeout: ")


async def test_what_is_odd_but_harmless_is_said(open_runtime, workspace, caplog):
    workspace.write("scripts/check.sh", "exit 0\n")
    config = hooks(
        pre_tool_use=[{"name": "g", "command": "bash scripts/check.sh"}],
        post_tool_use=[{"name": "p", "command": "no_such_linter {file}"}],
    )
    async with open_runtime(config=config) as rt:
        result = await rt.call(*WRITE)

    assert "the model can change" in caplog.text
    assert "no program 'no_such_linter'" in caplog.text
    assert "[Hook p: FAILED (exit 127)]" in result.text


async def test_python_hooks_and_programs_stand_side_by_side(open_runtime):
    seen = []

    class Watcher:
        async def before(self, call):
            seen.append((call.tool, call.files))

        async def after(self, call, result):
            return "watched"

    async with open_runtime(config=hooks(pre_tool_use=[{"command": "exit 2"}])) as rt:
        rt.hooks.insert(0, Watcher())
        result = await rt.call(*WRITE)

    assert seen == [("write_file", (os.path.join(rt.session.roots[0], "a.py"),))]
    assert result.text.startswith("Blocked by hook")
    assert result.text.endswith("watched")


@pytest.mark.parametrize("sandbox", SANDBOXES)
async def test_a_program_of_the_person_s_outside_the_workspace_is_seen(
    open_runtime, workspace, tmp_path, sandbox
):
    folder = tmp_path / "my hooks"
    folder.mkdir()
    (folder / "words.py").write_text("FORBIDDEN = 'bad'\n")
    (folder / "guard.py").write_text(
        "import json, sys\nfrom words import FORBIDDEN\n"
        "sys.exit(2 if FORBIDDEN in json.load(sys.stdin)['tool_input']['content'] else 0)\n"
    )
    (tmp_path / "hooks").symlink_to(folder)
    command = f"{sys.executable} {tmp_path}/hooks/guard.py"
    async with open_runtime(
        config=hooks(pre_tool_use=[{"command": command, "matcher": "write_file"}]),
        sandbox=sandbox,
    ) as rt:
        bad = await rt.call("write_file", {"path": "a", "content": "bad"})
        good = await rt.call("write_file", {"path": sandbox, "content": "good"})

    assert bad.problem.code == "blocked", bad.text
    assert bad.problem.message.endswith("gave no reason")
    assert good.ok, good.text


async def test_a_guard_that_leaves_a_way_open_is_told_so(open_runtime, caplog):
    config = hooks(
        pre_tool_use=[
            {"name": "narrow", "command": "true", "matcher": "Write|Edit"},
            {"name": "whole", "command": "true", "matcher": "run_command|execute_code"},
        ]
    )
    async with open_runtime(config=config):
        pass

    said = [line for line in caplog.messages if "does not guard" in line]
    (warning,) = said
    assert warning.startswith("hooks.pre_tool_use[0]: hook narrow ")
    assert "apply_patch, notebook_edit" in warning


async def test_code_is_told_as_the_command_it_is(open_runtime, workspace):
    config = hooks(pre_tool_use=[{"command": SHOW, "matcher": "run_command|execute_code"}])
    async with open_runtime(config=config, mode="bypass") as rt:
        await rt.call("execute_code", {"language": "python", "code": "print(1)"})

    assert variables(workspace, "pre_tool_use")["HANDRAIL_COMMAND"] == "print(1)"
