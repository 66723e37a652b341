"""Back to an earlier turn: the conversation, the files, and what later turns have begun."""

import asyncio
import json
import sys

import pytest
from tests.models.speaking import WIRES, model_on
from tests.support.waiting import wait_until_async

import handrail
from handrail.core.problems import ProblemRaised
from handrail.models.wires.formats import FORMATS
from handrail.testing import FakeProvider, calls, says, together


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    root.joinpath("a.txt").write_text("0\n")
    return root


def write(number, path="a.txt"):
    return calls("write_file", path=path, content=f"{number}\n")


def snapshot(root):
    return {path.name: path.read_text() for path in sorted(root.iterdir()) if path.is_file()}


MODE = {"mode": "accept-edits", "config": {"freshness": "off"}}


@pytest.mark.threat("A22")
@pytest.mark.parametrize("wire", WIRES)
async def test_files_and_conversation_are_as_at_the_end_of_a_turn(workspace, wire):
    replies = [
        *[together(write(n), write(n, f"new{n}.txt")) for n in range(1, 6)],
        says("written"),
        write("again"),
        says("other"),
    ]
    seen = {}
    async with FakeProvider(replies) as provider:
        model = model_on(provider, wire)
        async with handrail.open(workspace, model=model, session="s", **MODE) as rt:
            agent = rt.agent(session="s")

            def note(event):
                if event.type == "model_request":
                    seen[event.step - 1] = snapshot(workspace)

            await agent.run("write", on_event=note)
            done = await agent.rewind(2)
            back = snapshot(workspace)
            messages = agent.messages
            result = await agent.run("write it again")
        await model.aclose()

    assert back == seen[2]
    assert set(done.changes) == {"a.txt", "new3.txt", "new4.txt", "new5.txt"}
    assert [one.role for one in messages] == ["user", "assistant", "tool", "assistant", "tool"]
    # Turn 3 exists a second time: its call is a call of its own.
    assert result.report.changes == ("a.txt",)
    assert workspace.joinpath("a.txt").read_text() == "again\n"
    for request in provider.requests:
        FORMATS[wire].check(request.body)
    assert "new3" not in json.dumps(provider.requests[-1].body)


@pytest.mark.threat("A22")
@pytest.mark.parametrize("name", ["fix the login", "v1.2", "café", "a\u200bb", "n" * 300])
async def test_a_session_of_any_name_is_rewound(workspace, name):
    """The ids of calls, which say what belongs to a turn, cannot contain every name."""
    replies = [write(1), write(2), says("one")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, session=name, **MODE) as rt:
            await rt.agent(session=name).run("write")
            done = await rt.agent(session=name).rewind(1)
        await model.aclose()

    assert done.changes == ("a.txt",)
    assert snapshot(workspace) == {"a.txt": "1\n"}


@pytest.mark.threat("A22")
async def test_a_rewind_reverts_what_the_approval_of_a_plan_has_written(workspace):
    async with FakeProvider([write(1), says("queued")]) as provider:
        model = model_on(provider, "anthropic")
        settings = {"mode": "plan", "session": "s", "config": {"freshness": "off"}}
        async with handrail.open(workspace, model=model, **settings) as rt:
            await rt.agent(session="s").run("plan it")
            await rt.plan_queue.approve()
            written = snapshot(workspace)
            done = await rt.agent(session="s").rewind(0)
        await model.aclose()

    assert written == {"a.txt": "1\n"}
    assert done.changes == ("a.txt",)
    assert snapshot(workspace) == {"a.txt": "0\n"}


@pytest.mark.threat("A22")
async def test_a_rewind_leaves_the_session_whose_name_goes_on_with_a_number(workspace):
    replies = [write(1, "other.txt"), says("one"), write(1), says("two")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, **MODE) as rt:
            await rt.agent(session="v1.2").run("write")
            await rt.agent(session="v1").run("write")
            done = await rt.agent(session="v1").rewind(0)
        await model.aclose()

    assert done.changes == ("a.txt",)
    assert snapshot(workspace) == {"a.txt": "0\n", "other.txt": "1\n"}


@pytest.mark.threat("A22", "A18")
async def test_a_rewind_survives_the_process_and_can_be_repeated(workspace, tmp_path):
    store = tmp_path / "record.db"
    replies = [write(1), write(2), says("one"), write(3), says("two"), says("three")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, store=store, session="s", **MODE) as rt:
            agent = rt.agent(session="s")
            await agent.run("write")
            await agent.rewind(1)
        async with handrail.open(workspace, model=model, store=store, session="s", **MODE) as rt:
            agent = rt.agent(session="s")
            await agent.run("write more")
            third = workspace.joinpath("a.txt").read_text()
            await agent.rewind(0)
            first = workspace.joinpath("a.txt").read_text()
            empty = agent.messages
            await agent.run("begin")
        await model.aclose()

    assert (third, first) == ("3\n", "0\n")
    assert empty == ()
    assert len(provider.requests[-1].body["messages"]) == 1


async def test_a_change_of_somebody_else_is_a_conflict_that_names_the_file(workspace):
    async with FakeProvider([write(1), write(2, "b.txt"), says("done")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, session="s", **MODE) as rt:
            agent = rt.agent(session="s")
            await agent.run("write")
            workspace.joinpath("b.txt").write_text("mine\n")
            with pytest.raises(ProblemRaised) as refused:
                await agent.rewind(0)
            kept, messages = snapshot(workspace), agent.messages
            await agent.rewind(0, force=True)
        await model.aclose()

    assert refused.value.problem.code == "conflict"
    assert "b.txt" in refused.value.problem.message
    assert kept == {"a.txt": "1\n", "b.txt": "mine\n"}
    assert len(messages) == 6
    assert snapshot(workspace) == {"a.txt": "0\n"}


@pytest.mark.threat("A22")
async def test_what_the_cut_turns_were_granted_and_listed_ends_with_them(workspace):
    def todos(*names):
        return calls("todo_write", todos=[{"content": name, "status": "pending"} for name in names])

    replies = [todos("first"), together(write(1), todos("first", "second")), says("done")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(
            workspace, model=model, session="s", approver=lambda request: handrail.Answer.ALWAYS
        ) as rt:
            allowed = ["todo_write", "write_file"]
            agent = rt.agent(session="s", allowed=allowed)
            await agent.run("write")
            granted = len(rt.grants.active())
            listed = [one.content for one in await rt.todos.items()]
            await agent.rewind(1)
            left, items = rt.grants.active(), await rt.todos.items()
        await model.aclose()

    assert granted >= 1
    assert listed == ["first", "second"]
    assert [one.rule.spelled for one in left if "write_file" in one.rule.spelled] == []
    assert [one.content for one in items] == ["first"]


@pytest.mark.threat("A22")
async def test_items_of_the_list_are_as_the_kept_calls_left_them(workspace):
    def update(**values):
        return calls("task_update", **values)

    replies = [
        together(*(calls("task_create", content=name) for name in ("one", "two", "three"))),
        says("listed"),
        update(task="1", status="in_progress"),
        together(update(task="2", status="deleted"), update(task="3", content="3", owner="other")),
        together(calls("task_create", content="four"), update(task="1", status="completed")),
        says("done"),
        calls("todo_write", todos=[{"content": "all", "status": "in_progress"}]),
        says("written"),
    ]
    seen = []
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model) as rt:
            agent = rt.agent(allowed=["task_create", "task_update", "todo_write"])

            async def note():
                items = await rt.todos.items()
                seen.append([(one.id, one.content, one.status.value, one.owner) for one in items])

            for task in ("list", "work", "write"):
                await agent.run(task)
            await note()
            for turn in (6, 4, 3, 2, 0):
                await agent.rewind(turn)
                await note()
        await model.aclose()

    first = [(str(n), name, "pending", "main") for n, name in enumerate(("one", "two", "three"), 1)]
    assert seen == [
        [("3", "3", "pending", "other"), ("5", "all", "in_progress", "main")],
        [
            ("1", "one", "completed", "main"),
            ("3", "3", "pending", "other"),
            ("4", "four", "pending", "main"),
        ],
        [("1", "one", "in_progress", "main"), ("3", "3", "pending", "other")],
        [("1", "one", "in_progress", "main"), *first[1:]],
        first,
        [],
    ]


@pytest.mark.threat("A22")
async def test_an_idle_agent_notices_that_another_process_has_rewound_its_session(workspace):
    def todos(*names):
        return calls("todo_write", todos=[{"content": name, "status": "pending"} for name in names])

    notes = []

    def listen(event):
        if event.type == "notification":
            notes.append(event.to_dict()["kind"])

    replies = [
        todos("first"),
        together(write("second"), todos("first", "second")),
        says("written"),
        says("again"),
        says("third"),
    ]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(
            workspace, model=model, approver=lambda request: handrail.Answer.ALWAYS
        ) as rt:
            agent = rt.agent(allowed=["todo_write", "write_file"])
            await agent.run("begin", on_event=listen)
            granted = [one.rule.spelled for one in rt.grants.active()]
            command = [sys.executable, "-m", "handrail", "-w", str(workspace)]
            other = await asyncio.create_subprocess_exec(
                *command, "session", "rewind", agent.session, "1"
            )
            assert await asyncio.wait_for(other.wait(), 60) == 0
            before = list(notes)
            await agent.run("go on", on_event=listen)
            left = [one.rule.spelled for one in rt.grants.active()]
            items = [one.content for one in await rt.todos.items()]
            told = len(notes)
            await agent.run("and on", on_event=listen)
        await model.aclose()

    assert workspace.joinpath("a.txt").read_text() == "0\n"
    assert "second" not in json.dumps(provider.requests[3].body["messages"])
    assert (before, notes, told) == ([], ["changed_elsewhere"], 1)
    assert any("write_file" in one for one in granted)
    assert not any("write_file" in one for one in left)
    assert items == ["first"]
    assert [one.text for one in agent.messages if one.role == "user"] == [
        "begin",
        "go on",
        "and on",
    ]


async def test_the_last_task_to_undo_is_that_of_the_stored_session(workspace):
    replies = [write(1), says("one"), write(2), says("two")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, **MODE) as rt:
            idle = rt.agent()
            await idle.run("write 1")
            await rt.agent(session=idle.session).run("write 2")
            done = await idle.undo_task()
        await model.aclose()

    assert (done.turn, workspace.joinpath("a.txt").read_text()) == (2, "1\n")
    assert idle.turn == 2


async def test_a_turn_that_does_not_exist_is_refused(workspace):
    async with FakeProvider([says("hello")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model) as rt:
            agent = rt.agent()
            await agent.run("hi")
            for turn in (2, -1):
                with pytest.raises(ProblemRaised) as refused:
                    await agent.rewind(turn)
                assert refused.value.problem.code == "not_found"
                with pytest.raises(ProblemRaised):
                    await agent.fork(turn)
        await model.aclose()


@pytest.mark.parametrize("wire", WIRES)
async def test_a_fork_goes_on_by_itself_and_the_original_stays(workspace, wire):
    replies = [write(1), write(2), says("one"), says("forked"), says("original")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, wire)
        async with handrail.open(workspace, model=model, **MODE) as rt:
            agent = rt.agent()
            await agent.run("write")
            before = agent.messages
            fork = await agent.fork(1)
            forked = await fork.run("go on differently")
            same = agent.messages == before
            original = await agent.run("go on")
        await model.aclose()

    assert same
    assert forked.session == fork.session != agent.session
    assert (forked.text, original.text) == ("forked", "original")
    assert workspace.joinpath("a.txt").read_text() == "2\n"
    sent = json.dumps(provider.requests[3].body)
    assert "a.txt" in sent
    assert "earlier point" in sent
    for request in provider.requests:
        FORMATS[wire].check(request.body)
    assert "go on differently" not in json.dumps(provider.requests[4].body)


async def test_a_fork_names_what_commands_and_patches_have_changed_since(workspace):
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-0\n+1\n*** End Patch"
    replies = [
        calls("read_file", path="a.txt"),
        calls("run_command", command="echo 1 > made.txt"),
        calls("apply_patch", patch=patch),
        says("done"),
    ]
    settings = {"mode": "bypass", "config": {"accept_no_sandbox": True}}
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, **settings) as rt:
            agent = rt.agent(allowed=["read_file", "run_command", "apply_patch"])
            await agent.run("write")
            notes = [(await agent.fork(turn)).messages[-1].text for turn in (0, 2)]
            last = await agent.fork(4)
        await model.aclose()

    assert [note.rpartition(": ")[2] for note in notes] == ["made.txt, a.txt", "a.txt"]
    assert last.messages[-1].role == "assistant"


@pytest.mark.threat("A22")
async def test_a_running_job_and_an_outsiders_file_over_many_turns(workspace):
    job = calls("run_command", command="sleep 60", background=True)
    command = calls("run_command", command="echo 1 > made.txt; echo 2 >> a.txt")
    turns = [write(n, f"f{n % 7}.txt") for n in range(28)]
    replies = [*turns[:10], command, *turns[10:], job, says("done")]
    seen = {}
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        settings = {"mode": "bypass", "config": {"freshness": "off", "accept_no_sandbox": True}}
        async with handrail.open(workspace, model=model, session="s", **settings) as rt:
            agent = rt.agent(session="s")

            def note(event):
                if event.type == "model_request":
                    seen[event.step - 1] = snapshot(workspace)

            await agent.run("write", on_event=note)
            running = [one for one in await rt.jobs.list() if one.state.value == "running"]
            workspace.joinpath("mine.txt").write_text("an outsider's\n")
            await agent.rewind(10)
            left = [one for one in await rt.jobs.list() if one.state.value == "running"]
            back = snapshot(workspace)
        await model.aclose()

    assert len(running) == 1
    assert left == []
    assert back == {**seen[10], "mine.txt": "an outsider's\n"}
    assert "made.txt" in seen[11]


@pytest.mark.threat("A22")
async def test_thirty_turns_with_a_formatting_hook_a_job_and_a_question(workspace, tmp_path):
    """A rewind over everything that turns leave behind is exact, and refused while somebody else's
    work would be lost. A fork leaves the original as it is; both continue in every format.
    """
    edits = [
        together(
            write(n, f"f{n % 7}.txt"),
            calls("edit_file", path="a.txt", old_string=f"{n}\n", new_string=f"{n + 1}\n"),
        )
        for n in range(25)
    ]
    command = calls("run_command", command="echo 1 > made.txt; rm -f f2.txt; echo x >> f3.txt")
    job = calls("run_command", command="sleep 60", background=True)
    options = [{"label": "yes"}, {"label": "no"}]
    question = calls(
        "ask_user", questions=[{"question": "Go on?", "header": "go", "options": options}]
    )
    # The path stands in the JSON on standard input.
    find = r"""sed -n 's/.*"path": *"\([^"]*\)".*/\1/p'"""
    format_it = f'f=$({find}); [ -f "$f" ] && sed -i "s/ #$//; s/$/ #/" "$f"; true'
    hooks = {"post_tool_use": [{"matcher": "write_file", "command": format_it, "unconfined": True}]}
    config = {"freshness": "off", "accept_no_sandbox": True, "hooks": hooks}
    replies = [
        *edits[:8],
        command,
        *edits[8:20],
        job,
        command,
        *edits[20:],
        question,
        *[says(f"answer {number}") for number in range(2 * len(WIRES))],
    ]
    seen = {}

    def note(event):
        if event.type == "model_request":
            seen[event.step - 1] = snapshot(workspace)

    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        settings = {"mode": "bypass", "config": config, "approver": "events"}
        async with handrail.open(workspace, model=model, session="s", **settings) as rt:
            agent = rt.agent(session="s", allowed=ALLOWED)
            task = asyncio.create_task(agent.run("write", on_event=note))
            await wait_until_async(lambda: rt.questions or task.done(), 60)
            running = [one for one in await rt.jobs.list() if one.state.value == "running"]
            asked = len(rt.questions)
            with pytest.raises(ProblemRaised) as second:
                await rt.agent(session="s", allowed=ALLOWED).resume()
            task.cancel()
            await asyncio.wait([task])
            left_asked = rt.questions
            workspace.joinpath("mine.txt").write_text("an outsider's\n")
            workspace.joinpath("f4.txt").write_text("an outsider's\n")
            before, messages = snapshot(workspace), agent.messages
            fork = await agent.fork(10, into=tmp_path / "fork")
            untouched = (snapshot(workspace), agent.messages) == (before, messages)
            with pytest.raises(ProblemRaised) as refused:
                await agent.rewind(10)
            kept = snapshot(workspace)
            await agent.rewind(10, force=True)
            back = snapshot(workspace)
            left = [one for one in await rt.jobs.list() if one.state.value == "running"]
            texts, requests = [], len(provider.requests)
            for wire in WIRES:
                other = model_on(provider, wire)
                for one in (agent, fork):
                    one.switch_model(other)
                    texts.append((await one.run("go on")).text)
                await other.aclose()
        await model.aclose()

    assert second.value.problem.code == "unavailable"
    assert untouched
    assert snapshot(tmp_path / "fork") == {**seen[10], "mine.txt": "an outsider's\n"}
    assert texts == [f"answer {number}" for number in range(2 * len(WIRES))]
    for number, request in enumerate(provider.requests[requests:]):
        FORMATS[WIRES[number // 2]].check(request.body)
    assert (len(running), asked, left_asked, left) == (1, 1, (), [])
    assert agent.turn_count == fork.turn_count == 10 + len(WIRES)
    assert "f4.txt" in refused.value.problem.message
    assert kept["f4.txt"] == "an outsider's\n"
    assert back == {**seen[10], "mine.txt": "an outsider's\n"}
    assert any(" #\n" in text for text in seen[10].values())
    assert len(seen) == 29


ALLOWED = ["write_file", "edit_file", "run_command", "ask_user"]
