import asyncio
import sqlite3

from handrail import open as handrail_open


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
    assert len(handrail("log", "--session", "one", "--json").lines) == 2
    assert handrail("log", "--session", "three").code == 2


def test_nothing_on_record_is_not_an_error(handrail, workspace):
    done = handrail("log")

    assert (done.code, done.out) == (0, f"no calls recorded in {workspace}\n")
    assert handrail("log", "--json").out == ""


def test_a_store_that_was_named_and_is_not_there_is_an_error(handrail):
    assert handrail("--store", "nope.db", "log").code == 6


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
