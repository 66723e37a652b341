"""Undo by turn, file and time: several calls as one plan, all of it or nothing."""

import asyncio
import itertools
from datetime import datetime

import anyio
import pytest

import handrail


async def write(rt, path, content, **more):
    return (await rt.call("write_file", {"path": path, "content": content}, **more)).unwrap()


def writing(*pairs):
    return [
        {"id": one_id, "name": "write_file", "arguments": {"path": path, "content": content}}
        for one_id, path, content in pairs
    ]


@pytest.mark.feature("T03", "E59")
async def test_a_turn_is_undone_and_redone_as_one_change(workspace, open_runtime):
    workspace.write("a.txt", "0")
    workspace.write("gone.txt", "kept")
    events = []

    async with open_runtime(allow_delete=True) as rt:
        await write(rt, "a.txt", "1")
        before = workspace.tree()
        async with rt.turn():
            await write(rt, "a.txt", "2", id="two")
            await write(rt, "a.txt", "3", id="three")
            await rt.call("delete_file", {"path": "gone.txt"}, id="d")
            await write(rt, "made/b.txt", "b", id="b")
        after = workspace.tree()
        rt.subscribe(events.append)
        undone = await rt.undo(turn="last")
        seen = workspace.tree()
        redone = await rt.redo()

    assert undone.ok, undone.text
    assert seen == before
    assert not (workspace.root / "made").exists() or workspace.read("made/b.txt") == b"b"
    assert sorted(change.path for change in undone.changes) == ["a.txt", "gone.txt", "made/b.txt"]
    changed = [one.path for one in events if one.type == "file_changed"]
    assert changed.count("a.txt") == 2, "from 3 to 1 and back, never by way of 2"
    assert redone.ok, redone.text
    assert workspace.tree() == after
    assert [one["call_id"] for one in undone.data["calls"]] == ["b", "d", "three", "two"]


async def test_turns_are_walked_back_one_after_the_other(workspace, open_runtime):
    workspace.write("a.txt", "0")

    async with open_runtime() as rt:
        for number in (1, 2, 3):
            async with rt.turn():
                await write(rt, "a.txt", f"{number}")
                await write(rt, f"{number}.txt", "x")
        seen = []
        for step in (rt.undo, rt.undo, rt.redo, rt.undo, rt.undo):
            result = await (step(turn="last") if step == rt.undo else step())
            assert result.ok, result.text
            seen.append(workspace.read("a.txt"))
        nothing = await rt.undo(turn="last")

    assert seen == [b"2", b"1", b"2", b"1", b"0"]
    assert nothing.problem.code == "not_found"
    assert workspace.tree() == {"a.txt": b"0"}


async def test_a_batch_is_a_turn_and_a_number_means_ones_own_session(workspace, tmp_path):
    workspace.write("a.txt", "0")
    store = tmp_path / "store.db"

    async with (
        handrail.open(workspace.root, store=store, mode="accept-edits") as one,
        handrail.open(workspace.root, store=store, mode="accept-edits") as two,
    ):
        async with one.turn() as number:
            await write(one, "a.txt", "one")
        async with two.turn() as other:
            await write(two, "b.txt", "two")
        # The end of a call is recorded a moment after it is told.
        await two.store.flush()
        by_number = await one.undo(turn=number)
        ambiguous = await one.undo(turn=str(other))
        named = await one.undo(turn=f"{two.session.id}:{other}")

    assert number == other == 1
    assert by_number.ok, by_number.text
    assert ambiguous.problem.code == "ambiguous"
    assert f"{two.session.id}:1" in ambiguous.problem.message
    assert named.ok, named.text
    assert workspace.tree() == {"a.txt": b"0"}


async def test_turns_of_one_number_in_two_processes_of_a_session_are_told_apart(
    workspace, tmp_path
):
    settings = {"store": tmp_path / "store.db", "mode": "accept-edits", "session": "shared"}

    async with (
        handrail.open(workspace.root, **settings) as one,
        handrail.open(workspace.root, **settings) as two,
    ):
        await one.batch(writing(("a1", "a1.txt", "x"), ("a2", "a2.txt", "x")))
        await two.batch(writing(("b1", "b1.txt", "x"), ("b2", "b2.txt", "x")))
        await two.store.flush()
        by_number = await one.undo(turn="shared:1")
        by_call = await one.undo(turn="a1")
        rest = workspace.tree()
        last = await one.undo(turn="last")

    assert by_number.problem.code == "ambiguous"
    assert by_call.ok, by_call.text
    assert set(rest) == {"b1.txt", "b2.txt"}
    assert last.ok
    assert workspace.tree() == {}


@pytest.mark.feature("E58", "T02")
async def test_a_path_takes_back_the_last_change_of_that_file_alone(workspace, open_runtime):
    for name in ("a.txt", "b.txt"):
        workspace.write(name, "old\n")
    patch = "\n".join(
        [
            "*** Begin Patch",
            *(line for n in "ab" for line in (f"*** Update File: {n}.txt", "-old", "+new")),
            "*** End Patch",
        ]
    )

    async with open_runtime() as rt:
        (await rt.call("apply_patch", {"patch": patch}, id="p")).unwrap()
        one = await rt.undo(path="a.txt")
        first = workspace.tree()
        rest = await rt.undo("p")
        second = workspace.tree()
        again = await rt.undo("p")
        back = await rt.redo(path="a.txt")
        third = workspace.tree()
        all_back = await rt.redo("p")

    assert one.ok, one.text
    assert first == {"a.txt": b"old\n", "b.txt": b"new\n"}
    assert rest.ok, rest.text
    assert [change.path for change in rest.changes] == ["b.txt"]
    assert second == {"a.txt": b"old\n", "b.txt": b"old\n"}
    assert again.problem.code == "already_applied"
    assert back.ok, back.text
    assert third == {"a.txt": b"new\n", "b.txt": b"old\n"}
    assert all_back.ok, all_back.text
    assert workspace.tree() == {"a.txt": b"new\n", "b.txt": b"new\n"}


async def test_a_file_is_walked_back_change_by_change(workspace, open_runtime):
    workspace.write("a.txt", "0")

    async with open_runtime() as rt:
        for number in (1, 2, 3):
            await write(rt, "a.txt", f"{number}")
            await write(rt, "other.txt", f"{number}")
        seen = []
        for _ in range(3):
            assert (await rt.undo(path="./a.txt")).ok
            seen.append(workspace.read("a.txt"))
        nothing = await rt.undo(path="a.txt")
        outside = await rt.undo(path="../a.txt")

    assert seen == [b"2", b"1", b"0"]
    assert workspace.read("other.txt") == b"3"
    assert nothing.problem.code == "not_found"
    assert "'other.txt'" in nothing.problem.hint
    assert outside.problem.code == "outside_workspace"


async def test_since_start_means_the_session_that_changed_something_last(workspace, tmp_path):
    store = tmp_path / "store.db"
    workspace.write("a.txt", "0")
    settings = {"store": store, "mode": "accept-edits"}

    async with handrail.open(workspace.root, **settings) as first:
        await write(first, "a.txt", "first")
    async with handrail.open(workspace.root, **settings) as second:
        await write(second, "a.txt", "second")
        await write(second, "b.txt", "second")
    async with handrail.open(workspace.root, **settings) as third:
        await third.call("read_file", {"path": "a.txt"})
        undone = await third.undo(since="start")
        start = workspace.tree()
        again = await third.undo(since="start")
        everything = await third.undo(since="all")

    assert undone.ok, undone.text
    assert start == {"a.txt": b"first"}
    assert again.problem.code == "not_found"
    assert everything.ok, everything.text
    assert workspace.tree() == {"a.txt": b"0"}


async def test_since_a_call_or_a_time(workspace, tmp_path):
    workspace.write("a.txt", "0")
    store = tmp_path / "store.db"

    async with handrail.open(workspace.root, store=store, mode="accept-edits") as rt:
        await write(rt, "a.txt", "1", id="one")
        await asyncio.sleep(0)
        moment = datetime.now().astimezone().isoformat()
        await write(rt, "a.txt", "2", id="two")
        await write(rt, "b.txt", "x", id="three")
        by_time = await rt.undo(since=moment)
        first = workspace.tree()
        assert (await rt.redo()).ok
        by_id = await rt.undo(since="one")
        unknown = await rt.undo(since="last tuesday")
        later = await rt.undo(since="0s")

    assert by_time.ok, by_time.text
    assert first == {"a.txt": b"1"}
    assert by_id.ok, by_id.text
    assert workspace.tree() == {"a.txt": b"0"}
    assert unknown.problem.code == "invalid_arguments"
    assert later.problem.code == "not_found"


async def test_one_file_that_a_person_changed_stops_all_of_it(workspace, open_runtime):
    for name in ("a.txt", "b.txt"):
        workspace.write(name, "0")

    async with open_runtime() as rt:
        async with rt.turn():
            for name in ("a.txt", "b.txt"):
                await write(rt, name, "1")
        workspace.write("b.txt", "mine")
        before = workspace.tree()
        refused = await rt.undo(turn="last")

    assert refused.problem.code == "conflict"
    assert "'b.txt' changed since, from outside" in refused.problem.message
    assert "'a.txt'" not in refused.problem.message
    assert workspace.tree() == before


async def test_a_later_call_that_is_in_the_way_is_named(workspace, open_runtime):
    workspace.write("a.txt", "0")

    async with open_runtime() as rt:
        await write(rt, "a.txt", "1", id="first")
        await write(rt, "a.txt", "2", id="second")
        refused = await rt.undo("first")

    assert refused.problem.code == "conflict"
    assert "changed since, by write_file (second)" in refused.problem.message


async def test_a_gap_in_the_middle_is_a_conflict(workspace, open_runtime):
    workspace.write("a.txt", "0")

    async with open_runtime() as rt:
        await write(rt, "a.txt", "1", id="first")
        workspace.write("a.txt", "mine")
        await rt.call("read_file", {"path": "a.txt"})
        await write(rt, "a.txt", "2", id="second")
        refused = await rt.undo(since="all")
        last = await rt.undo()

    assert refused.problem.code == "conflict"
    assert last.ok
    assert workspace.read("a.txt") == b"mine"


@pytest.mark.parametrize("theirs", [b"mine", None])
async def test_force_overwrites_and_redo_brings_the_overwritten_back(
    workspace, open_runtime, theirs
):
    workspace.write("a.txt", "0")

    async with open_runtime() as rt:
        await write(rt, "a.txt", "1", id="w")
        (workspace.root / "a.txt").unlink()
        if theirs is not None:
            workspace.write("a.txt", theirs)
        refused = await rt.undo("w")
        forced = await rt.undo("w", force=True)
        seen = workspace.tree()
        redone = await rt.redo()
        record = (await rt.store.traces(call_id=forced.call_id))[0]

    assert refused.problem.code == "conflict"
    assert "force" in refused.problem.hint
    assert forced.ok, forced.text
    assert "overwriting what was there" in forced.text
    assert record.intent["data"]["forced"] == ["a.txt"]
    assert seen == {"a.txt": b"0"}
    assert redone.ok, redone.text
    assert workspace.tree() == ({} if theirs is None else {"a.txt": theirs})


async def test_a_model_may_not_force_and_cannot_redo_what_a_person_undid(workspace, open_runtime):
    workspace.write("a.txt", "0")

    async with open_runtime() as rt:
        await write(rt, "a.txt", "1", id="w")
        forced = await rt.call("undo", {"target": "w", "force": True})
        await rt.undo()
        redone = await rt.call("undo", {"redo": True})
        own = await write(rt, "b.txt", "1")
        taken = await rt.call("undo", {})
        brought = await rt.call("undo", {"redo": True})

    assert forced.problem.code == "denied"
    assert redone.problem.code == "not_found"
    assert own.ok
    assert taken.ok, taken.text
    assert brought.ok, brought.text
    assert workspace.tree() == {"a.txt": b"0", "b.txt": b"1"}


@pytest.mark.feature("E58", "E59", "R-16")
@pytest.mark.parametrize("dialect", ["canonical", "claude", "codex", "architect"])
async def test_the_tools_of_other_vocabularies_work_in_each(workspace, open_runtime, dialect):
    workspace.write("a.txt", "0")

    async with open_runtime(dialect=dialect, config={"freshness": "off"}) as rt:
        shown = {one["function"]["name"] for one in rt.declare("openai")}
        for number in (1, 2, 3, 4):
            arguments = {"path": "a.txt", "old_string": f"{number - 1}", "new_string": f"{number}"}
            assert (await rt.call("edit_file", arguments, id=f"e{number}")).ok
        by_file = await rt.call("undo_file", {"path": "a.txt"})
        by_change = await rt.call("undo_file_change", {"path": "a.txt"})
        async with rt.turn():
            assert (await rt.call("edit_file", {**arguments, "old_string": "2"}, id="e5")).ok
            by_turn = await rt.call("undo_turn", {})
        nameless = await rt.call("undo_file", {})
        history = await rt.call("show_file_history", {"path": "a.txt"})
        changes = await rt.call("show_session_changes", {})

    assert by_file.ok, by_file.text
    assert by_change.ok, by_change.text
    assert by_turn.ok, by_turn.text
    assert workspace.read("a.txt") == b"2"
    assert nameless.problem.code == "invalid_arguments"
    assert [one["standing"] for one in history.data["changes"] if one["tool"] != "undo"] == [
        False,
        False,
        False,
        True,
        True,
    ]
    assert changes.data == history.data
    assert not shown & {"undo_file", "undo_turn", "show_file_history", "show_session_changes"}
    assert len(shown) <= 12


@pytest.mark.finding("F28")
@pytest.mark.parametrize("dialect", ["canonical", "architect"])
async def test_undo_turn_leaves_earlier_turns_alone(workspace, open_runtime, dialect):
    async with open_runtime(dialect=dialect, config={"freshness": "off"}) as rt:
        async with rt.turn():
            await rt.call("write_file", {"path": "a.txt", "content": "1"})
        async with rt.turn():
            await rt.call("read_file", {"path": "a.txt"})
            nothing = await rt.call("undo_turn", {})
        alone = await rt.call("undo_turn", {})
        async with rt.turn():
            await rt.call("write_file", {"path": "b.txt", "content": "1"})
            both = await rt.call("undo_turn", {})
            again = await rt.call("undo_turn", {})
        kept = workspace.tree()
        newest = await rt.call("undo", {"scope": "turn"})

    assert [one.problem.code for one in (nothing, alone, again)] == ["not_found"] * 3
    assert "nothing to undo" in nothing.text
    assert both.ok, both.text
    assert kept == {"a.txt": b"1"}
    assert newest.ok, newest.text
    assert workspace.tree() == {}


async def test_what_cannot_be_undone_is_named_and_passed_over(workspace, open_runtime):
    workspace.write("a.txt", "0")

    @handrail.tool
    def deploy() -> str:
        return "done"

    async with open_runtime(mode="bypass") as rt:
        rt.register(deploy)
        async with rt.turn():
            await write(rt, "a.txt", "1", id="w")
            await rt.call("deploy", {}, id="d")
        named = await rt.undo("d")
        undone = await rt.undo(turn="last")
        assert (await rt.redo()).ok
        last = await rt.undo()

    assert named.problem.code == "not_found"
    assert "deploy (d) cannot be undone" in named.problem.message
    assert undone.ok
    assert "deploy (d) cannot be undone" in undone.text
    assert last.ok
    assert "deploy (d) cannot be undone" in last.text


async def test_a_file_that_was_put_back_to_an_earlier_state_of_ours_is_no_conflict(
    workspace, open_runtime
):
    workspace.write("a.txt", "0")

    async with open_runtime() as rt:
        for number in (1, 2, 3):
            await write(rt, "a.txt", f"{number}", id=f"w{number}")
        workspace.write("a.txt", "1")
        undone = await rt.undo(since="all")

    assert undone.ok, undone.text
    assert workspace.read("a.txt") == b"0"


@pytest.mark.parametrize("order", list(itertools.permutations(["p", "q", "r"])))
async def test_calls_on_different_files_can_be_undone_in_any_order(workspace, open_runtime, order):
    async with open_runtime() as rt:
        for name in "pqr":
            await write(rt, name, name, id=name)
        for name in order:
            assert (await rt.undo(name)).ok
        assert workspace.tree() == {}
        for name in order:
            assert (await rt.redo(name)).ok

    assert set(workspace.tree()) == {"p", "q", "r"}


async def test_redo_of_one_call_brings_back_its_files_and_no_others(workspace, open_runtime):
    async with open_runtime() as rt:
        async with rt.turn() as number:
            await write(rt, "a.txt", "a", id="a")
            await write(rt, "b.txt", "b", id="b")
        assert (await rt.undo(turn=number)).ok
        one = await rt.redo("a")
        seen = set(workspace.tree())
        rest = await rt.redo(turn=number)

    assert one.ok, one.text
    assert one.text.startswith("redid write_file (a)\n")
    assert seen == {"a.txt"}
    assert rest.ok, rest.text
    assert set(workspace.tree()) == {"a.txt", "b.txt"}


async def test_a_redo_of_what_nobody_took_back_says_so(workspace, open_runtime):
    async with open_runtime() as rt:
        await write(rt, "a.txt", "a", id="w")
        said = [
            (await rt.redo(*target, **named)).problem.message
            for target, named in (((), {}), (("w",), {}), ((), {"path": "a.txt"}))
        ]

    for text, what in zip(said, ("", " of call 'w'", " of 'a.txt'"), strict=True):
        assert text.startswith(f"nothing{what} ")


async def test_without_a_journal_an_undo_says_that_nothing_was_kept(workspace, open_runtime):
    workspace.write("a.txt", "0")

    async with open_runtime(config={"journal": False}) as rt:
        await write(rt, "a.txt", "1", id="w")
        result = await rt.undo("w")
        forced = await rt.undo("w", force=True)

    assert result.problem.code == forced.problem.code == "not_found"
    assert "was not kept" in result.problem.message


async def test_more_than_one_name_is_a_misuse(open_runtime):
    async with open_runtime() as rt:
        with pytest.raises(TypeError, match="name one of"):
            await rt.undo("c", turn="last")


@pytest.mark.needs_sandbox
async def test_a_turn_that_is_not_over_yet_is_not_said_to_be_undone(workspace, tmp_path):
    store, command = tmp_path / "store.db", "echo x > a.txt; mkfifo gate; cat gate"

    async with (
        handrail.open(workspace.root, store=store, mode="sandboxed") as one,
        handrail.open(workspace.root, store=store) as two,
        anyio.create_task_group() as group,
    ):
        group.start_soon(one.call, "run_command", {"command": command})
        with anyio.fail_after(20):
            while not (workspace.root / "gate").exists():
                await anyio.sleep(0.01)
            early = await two.undo(turn=f"{one.session.id}:1")
        (workspace.root / "gate").write_text("")

    assert early.text.startswith(f"turn 1 of session {one.session.id} has not ended yet")
