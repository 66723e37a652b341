import os
import secrets
import time
from types import SimpleNamespace

import pytest

from handrail.cli.commands.record import gc


def test_what_is_young_stays(handrail):
    handrail("call", "read_file", "path=a.txt")

    assert handrail("gc").out.endswith("older than 30 days\n")
    assert handrail("log", "--json").lines[0]["requested"]["arguments"] == {"path": "a.txt"}


def test_a_dry_run_counts_what_a_real_run_drops(handrail):
    handrail("call", "read_file", "path=a.txt")
    handrail("call", "read_file", "path=a.txt")

    planned = handrail("gc", "--older-than", "0", "--dry-run", "--json").json
    done = handrail("gc", "--older-than", "0", "--json").json
    again = handrail("gc", "--older-than", "0", "--json").json

    assert planned["payloads"] == done["payloads"] == 4
    assert planned["payload_bytes"] == done["payload_bytes"] > 0
    assert (planned["dry_run"], done["dry_run"], again["payloads"]) == (True, False, 0)


def test_the_record_still_holds_after_payloads_were_dropped(handrail):
    handrail("call", "read_file", "path=a.txt")

    done = handrail("gc", "--older-than", "0")

    assert done.code == 0
    assert done.out.startswith("deleted 2 payloads (")
    assert handrail("verify").code == 0
    assert handrail("log", "--json").lines[0]["requested"] == {"purged": True}


def test_the_age_comes_from_the_settings_unless_it_is_given(handrail, own_home):
    file = own_home / "config" / "handrail" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("keep_days = 7\n")

    assert handrail("gc").out.endswith("older than 7 days\n")
    assert handrail("gc", "--older-than", "2.5").out == "nothing is older than 2.5 days\n"


def test_old_texts_of_long_results_are_dropped(handrail, workspace, own_home):
    (workspace / "big.txt").write_text("some words\n" * 1000)
    (workspace / "short.toml").write_text("max_chars = 500\n")
    handrail("--config", "short.toml", "call", "read_file", "path=big.txt")
    kept = [path for path in own_home.rglob("oversized/*") if path.is_file()]
    assert len(kept) == 1
    past = time.time() - 40 * 86_400
    os.utime(kept[0], (past, past))
    size = kept[0].stat().st_size

    planned = handrail("gc", "--dry-run", "--json").json
    assert kept[0].exists()
    done = handrail("gc", "--json").json

    assert (planned["texts"], planned["text_bytes"]) == (done["texts"], done["text_bytes"])
    assert (done["texts"], done["text_bytes"], done["payloads"]) == (1, size, 0)
    assert not kept[0].exists()


def test_nothing_on_record_is_not_an_error(handrail):
    assert handrail("gc", "--older-than", "0").code == 0


def test_a_store_becomes_smaller(handrail, workspace):
    (workspace / "big.txt").write_text("\n".join(secrets.token_hex(30) for _ in range(400)))
    handrail("call", "read_file", "path=big.txt")

    done = handrail("gc", "--older-than", "0")

    assert "the store is " in done.out
    assert " smaller; its hash chain" in done.out
    assert handrail("verify").code == 0


def test_a_dry_run_counts_old_contents_too(handrail, workspace, own_home):
    for name, line in (("a.txt", "0123456789\n"), ("b.txt", "abcdefghij\n")):
        (workspace / name).write_text(line * 10_000)
        words = ("call", "write_file", f"path={name}", "content=new")
        assert handrail("--mode", "accept-edits", *words).code == 0
    blobs = [path for path in own_home.rglob("blobs/*") if path.is_file()]
    assert len(blobs) == 2

    young = handrail("gc", "--dry-run", "--json").json
    packed = handrail("gc", "--json").json
    planned = handrail("gc", "--older-than", "0", "--dry-run", "--json").json
    told = handrail("gc", "--older-than", "0", "--dry-run").out
    done = handrail("gc", "--older-than", "0", "--json").json

    assert young["content_bytes"] == packed["content_bytes"] > 200_000
    assert planned["content_bytes"] == done["content_bytes"] > 0
    assert "contents would use " in told
    assert [path for path in own_home.rglob("blobs/*") if path.is_file()] == []


@pytest.mark.needs_sandbox
def test_contents_that_a_command_replaced_are_kept_as_long_as_its_record(
    handrail, workspace, own_home
):
    (workspace / "a.txt").write_text("0123456789\n" * 10_000)
    run = ("call", "run_command", "command=printf new > a.txt", "--id", "c")
    assert handrail("--mode", "sandboxed", *run).code == 0

    kept = handrail("gc", "--json").json
    undone = handrail("undo", "--call", "c")

    assert kept["payloads"] == 0
    assert undone.code == 0, undone.err
    assert (workspace / "a.txt").read_text() == "0123456789\n" * 10_000


def test_while_a_call_runs_no_content_is_dropped(handrail, workspace, own_home):
    """What it changed lies there before its record says so."""
    import sqlite3

    from handrail.host.state.identities import this_process

    (workspace / "a.txt").write_text("0123456789\n" * 10_000)
    handrail("--mode", "accept-edits", "call", "--id", "w", "write_file", "path=a.txt", "content=x")
    (blob,) = [path for path in own_home.rglob("blobs/*") if path.is_file()]
    unpromised = blob.with_name("0" * 64)
    unpromised.write_bytes(b"x" * 1000)
    (store,) = own_home.rglob("store.db")
    with sqlite3.connect(store) as db:
        body = f'{{"tool": "run_command", "runs": "run_command", "owner": "{this_process()}"}}'
        row = db.execute(
            "INSERT INTO rows (session, seq, kind, call_id, turn, at_ns, payload_hash, prev_hash,"
            " hash) SELECT 'x', 1, 'intent', 'c', 1, 1, '', '', '' RETURNING id"
        ).fetchone()[0]
        db.execute("INSERT INTO payloads VALUES (?, ?)", (row, body))
    db.close()

    running = handrail("gc", "--json").json
    there = unpromised.exists()
    with sqlite3.connect(store) as db:
        db.execute("DELETE FROM rows WHERE id = ?", (row,))
    db.close()
    over = handrail("gc", "--json").json

    assert (running["content_bytes"], there) == (0, True)
    assert over["content_bytes"] > 1000
    assert not unpromised.exists()
    assert os.listdir(blob.parent) == [f"{blob.name}.z"]


def test_what_commands_left_is_counted_and_dropped(handrail, own_home):
    handrail("call", "read_file", "path=a.txt")
    (store,) = own_home.rglob("store.db")
    thing = store.parent / "quarantine" / "abc" / "1-.envrc"
    thing.parent.mkdir(parents=True)
    thing.write_text("export X=1\n")
    past = time.time() - 40 * 86_400
    os.utime(thing.parent, (past, past))

    planned = handrail("gc", "--dry-run", "--json").json
    told = handrail("gc", "--dry-run").out
    sizes = handrail("doctor", "--json").json["state"]
    done = handrail("gc", "--json").json

    assert sizes["quarantine_bytes"] == 11
    assert (planned["quarantined"], planned["quarantine_bytes"]) == (1, 11)
    assert (done["quarantined"], done["quarantine_bytes"]) == (1, 11)
    assert "1 quarantined file (11 bytes)" in told
    assert not thing.exists()


@pytest.mark.needs_sandbox
def test_copies_for_undo_go_when_no_runtime_has_used_them_for_long(
    handrail, workspace, own_home, monkeypatch
):
    (workspace / "a.txt").write_text("0123456789\n" * 1000)
    run = ("call", "run_command", "command=python3 -c \"open('b.txt','w').write('x')\"", "--id")
    assert handrail("--mode", "sandboxed", *run, "one").code == 0
    (slot,) = own_home.rglob("shadow/0")
    young = handrail("gc", "--json").json
    past = time.time() - 40 * 86_400
    for path in slot.iterdir():
        os.utime(path, (past, past))

    planned = handrail("gc", "--dry-run", "--json").json
    told = handrail("gc", "--dry-run").out
    done = handrail("gc", "--json").json
    again = handrail("--mode", "sandboxed", *run, "two")

    assert young["copy_bytes"] == 0
    assert planned["copy_bytes"] == done["copy_bytes"] > 11_000
    assert "of unused copies for undo" in told
    assert again.code == 0
    assert handrail("undo", "--call", "one").code == 0


@pytest.mark.parametrize("words", [[], ["--path", "a.txt"], ["--since", "all"], ["--turn", "last"]])
def test_undo_says_that_gc_has_dropped_what_it_would_need(handrail, workspace, words):
    edit = ["call", "write_file", "path=a.txt", "content=new"]
    assert handrail("--mode", "accept-edits", *edit).code == 0
    handrail("gc", "--older-than", "0")

    undone = handrail("undo", *words)

    assert undone.code == 1
    assert "`handrail gc`" in undone.err
    assert "nothing has been changed" not in undone.err


def test_undo_where_nothing_was_dropped_does_not_speak_of_gc(handrail):
    assert "gc" not in handrail("undo").err


@pytest.fixture
def much_later(monkeypatch, own_home):
    """40 days pass for what deletes old data."""

    def pass_days():
        for stamp in own_home.rglob("gc-time"):
            os.utime(stamp, (time.time() - 2 * 86_400,) * 2)
        later = time.time_ns() + 40 * 86_400 * 1_000_000_000
        monkeypatch.setattr(gc, "time", SimpleNamespace(time_ns=lambda: later))

    return pass_days


@pytest.mark.finding("F39")
def test_all_workspaces_of_the_user_are_collected(handrail, workspace, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("other\n")
    handrail("call", "read_file", "path=a.txt")
    handrail("-w", other, "call", "read_file", "path=b.txt")

    planned = handrail("gc", "--all", "--older-than", "0", "--dry-run", "--json").lines
    done = handrail("gc", "--all", "--older-than", "0")

    assert [one["payloads"] for one in planned] == [2, 2]
    assert done.code == 0
    assert done.out.count("deleted 2 payloads") == 2
    for place in (workspace, other):
        assert handrail("-w", place, "log", "--json").lines[0]["requested"] == {"purged": True}


@pytest.mark.finding("F39")
def test_a_record_that_cannot_be_used_stops_no_other(handrail, own_home, tmp_path):
    (broken := own_home / "state" / "handrail" / "a-broken").mkdir(parents=True)
    (broken / "store.db").write_bytes(b"this is not a database" * 100)
    handrail("call", "read_file", "path=a.txt")

    done = handrail("gc", "--all", "--older-than", "0")

    assert done.code == 6
    assert "deleted 2 payloads" in done.out
    assert handrail("gc", "--all", "--store", tmp_path / "x.db").code == 2


@pytest.mark.finding("F39")
def test_old_payloads_are_deleted_once_a_day_after_a_call(handrail, much_later):
    handrail("call", "read_file", "path=a.txt", "--id", "old")
    much_later()

    first = handrail("call", "file_info", "path=a.txt", "--id", "new")
    rows = {one["call_id"]: one["requested"] for one in handrail("log", "--json").lines}

    assert (first.code, first.err) == (0, "")
    assert rows["old"] == {"purged": True}
    assert handrail("verify").code == 0


@pytest.mark.finding("F39")
def test_automatic_deletion_has_limits_and_a_setting(handrail, much_later, own_home, monkeypatch):
    monkeypatch.setattr(gc, "_AUTO_CALLS", 2)
    for name in ("one", "two", "three"):
        handrail("call", "read_file", "path=a.txt", "--id", name)
    config = own_home / "config" / "handrail" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("auto_gc = false\n")
    much_later()
    handrail("call", "file_info", "path=a.txt")
    purged_off = sum("purged" in one["requested"] for one in handrail("log", "--json").lines)
    config.unlink()
    much_later()
    handrail("call", "file_info", "path=a.txt")
    purged_on = sum("purged" in one["requested"] for one in handrail("log", "--json").lines)

    assert (purged_off, purged_on) == (0, 2)
