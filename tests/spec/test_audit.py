"""Nothing unseen: every call leaves its record, whatever became of it."""

import asyncio
import base64
import sqlite3
import subprocess
import sys
import textwrap

import pytest
from tests.support import internals

import handrail
from handrail.host.files import directory
from handrail.store.chain.verify import verify


@pytest.mark.feature("U01", "U02", "R-20", "F22", "F15")
async def test_every_call_leaves_exactly_one_pair_whatever_became_of_it(workspace, open_runtime):
    workspace.write("a.txt", "x\n")

    @handrail.tool(reads_only=True)
    def broken() -> str:
        """Fails."""
        raise RuntimeError("bug")

    async with open_runtime(mode="default") as rt:
        rt.register(broken)
        await rt.call("read_file", {"path": "a.txt"}, id="ok", agent="alice")
        await rt.call("read_file", {"path": "b.txt"}, id="failed")
        await rt.call("write_file", {"path": "b.txt", "content": ""}, id="refused")
        await rt.call("nonsense", {}, id="unknown")
        await rt.call("read_file", {"path": 1.5j}, id="invalid")
        await rt.call("broken", id="bug")
        records = {one.call_id: one for one in await rt.store.calls(limit=20)}

    statuses = {name: one.completed["status"] for name, one in records.items()}
    assert statuses == {
        "ok": "ok",
        "failed": "failed",
        "refused": "refused",
        "unknown": "refused",
        "invalid": "refused",
        "bug": "failed",
    }
    ok = records["ok"]
    assert ok.requested["tool"] == "read_file"
    assert ok.requested["arguments"] == {"path": "a.txt"}
    assert ok.requested["agent"] == "alice"
    assert ok.completed["text"] == "x"
    assert ok.completed["is_error"] is False
    assert ok.completed["cleared"] == ["allow", "mode:default"]
    assert ok.completed["meta"]["duration_s"] >= 0
    assert ok.completed_ns >= ok.requested_ns
    assert ok.intent is None


async def test_invalid_arguments_are_recorded_as_they_were_given(workspace, open_runtime):
    token = "ghp_" + "a1B2" * 9
    given = {"patern": "add", "path": "a.txt", "note": token}

    async with open_runtime() as rt:
        results = [
            await rt.call("grep", given, id="misspelt"),
            await rt.call("read_file", {"path": {"a": 1}}, id="type"),
        ]
        records = {one.call_id: one.requested["arguments"] for one in await rt.store.calls(limit=9)}

    assert [one.problem.code for one in results] == ["invalid_arguments"] * 2
    assert records["misspelt"].keys() == given.keys()
    assert records["misspelt"]["patern"] == "add"
    assert token not in str(records)
    assert records["type"] == {"path": {"a": 1}}


@pytest.mark.feature("E10")
async def test_what_a_write_replaces_is_in_its_intent_before_it_happens(workspace, open_runtime):
    workspace.write("small.txt", "old small\n")
    workspace.write("large.txt", b"old large\n" * 20_000)

    async with open_runtime() as rt:
        await rt.call("write_file", {"path": "small.txt", "content": "new"}, id="s")
        await rt.call("write_file", {"path": "large.txt", "content": "new"}, id="l")
        small, large = [(await rt.store.calls(call_id=one))[0] for one in ("s", "l")]
        kept = internals.blobs(rt).load(large.intent["changes"][0]["before_hash"])

    assert base64.b64decode(small.intent["changes"][0]["before"]) == b"old small\n"
    assert kept == b"old large\n" * 20_000


@pytest.mark.parametrize("level", ["power", "process"])
async def test_a_change_has_its_intent_on_disk_before_the_file_changes(
    workspace, tmp_path, monkeypatch, level
):
    """Ours: no side effect without its durable intent."""
    store = tmp_path / "store.db"
    seen, levels = [], []

    def look(*args, **kwargs):
        with sqlite3.connect(store) as db:
            found = db.execute("SELECT kind FROM rows ORDER BY id").fetchall()
        seen.append((found, (workspace.root / "a").exists()))
        return real(*args, **kwargs)

    async with handrail.open(
        workspace.root, store=store, mode="accept-edits", durability=level
    ) as rt:
        real, commit = directory.TempFile.appear, rt.store.commit
        monkeypatch.setattr(directory.TempFile, "appear", look)
        monkeypatch.setattr(
            rt.store,
            "commit",
            lambda row, level, *told: levels.append(level) or commit(row, level, *told),
        )
        await rt.call("write_file", {"path": "a", "content": "x"})

    assert seen == [([("requested",), ("intent",)], False)]
    assert levels == [level]
    assert workspace.read("a") == b"x"


async def test_two_hundred_concurrent_calls_lose_no_row(workspace, tmp_path):
    for number in range(20):
        workspace.write(f"{number}.txt", f"{number}\n")
    store = tmp_path / "store.db"

    async with handrail.open(
        workspace.root, store=store, mode="accept-edits", config={"loop_guard": "off"}
    ) as rt:
        results = await asyncio.gather(
            *(
                rt.call("read_file", {"path": f"{number % 20}.txt"}, id=f"r{number}")
                if number % 4
                else rt.call("write_file", {"path": f"w{number}", "content": "x"}, id=f"r{number}")
                for number in range(200)
            )
        )
        records = await rt.store.calls(limit=500)

    assert all(one.ok for one in results)
    assert len(records) == len({one.call_id for one in records}) == 200
    found = verify(store)
    assert found.broken is None
    assert found.rows == 200 * 2 + 50


WORKER = """
import asyncio, sys
import handrail

async def main(root, store, session, number):
    async with handrail.open(root, store=store, session=session, mode="accept-edits") as rt:
        for step in range(10):
            edit = {"path": "shared.txt", "old_string": f"<{number}.{step}>", "new_string": "done"}
            result = await rt.call("edit_file", edit, id=f"p{number}.{step}")
            assert result.ok, result.text

asyncio.run(main(*sys.argv[1:5]))
"""


@pytest.mark.feature("L06", "F12", "Q02")
@pytest.mark.parametrize("shared_session", [True, False])
def test_eight_processes_on_one_store_and_one_file_lose_nothing(
    workspace, tmp_path, shared_session
):
    slots = [f"<{number}.{step}>" for number in range(8) for step in range(10)]
    workspace.write("shared.txt", "\n".join(slots) + "\n")
    store = tmp_path / "store.db"
    script = tmp_path / "worker.py"
    script.write_text(textwrap.dedent(WORKER))

    workers = [
        subprocess.Popen(
            [
                sys.executable, "-P", script, workspace.root, store,
                "all" if shared_session else f"s{number}", str(number),
            ],
            stderr=subprocess.PIPE,
        )
        for number in range(8)
    ]  # fmt: skip
    errors = [worker.communicate(timeout=120)[1] for worker in workers]

    assert [worker.returncode for worker in workers] == [0] * 8, b"\n".join(errors).decode()
    assert workspace.read("shared.txt") == b"done\n" * 80
    found = verify(store)
    assert found.broken is None
    assert found.rows == 80 * 3


async def test_a_named_session_goes_on_where_it_was(workspace, tmp_path):
    workspace.write("a.txt", "x\n")
    store = tmp_path / "store.db"
    settings = {"store": store, "session": "mine", "mode": "accept-edits"}

    async with handrail.open(workspace.root, **settings) as rt:
        await rt.call("read_file", {"path": "a.txt"}, id="r1")
        async with rt.turn() as first_turn:
            await rt.call("write_file", {"path": "b", "content": "1"}, id="w1")
    async with handrail.open(workspace.root, **settings) as rt:
        seen = rt.session.reads.can_edit(str(workspace.root / "a.txt"))
        again = await rt.call("write_file", {"path": "b", "content": "1"}, id="w1")
        clash = await rt.call("write_file", {"path": "b", "content": "2"}, id="w1")
        async with rt.turn() as second_turn:
            pass

    assert seen
    assert again.meta["replayed"]
    assert clash.problem.code == "duplicate_id"
    assert second_turn > first_turn
    assert workspace.read("b") == b"1"


async def test_calls_without_an_id_are_new_calls_in_a_session_that_goes_on(workspace, tmp_path):
    target = workspace.write("a.txt", "one\n")
    settings = {"store": tmp_path / "store.db", "session": "mine"}
    texts = []

    for content in ("one\n", "two\n"):
        target.write_text(content)
        async with handrail.open(workspace.root, **settings) as rt:
            read = {"name": "read_file", "arguments": {"path": "a.txt"}}
            texts.append((await rt.call("read_file", {"path": "a.txt"})).text)
            texts.append((await rt.batch([read]))[0].text)

    assert texts == ["one", "one", "two", "two"]


async def test_a_locked_store_refuses_writes_and_nothing_changes(workspace, tmp_path):
    store = tmp_path / "store.db"
    config = {"store_timeout_s": 0.2}

    async with handrail.open(workspace.root, store=store, mode="accept-edits", config=config) as rt:
        await rt.call("list_files")
        await rt.store.flush()
        with sqlite3.connect(store, isolation_level=None) as other:
            other.execute("BEGIN EXCLUSIVE")
            refused = await rt.call("write_file", {"path": "a", "content": "x"})
            other.execute("ROLLBACK")
        healed = await rt.call("write_file", {"path": "b", "content": "x"})

    assert refused.problem.code == "store_unavailable"
    assert refused.problem.retryable
    assert healed.ok
    assert set(workspace.tree()) == {"b"}
    assert verify(store).broken is None
