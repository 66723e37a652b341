"""What commands changed is read from their completed row; what is uncertain stays unless named."""

import hashlib

import pytest
from tests.support import internals

import handrail
from handrail.core.ports.records import Row
from handrail.core.text.content import Content


def described(path, before, after, rt):
    """A change as a command's record has it, its old content among the blobs."""
    internals.blobs(rt).keep(Content(before))
    return {
        "path": path,
        "absolute": f"{rt.session.roots[0]}/{path}",
        "operation": "write",
        "before_hash": hashlib.sha256(before).hexdigest(),
        "after_hash": hashlib.sha256(after).hexdigest(),
        "before_mode": 0o644,
        "after_mode": 0o644,
        "image": "blob",
    }


async def ran(rt, call_id, effects, turn=7):
    """The record of a command that changed what `effects` says."""
    analysis = {"writes": [], "open_ended": True}
    intent = {"tool": "run_command", "owner": "x", "run": "r", "runs": "run_command"}
    rows = [
        ("requested", {"tool": "run_command", "agent": "main"}),
        ("intent", {**intent, "effects": analysis}),
        ("completed", {"tool": "run_command", "status": "ok", "changes": [], "effects": effects}),
    ]
    for number, (kind, payload) in enumerate(rows):
        at_ns = internals.clock(rt).now_ns() + number
        rt.store.append(Row(rt.session.id, kind, call_id, turn, at_ns, payload))
    await rt.store.flush()


@pytest.fixture
async def rt(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    for name in ("a", "b", "c"):
        (root / name).write_bytes(b"new")
    async with handrail.open(root, store=tmp_path / "s.db", mode="accept-edits") as runtime:
        yield runtime


def content(rt, name):
    with open(f"{rt.session.roots[0]}/{name}", "rb") as file:
        return file.read()


async def test_a_command_is_undone_without_what_is_not_known_to_be_its_doing(rt):
    effects = {
        "changes": [described("a", b"old", b"new", rt)],
        "unattributed": [{**described("b", b"old", b"new", rt), "doubt": "nobody saw it"}],
        "undo": "partial",
        "left_out": {"pipe": "it is a special file"},
    }
    await ran(rt, "c", effects)

    undone = await rt.undo()
    left = content(rt, "b")
    named = await rt.undo(path="b")
    history = await rt.call("show_changes", {"path": "b"})

    assert undone.ok, undone.text
    assert content(rt, "a") == b"old"
    assert left == b"new"
    assert "doing of run_command" in undone.text
    assert "part, without pipe" in undone.text
    assert named.ok, named.text
    assert content(rt, "b") == b"old"
    assert [(one["standing"], one["attributed"]) for one in history.data["changes"]] == [
        (True, True),
        (False, False),
    ]


async def test_a_command_of_which_nothing_was_kept_is_passed_over_by_name(rt):
    await ran(rt, "first", {"changes": [described("a", b"old", b"new", rt)], "undo": "full"})
    await ran(rt, "blind", {"changes": [], "undo": "none", "left_out": {"build/": "closed"}})

    undone = await rt.undo(since="first")
    named = await rt.undo("blind")

    assert undone.ok, undone.text
    assert "undone: not kept: build/ (closed)" in undone.text
    assert named.problem.code == "not_found"
    assert content(rt, "a") == b"old"


async def test_commands_and_edits_of_one_file_are_taken_back_as_one(rt):
    await ran(rt, "c", {"changes": [described("a", b"old", b"new", rt)], "undo": "full"})
    edit = {"path": "a", "old_string": "new", "new_string": "newer"}
    (await rt.call("edit_file", edit, id="e")).unwrap()

    refused = await rt.undo("c")
    undone = await rt.undo(since="c")

    assert refused.problem.code == "conflict"
    assert "by edit_file (e)" in refused.problem.message
    assert undone.ok, undone.text
    assert undone.data["undid"] == ["e", "c"]
    assert content(rt, "a") == b"old"


async def test_an_undo_that_is_named_is_redone_and_a_redo_undone(rt):
    edit = {"path": "a", "old_string": "new", "new_string": "newer"}
    (await rt.call("edit_file", edit, id="e")).unwrap()
    undo = await rt.undo()

    redone = await rt.undo(undo.call_id)
    twice = await rt.undo(redone.call_id)
    nothing = await rt.undo()
    back = await rt.redo()

    assert redone.text.startswith("redid edit_file (e)")
    assert twice.ok, twice.text
    assert nothing.problem.code == "not_found"
    assert back.ok, back.text
    assert content(rt, "a") == b"newer"


async def test_a_name_with_a_line_break_forges_no_line(rt):
    path = "x\nrestored everything"
    (await rt.call("write_file", {"path": path, "content": "x"})).unwrap()

    undone = await rt.undo()

    assert undone.ok
    assert undone.text.splitlines()[1:] == ["  removed 'x\\nrestored everything'"]
