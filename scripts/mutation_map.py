"""Which tests run which code: recorded by a plugin of pytest, read by mutate.py.

    PYTHONPATH=scripts python -m pytest -n 2 -p mutation_map [FILES]

As a plugin it compiles every module of the package with a counter at the start of each block of a
function, and stores for each test how much processor time it took and which blocks it entered,
also in the Python processes that the test started with the environment it was given. Blocks are
known by their function, so that the map stays of use when the sources change; tests that are
recorded again replace what was known of them. All of it is in the folder `.mutation-map`.
"""

from __future__ import annotations

import ast
import os
import sqlite3
import sys
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from block_counter import FOLDER, REPORTS, ROOT, find_blocks, start_counting

MAP = FOLDER / "tests.sqlite"
TESTS_PER_WRITE = 50

_SCHEMA = """
create table if not exists block (number integer primary key, name text unique);
create table if not exists test (
  id text primary key, file text, seconds real, blocks blob
)
"""
_CHILD = """
import sys
sys.path.append({scripts!r})
import block_counter
block_counter.record_process()
"""


class TimedTest(NamedTuple):
    """A test that enters a block, its file, and how long it takes."""

    id: str
    file: str
    seconds: float


class CodeMap:
    """The recorded tests, by the blocks that they enter."""

    def __init__(self) -> None:
        self._tests: list[tuple[TimedTest, bytes]] = []
        self._numbers: dict[str, int] = {}
        if MAP.exists():
            with sqlite3.connect(MAP, timeout=60) as db:
                db.executescript(_SCHEMA)
                self._numbers = dict(db.execute("select name, number from block"))
                rows = db.execute("select id, file, seconds, blocks from test")
                self._tests = [(TimedTest(*row[:3]), zlib.decompress(row[3])) for row in rows]
        self._files = {test.file for test, _ in self._tests}

    def __len__(self) -> int:
        return len(self._tests)

    def has(self, file: str) -> bool:
        """Whether tests of a file were recorded."""
        return file in self._files

    def find_tests(self, path: str, line: int) -> list[TimedTest]:
        """Return the tests that enter the innermost block of a line for which there are any,
        quickest first.

        If the map does not know a block, because its function has changed, the blocks around it
        count.
        """
        tree = ast.parse((ROOT / path).read_bytes())
        around = [block.name for block in find_blocks(tree, path) if block.holds(line)]
        for name in reversed(around):
            entering = self._entering(self._numbers.get(name))
            if entering:
                return sorted(entering, key=lambda test: test.seconds)
        return []

    def _entering(self, block: int | None) -> list[TimedTest]:
        if block is None:
            return []
        byte, bit = divmod(block, 8)
        return [test for test, bits in self._tests if len(bits) > byte and bits[byte] >> bit & 1]


def used_seconds() -> float:
    """Return the processor time, including that of ended children: a busy machine does not shorten
    a run.
    """
    return sum(os.times()[:4])


class Recording:
    """The plugin: collects what each test enters and stores it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entered = start_counting()
        self._rows: list[tuple[str, str, float, set[str]]] = []
        self._since = 0.0
        site = folder / "site"
        site.mkdir()
        text = _CHILD.format(scripts=str(ROOT / "scripts"))
        site.joinpath("sitecustomize.py").write_text(text, "utf-8")
        reports = folder / "reports"
        reports.mkdir()
        os.environ[REPORTS] = str(reports)
        others = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(site), *([others] if others else [])])

    def pytest_runtest_logstart(self) -> None:
        self._entered.clear()
        self._since = used_seconds()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            entered = set(self._entered)
            for path in self._folder.joinpath("reports").iterdir():
                if path.suffix != ".part":
                    entered |= set(path.read_text("utf-8").split("\n")) - {""}
                    path.unlink()
            file = report.nodeid.partition("::")[0]
            self._rows.append((report.nodeid, file, used_seconds() - self._since, entered))
            if len(self._rows) >= TESTS_PER_WRITE:
                self._write()

    def pytest_sessionfinish(self) -> None:
        self._write()

    def _write(self) -> None:
        FOLDER.mkdir(exist_ok=True)
        names = {name for *_, entered in self._rows for name in entered}
        with sqlite3.connect(MAP, timeout=60, isolation_level="IMMEDIATE") as db:
            db.executescript(_SCHEMA)
            db.execute("begin immediate")
            for name in sorted(names):
                db.execute("insert or ignore into block (name) values (?)", (name,))
            numbers: dict[str, int] = dict(db.execute("select name, number from block"))
            db.executemany(
                "insert or replace into test values (?, ?, ?, ?)",
                [(*row, _pack(numbers[name] for name in names)) for *row, names in self._rows],
            )
        self._rows.clear()


def _pack(numbers: Iterable[int]) -> bytes:
    chosen = list(numbers)
    bits = bytearray(max(chosen, default=0) // 8 + 1)
    for number in chosen:
        bits[number // 8] |= 1 << number % 8
    return zlib.compress(bytes(bits), 1)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start recording before any module of the package is loaded, where the tests run."""
    workers = getattr(early_config.known_args_namespace, "numprocesses", None)
    if workers and "PYTEST_XDIST_WORKER" not in os.environ:
        return
    loaded = [name for name in sys.modules if name.partition(".")[0] == "handrail"]
    if loaded:
        raise RuntimeError(f"the package is loaded before the map can count: {loaded[0]}")
    folder = tempfile.mkdtemp(prefix="handrail-map-")
    early_config.pluginmanager.register(Recording(Path(folder)), "handrail-mutation-map")
