import sqlite3

import pytest


@pytest.fixture
def store(handrail, own_home):
    handrail("call", "read_file", "path=a.txt", "--id", "first")
    handrail("call", "read_file", "path=a.txt", "--id", "second")
    return next(own_home.rglob("store.db"))


def test_an_untouched_record_is_unbroken(handrail, store):
    done = handrail("verify")

    assert done.code == 0
    assert done.out.startswith("intact: 4 rows")
    assert handrail("verify", "--json").json["head"] in done.out


def test_the_first_broken_row_is_named(handrail, store):
    change(store, "UPDATE payloads SET body = replace(body, 'a.txt', 'b.txt') WHERE row = 3")

    done = handrail("verify")
    as_json = handrail("verify", "--json")

    assert (done.code, as_json.code) == (1, 1)
    assert done.out.startswith("BROKEN: session cli, row 3 ")
    assert as_json.json["broken"] in done.out
    assert "\nthe anchor is not" in handrail("verify", "--anchor", "0" * 64).out


def test_a_head_noted_earlier_is_found_again(handrail, store):
    head = handrail("verify", "--json").json["head"]
    handrail("call", "read_file", "path=a.txt")

    done = handrail("verify", "--anchor", head)

    assert done.code == 0
    assert done.out.startswith("intact: 6 rows")
    assert handrail("verify", "--anchor", f" {head.upper()}").code == 0


@pytest.mark.parametrize("anchor", ["abc", "", "g" * 64, "a" * 63, "a" * 65, "é" * 64])
def test_an_anchor_that_can_be_no_head_is_a_usage_error(handrail, store, anchor):
    done = handrail("verify", "--anchor", anchor)

    assert (done.code, done.out) == (2, "")
    assert "is not a head" in done.err


@pytest.mark.parametrize("command", ["verify", "gc"])
def test_what_concerns_all_sessions_takes_none(handrail, store, command):
    done = handrail("--session", "cli", command)

    assert (done.code, done.out) == (2, "")
    assert f"`{command}` does not accept --session: " in done.err


def test_a_record_that_was_made_anew_does_not_hold_the_anchor(handrail, store):
    head = handrail("verify", "--json").json["head"]
    for file in store.parent.glob("store.db*"):
        file.unlink()
    handrail("call", "read_file", "path=a.txt")

    done = handrail("verify", "--anchor", head)

    assert handrail("verify").code == 0
    assert done.code == 1
    assert done.out.startswith("BROKEN: the anchor")
    assert "what to do: " in done.out
    assert "unbroken" not in done.out


def test_what_stands_in_a_broken_row_cannot_reach_the_terminal_as_commands(handrail, store):
    change(store, "UPDATE rows SET call_id = char(27) || '[2J' WHERE seq = 2")

    done = handrail("verify")

    assert done.code == 1
    assert "\x1b" not in done.out


def test_without_a_record_there_is_nothing_to_vouch_for(handrail):
    done = handrail("verify")

    assert (done.code, done.out) == (6, "")
    assert done.err.startswith("store_unavailable: ")


def test_a_session_that_goes_on_is_named_and_is_not_an_error(handrail, workspace):
    from handrail import sync

    with sync.open(workspace, session="going") as rt:
        rt.call("read_file", {"path": "a.txt"})
        done = handrail("verify")

    assert done.code == 0
    assert "not closed: going\n" in done.out
    assert "not closed" not in handrail("verify").out


def change(store, statement: str) -> None:
    with sqlite3.connect(store) as db:
        db.execute(statement)
    db.close()
