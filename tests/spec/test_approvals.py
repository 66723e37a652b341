"""Asking the person, through the front door: what they see, what they say, what follows."""

import asyncio
import json
import tomllib

import anyio
import pytest

import handrail
from handrail import Answer, Effect, PermissionGranted, Reply, Risk, Status, Verdict
from handrail.engine.registry import ToolOrigin
from handrail.host.terminal import approval_queue
from handrail.policy.approval.grants import Scope


def write(path, content="x\n"):
    return {"name": "write_file", "arguments": {"path": path, "content": content}}


def says(*answers):
    """An approver that gives these answers in turn, and what it was asked."""
    asked = []

    def approver(request):
        asked.append(request)
        return answers[min(len(asked), len(answers)) - 1]

    return approver, asked


async def completed(rt, call_id):
    (record,) = await rt.store.calls(call_id=call_id)
    return record.completed


# --- what counts as an answer ------------------------------------------------------------


@pytest.mark.feature("G12")
@pytest.mark.parametrize("given", [True, Answer.YES, Reply(Answer.YES, "elicitation", "editor")])
async def test_a_clear_yes_lets_the_call_happen(workspace, open_runtime, given):
    async with open_runtime(mode="default", approver=lambda request: given) as rt:
        result = await rt.call("write_file", write("a")["arguments"])

    assert result.ok
    assert workspace.read("a") == b"x\n"


@pytest.mark.parametrize(
    "given",
    [False, Answer.NO, None, "yes", "y", 1, [True], {"answer": "yes"}, Reply("yes", "callback")],
)
async def test_anything_but_a_clear_yes_is_a_no(workspace, open_runtime, given):
    class Object:
        async def ask(self, request):
            return given

    for approver in (lambda request: given, Object()):
        async with open_runtime(mode="default", approver=approver) as rt:
            result = await rt.call("write_file", write("a")["arguments"])

        assert result.problem.code == "denied"
    assert workspace.tree() == {}


async def test_an_approver_that_answers_in_another_type_is_told_so(open_runtime):
    async with open_runtime(mode="default", approver=lambda request: "yes") as rt:
        result = await rt.call("write_file", write("a")["arguments"])

    assert "approver returned 'yes'," in result.text


@pytest.mark.feature("G15")
async def test_a_no_is_on_record_with_who_said_it_and_which_way(open_runtime):
    class Client:
        async def ask(self, request):
            return Reply(Answer.NO, "elicitation", "some editor")

    async def recorded(approver):
        async with open_runtime(mode="default", approver=approver) as rt:
            await rt.call("write_file", write("a")["arguments"], id="1")
            return await completed(rt, "1")

    first, second = [await recorded(lambda request: False) for _ in range(2)]
    client = await recorded(Client())

    assert first["asked"] is True
    assert first["answered_by"] == {"answer": "no", "via": "callback"}
    assert first["cleared"] == ["ask", "mode:default"]
    assert [first["problem"], first["answered_by"]] == [second["problem"], second["answered_by"]]
    assert client["answered_by"] == {"answer": "no", "via": "elicitation", "who": "some editor"}


async def test_a_call_that_asked_nobody_records_no_answer(open_runtime):
    async with open_runtime(mode="accept-edits") as rt:
        await rt.call("write_file", write("a")["arguments"], id="1")
        record = await completed(rt, "1")

    assert record["asked"] is False
    assert "answered_by" not in record


# --- what the person is shown -------------------------------------------------------------


@pytest.mark.feature("A25")
async def test_a_question_says_what_who_why_and_how_dangerous(workspace, open_runtime):
    approver, asked = says(False)

    async with open_runtime(mode="default", approver=approver) as rt:
        command = {"command": "git push origin main", "description": "publish"}
        await rt.call("run_command", command, id="7", agent="builder")
        await rt.call("write_file", write("a.txt", "new\n")["arguments"])

    push, edit = asked
    assert (push.call_id, push.tool, push.agent) == ("7", "run_command", "builder")
    assert push.action == "git push origin main"
    assert push.model_says == "publish"
    assert push.risk is Risk.DANGEROUS
    assert push.effects["programs"] == ["git"]
    assert push.effects["directory"] == str(workspace.root)
    assert "+new" in edit.preview
    assert edit.effects is None
    assert json.loads(json.dumps(push.to_dict()))["risk"] == "dangerous"
    assert handrail.ApprovalRequest.from_dict(push.to_dict()) == push


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        {},
        {"risk": "huge"},
        {"action": 1},
        {"always": 3},
        {"effects": "all"},
        {"extra": 1},
    ],
)
async def test_what_is_no_question_is_not_read_as_one(open_runtime, broken):
    approver, asked = says(False)
    async with open_runtime(mode="default", approver=approver) as rt:
        await rt.call("write_file", write("a")["arguments"])
    shape = {**asked[0].to_dict(), **broken} if broken else broken

    with pytest.raises(ValueError, match="not an approval request"):
        handrail.ApprovalRequest.from_dict(shape)


async def test_nothing_of_a_long_change_is_kept_from_the_person(workspace, open_runtime):
    workspace.write("a.txt", "".join(f"old {n}\n" for n in range(900)))
    approver, asked = says(False)

    async with open_runtime(mode="default", approver=approver) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        content = "".join(f"new {n}\n" for n in range(900)) + "x" * 5000 + "END\n"
        await rt.call("write_file", write("a.txt", content)["arguments"])
        await rt.call("write_file", write("b.txt", content)["arguments"])

    for request in asked:
        assert "+new 899" in request.preview
        assert "xEND" in request.preview
        assert "more diff line" not in request.preview
    assert "-old 899" in asked[0].preview


async def test_long_arguments_of_a_tool_without_a_plan_are_shown_in_full(open_runtime):
    @handrail.tool
    def post(text: str) -> str:
        """Sends a text away."""
        return ""

    approver, asked = says(False)
    async with open_runtime(mode="default", approver=approver) as rt:
        rt.register(post)
        await rt.call("post", {"text": "a" * 200 + "THE END"})
        await rt.call("post", {"text": "short"})

    assert "THE END" not in asked[0].action
    assert "THE END" in asked[0].preview
    assert asked[1].preview == ""


# --- always -------------------------------------------------------------------------------


async def test_always_grants_the_proposed_rule_and_nothing_else(workspace, open_runtime):
    approver, asked = says(Answer.ALWAYS, False)

    async with open_runtime(mode="default", approver=approver) as rt:
        first = await rt.call("write_file", write("src/a.py", "1\n")["arguments"], id="1")
        again = await rt.call("write_file", write("src/a.py", "2\n")["arguments"])
        other = await rt.call("write_file", write("src/b.py")["arguments"])
        granted = [one.rule.spelled for one in rt.grants.active()]
        record = await completed(rt, "1")

    assert asked[0].always == "write_file(src/a.py)"
    assert first.ok
    assert again.ok
    assert other.problem.code == "denied"
    assert len(asked) == 2
    assert granted == ["write_file(src/a.py)"]
    assert record["answered_by"] == {
        "answer": "always",
        "via": "callback",
        "rule": "write_file(src/a.py)",
    }


async def test_always_spares_the_questions_that_wait_behind_it(workspace, open_runtime):
    approver, asked = says(Answer.ALWAYS)
    append = {"path": "log.txt", "content": "x\n", "mode": "append"}

    async with open_runtime(mode="default", approver=approver) as rt:
        results = await asyncio.gather(*(rt.call("write_file", append) for _ in range(4)))
        newest = await rt.store.calls(limit=4)

    assert all(one.ok for one in results), [one.text for one in results]
    assert len(asked) == 1
    assert workspace.read("log.txt") == b"x\n" * 4
    cleared = sorted(record.completed["cleared"] for record in newest)
    assert cleared == [["allow", "rule:session:allow write_file(/log.txt)"]] * 3 + [
        ["ask", "mode:default"]
    ]


async def test_always_ends_with_the_session(open_runtime):
    approver, asked = says(Answer.ALWAYS)

    for _ in range(2):
        async with open_runtime(mode="default", approver=approver) as rt:
            await rt.call("write_file", write("a")["arguments"])

    assert len(asked) == 2


async def test_always_where_no_rule_was_proposed_is_a_no(workspace, open_runtime):
    async with open_runtime(mode="default", approver=lambda request: Answer.ALWAYS) as rt:
        result = await rt.call("write_file", write(".envrc")["arguments"])

    assert result.problem.code == "denied"
    assert workspace.tree() == {}


async def test_always_is_not_offered_where_it_would_not_help(workspace, open_runtime):
    class Asking:
        async def before(self, call):
            return Verdict(Effect.ASK, "look twice", "hook") if "hooked" in str(call) else None

        async def after(self, call, result):
            return None

    approver, asked = says(False)
    rules = {"permissions": {"ask": ["write_file(asked.txt)"]}}
    async with open_runtime(mode="default", approver=approver, config=rules) as rt:
        rt.hooks.append(Asking())
        for path in ("asked.txt", ".envrc", "AGENTS.md", "hooked.txt", "plain.txt"):
            await rt.call("write_file", write(path)["arguments"])
        for command in ("make | sh", "curl x | sh", "python -c 'x'", "A=1 npm test"):
            await rt.call("run_command", {"command": command})
        await rt.call("run_command", {"command": "npm test", "dangerously_disable_sandbox": True})

    proposed = {request.action: request.always for request in asked}
    assert [one for one in proposed.values() if one] == ["write_file(/plain.txt)"]
    assert len(asked) >= 8


@pytest.mark.needs_sandbox
async def test_always_for_a_command_holds_inside_the_sandbox_only(workspace, open_runtime):
    approver, asked = says(Answer.ALWAYS, False)

    async with open_runtime(mode="default", approver=approver) as rt:
        await rt.call("run_command", {"command": "make -n --version"})
        (grant,) = rt.grants.active()
        outside = {"command": "make -n --version", "dangerously_disable_sandbox": True}
        unconfined = await rt.call("run_command", outside)

    assert grant.rule.confined
    assert unconfined.problem.code == "denied"
    assert len(asked) == 2
    assert asked[1].effects["unconfined"] is True


@pytest.mark.needs_sandbox
@pytest.mark.feature("G16")
async def test_whether_a_command_is_asked_about_depends_on_what_it_says(workspace, open_runtime):
    workspace.write("Makefile", "one two:\n\ttrue\n")
    approver, asked = says(False)

    async with open_runtime(mode="default", approver=approver) as rt:
        rt.grants.grant("Bash", "make one")
        results = [
            await rt.call("run_command", {"command": command})
            for command in ("make one", "make two", "make one; rm Makefile", "make one > out.txt")
        ]

    assert [one.ok for one in results] == [True, False, False, False]
    assert [request.action for request in asked] == [
        "make two",
        "make one; rm Makefile",
        "make one > out.txt",
    ]


# --- abort --------------------------------------------------------------------------------


@pytest.mark.feature("G02")
async def test_abort_ends_this_call_and_refuses_every_other(workspace, open_runtime):
    approver, asked = says(Answer.ABORT)

    async with open_runtime(mode="default", approver=approver) as rt:
        before = rt.aborted
        calls = [{"id": name, **write(name)} for name in "abc"]
        results = await rt.batch([*calls, {"name": "read_file", "arguments": {"path": "a"}}])
        later = await rt.call("list_files", id="later")
        record, first = await completed(rt, "later"), await completed(rt, "a")

    assert before is False
    assert rt.aborted is True
    assert len(asked) == 1
    assert [one.status for one in results[:3]] == [Status.INTERRUPTED] * 3
    assert [one.problem.code for one in results[:3]] == ["cancelled"] * 3
    assert later.problem.code == "cancelled"
    assert "user aborted the run" in later.text
    assert record["problem"]["code"] == "cancelled"
    assert first["answered_by"] == {"answer": "abort", "via": "callback"}
    assert workspace.tree() == {}


@pytest.mark.feature("G02")
async def test_abort_ends_what_is_running(open_runtime):
    running = asyncio.Event()

    @handrail.tool
    async def slow() -> str:
        """Waits for ever."""
        running.set()
        await asyncio.Event().wait()
        return ""

    async def approver(request):
        if request.tool == "slow":
            return True
        await running.wait()
        return Answer.ABORT

    async with open_runtime(mode="default", approver=approver) as rt:
        rt.register(slow)
        with anyio.fail_after(10):
            waiting, asked = await asyncio.gather(
                rt.call("slow"), rt.call("write_file", write("a")["arguments"])
            )

    assert waiting.status is Status.INTERRUPTED
    assert asked.status is Status.INTERRUPTED


async def test_after_an_abort_the_person_can_still_undo(workspace, open_runtime):
    workspace.write("a", "old\n")
    approver, _ = says(True, Answer.ABORT)

    async with open_runtime(mode="default", approver=approver, config={"freshness": "off"}) as rt:
        await rt.call("write_file", write("a", "new\n")["arguments"])
        await rt.call("write_file", write("b")["arguments"])
        undone = await rt.undo()

    assert undone.ok
    assert workspace.read("a") == b"old\n"


def test_abort_does_not_raise_into_the_callers_code_of_the_synchronous_door(workspace):
    from handrail import sync

    with sync.open(
        workspace.root, store=":memory:", mode="default", approver=lambda r: Answer.ABORT
    ) as rt:
        results = rt.batch([write("a"), write("b")])

        assert rt.aborted
        assert [one.problem.code for one in results] == ["cancelled", "cancelled"]


# --- nobody to ask ------------------------------------------------------------------------


def proposed(refused):
    """The rule that a refusal names for the person's configuration, in its quotes."""
    named = refused.problem.hint.partition("your own configuration: ")[2]
    rule, place, _ = named.partition(" in the list allow under [permissions]")
    assert place
    return rule


@pytest.mark.feature("G03", "F07")
@pytest.mark.parametrize(
    "call",
    [
        ("write_file", {"path": "src/[x] y.py", "content": "x"}),
        pytest.param(
            ("run_command", {"command": "make -n --version"}), marks=pytest.mark.needs_sandbox
        ),
    ],
)
async def test_without_a_person_the_refusal_names_the_exact_rule_and_it_works(open_runtime, call):
    async with open_runtime(mode="default") as rt:
        refused = await rt.call(*call)
    assert refused.problem.code == "needs_approval"
    rule = tomllib.loads(f"rule = {proposed(refused)}")["rule"]

    async with open_runtime(mode="default") as rt:
        tool, _, pattern = rule.partition("(")
        rt.grants.grant(tool, pattern.removesuffix(")") or None)
        allowed = await rt.call(*call)

    assert allowed.problem is None or allowed.problem.code == "command_failed"


async def test_the_rule_that_is_named_works_in_a_configuration(open_runtime):
    async with open_runtime(mode="default") as rt:
        refused = await rt.call("write_file", write("a b.txt")["arguments"])
    config = tomllib.loads(f"[permissions]\nallow = [{proposed(refused)}]\n")

    async with open_runtime(mode="default", config=config) as rt:
        allowed = await rt.call("write_file", write("a b.txt")["arguments"])
        other = await rt.call("write_file", write("b.txt")["arguments"])

    assert allowed.ok
    assert other.problem.code == "needs_approval"


async def test_no_rule_is_named_where_none_would_help(open_runtime):
    async with open_runtime(mode="default") as rt:
        protected = await rt.call("write_file", write(".envrc")["arguments"])
        compound = await rt.call("run_command", {"command": "curl x | sh"})

    assert "[permissions]" not in f"{protected.problem.hint}{compound.problem.hint}"


@pytest.mark.feature("A26")
async def test_no_way_into_the_runtime_avoids_the_question(workspace, open_runtime):
    ran = []

    @handrail.tool(risk=Risk.DANGEROUS)
    def deploy() -> str:
        """Dangerous."""
        ran.append(1)
        return ""

    message = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "deploy", "input": {}}],
    }
    async with open_runtime(mode="auto-safe") as rt:
        rt.register(deploy)
        results = [await rt.call("deploy"), *await rt.batch([{"name": "deploy"}])]
        async with rt.turn():
            results.append(await rt.call("deploy", "{}", id="x", agent="child"))
        answered = await rt.answer(message)

    assert [one.problem.code for one in results] == ["needs_approval"] * 3
    assert "needs approval" in json.dumps(answered)
    assert ran == []


# --- waiting ------------------------------------------------------------------------------


@pytest.mark.feature("Y07")
async def test_waiting_for_a_person_does_not_use_up_the_time_of_the_tool(open_runtime):
    @handrail.tool(timeout_s=0.05)
    async def quick() -> str:
        """Has little time."""
        return "done"

    async def person(request):
        await anyio.sleep(0.4)  # a person who thinks for eight times as long as the tool may run
        return True

    async with open_runtime(mode="default", approver=person) as rt:
        rt.register(quick)
        result = await rt.call("quick")

    assert result.ok
    assert result.text == "done"


@pytest.mark.feature("Y07")
async def test_there_is_one_question_at_a_time(open_runtime):
    open_now, most, waiting = 0, 0, asyncio.Event()

    async def person(request):
        nonlocal open_now, most
        open_now += 1
        most = max(most, open_now)
        await waiting.wait()
        open_now -= 1
        return True

    async with open_runtime(mode="default", approver=person) as rt:
        started = []
        rt.subscribe(lambda event: started.append(event) if "start" in event.type else None)
        calls = [
            asyncio.create_task(rt.call("write_file", write(name)["arguments"])) for name in "abcd"
        ]
        with anyio.fail_after(10):
            while len(started) < 4:
                await anyio.sleep(0)
            waiting.set()
            results = await asyncio.gather(*calls)

    assert most == 1
    assert all(one.ok for one in results)


@pytest.mark.feature("G14")
async def test_a_yes_is_good_for_one_call_only(open_runtime):
    approver, asked = says(True)

    async with open_runtime(mode="default", approver=approver) as rt:
        same = write("a")["arguments"]
        for _ in range(3):
            await rt.call("write_file", {**same, "mode": "append"})

    assert len({request.binding for request in asked}) == 3


# --- what tools grant ---------------------------------------------------------------------


class Granting(handrail.Tool):
    description = "Grants something."
    effects = handrail.Effects.PURE
    params = handrail.Params

    def __init__(self, name, granted):
        self.name = name
        self.granted = granted

    def footprint(self, args):
        return handrail.Footprint()

    def risk(self, args):
        return Risk.MODERATE

    async def run(self, args, ctx):
        return handrail.Output("done", modifiers=(self.granted,), meta={"tool": "read_file"})


@pytest.mark.feature("B05")
@pytest.mark.parametrize("name", ["own", "mcp__server__own"])
async def test_a_permission_that_a_foreign_tool_grants_is_ignored_and_said(open_runtime, name):
    events = []
    async with open_runtime(mode="default", approver=lambda request: request.tool == name) as rt:
        rt.subscribe(events.append)
        rt.register(Granting(name, PermissionGranted("write_file", "a")))
        granting = await rt.call(name)
        result = await rt.call("write_file", write("a")["arguments"])
        active = rt.grants.active()

    assert granting.ok
    assert "built-in tools may grant write_file(a)" in granting.text
    assert granting.modifiers == ()
    assert [event.type for event in events if event.type == "context_modified"] == []
    assert active == ()
    assert result.problem.code == "denied"


@pytest.mark.feature("B05")
async def test_a_permission_that_a_built_in_tool_grants_holds_unless_it_is_too_broad(open_runtime):
    async with open_runtime(mode="default", approver=lambda request: request.tool == "own") as rt:
        narrow = Granting("own", PermissionGranted("write_file", "a"))
        rt.registry.register(narrow, origin=ToolOrigin.BUILTIN)
        await rt.call("own")
        allowed = await rt.call("write_file", write("a")["arguments"])
        broad = Granting("own", PermissionGranted("write_file", "**"))
        rt.registry.register(broad, origin=ToolOrigin.BUILTIN, allow_override=True)
        said = await rt.call("own")
        other = await rt.call("write_file", write("b")["arguments"])

    assert allowed.ok
    assert "cannot be granted" in said.text
    assert other.problem.code == "denied"


@pytest.mark.needs_sandbox
async def test_a_grant_taken_back_ends_the_jobs_that_were_started_under_it(workspace, open_runtime):
    workspace.write("Makefile", "serve:\n\tsleep 100\n")
    workspace.write("slow.py", "import time\ntime.sleep(100)\n")
    approver, asked = says(Answer.ALWAYS, True)

    async with open_runtime(mode="default", approver=approver) as rt:
        for command in ("make serve", "make serve", "python3 slow.py"):
            await rt.call("run_command", {"command": command, "background": True})
        running = [one for one in await rt.jobs.list() if one.state == "running"]
        ended = await rt.revoke(asked[0].always)
        left = [one.command for one in await rt.jobs.list() if one.state == "running"]

    assert len(running) == 3
    assert len(ended) == 2
    assert left == ["python3 slow.py"]
    assert len(asked) == 2


# --- another terminal ---------------------------------------------------------------------


async def until_asked(root):
    with anyio.fail_after(10):
        while True:
            waiting = approval_queue.pending_approvals(approval_queue.queue_directory(root))
            if waiting:
                return waiting[0]
            await anyio.sleep(0.01)


@pytest.mark.parametrize(
    ("given", "code"), [("yes", None), ("no", "denied"), ("abort", "cancelled"), ("always", None)]
)
async def test_another_terminal_answers(workspace, open_runtime, given, code):
    async with open_runtime(mode="default", approver="approvals") as rt:
        call = asyncio.create_task(rt.call("write_file", write("a")["arguments"], id="1"))
        asked = await until_asked(workspace.root)
        before = workspace.tree()
        approval_queue.answer_pending(asked, Answer(given))
        with anyio.fail_after(10):
            result = await call
        record = await completed(rt, "1")
        granted = [one.rule.spelled for one in rt.grants.active()]

    assert before == {}
    assert (result.problem and result.problem.code) == code
    assert (workspace.tree() == {}) == (code is not None)
    assert record["answered_by"]["answer"] == given
    assert record["answered_by"]["via"] == "approvals"
    assert record["answered_by"]["who"]
    assert granted == (["write_file(/a)"] if given == "always" else [])
    assert [one.name for one in asked.slot.folder.parent.glob("*/*")] == ["answer.json"]


async def test_what_is_run_in_the_sandbox_cannot_see_the_questions(workspace, open_runtime):
    approver, _ = says(True)
    async with (
        open_runtime(mode="default", approver="approvals") as asking,
        open_runtime(mode="bypass", approver=approver) as rt,
    ):
        call = asyncio.create_task(asking.call("write_file", write("a")["arguments"]))
        asked = await until_asked(workspace.root)
        command = (
            f"ls -a {asked.slot.folder}; echo {{}} > {asked.slot.folder}/answer.json; echo over"
        )
        looked = await rt.call("run_command", {"command": command})
        still = approval_queue.is_pending(asked.slot.folder)
        approval_queue.answer_pending(asked, Answer.NO)
        result = await call

    assert "question.json" not in looked.text
    assert still
    assert result.problem.code == "denied"


async def test_an_approver_by_a_name_that_is_none_is_refused_at_once(workspace):
    with pytest.raises(handrail.ProblemRaised) as raised:
        handrail.open(workspace.root, approver="approval")

    assert '"approvals"' in raised.value.problem.hint


@pytest.mark.parametrize("scope", [Scope.TURN, "turn"])
async def test_a_grant_for_a_turn_ends_with_the_turn(workspace, open_runtime, scope):
    def write(content):
        return {"path": "a.txt", "content": content}

    async with open_runtime(mode="default") as rt:
        async with rt.turn():
            rt.grants.grant("write_file", "a.txt", scope=scope)
            within = [await rt.call("write_file", write(text)) for text in ("one", "two")]
        async with rt.turn():
            after = await rt.call("write_file", write("three"))
        alone = await rt.call("write_file", write("four"))

    assert [one.ok for one in within] == [True, True]
    assert {after.problem.code, alone.problem.code} == {"needs_approval"}
    assert workspace.read("a.txt") == b"two"
