"""Plan mode: look, queue, write a plan; the person decides what happens and when it is over."""

import asyncio
from pathlib import Path

import pytest

import handrail
from handrail import Effect, Rewrite, Status, Verdict
from handrail.core.ports.plan_mode import PlannedPermission


def write(path, content="x\n"):
    return ("write_file", {"path": path, "content": content})


def yes(request):
    return True


class Person:
    """Answers every question alike and remembers it."""

    def __init__(self, *, says):
        self.says = says
        self.asked = []

    def __call__(self, request):
        self.asked.append(request)
        return self.says


@pytest.mark.feature("F09", "R-17", "G07")
async def test_what_would_change_something_is_queued_and_only_looking_happens(
    workspace, open_runtime
):
    workspace.write("a.txt", "one\n")

    @handrail.tool
    def deploy(target: str) -> str:
        """May touch anything."""
        raise AssertionError("it ran")

    async with open_runtime(mode="plan") as rt:
        rt.register(deploy)
        looked = [
            await rt.call("read_file", {"path": "a.txt"}),
            await rt.call("grep", {"pattern": "one"}),
            await rt.call("run_command", {"command": "ls"}),
        ]
        queued = [
            await rt.call(*write("b.txt"), id="w1"),
            await rt.call("run_command", {"command": "make", "description": "build it"}),
            await rt.call("deploy", {"target": "x"}, agent="helper"),
        ]
        items = rt.plan_queue.items()

    assert [one.status for one in looked] == [Status.OK] * 3
    assert [one.status for one in queued] == [Status.PLANNED] * 3
    assert [one.data["queued"] for one in queued] == [item.id for item in items]
    assert all("not executed" in one.text for one in queued)
    assert workspace.tree() == {"a.txt": b"one\n"}
    first = items[0].to_dict()
    assert "+x" in first.pop("preview")
    assert first.pop("proposedAt").startswith("20")
    assert first == {
        "id": items[0].id,
        "tool": "write_file",
        "args": {"path": "b.txt", "content": "x\n"},
        "reason": "create b.txt",
        "order": 1,
        "toolCallId": "w1",
        "agent": "main",
        "status": "pending",
        "outcome": None,
        "problem": None,
    }
    assert [item.order for item in items] == [1, 2, 3]
    assert items[1].reason == "build it"
    assert items[2].agent == "helper"


@pytest.mark.feature("R-17")
async def test_the_person_approves_the_first_few_some_or_all_and_rejects_others(
    workspace, open_runtime
):
    async with open_runtime(mode="plan") as rt:
        queue = rt.plan_queue
        for name in "abcd":
            await rt.call(*write(name))
        before = queue.status
        first = await queue.approve(first=1)
        between = queue.status
        third = queue.items()[2].id
        (one,) = await queue.approve([third])
        (gone,) = await queue.reject("4")
        rest = await queue.approve()
        after = queue.status
        nothing = await queue.approve()

    assert [len(first), one.ok, gone.status, len(rest), nothing] == [1, True, "rejected", 1, []]
    assert [before, between, after] == ["pending", "partially_approved", "partially_approved"]
    assert sorted(workspace.tree()) == ["a", "b", "c"]
    assert [item.status for item in queue.items()] == ["approved"] * 3 + ["rejected"]


async def test_a_queue_that_is_all_approved_or_all_rejected_says_so(open_runtime):
    async with open_runtime(mode="plan") as rt:
        await rt.call(*write("a"))
        await rt.plan_queue.reject()
        rejected = rt.plan_queue.status
        await rt.call(*write("b"))
        begun = [item.args["path"] for item in rt.plan_queue.items()]
        await rt.plan_queue.approve()

    assert (rejected, rt.plan_queue.status) == ("rejected", "approved")
    assert begun == ["b"]


@pytest.mark.parametrize("ids", [["9"], ["x"], "1-0000", [""]])
async def test_an_id_that_does_not_wait_is_refused_and_nothing_happens(
    workspace, open_runtime, ids
):
    async with open_runtime(mode="plan") as rt:
        await rt.call(*write("a"))
        with pytest.raises(handrail.ProblemRaised) as caught:
            await rt.plan_queue.approve(["1", *ids] if isinstance(ids, list) else ids)

    assert caught.value.problem.code == "not_found"
    assert workspace.tree() == {}


async def test_what_is_approved_together_is_one_turn_and_can_be_undone(workspace, open_runtime):
    async with open_runtime(mode="plan") as rt:
        for name in "ab":
            await rt.call(*write(name))
        results = await rt.plan_queue.approve()
        records = [(await rt.store.calls(call_id=one.call_id))[0] for one in results]
        undone = await rt.undo(results[1].call_id)

    assert len({record.turn for record in records}) == 1
    assert records[0].completed["asked"] is True
    assert undone.ok
    assert sorted(workspace.tree()) == ["a"]


@pytest.mark.feature("F09")
@pytest.mark.parametrize(
    ("call", "code"),
    [
        (("write_file", {"path": "a"}), "invalid_arguments"),
        (("write_file", {"path": "../a", "content": "x"}), "outside_workspace"),
        (write(".git/hooks/pre-commit"), "protected"),
        (write("secrets/key"), "denied"),
        (("run_command", {"command": "tee secrets/key"}), "denied"),
        (("run_command", {"command": "rm -rf /"}), "blocked"),
        (("edit_file", {"path": "no", "old_string": "a", "new_string": "b"}), "not_found"),
        (("no_such_tool", {}), "unknown_tool"),
    ],
)
async def test_what_would_be_refused_anyway_is_refused_and_not_queued(
    workspace, open_runtime, call, code
):
    config = {"permissions": {"deny": ["write_file(secrets/**)"]}}
    async with open_runtime(mode="plan", config=config, approver=yes) as rt:
        result = await rt.call(*call)
        items = rt.plan_queue.items()

    assert result.problem.code == code
    assert items == ()
    assert workspace.tree() == {}


async def test_no_rule_that_allows_lifts_plan_mode(workspace, open_runtime):
    config = {"permissions": {"allow": ["write_file(**)", "run_command(make:*)"]}}
    async with open_runtime(mode="plan", config=config) as rt:
        wrote = await rt.call(*write("a"))
        ran = await rt.call("run_command", {"command": "make all"})

    assert {wrote.status, ran.status} == {Status.PLANNED}
    assert workspace.tree() == {}


async def test_everything_is_checked_anew_when_a_call_is_approved(workspace, open_runtime):
    class Watcher:
        closed = False

        async def before(self, call):
            if self.closed and call.arguments.get("path") == "hooked":
                return Verdict(Effect.DENY, "too late", "hook")
            return None

        async def after(self, call, result):
            return None

    watcher = Watcher()
    async with open_runtime(mode="plan") as rt:
        rt.hooks.append(watcher)
        for name in ("hooked", "drift/link/x", "fine"):
            await rt.call(*write(name))
        watcher.closed = True
        (workspace.root / "drift").mkdir()
        (workspace.root / ".git").mkdir()
        (workspace.root / "drift" / "link").symlink_to("../.git")
        results = await rt.plan_queue.approve()
        items = rt.plan_queue.items()

    assert [one.problem and one.problem.code for one in results] == ["blocked", "protected", None]
    assert workspace.tree() == {"fine": b"x\n"}
    assert [(item.status, item.outcome) for item in items] == [
        ("pending", "refused"),
        ("pending", "refused"),
        ("approved", "ok"),
    ]


@pytest.mark.parametrize("mode", ["plan", "bypass"])
async def test_a_yes_is_to_what_was_shown_and_not_to_what_it_has_become(
    workspace, open_runtime, mode
):
    workspace.write("a.txt", "one\ntwo\n")
    edit = {"path": "a.txt", "old_string": "two", "new_string": "2"}

    async with open_runtime(mode=mode) as rt:
        await rt.call("enter_plan_mode")
        await rt.call("edit_file", edit)
        workspace.write("a.txt", "one\nsomebody\ntwo\n")
        (refused,) = await rt.plan_queue.approve()
        untouched = workspace.read("a.txt")
        shown = rt.plan_queue.items()[0].preview
        (again,) = await rt.plan_queue.approve()

    assert refused.problem.code == "needs_approval"
    assert "no longer what was approved" in refused.text
    assert untouched == b"one\nsomebody\ntwo\n"
    assert " somebody" in shown
    assert again.ok, again.text
    assert workspace.read("a.txt") == b"one\nsomebody\n2\n"


async def test_the_person_is_asked_where_they_can_be_about_what_has_changed(
    workspace, open_runtime
):
    person = Person(says=True)
    async with open_runtime(mode="plan", approver=person) as rt:
        await rt.call(*write("a.txt", "mine\n"))
        workspace.write("a.txt", "theirs\n")
        (result,) = await rt.plan_queue.approve()

    assert [request.tool for request in person.asked] == ["write_file"]
    assert "no longer what was approved" in person.asked[0].reason
    assert result.ok
    assert workspace.read("a.txt") == b"mine\n"


async def test_queued_calls_may_build_on_each_other(workspace, open_runtime):
    workspace.write("old.txt", "a\nb\nc\n")
    calls = [
        ("edit_file", {"path": "old.txt", "old_string": "a", "new_string": "A"}),
        ("edit_file", {"path": "old.txt", "old_string": "c", "new_string": "C"}),
        write("new.txt", "one\n"),
        ("edit_file", {"path": "new.txt", "old_string": "one", "new_string": "two"}),
    ]
    async with open_runtime(mode="plan", dialect="claude") as rt:
        await rt.call("read_file", {"path": "old.txt"})
        for call in calls:
            assert (await rt.call(*call)).status is Status.PLANNED
        first = await rt.plan_queue.approve(first=1)
        rest = await rt.plan_queue.approve()

    assert [one.status for one in first + rest] == [Status.OK] * 4
    assert workspace.tree() == {"new.txt": b"two\n", "old.txt": b"A\nb\nC\n"}


async def test_what_builds_on_a_rejected_call_does_not_happen(workspace, open_runtime):
    async with open_runtime(mode="plan") as rt:
        await rt.call(*write("new.txt", "one\n"))
        edit = {"path": "new.txt", "old_string": "one", "new_string": "two"}
        await rt.call("edit_file", edit)
        await rt.plan_queue.reject("1")
        workspace.write("new.txt", "somebody else's one\n")
        (result,) = await rt.plan_queue.approve()

    assert result.problem.code == "needs_approval"
    assert workspace.read("new.txt") == b"somebody else's one\n"


async def test_a_hook_may_rewrite_what_is_queued_and_sees_it_again(workspace, open_runtime):
    class Prefixer:
        async def before(self, call):
            return Rewrite({**call.arguments, "content": "# checked\n"})

        async def after(self, call, result):
            return None

    async with open_runtime(mode="plan") as rt:
        rt.hooks.append(Prefixer())
        await rt.call(*write("a.txt", "raw\n"))
        (result,) = await rt.plan_queue.approve()

    assert result.ok, result.text
    assert workspace.read("a.txt") == b"# checked\n"


@pytest.mark.feature("E48", "E49")
@pytest.mark.parametrize("mode", ["default", "accept-edits", "auto-safe", "bypass"])
async def test_a_model_goes_in_unasked_and_comes_out_into_the_mode_it_had(
    workspace, open_runtime, mode
):
    person = Person(says=True)
    async with open_runtime(mode=mode, dialect="claude", approver=person) as rt:
        entered = await rt.call("EnterPlanMode", {})
        during = rt.session.mode
        file = entered.data["plan_file"]
        wrote = await rt.call("Write", {"file_path": file, "content": "# Plan\n1. Do it\n"})
        left = await rt.call("ExitPlanMode", {"pushToRemote": True, "remoteSessionId": "r"})
        after = rt.session.mode

    assert (entered.ok, wrote.ok, left.ok) == (True, True, True)
    assert (during, after) == ("plan", mode)
    (question,) = person.asked
    assert "│ 1. Do it" in question.preview
    assert "the model's own words" in question.preview
    assert left.data == {"mode": mode, "plan": "# Plan\n1. Do it\n", "waiting": 0}
    assert left.meta["ignored"] == ["pushToRemote", "remoteSessionId"]
    assert workspace.tree() == {}


async def test_a_session_opened_in_plan_mode_asks_about_changes_once_it_is_left(
    workspace, open_runtime
):
    person = Person(says=True)
    async with open_runtime(mode="plan", approver=person) as rt:
        file = (await rt.call("enter_plan_mode")).data["plan_file"]
        await rt.call(*write(file, "the plan"))
        await rt.call("exit_plan_mode")
        await rt.call(*write("a.txt"))

    assert rt.session.mode == "default"
    assert [request.tool for request in person.asked] == ["exit_plan_mode", "write_file"]


@pytest.mark.feature("E49")
@pytest.mark.parametrize(
    ("approver", "code"), [(Person(says=False), "denied"), (None, "needs_approval")]
)
async def test_without_a_yes_plan_mode_goes_on(workspace, open_runtime, approver, code):
    async with open_runtime(mode="bypass", approver=approver) as rt:
        file = (await rt.call("enter_plan_mode")).data["plan_file"]
        await rt.call(*write(file))
        refused = await rt.call("exit_plan_mode")
        wrote = await rt.call(*write("a.txt"))

    assert refused.problem.code == code
    assert rt.session.mode == "plan"
    assert wrote.status is Status.PLANNED
    assert workspace.tree() == {}


async def test_a_rule_that_allows_leaving_still_asks(open_runtime):
    person = Person(says=False)
    config = {"permissions": {"allow": ["exit_plan_mode"]}}
    async with open_runtime(mode="bypass", approver=person, config=config) as rt:
        file = (await rt.call("enter_plan_mode")).data["plan_file"]
        await rt.call(*write(file))
        result = await rt.call("exit_plan_mode")

    assert len(person.asked) == 1
    assert person.asked[0].always is None
    assert not result.ok


@pytest.mark.parametrize("mode", ["dont-ask", "strict"])
async def test_a_mode_that_never_asks_does_not_ask_about_leaving_either(open_runtime, mode):
    person = Person(says=True)
    async with open_runtime(mode=mode, approver=person) as rt:
        file = (await rt.call("enter_plan_mode")).data["plan_file"]
        await rt.call(*write(file))
        result = await rt.call("exit_plan_mode")

    assert (result.problem.code, rt.session.mode) == ("denied", "plan")
    assert person.asked == []


async def test_leaving_needs_plan_mode_and_a_plan(open_runtime):
    person = Person(says=True)
    async with open_runtime(approver=person) as rt:
        outside = await rt.call("exit_plan_mode")
        file = (await rt.call("enter_plan_mode")).data["plan_file"]
        empty = await rt.call("exit_plan_mode")

    assert outside.problem.code == "unavailable"
    assert empty.problem.code == "not_found"
    assert file in empty.problem.hint
    assert person.asked == []


async def test_a_plan_that_changes_while_it_is_read_is_not_agreed_to(open_runtime):
    class Slow:
        def __init__(self):
            self.reading = asyncio.Event()
            self.go_on = asyncio.Event()

        async def ask(self, request):
            self.reading.set()
            await self.go_on.wait()
            return True

    person = Slow()
    async with open_runtime(approver=person) as rt:
        file = (await rt.call("enter_plan_mode")).data["plan_file"]
        await rt.call(*write(file, "harmless\n"))
        leaving = asyncio.ensure_future(rt.call("exit_plan_mode"))
        await asyncio.wait_for(person.reading.wait(), 5)
        changed = await rt.call(*write(file, "something else\n"))
        person.go_on.set()
        left = await asyncio.wait_for(leaving, 5)

    assert changed.ok
    assert left.problem.code == "stale"
    assert rt.session.mode == "plan"


@pytest.mark.feature("E50")
async def test_what_the_plan_announces_is_a_hint_and_allows_nothing(open_runtime):
    person = Person(says=True)
    async with open_runtime(mode="default", dialect="claude", approver=person) as rt:
        file = (await rt.call("EnterPlanMode")).data["plan_file"]
        await rt.call("Write", {"file_path": file, "content": "# Plan\n"})
        prompts = [{"tool": "Bash", "prompt": "run the tests"}]
        await rt.call("ExitPlanMode", {"allowedPrompts": prompts})
        left = len(person.asked)
        person.says = False
        ran = await rt.call("Bash", {"command": "make test"})
    async with open_runtime(mode="default", approver=None) as rt:
        file = (await rt.call("enter_plan_mode")).data["plan_file"]

    assert "Bash: run the tests" in person.asked[0].preview
    assert len(person.asked) == left + 1
    assert ran.problem.code == "denied"
    assert rt.grants.active() == ()


@pytest.mark.feature("E50")
async def test_a_function_of_the_persons_says_which_announcement_fits_a_call(open_runtime):
    def fits(announced, subject):
        return announced.prompt in subject.command.text

    async with open_runtime(mode="default") as rt:
        rt.grants.match_prompts(fits)
        rt.grants.remember_plan(
            [PlannedPermission("Bash", "make test"), PlannedPermission("Bash", "deploy")]
        )
        refused = await rt.call("run_command", {"command": "make test"})

    assert refused.problem.code == "needs_approval"
    assert "'make test'" in refused.problem.hint
    assert "deploy" not in refused.problem.hint


@pytest.mark.finding("F53")
@pytest.mark.feature("E50")
async def test_what_the_plan_announced_stands_beside_later_questions_about_that_tool(open_runtime):
    person = Person(says=True)
    async with open_runtime(mode="default", dialect="claude", approver=person) as rt:
        file = (await rt.call("EnterPlanMode")).data["plan_file"]
        await rt.call("Write", {"file_path": file, "content": "# Plan\n"})
        prompts = [{"tool": "Bash", "prompt": "run the tests"}]
        await rt.call("ExitPlanMode", {"allowedPrompts": prompts})
        person.says = False
        await rt.call("Bash", {"command": "make test"})
        await rt.call("Write", {"file_path": "a.txt", "content": "x"})

    _, command, edit = person.asked
    assert command.preview.splitlines()[-1].endswith("'run the tests'")
    assert "run the tests" not in edit.preview


@pytest.mark.finding("F53")
@pytest.mark.feature("S04")
async def test_leaving_takes_fields_of_clients_and_entering_takes_none(open_runtime):
    async with open_runtime(dialect="claude", approver=Person(says=True)) as rt:
        declared = {
            one["name"]: one["input_schema"] for one in rt.declare("anthropic", groups=["plan"])
        }
        refused = await rt.call("EnterPlanMode", {"why": "because"})
        file = (await rt.call("EnterPlanMode")).data["plan_file"]
        await rt.call("Write", {"file_path": file, "content": "# Plan\n"})
        strict = await rt.call(
            "ExitPlanMode", {"allowedPrompts": [{"tool": "Bash", "prompt": "x", "more": 1}]}
        )
        left = await rt.call("ExitPlanMode", {"newField": {"a": 1}, "pushToRemote": False})

    prompts = declared["ExitPlanMode"]["properties"]["allowedPrompts"]["items"]
    assert declared["EnterPlanMode"]["properties"] == {}
    assert declared["EnterPlanMode"]["additionalProperties"] is False
    assert declared["ExitPlanMode"]["additionalProperties"] is True
    assert prompts["additionalProperties"] is False
    assert prompts["properties"]["tool"]["enum"] == ["Bash"]
    assert prompts["required"] == ["tool", "prompt"]
    assert [refused.problem.code, strict.problem.code] == ["invalid_arguments"] * 2
    assert left.ok


@pytest.mark.finding("F53")
async def test_a_plan_is_needed_even_if_calls_are_queued_and_may_come_with_the_call(open_runtime):
    person = Person(says=True)
    async with open_runtime(mode="plan", dialect="claude", approver=person) as rt:
        await rt.call("Write", {"file_path": "a.txt", "content": "x"})
        without = await rt.call("ExitPlanMode", {})
        asked = len(person.asked)
        left = await rt.call("ExitPlanMode", {"plan": "1. Write a.txt"})

    assert (without.problem.code, asked) == ("not_found", 0)
    assert "│ 1. Write a.txt" in person.asked[0].preview
    assert left.data["plan"] == "1. Write a.txt"


async def test_calls_of_one_batch_see_the_mode_of_their_place(workspace, open_runtime):
    async with open_runtime(mode="accept-edits") as rt:
        results = await rt.batch(
            [
                {"name": "write_file", "arguments": {"path": "before", "content": "x"}},
                {"name": "enter_plan_mode"},
                {"name": "write_file", "arguments": {"path": "after", "content": "x"}},
                {"name": "list_files"},
            ]
        )

    assert [one.status.value for one in results] == ["ok", "ok", "planned", "ok"]
    assert sorted(workspace.tree()) == ["before"]


async def test_going_into_plan_mode_never_allows_more_than_the_mode_below(open_runtime):
    async with open_runtime(mode="confirm-all", approver=Person(says=False)) as rt:
        entered = await rt.call("enter_plan_mode")
        looked = await rt.call("list_files")
    async with open_runtime(mode="dont-ask") as rt:
        await rt.call("enter_plan_mode")
        wrote = await rt.call(*write("a"))

    assert entered.ok
    assert looked.problem.code == "denied"
    assert wrote.problem.code == "denied"


async def test_a_queued_undo_takes_back_what_was_shown_or_asks(workspace, open_runtime):
    workspace.write("old.txt", "one\n")
    async with open_runtime(mode="accept-edits") as rt:
        await rt.call(*write("old.txt", "two\n"))
        await rt.call("enter_plan_mode")
        await rt.call(*write("new.txt", "x\n"))
        await rt.call("undo", {})
        shown = rt.plan_queue.items()[1].preview
        results = await rt.plan_queue.approve()

    assert "old.txt" in shown
    assert [one.problem and one.problem.code for one in results] == [None, "needs_approval"]
    assert workspace.tree() == {"new.txt": b"x\n", "old.txt": b"two\n"}


async def test_a_command_is_approved_for_the_directory_it_was_shown_with(workspace, open_runtime):
    workspace.write("sub/a", "")
    async with open_runtime(mode="accept-edits", dialect="claude") as rt:
        await rt.call("EnterPlanMode")
        await rt.call("Bash", {"command": "touch made"})
        await rt.call("Bash", {"command": "cd sub"})
        (result,) = await rt.plan_queue.approve()

    assert result.problem.code == "needs_approval"
    assert "made" not in {Path(one).name for one in workspace.tree()}


class TestThePlanFile:
    async def test_lies_outside_every_workspace_and_nothing_near_it_can_be_reached(
        self, workspace, open_runtime
    ):
        async with open_runtime(mode="bypass") as rt:
            file = Path((await rt.call("enter_plan_mode")).data["plan_file"])
            near = await rt.call(*write(str(file.parent / "other.md")))
            up = await rt.call(*write(f"{file.parent}/../x"))
            other = await rt.call(*write(f"{file.parent}/./plan.md"))
            searched = await rt.call("grep", {"pattern": "x", "path": str(file)})
            listed = await rt.call("list_files", {"path": str(file.parent)})
            read_before = await rt.call("read_file", {"path": str(file)})
            wrote = await rt.call(*write(str(file), "one\n"))
            edit = {"path": str(file), "old_string": "one", "new_string": "two"}
            edited = await rt.call("edit_file", edit)
            read = await rt.call("read_file", {"path": str(file)})
            ran = await rt.call("run_command", {"command": f"echo x > {file}"})

        assert workspace.root not in file.parents
        outside = [near, up, other, listed]
        assert [one.problem.code for one in outside] == ["outside_workspace"] * 4
        assert searched.problem.code == "not_found"
        assert read_before.problem.code == "not_found"
        assert (wrote.ok, edited.ok, read.text) == (True, True, "two")
        assert not ran.ok or ran.status is Status.PLANNED
        assert workspace.tree() == {}

    async def test_leaves_nothing_behind_where_nothing_shall_be_left(self, open_runtime):
        async with open_runtime() as rt:
            file = Path((await rt.call("enter_plan_mode")).data["plan_file"])
            await rt.call(*write(str(file)))
            there = file.is_file()

        assert there
        assert not file.parent.parent.exists()

    async def test_can_be_denied_by_a_rule(self, open_runtime):
        config = {"permissions": {"deny": ["write_file"]}}
        async with open_runtime(config=config) as rt:
            file = (await rt.call("enter_plan_mode")).data["plan_file"]
            result = await rt.call(*write(file))

        assert result.problem.code == "denied"

    async def test_is_written_without_a_question_only_while_planning(self, tmp_path, workspace):
        async with handrail.open(workspace.root, mode="default", session="s", approver=yes) as rt:
            file = (await rt.call("enter_plan_mode")).data["plan_file"]
            await rt.call(*write(file))
            await rt.call("exit_plan_mode")
        async with handrail.open(workspace.root, mode="bypass", session="s") as rt:
            later = await rt.call(*write(file, "other"))
            read = await rt.call("read_file", {"path": file})

        assert later.problem.code == "protected"
        assert read.text == "x"


class TestANamedSession:
    async def test_keeps_its_queue_and_its_mode(self, workspace):
        async with handrail.open(workspace.root, session="s", mode="accept-edits") as rt:
            file = (await rt.call("enter_plan_mode")).data["plan_file"]
            await rt.call(*write(file, "the plan\n"))
            await rt.call(*write("a.txt", "one\n"))
            await rt.call("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "two"})
        async with handrail.open(workspace.root, session="s", mode="accept-edits") as rt:
            mode, text = rt.session.mode, rt.planning.text
            queued = await rt.call(*write("b.txt"))
            results = await rt.plan_queue.approve(first=2)
        async with handrail.open(workspace.root, session="s", mode="accept-edits") as rt:
            items = rt.plan_queue.items()
            ended = rt.planning.end()
        async with handrail.open(workspace.root, session="s", mode="accept-edits") as rt:
            after = rt.session.mode

        assert (mode, text, ended, after) == ("plan", "the plan\n", "accept-edits", "accept-edits")
        assert queued.data["queued"].startswith("3-")
        assert all(one.ok for one in results)
        assert [item.status for item in items] == ["approved", "approved", "pending"]
        assert workspace.tree() == {"a.txt": b"two\n"}

    async def test_opened_in_plan_mode_is_not_in_it_the_next_time(self, workspace):
        async with handrail.open(workspace.root, session="s", mode="plan") as rt:
            await rt.call(*write("a.txt"))
        async with handrail.open(workspace.root, session="s", mode="accept-edits") as rt:
            again = await rt.call(*write("a.txt"))

        assert again.status is Status.OK

    async def test_approved_in_two_places_at_once_happens_once(self, workspace):
        ran = []

        @handrail.tool
        def count() -> str:
            """Counts."""
            ran.append(1)
            return f"run {len(ran)}"

        async with (
            handrail.open(workspace.root, session="s", mode="plan") as one,
            handrail.open(workspace.root, session="s", mode="plan") as two,
        ):
            one.register(count)
            two.register(count)
            await one.call("count")
            await one.store.flush()
            results = await asyncio.gather(one.plan_queue.approve(), two.plan_queue.approve())

        assert ran == [1]
        assert {result.text for found in results for result in found} == {"run 1"}


async def test_a_dry_run_in_plan_mode_queues_nothing(open_runtime):
    async with open_runtime(mode="plan", dry_run=True) as rt:
        result = await rt.call(*write("a"))

    assert result.text.startswith("[DRY-RUN]")
    assert "queued for the user" in result.text
    assert rt.plan_queue.items() == ()


async def test_a_dry_run_of_approved_calls_leaves_them_waiting(workspace):
    async with handrail.open(workspace.root, session="s", mode="plan") as rt:
        await rt.call(*write("a"))
    async with handrail.open(workspace.root, session="s", dry_run=True) as rt:
        (shown,) = await rt.plan_queue.approve()
    async with handrail.open(workspace.root, session="s") as rt:
        (done,) = await rt.plan_queue.approve()

    assert shown.text.startswith("[DRY-RUN]")
    assert done.status is Status.OK
    assert workspace.tree() == {"a": b"x\n"}


async def test_a_queue_has_an_end(open_runtime):
    from handrail.engine.planning.queue import MAX_PENDING_CALLS

    async with open_runtime(mode="plan", config={"loop_guard": "off"}) as rt:
        results = [await rt.call(*write(f"f{number}")) for number in range(MAX_PENDING_CALLS + 1)]

    assert [one.status for one in results[:-1]] == [Status.PLANNED] * MAX_PENDING_CALLS
    assert results[-1].problem.code == "denied"


async def test_a_model_in_plan_mode_is_shown_the_way_out(open_runtime):
    async with open_runtime(dialect="claude") as rt:
        before = {one["function"]["name"] for one in rt.declare("openai")}
        await rt.call("EnterPlanMode")
        during = {one["function"]["name"] for one in rt.declare("openai")}
        group = {one["function"]["name"] for one in rt.declare("openai", groups=["plan"])}

    assert during - before == {"ExitPlanMode"}
    assert group == {"EnterPlanMode", "ExitPlanMode"}
    assert len(during) <= 12
