import asyncio
import json
import sqlite3
from argparse import ArgumentTypeError

import pytest

from handrail import open as handrail_open
from handrail.cli.commands.record.log import (
    _parse_turn,
    _print_ended,
    arguments_line,
    call_json,
    print_calls,
    reverted_calls,
)
from handrail.core.ports.records import CallRecord


def test_the_newest_call_comes_first(handrail):
    handrail("call", "read_file", "path=a.txt")
    handrail("call", "read_file", "path=nope.txt")

    lines = handrail("log").out.splitlines()

    assert lines[0].split() == ["TIME", "CALL", "TURN", "TOOL", "STATUS", "ARGUMENTS"]
    assert [line.split()[-4:] for line in lines[1:]] == [
        ["cli:2", "read_file", "failed", "path=nope.txt"],
        ["cli:1", "read_file", "ok", "path=a.txt"],
    ]


def test_json_is_the_record(handrail):
    result = handrail("call", "read_file", "path=a.txt", "--json").json

    record = handrail("log", "--json").lines[0]

    assert list(record) == [
        "session",
        "call_id",
        "turn",
        "requested_ns",
        "requested",
        "intent",
        "completed",
        "completed_ns",
        "requested_at",
        "completed_at",
    ]
    assert record["call_id"] == result["call_id"]
    assert record["requested"]["arguments"] == {"path": "a.txt"}
    assert record["completed"]["text"] == result["text"]


def test_only_so_many_calls_or_one_session(handrail):
    for session in ("one", "two", "one"):
        handrail("--session", session, "call", "file_info", "path=a.txt")

    assert len(handrail("log", "-n", "2", "--json").lines) == 2
    some, every = (handrail("log", "-n", limit).out.splitlines() for limit in "23")
    assert (len(some), len(every)) == (1 + 2 + 1, 1 + 3)
    assert "--limit" in some[-1]
    assert len(handrail("log", "--session", "one", "--json").lines) == 2
    assert handrail("log", "--session", "three").code == 2


def test_nothing_on_record_is_not_an_error(handrail, workspace):
    done = handrail("log")

    assert (done.code, done.out) == (0, f"no calls recorded in {workspace}\n")
    assert handrail("log", "--json").out == ""


def test_a_store_that_was_named_and_is_not_there_is_an_error(handrail):
    assert handrail("--store", "nope.db", "log").code == 6


@pytest.mark.parametrize("store", ["mysql://me:hunter2@db/x", "sqlite:///x.db"])
def test_a_store_of_an_unknown_kind_is_an_error_without_its_password(handrail, workspace, store):
    before = sorted(workspace.iterdir())
    done = handrail("--store", store, "call", "read_file", "path=a.txt")

    assert done.code == 2
    assert store.partition("//")[0] in done.err and "hunter2" not in done.err
    assert sorted(workspace.iterdir()) == before


def test_lines_fit_the_terminal(handrail, monkeypatch):
    handrail("call", "grep", f"pattern={'x' * 300}")
    monkeypatch.setenv("COLUMNS", "80")

    lines = handrail("log").out.splitlines()

    assert max(len(line) for line in lines) == 80
    assert lines[1].endswith("…")


def test_what_was_asked_cannot_reach_the_terminal_as_commands(handrail):
    handrail("call", "read\x1b[2J_file", "path=\x1b]0;title\x07")
    refused = handrail("call", "read_file", "path=a.txt", "--id", "i\x1b[1A")

    assert refused.code != 0
    out = handrail("log").out + handrail("show").out + refused.out + refused.err

    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\\x1b]0;title\\x07" in out


def test_a_call_without_an_end_says_so(handrail, own_home):
    handrail("call", "read_file", "path=a.txt")
    store = next(own_home.rglob("store.db"))
    with sqlite3.connect(store) as db:
        db.execute("DELETE FROM rows WHERE kind = 'completed'")
    db.close()

    assert handrail("log").out.splitlines()[1].split()[4] == "unfinished"
    assert "ended     unknown: " in handrail("show").out


def test_the_name_of_a_workspace_cannot_reach_the_terminal_as_commands(handrail, tmp_path):
    odd = tmp_path / "odd\x1b[2J\nname"
    odd.mkdir()

    out = (
        "".join(handrail("-w", odd, *words).out for words in (["log"], [], ["doctor"]))
        + handrail("demo", "--dir", odd / "demo").out
    )

    assert "\x1b" not in out


def test_an_undo_and_a_redo_name_the_call_they_are_about(handrail, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    write = ("call", "write_file", "path=b.txt", "content=x", "--json")
    made = handrail("--mode", "accept-edits", *write).json["call_id"]
    handrail("undo")
    handrail("redo")
    handrail("undo", "--call", "nobody")

    failed, redone, undone, _ = handrail("log").out.splitlines()[1:]

    assert undone.endswith(f"undo        ok      target=last undid={made}")
    assert redone.endswith(f"redo        ok      target=last redid={made}")
    assert "undid" not in failed


def test_the_state_of_a_file_is_true_after_undo_redo_and_undo(handrail):
    write = ("--mode", "accept-edits", "call", "write_file", "path=a.txt")
    handrail(*write, "--id", "c0", "content=0")
    handrail(*write, "--id", "c1", "content=1")
    for word in ("undo", "redo", "undo"):
        assert handrail(word).code == 0

    rows = handrail("log", "--path", "a.txt").out.splitlines()[1:]
    objects = handrail("log", "--path", "a.txt", "--json").lines
    again = handrail("redo")
    redone = handrail("log", "--path", "a.txt").out.splitlines()[1:]

    assert [row.partition(" write ")[2].strip() for row in rows] == [
        "undid c1",
        "redid c1, undone",
        "undid c1, redone",
        "undone",
        "current",
    ]
    assert [one["standing"] for one in objects] == [True, False, False, False, True]
    assert again.code == 0
    assert redone[0].endswith("redid c1")
    assert redone[-2].endswith("current")


def test_a_redo_that_was_undone_since_is_shown_as_that(handrail):
    handrail("--mode", "accept-edits", "call", "write_file", "path=a.txt", "content=1")
    handrail("undo")
    redo = handrail("redo", "--json").json["call_id"]
    handrail("undo")

    shown = handrail("show", redo)

    assert "later undone" in shown.out


def test_the_last_turn_is_listed(handrail):
    handrail("--session", "one", "call", "read_file", "path=a.txt")
    handrail("--session", "two", "call", "read_file", "path=a.txt")
    handrail("--session", "two", "call", "file_info", "path=a.txt")

    (last,) = handrail("log", "--turn", "last", "--json").lines
    (of_one,) = handrail("log", "--session", "one", "--turn", "last", "--json").lines

    assert (last["session"], last["turn"]) == ("two", 2)
    assert (of_one["session"], of_one["turn"]) == ("one", 1)
    assert handrail("log", "--session", "three", "--turn", "last").code == 2
    assert handrail("log", "--turn", "one:7").err.startswith("not_found: ")


def test_the_calls_of_one_agent(handrail, workspace):
    large = "x" * 300_000

    async def call_as_agents():
        async with handrail_open(workspace, mode="accept-edits") as rt:
            await rt.call("read_file", {"path": "a.txt"})
            await rt.call("read_file", {"path": "a.txt"}, agent="explore-1")
            for agent in ("explore-1", "other"):
                await rt.call("write_file", {"path": "b.txt", "content": large}, agent=agent)

    asyncio.run(call_as_agents())

    found = handrail("log", "--agent", "explore-1", "--json").lines
    assert [one["requested"]["tool"] for one in found] == ["write_file", "read_file"]
    assert {one["requested"]["agent"] for one in found} == {"explore-1"}
    assert len(handrail("log", "--agent", "explore-1", "-n", "1", "--json").lines) == 1
    assert handrail("log", "--agent", "nobody", "--json").out == ""


def record(call_id="c1", *, tool="edit_file", ended_ns=5, intent=None, session="s", turn=1, **more):
    completed = None if ended_ns is None else {"status": "ok", "changes": ["a.txt"]} | more
    arguments = more.get("arguments", {"path": "a\n.txt", "text": "x" * 99})
    requested = {"tool": tool, "arguments": arguments}
    return CallRecord(session, call_id, turn, 1, requested, intent, completed, ended_ns)


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (record(), f"path=a\\n.txt text={'x' * 59}…"),
        (record(arguments=None), ""),
        (record(arguments="[]"), ""),
        (record(arguments={}), ""),
        (record(tool="undo", arguments={"redo": True, "n": 2}), "n=2"),
        (record(tool="undo", arguments={"redo": False}), "redo=False"),
        (record(tool="edit_file", arguments={"redo": True}), "redo=True"),
        (record(tool="undo", arguments={}, intent={"data": {"undid": ["a", 2]}}), "undid=a, 2"),
    ],
)
def test_arguments_are_on_one_line(call, shown):
    assert arguments_line(call) == shown


@pytest.mark.parametrize(
    ("call", "reverted"),
    [
        (record(tool="undo", intent={"data": {"undid": ["c1"]}}), {"undid": "c1"}),
        (record(tool="undo", intent={"data": {"redid": ["c1", "c2"]}}), {"redid": "c1, c2"}),
        (record(tool="undo", intent={"data": {"undid": [1], "redid": [2]}}), {"redid": "2"}),
        (record(tool="undo", intent={"data": {}}), {}),
        (record(tool="undo", intent={"data": None}), {}),
        (record(tool="undo", intent=None), {}),
        (record(tool="undo", intent={"data": {"undid": ["c1"]}}, changes=[]), {}),
        (record(tool="undo", intent={"data": {"undid": ["c1"]}}, ended_ns=None), {}),
        (record(tool="edit_file", intent={"data": {"undid": ["c1"]}}), {}),
    ],
)
def test_what_an_undo_reverted_is_named_if_it_changed_something(call, reverted):
    assert reverted_calls(call) == reverted


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("last", "last"),
        ("3", (None, 3)),
        ("s:3", ("s", 3)),
        ("a:b:10", ("a:b", 10)),
        (":3", ("", 3)),
        ("9" * 15, (None, int("9" * 15))),
    ],
)
def test_turns_are_numbers_of_a_session_or_the_last(text, turn):
    assert _parse_turn(text) == turn


@pytest.mark.parametrize("text", ["", "x", "-1", "s:", "s:x", "1.5", "9" * 16])
def test_other_turns_are_refused(text):
    with pytest.raises(ArgumentTypeError):
        _parse_turn(text)


def test_no_calls_are_a_line(capsys):
    print_calls([])

    assert capsys.readouterr().out == "no calls\n"


def ended_ids(capsys, calls, since_ns, printed):
    _print_ended(calls, since_ns, printed, as_json=True)
    return [json.loads(line)["call_id"] for line in capsys.readouterr().out.splitlines()]


def test_followed_calls_are_printed_once_in_the_order_in_which_they_came(capsys):
    printed = set()
    old, running = record("old", ended_ns=4), record("running", ended_ns=None)
    first, second = record("first", ended_ns=5), record("second", ended_ns=6)

    assert ended_ids(capsys, [second, running, first, old], 5, printed) == ["first", "second"]
    ended = record("running", ended_ns=7)
    assert ended_ids(capsys, [second, ended, first, old], 5, printed) == ["running"]
    assert ended_ids(capsys, [second, ended, first, old], 5, printed) == []
    # What is no longer among the newest calls is forgotten.
    assert ended_ids(capsys, [ended], 5, printed) == []
    assert {key[1] for key in printed} == {"running"}


def test_followed_calls_are_lines_without_json(capsys):
    _print_ended([record()], 0, set(), as_json=False)

    (line,) = capsys.readouterr().out.splitlines()
    assert line.split()[-6:-1] == ["c1", "s:1", "edit_file", "ok", "path=a\\n.txt"]


def test_a_call_as_json_has_its_times_in_utc():
    call = record(ended_ns=2_000_000_000)

    shown = call_json(call)
    assert shown["requested_at"].startswith("1970-01-01T00:00:00")
    assert shown["completed_at"].startswith("1970-01-01T00:00:02")
    assert call_json(record(ended_ns=None))["completed_at"] is None
    assert shown["session"] == "s"


def test_turns_of_a_session_are_listed_alone(handrail):
    for path in ("a.txt", "b.txt", "c.txt"):
        handrail("call", "file_info", f"path={path}")

    def listed(*words):
        calls = handrail("log", "--json", *words).lines
        return [one["requested"]["arguments"]["path"] for one in calls]

    assert listed("--turn", "last") == ["c.txt"]
    assert listed("--turn", "2") == ["b.txt"]
    assert listed("--turn", "cli:1") == ["a.txt"]
    assert listed("--turn", "last", "--session", "cli") == ["c.txt"]
    assert listed("--agent", "nobody") == []
    assert handrail("log", "--turn", "cli:9").code == 1
    assert handrail("log", "--turn", "nope:1").code == 2
    assert handrail("log", "--turn", "9", "--json").out == ""


def test_a_session_of_an_unrecorded_workspace_is_unknown(handrail):
    assert handrail("log", "--session", "s").code == 2
    assert handrail("log", "--turn", "s:1").code == 2
    assert handrail("log", "--turn", "1").code == 0
