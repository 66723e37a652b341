"""How a store ends: closed, cancelled, forgotten, forked."""

import asyncio
import gc
import os
import subprocess
import sys
import warnings
import weakref

import anyio
import pytest
from tests.support.postgres import BOTH_ENGINES

from handrail.core.problems import ProblemRaised
from handrail.store.chain.verify import verify
from handrail.store.sqlite.store import open_store


@BOTH_ENGINES
async def test_closing_twice_or_at_once_is_fine_and_later_use_is_refused(path, row):
    store = open_store(path)
    await store.open_session("s", {})
    store.append(row())
    await asyncio.gather(store.aclose(), store.aclose())
    await store.aclose()

    for use in (store.flush, store.sessions, lambda: store.commit(row(), "process")):
        with pytest.raises(ProblemRaised, match="was closed"):
            await use()
    with pytest.raises(ProblemRaised, match="was closed"):
        store.append(row())
    with pytest.raises(ProblemRaised, match="was closed"):
        store.save_state("s", "k", 1)
    assert verify(path).open_sessions == {}


@BOTH_ENGINES
async def test_closing_goes_through_although_the_closer_is_cancelled(path, row):
    store = open_store(path)
    await store.open_session("s", {})
    store.append(row())
    closing = asyncio.ensure_future(store.aclose())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await anyio.to_thread.run_sync(store._writer.join)

    assert (verify(path).rows, verify(path).open_sessions) == (1, {})


@BOTH_ENGINES
async def test_a_forgotten_store_writes_what_it_holds_and_ends_its_thread(path, row):
    store = open_store(path)
    await store.open_session("s", {})
    store.append(row())
    thread = store._writer._thread
    gone = weakref.ref(store)
    del store
    gc.collect()

    assert gone() is None
    assert not thread.is_alive()
    assert (verify(path).rows, verify(path).open_sessions) == (1, {})


@BOTH_ENGINES
def test_a_program_that_ends_without_closing_keeps_its_rows(path):
    script = (
        "import sys\n"
        "from handrail.core.ports.records import Row\n"
        "from handrail.store.sqlite.store import open_store\n"
        "store = open_store(sys.argv[1])\n"
        "store.append(Row('s', 'requested', 'c1', 1, 1, {}))\n"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=30)

    assert verify(path).rows == 1


@BOTH_ENGINES
async def test_a_forked_child_is_told_to_open_its_own_store(path, row):
    store = open_store(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            store.append(row())
        except ProblemRaised as raised:
            told = raised.problem
            code = 0 if "forked child" in told.message and not told.retryable else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    await store.commit(row(), "process")
    await store.aclose()
    assert verify(path).rows == 1


async def test_the_file_is_for_its_owner_only(path, row):
    old = os.umask(0)
    try:
        store = open_store(path)
        await store.commit(row(), "process")
        modes = {file.name: oct(file.stat().st_mode & 0o777) for file in path.parent.iterdir()}
    finally:
        os.umask(old)
    await store.aclose()

    assert set(modes.values()) == {"0o600"}
    assert "store.db" in modes
