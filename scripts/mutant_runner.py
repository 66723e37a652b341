"""Runs tests on mutated code in forks of one pytest process that has collected all tests.

A fork replaces the code of the mutated function in the modules that are loaded already; modules
that are loaded later, and processes that tests start, read the mutated file. Collecting and
importing, which takes longer than most tests, is done once.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.main import pytest_runtestloop as run_items
from mutation_map import used_seconds
from mutations import ROOT, Mutation

MOST_MEMORY_BYTES = 4 * 1024**3
END_S = 120
POLL_S = 0.02


@dataclass
class Attempt:
    """How a mutation ended: the outcome and the first test that failed."""

    outcome: str
    killer: str = ""


class MutantRunner:
    """Tries mutations within the session of pytest that has collected the tests."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._items = {item.nodeid: item for item in session.items}
        self._names: dict[str, list[str]] = defaultdict(list)
        for name in self._items:
            self._names[name.partition("::")[0]].append(name)

    def try_mutation(
        self, mutation: Mutation, first: Sequence[str], files: Sequence[str], seconds: float
    ) -> Attempt:
        """Run these tests, then those of the files, until one fails; within processor seconds."""
        chosen = dict.fromkeys(name for name in first if name in self._items)
        chosen |= dict.fromkeys(name for file in files for name in self._names[file])
        with mutated_file(mutation) as (original, changed):
            path = ROOT / mutation.path
            failed = self._fork(list(chosen), seconds, 1, (path, original, changed))
        if failed is None:
            return Attempt("hangs")
        return Attempt("caught", failed[0]) if failed else Attempt("survived")

    def find_failing(self, names: Sequence[str], seconds: float) -> set[str] | None:
        """Which of the tests fail without a mutation; None if they do not end in time."""
        failed = self._fork([one for one in names if one in self._items], seconds, 0, None)
        return None if failed is None else set(failed)

    def _fork(
        self,
        names: Sequence[str],
        seconds: float,
        most_failures: int,
        change: tuple[Path, str, str] | None,
    ) -> list[str] | None:
        """The tests that failed, in order; None if they did not end in time."""
        with tempfile.TemporaryDirectory(prefix="hm-", ignore_cleanup_errors=True) as folder:
            failures = Path(folder, "failures")
            process = os.fork()
            if process == 0:
                try:
                    self._run_in_fork(names, seconds, most_failures, change, Path(folder))
                finally:
                    os._exit(0)
            ended = _wait(process, 4 * seconds + END_S)
            text = failures.read_text("utf-8") if failures.exists() else ""
        return text.splitlines() if ended else None

    def _run_in_fork(
        self,
        names: Sequence[str],
        seconds: float,
        most_failures: int,
        change: tuple[Path, str, str] | None,
        folder: Path,
    ) -> None:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
        sys.dont_write_bytecode = True
        notes = FailureNotes(folder / "failures", seconds)
        config = self._session.config
        if change is not None:
            try:
                replace_code(*change)
            except ValueError:
                notes.write("the changed function cannot be loaded")
                return
        config.option.maxfail = most_failures
        # Removed with the folder, also when a test is killed.
        tempfile.tempdir = str(folder)
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(notes)
        self._session.items = [self._items[name] for name in names]
        try:
            run_items(self._session)
        except (pytest.Session.Failed, pytest.Session.Interrupted):
            return


class FailureNotes:
    """Notes which tests fail, and ends the run when the time is over."""

    def __init__(self, path: Path, seconds: float) -> None:
        self._path = path
        self._end = used_seconds() + seconds

    def write(self, line: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            print(line, file=file)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.write(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if used_seconds() > self._end:
            item.session.shouldstop = "the time for one mutation is over"


@contextmanager
def mutated_file(mutation: Mutation) -> Iterator[tuple[str, str]]:
    """The text of the file before and with the mutation, which is on disk meanwhile."""
    target = ROOT / mutation.path
    original, times = target.read_bytes(), target.stat()
    text = original.decode()
    changed = text[: mutation.start] + mutation.text + text[mutation.end :]
    try:
        target.write_text(changed, "utf-8")
        yield text, changed
    finally:
        target.write_bytes(original)
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def replace_code(path: Path, original: str, changed: str) -> None:
    """Give the loaded functions of a file the code of the changed text.

    Raises ValueError if a function uses other names of the functions around it than before.
    """
    before = _functions(compile(original, str(path), "exec", dont_inherit=True))
    after = _functions(compile(changed, str(path), "exec", dont_inherit=True))
    new = {
        (code.co_qualname, code.co_firstlineno): after[place]
        for place, code in before.items()
        if place in after and after[place] != code
    }
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename == str(path):
            code = new.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
            if code is not None:
                one.__code__ = code


def _functions(module: CodeType) -> dict[tuple[str, int], CodeType]:
    """The code of all functions, by their name and their place among those of the same name."""
    found: dict[tuple[str, int], CodeType] = {}
    todo = [module]
    while todo:
        inner = [one for one in todo.pop(0).co_consts if isinstance(one, CodeType)]
        for code in inner:
            number = sum(name == code.co_qualname for name, _ in found)
            found[code.co_qualname, number] = code
        todo += inner
    return found


def _wait(process: int, seconds: float) -> bool:
    """Whether a process ended in time; nothing that it started is left running."""
    end = time.monotonic() + seconds
    ended = False
    while not ended and time.monotonic() < end:
        ended = os.waitpid(process, os.WNOHANG)[0] == process
        time.sleep(0 if ended else POLL_S)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    if not ended:
        os.waitpid(process, 0)
    return ended
