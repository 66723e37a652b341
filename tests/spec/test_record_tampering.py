"""Somebody edits the record while a runtime is open: it refuses to go on, and `handrail verify`
finds it.
"""

import contextlib
import json
import sqlite3

import pytest

import handrail
from handrail.cli.main import main
from handrail.store.chain.verify import verify

pytestmark = pytest.mark.finding("F04")

TAMPERING = {
    "the end of the open session": "DELETE FROM rows WHERE session = 's' AND seq >= 2;",
    "the end of the open session and its texts": (
        "DELETE FROM payloads WHERE row IN (SELECT id FROM rows WHERE session = 's');"
        "DELETE FROM rows WHERE session = 's';"
    ),
    "a payload": "DELETE FROM payloads WHERE row = (SELECT max(row) FROM payloads);",
    "the words of a payload": "UPDATE payloads SET body = '{}' WHERE row = 1;",
    "a session": "DELETE FROM sessions WHERE id = 's';",
    "what a session keeps": "UPDATE session_state SET value = '{}' WHERE session = 'before';",
    "an earlier session": (
        "DELETE FROM payloads WHERE row IN (SELECT id FROM rows WHERE session = 'before');"
        "DELETE FROM rows WHERE session = 'before'; DELETE FROM ledger WHERE session = 'before';"
        "DELETE FROM sessions WHERE id = 'before';"
        "DELETE FROM session_state WHERE session = 'before';"
    ),
}


def edit(path, script):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(script)


@pytest.mark.parametrize("what", TAMPERING)
async def test_a_runtime_refuses_to_go_on(workspace, tmp_path, what):
    store, words = tmp_path / "s.db", {"mode": "accept-edits", "store": tmp_path / "s.db"}
    workspace.write("a.txt", "one\n")
    async with handrail.open(workspace.root, session="before", **words) as rt:
        await rt.call("read_file", {"path": "a.txt"})
    async with contextlib.AsyncExitStack() as stack:
        rt = await stack.enter_async_context(handrail.open(workspace.root, session="s", **words))
        for name in ("b", "c"):
            assert (await rt.call("write_file", {"path": name, "content": name})).ok
        await rt.store.flush()
        noted = verify(store).head

        edit(store, TAMPERING[what])
        refused = await rt.call("write_file", {"path": "d", "content": "d"})
        reading = await rt.call("read_file", {"path": "a.txt"})
        found = verify(store, noted)
        with contextlib.suppress(handrail.ProblemRaised):
            await stack.aclose()

    assert refused.problem.code == "store_unavailable"
    assert "changed from outside" in refused.problem.message
    assert not (workspace.root / "d").exists()
    assert reading.problem.code == "store_unavailable"
    assert found.broken is not None


async def test_reads_go_on_where_the_settings_say_so(workspace, tmp_path):
    store = tmp_path / "s.db"
    workspace.write("a.txt", "one\n")
    config = {"reads_without_store": True, "mode": "accept-edits"}
    rt = await handrail.open(workspace.root, store=store, session="s", config=config)
    assert (await rt.call("write_file", {"path": "b", "content": "b"})).ok
    await rt.store.flush()
    edit(store, TAMPERING["the end of the open session"])

    refused = await rt.call("write_file", {"path": "c", "content": "c"})
    reading = await rt.call("read_file", {"path": "a.txt"})
    with contextlib.suppress(handrail.ProblemRaised):
        await rt.aclose()

    assert refused.problem.code == "store_unavailable"
    assert reading.ok


async def test_the_head_that_verify_prints_covers_an_open_session(workspace, tmp_path, capsys):
    store = tmp_path / "s.db"
    words = ["-w", str(workspace.root), "--store", str(store), "--json", "verify"]
    workspace.write("a.txt", "one\n")
    async with contextlib.AsyncExitStack() as stack:
        opening = handrail.open(workspace.root, store=store, session="s")
        rt = await stack.enter_async_context(opening)
        await rt.call("read_file", {"path": "a.txt"})
        await rt.store.flush()
        assert main(words) == 0
        head = json.loads(capsys.readouterr().out)["head"]
        rows = verify(store).rows
        # With care: the end that is noted in the store is changed as well.
        edit(
            store,
            "DELETE FROM payloads WHERE row = (SELECT max(id) FROM rows);"
            "DELETE FROM rows WHERE id = (SELECT max(id) FROM rows);"
            "UPDATE chain_end SET rows = rows - 1, hash = (SELECT hash FROM rows"
            " ORDER BY id DESC LIMIT 1);",
        )

        without = main(words)
        capsys.readouterr()
        with_head = main([*words, "--anchor", head])
        with contextlib.suppress(handrail.ProblemRaised):
            await stack.aclose()

    assert rows == 2
    assert (without, with_head) == (0, 1)
    assert json.loads(capsys.readouterr().out)["anchored"] is False
