"""How long conversations are kept: `handrail gc` deletes old ones with everything that was said in them."""

import asyncio
import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
from tests.support.waiting import LIMIT_S, wait_until, wait_until_async

from handrail import Answer
from handrail import open as open_runtime
from handrail.cli.commands.record import gc
from handrail.host.terminal.approval_queue import (
    answer_pending,
    pending_approvals,
    queue_directory,
)
from handrail.store.opening import open_read_only

DAY_NS = 86_400 * 10**9


def call(name, **arguments):
    return {"calls": [{"name": name, "arguments": arguments}]}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.needs_postgres)])
def store(request):
    """The words that name a store of each engine, and its URL if it has one."""
    if request.param == "sqlite":
        return SimpleNamespace(words=(), url=None)
    url = request.getfixturevalue("postgres").new_store()
    return SimpleNamespace(words=("--store", url), url=url)


@pytest.fixture
def talk(handrail, tmp_path, store):
    """Make a conversation; each has words of its own, and a subagent."""

    def run(name, *lines):
        script = tmp_path / f"{name}.jsonl"
        said = [
            call("subagent", agent="explore", task=f"{name}-to-the-child"),
            call("write_file", path=f"{name}.txt", content=f"{name}-in-the-file\n"),
            *lines,
            {"text": f"{name}-of-the-model"},
            {"agent": "explore"},
            {"text": f"{name}-of-the-child"},
        ]
        script.write_text("".join(json.dumps(one) + "\n" for one in said))
        words = ("--once", "--mode", "bypass", "--model", f"script:{script}", "--session", name)
        done = handrail(*store.words, "run", *words, f"{name}-of-the-user")
        assert done.code == 0, done.err + done.out

    return run


@pytest.fixture
def days_pass(monkeypatch, own_home):
    """Days pass for what deletes old data."""

    def pass_days(count):
        for stamp in own_home.rglob("gc-time"):
            os.utime(stamp, (time.time() - 2 * 86_400,) * 2)
        later = time.time_ns() + count * DAY_NS
        monkeypatch.setattr(gc, "time", SimpleNamespace(time_ns=lambda: later))

    return pass_days


def found_words(store, home, name):
    """Which words of a conversation are left: in the files of the state directory, or the tables."""
    parts = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    if store.url is not None:
        db = open_read_only(store.url)
        tables = [
            one for (one,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in tables:
            rows = db.execute(f"SELECT CAST(t.* AS text) FROM {table} t").fetchall()
            parts += [str(row).encode() for row in rows]
        db.close()
    ends = ("of-the-user", "of-the-model", "to-the-child", "of-the-child", "in-the-file")
    return {end for end in ends if any(f"{name}-{end}".encode() in one for one in parts)}


def sessions(handrail, store):
    listed = handrail(*store.words, "session", "--json")
    return {one["session"] for one in listed.lines}


@pytest.mark.threat("A15")
def test_old_conversations_are_deleted_with_all_that_was_said(
    handrail, talk, days_pass, store, own_home
):
    talk("first")
    before = found_words(store, own_home, "first")
    days_pass(89)
    kept = handrail(*store.words, "gc", "--json").json
    still = sessions(handrail, store)
    days_pass(91)
    planned = handrail(*store.words, "gc", "--dry-run", "--json").json
    there = sessions(handrail, store)
    done = handrail(*store.words, "gc")

    assert {"of-the-user", "of-the-model", "to-the-child", "of-the-child"} <= before
    assert (kept["conversations"], kept["conversations_older_than_days"]) == (0, 90)
    assert (planned["conversations"], planned["dry_run"]) == (1, True)
    assert still == there == {"first"}
    assert "deleted 1 conversation older than 90 days" in done.out
    assert found_words(store, own_home, "first") == set()
    assert sessions(handrail, store) == set()
    verified = handrail(*store.words, "verify")
    assert verified.code == 0, verified.out
    assert handrail(*store.words, "gc", "--json").json["conversations"] == 0


def test_a_task_makes_a_conversation_young_again_and_others_stay(
    handrail, talk, store, own_home, tmp_path, monkeypatch
):
    talk("old")
    talk("young")
    # A young task, after the old conversation ended.
    between = time.time_ns()
    again = tmp_path / "again.jsonl"
    again.write_text('{"text": "again"}\n')
    words = ("--once", "--model", f"script:{again}", "--resume", "young", "go on")
    assert handrail(*store.words, "run", *words).code == 0
    ten_days_later = SimpleNamespace(time_ns=lambda: between + 10 * DAY_NS)
    monkeypatch.setattr(gc, "time", ten_days_later)

    done = handrail(*store.words, "gc", "--older-than", "10", "--json").json

    assert done["conversations"] == 1
    assert sessions(handrail, store) == {"young"}
    assert found_words(store, own_home, "old") == set()
    assert "of-the-user" in found_words(store, own_home, "young")
    assert handrail(*store.words, "run", *words).code == 0
    assert handrail(*store.words, "verify").code == 0


def test_the_age_is_a_setting_of_the_user_and_not_of_the_workspace(
    handrail, workspace, talk, days_pass, store, own_home
):
    talk("first")
    (workspace / ".handrail").mkdir()
    (workspace / ".handrail" / "config.toml").write_text("keep_conversations_days = 1\n")
    days_pass(40)
    before = handrail(*store.words, "gc", "--json").json
    file = own_home / "config" / "handrail" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("keep_conversations_days = 7\n")

    after = handrail(*store.words, "gc", "--json").json

    assert (before["conversations"], after["conversations"]) == (0, 1)
    assert after["conversations_older_than_days"] == 7


def test_they_are_deleted_automatically_after_a_run(handrail, talk, days_pass, store):
    talk("first")
    days_pass(91)
    talk("second")

    assert "first" not in sessions(handrail, store)
    assert handrail(*store.words, "verify").code == 0


WORK = """
import sys, json, asyncio, pathlib, handrail
root, store, script, ready = sys.argv[1:]
async def main():
    settings = {"store": store} if store else {}
    async with handrail.open(root, model=f"script:{script}", mode="bypass", **settings) as rt:
        await rt.agent(session="held").run("held-of-the-user", on_event=note)
def note(event):
    if event.type == "tool_call_start":
        pathlib.Path(ready).touch()
asyncio.run(main())
"""


def test_one_that_a_process_works_in_is_kept_and_cannot_be_deleted(
    handrail, workspace, talk, store, tmp_path, own_home
):
    talk("free")
    script, ready = tmp_path / "held.jsonl", tmp_path / "ready"
    os.mkfifo(workspace / "gate")
    script.write_text(json.dumps(call("run_command", command="cat gate", timeout_s=60)) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, str(workspace), store.url or "", str(script), str(ready)]
    )
    try:
        wait_until(ready.exists, LIMIT_S)
        collected = handrail(*store.words, "gc", "--older-than", "0", "--json").json
        refused = handrail(*store.words, "session", "delete", "held")
        kept = sessions(handrail, store)
    finally:
        process.terminate()
        process.wait(LIMIT_S)
    deleted = handrail(*store.words, "session", "delete", "held")

    assert (collected["conversations"], kept) == (1, {"held"})
    assert (refused.code, "pid" in refused.err) == (1, True)
    assert deleted.code == 0, deleted.err
    assert found_words(store, own_home, "held") == set()
    assert handrail(*store.words, "verify").code == 0


@pytest.mark.threat("A15")
def test_of_sessions_with_similar_names_one_is_deleted(handrail, talk, store, own_home):
    """The ids of calls begin with the name of the session, where it has no dot and no space."""
    for name in ("v1", "v1.2", "ein Gespräch"):
        talk(name)
    for name in ("v1", "ein Gespräch"):
        assert handrail(*store.words, "session", "delete", name).code == 0

    left = {name: found_words(store, own_home, name) for name in ("v1", "v1.2", "ein Gespräch")}
    assert (left["v1"], left["ein Gespräch"]) == (set(), set())
    assert {"of-the-user", "of-the-child", "in-the-file"} <= left["v1.2"]
    # Its file is still on record and can be undone.
    assert handrail(*store.words, "undo", "--session", "v1.2").code == 0
    assert handrail(*store.words, "verify").code == 0


@pytest.mark.threat("A15")
def test_answers_to_questions_are_deleted_with_their_session(
    handrail, workspace, store, tmp_path, own_home
):
    script = tmp_path / "script.jsonl"
    asked = call("write_file", path="b.txt", content="x")
    script.write_text(json.dumps(asked) + '\n{"text": "done"}\n')

    async def work():
        settings = {"store": store.url} if store.url else {}
        async with open_runtime(
            workspace, model=f"script:{script}", mode="default", approver="approvals", **settings
        ) as rt:
            agent = rt.agent(session="asked")
            task = asyncio.create_task(agent.run("Go"))
            queue = queue_directory(workspace)
            await wait_until_async(lambda: pending_approvals(queue) or task.done(), 60)
            (pending,) = pending_approvals(queue)
            answer_pending(pending, Answer.NO, "asked-of-the-user")
            await task

    asyncio.run(work())
    before = found_words(store, own_home, "asked")
    assert handrail(*store.words, "session", "delete", "asked").code == 0

    assert before == {"of-the-user"}
    assert found_words(store, own_home, "asked") == set()
    assert handrail(*store.words, "verify").code == 0


def test_subagents_of_programs_are_deleted_too(handrail, workspace, store, tmp_path, own_home):
    """A program that starts subagents without a conversation of its own."""
    script = tmp_path / "script.jsonl"
    lines = [{"text": "x"}, {"agent": "explore"}, {"text": "alone-of-the-child"}]
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))

    async def work():
        settings = {"store": store.url} if store.url else {}
        async with open_runtime(workspace, model=f"script:{script}", **settings) as rt:
            asked = {"agent": "explore", "task": "alone-to-the-child"}
            assert (await rt.call("subagent", asked)).ok

    asyncio.run(work())
    before = found_words(store, own_home, "alone")
    done = handrail(*store.words, "gc", "--older-than", "0", "--json").json

    assert before == {"to-the-child", "of-the-child"}
    assert done["conversations"] == 1
    assert found_words(store, own_home, "alone") == set()
    assert handrail(*store.words, "verify").code == 0
