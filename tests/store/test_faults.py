"""A runtime and a command line whose store fails: calls are refused, none goes unrecorded."""

import contextlib
import errno
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from tests.support.trees import remove_tree

import handrail
from handrail.cli.main import main
from handrail.core.problems import ProblemRaised
from handrail.store.chain.verify import verify
from handrail.testing import failing

PROGRAM = Path(sys.executable).with_name("handrail")
SETTINGS = {"store_timeout_s": 0.2, "loop_guard": "off"}
PAGE = 4096
SOMEONE = 65534


@contextlib.asynccontextmanager
async def full(runtime, path):
    def limit(db, pages):
        db.execute(
            f"PRAGMA max_page_count = {pages or db.execute('PRAGMA page_count').fetchone()[0]}"
        )

    await runtime.store._ask(lambda db: limit(db, None))
    yield "no space left"
    limit(runtime.store._writer._database.db, 1_000_000)


@contextlib.asynccontextmanager
async def locked(runtime, path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    yield "another process holds it locked"
    other.execute("ROLLBACK")
    other.close()


@contextlib.asynccontextmanager
async def read_only(runtime, path):
    await runtime.store._ask(lambda db: db.execute("PRAGMA query_only = ON"))
    yield "it is read-only"
    runtime.store._writer._database.db.execute("PRAGMA query_only = OFF")


@contextlib.asynccontextmanager
async def deleted(runtime, path):
    away = path.with_name("away.db")
    path.rename(away)
    yield "removed or replaced"
    away.rename(path)


@contextlib.asynccontextmanager
async def broken(runtime, path):
    with failing(path.parent, errno.EIO, lasting=True):
        yield "its disk reports an error"


@pytest.fixture
def work(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    return root


@pytest.fixture
def path(tmp_path):
    (tmp_path / "state").mkdir()
    return tmp_path / "state" / "store.db"


@pytest.mark.parametrize("fails", [full, locked, read_only, deleted, broken])
async def test_calls_are_refused_while_the_store_fails_and_all_are_on_record(work, path, fails):
    made = []

    async def call(name, **arguments):
        result = await runtime.call(name, arguments)
        made.append((result.call_id, result.status))
        return result

    async with handrail.open(work, store=path, mode="accept-edits", config=SETTINGS) as runtime:
        (await call("read_file", path="a.txt")).unwrap()
        async with fails(runtime, path) as reason:
            # Enough to need a new page, where it is room that lacks.
            wrote = await call("write_file", path="new.txt", content="x" * 50_000)
            read = await call("read_file", path="a.txt")
            edited = await call("edit_file", path="a.txt", old_string="one", new_string="two")
        healed = await call("write_file", path="b.txt", content="fine\n")
        records = {one.call_id: one for one in await runtime.store.calls()}

    assert healed.ok, healed.text
    for refused in (wrote, read, edited):
        assert refused.status == "refused", refused.text
        assert refused.problem.code == "store_unavailable"
        assert reason in refused.text
        assert refused.problem.hint
    assert sorted(os.listdir(work)) == ["a.txt", "b.txt"]
    assert (work / "a.txt").read_text() == "one\n"
    assert {id: one.completed["status"] for id, one in records.items()} == dict(made)
    assert (verify(path).broken, verify(path).open_sessions) == (None, {})


async def test_reads_go_on_without_a_store_only_if_that_is_wished(work, path):
    wished = {**SETTINGS, "reads_without_store": True}
    async with handrail.open(work, store=path, mode="accept-edits", config=wished) as runtime:
        async with locked(runtime, path):
            read = await runtime.call("read_file", {"path": "a.txt"})
            wrote = await runtime.call("write_file", {"path": "b.txt", "content": "x"})
        await runtime.store.flush()
        records = await runtime.store.calls()

    assert (read.text, wrote.problem.code) == ("one", "store_unavailable")
    assert len(records) == 2
    assert os.listdir(work) == ["a.txt"]


async def _make(work, path, calls=40):
    async with handrail.open(work, store=path, mode="accept-edits", config=SETTINGS) as runtime:
        for number in range(calls):
            await runtime.call("write_file", {"path": "a.txt", "content": f"{number}\n" * 50})


def _garbled(original, page, seed):
    noise = random.Random(seed).randbytes(PAGE)
    return original[: page * PAGE] + noise + original[(page + 1) * PAGE :]


async def _look(work, path, page):
    """What became of a runtime on a store with one page of noise in it."""
    try:
        async with handrail.open(work, store=path, mode="accept-edits", config=SETTINGS) as runtime:
            result = await runtime.call("write_file", {"path": "b.txt", "content": f"{page}"})
            return result.problem.code if result.problem else "ok"
    except ProblemRaised as raised:
        assert str(path) in raised.problem.message
        return raised.problem.code


async def _garble_every_page(work, path, pages):
    ends = Counter()
    original = path.read_bytes()
    for page in pages(len(original) // PAGE):
        path.write_bytes(_garbled(original, page, page))
        for log in ("-wal", "-shm"):
            path.with_name(path.name + log).unlink(missing_ok=True)
        (work / "b.txt").unlink(missing_ok=True)
        end = await _look(work, path, page)
        # What could not be recorded has not happened.
        assert (work / "b.txt").exists() == (end == "ok"), page
        ends[end] += 1
    return ends


async def test_a_store_with_noise_in_it_is_refused_or_works_but_never_crashes(work, path):
    await _make(work, path)

    ends = await _garble_every_page(work, path, lambda count: range(min(count, 16)))

    assert ends.keys() <= {"ok", "store_unavailable"}
    assert ends["store_unavailable"] >= 1


@pytest.mark.torture
async def test_noise_on_any_page_is_refused_or_harmless(work, path):
    await _make(work, path, calls=400)

    ends = await _garble_every_page(work, path, range)

    assert ends.keys() <= {"ok", "store_unavailable"}


def _say(capsys, work, path, *words):
    capsys.readouterr()
    code = main(["-w", str(work), "--store", str(path), *words])
    return code, capsys.readouterr().err


COMMANDS = (
    ["log"],
    ["show"],
    ["call", "read_file", "path=a.txt"],
    ["undo"],
    ["recover"],
    ["gc"],
    ["verify"],
    ["letters"],
)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda data: b"no database at all\n" * 500, "it is not a Handrail store or is damaged"),
        (lambda data: data[:100] + b"\xff" * (PAGE - 100) + data[PAGE:], "it is damaged"),
        (lambda data: data[:60] + b"\0\0\x03\xe7" + data[64:], "schema version 999"),
    ],
    ids=["no database", "damaged", "newer"],
)
async def test_the_command_line_refuses_a_store_it_cannot_use(
    work, path, capsys, words, damage, told
):
    await _make(work, path, calls=3)
    path.write_bytes(spoilt := damage(path.read_bytes()))

    # In a thread of its own: a command runs its own loop.
    import asyncio

    code, said = await asyncio.to_thread(_say, capsys, work, path, *words)

    assert code == 6
    assert said.startswith("store_unavailable: "), said
    assert told in said
    assert "Traceback" not in said
    assert path.read_bytes() == spoilt


def _run(work, path, words, **more):
    return subprocess.run(
        [PROGRAM, "-w", work, "--store", path, "--mode", "accept-edits", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **more,
    )


async def test_the_command_line_refuses_when_there_is_no_room_for_the_record(work, path):
    await _make(work, path, calls=3)
    limit = path.stat().st_size

    def allow_no_more():
        # A write beyond it fails as on a disk that is full; the file is as large already.
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit // 8, limit // 8))

    words = ["call", "write_file", "path=b.txt", "content=x"]
    # The limit would also cut the bytecode of modules, which Python 3.13.0 keeps as it is.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = _run(work, path, words, preexec_fn=allow_no_more, env=environment)

    assert done.returncode == 6
    assert "store_unavailable" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert not (work / "b.txt").exists()


async def test_the_command_line_refuses_when_the_store_stays_locked(work, path, tmp_path):
    await _make(work, path, calls=1)
    config = tmp_path / "config.toml"
    config.write_text("store_timeout_s = 0.2\n")
    async with locked(None, path):
        words = ["--config", config, "--json", "call", "write_file", "path=b.txt", "content=x"]
        done = _run(work, path, words)

    assert done.returncode == 6
    assert json.loads(done.stdout)["problem"]["code"] == "store_unavailable", done
    assert not (work / "b.txt").exists()


@pytest.fixture
def anybodys(monkeypatch):
    """A directory that other users can enter, with the state and settings of a person in it."""
    folder = Path(tempfile.mkdtemp(prefix="handrail-test-"))
    folder.chmod(0o755)
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name))
    yield folder
    remove_tree(folder)


@contextlib.contextmanager
def someone_else():
    """A user who owns nothing here; root may write everywhere."""
    if os.geteuid():
        yield
        return
    os.seteuid(SOMEONE)
    try:
        yield
    finally:
        os.seteuid(0)


def test_the_command_line_reads_a_read_only_store_and_writes_nothing(anybodys, work, capsys):
    root, state = anybodys / "work", anybodys / "state"
    shutil.copytree(work, root)
    state.mkdir()
    path = state / "store.db"
    write = ["--mode", "accept-edits", "call", "write_file", "path=b.txt", "content=x"]
    assert _say(capsys, root, path, *write)[0] == 0
    assert _say(capsys, root, path, "log")[0] == 0
    (root / "b.txt").unlink()
    root.chmod(0o777)
    for file in (*state.rglob("*"), state):
        file.chmod(0o500 if file.is_dir() else 0o400)
        if not os.geteuid():
            os.chown(file, SOMEONE, SOMEONE)

    with someone_else():
        listed = _say(capsys, root, path, "log")
        code, said = _say(capsys, root, path, *write)

    assert listed == (0, "")
    assert code == 6
    assert said.startswith("store_unavailable: "), said
    assert "read-only" in said
    assert not (root / "b.txt").exists()
