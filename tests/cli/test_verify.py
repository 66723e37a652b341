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
    assert done.out.startswith("unbroken: 4 rows in 1 session\n")
    assert handrail("verify", "--json").json["head"] in done.out


def test_the_first_broken_row_is_named(handrail, store):
    change(store, "UPDATE payloads SET body = replace(body, 'a.txt', 'b.txt') WHERE row = 3")

    done = handrail("verify")
    as_json = handrail("verify", "--json")

    assert (done.code, as_json.code) == (1, 1)
    assert done.out.startswith("BROKEN: session cli, row 3 (requested of call second): ")
    assert as_json.json["broken"] in done.out


def test_a_head_noted_earlier_is_found_again(handrail, store):
    head = handrail("verify", "--json").json["head"]
    handrail("call", "read_file", "path=a.txt")

    done = handrail("verify", "--anchor", head)

    assert done.code == 0
    assert "the anchor is in the record" in done.out


def test_a_record_that_was_made_anew_does_not_hold_the_anchor(handrail, store):
    head = handrail("verify", "--json").json["head"]
    for file in store.parent.glob("store.db*"):
        file.unlink()
    handrail("call", "read_file", "path=a.txt")

    done = handrail("verify", "--anchor", head)

    assert handrail("verify").code == 0
    assert done.code == 1
    assert "BROKEN: the anchor is not in the record" in done.out


def test_what_stands_in_a_broken_row_cannot_reach_the_terminal_as_commands(handrail, store):
    change(store, "UPDATE rows SET call_id = char(27) || '[2J' WHERE seq = 2")

    done = handrail("verify")

    assert done.code == 1
    assert "\x1b" not in done.out


def test_without_a_record_there_is_nothing_to_vouch_for(handrail):
    done = handrail("verify")

    assert (done.code, done.out) == (1, "")
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
