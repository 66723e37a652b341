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
BASELINE_S = 60.0
MOST_TRIES = 6
SLOW_S = 0.8
# How many cases of a test function run at once, and how many functions come before its next ones.
TURN = 4
BETWEEN = 8
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
        self._cases: dict[str, list[str]] = defaultdict(list)
        self._seconds: dict[str, float] = {}
        # What is known of tests without a mutation.
        self._passing: set[str] = set()
        self._failing: set[str] = set()
        self._functions = _loaded_functions()
        for name in self._items:
            file, _, inside = name.partition("::")
            self._cases[f"{file}::{inside.partition('[')[0].rpartition('::')[2]}"].append(name)

    def try_mutation(
        self, mutation: Mutation, first: Sequence[str], functions: Sequence[str], seconds: float
    ) -> Attempt:
        """Run these tests, then cases of the functions, until one fails; within processor seconds."""
        chosen = dict.fromkeys(name for name in first if name in self._items)
        turns = take_turns([self._cases[one] for one in functions])
        # What is known to be slow would leave no time to the others.
        chosen |= dict.fromkeys(sorted(turns, key=lambda one: self._seconds.get(one, 0) > SLOW_S))
        for _ in range(MOST_TRIES):
            with mutated_file(mutation) as (original, changed):
                change = (ROOT / mutation.path, original, changed)
                failed = self._fork(
                    [one for one in chosen if one not in self._failing], seconds, 1, change
                )
            if not failed:
                return Attempt("hangs" if failed is None else "survived")
            if self._passes_without(failed[0]):
                return Attempt("caught", failed[0])
        return Attempt("unsure", failed[0])

    def _passes_without(self, name: str) -> bool:
        """Whether a test passes without a mutation; one that fails has caught nothing."""
        if name in self._items and name not in self._passing:
            known = (
                self._failing if self._fork([name], BASELINE_S, 1, None) != [] else self._passing
            )
            known.add(name)
        return name not in self._failing

    def _fork(
        self,
        names: Sequence[str],
        seconds: float,
        most_failures: int,
        change: tuple[Path, str, str] | None,
    ) -> list[str] | None:
        """The tests that failed, in order; None if they did not end in time."""
        with tempfile.TemporaryDirectory(prefix="hm-", ignore_cleanup_errors=True) as folder:
            # Servers that refuse to run as root have their directories in it.
            Path(folder).chmod(0o711)
            failures = Path(folder, "failures")
            process = os.fork()
            if process == 0:
                try:
                    self._run_in_fork(names, seconds, most_failures, change, Path(folder))
                finally:
                    os._exit(0)
            ended = _wait(process, 4 * seconds + END_S)
            text = failures.read_text("utf-8") if failures.exists() else ""
            self._learn_seconds(Path(folder, "seconds"))
        return text.splitlines() if ended else None

    def _learn_seconds(self, path: Path) -> None:
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            seconds, _, name = line.partition(" ")
            if name:
                self._seconds[name] = float(seconds)

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
        notes = RunNotes(folder, seconds)
        config = self._session.config
        if change is not None:
            try:
                replace_code(*change, self._functions)
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


class RunNotes:
    """Notes which tests fail and what each takes, and ends the run when the time is over."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder = folder
        self._before = used_seconds()
        self._end = self._before + seconds

    def write(self, line: str, file: str = "failures") -> None:
        with self._folder.joinpath(file).open("a", encoding="utf-8") as opened:
            print(line, file=opened)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.write(report.nodeid)
        if report.when == "teardown":
            now = used_seconds()
            self.write(f"{now - self._before:.3f} {report.nodeid}", "seconds")
            self._before = now

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if used_seconds() > self._end:
            item.session.shouldstop = "the time for one mutation is over"


def take_turns(functions: Sequence[Sequence[str]]) -> list[str]:
    """The cases of test functions: a few of each, spread over its table, before its next ones."""
    order: list[tuple[int, str]] = []
    for rank, cases in enumerate(functions):
        spread = sorted(range(len(cases)), key=lambda at: f"{at:016b}"[::-1])
        order += [
            (rank + BETWEEN * (number // TURN), cases[at]) for number, at in enumerate(spread)
        ]
    return [name for _, name in sorted(order, key=lambda one: one[0])]


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


def _loaded_functions() -> list[FunctionType]:
    """All functions of the package; looked up once, because looking takes longer than most tests.

    Nothing that is frozen is found. Frozen afterwards, the objects stay out of the way of every
    garbage collection in the forks, which would copy their memory.
    """
    gc.unfreeze()
    source = str(ROOT / "src")
    found = [
        one
        for one in gc.get_objects()
        if isinstance(one, FunctionType) and one.__code__.co_filename.startswith(source)
    ]
    gc.freeze()
    return found


def replace_code(
    path: Path, original: str, changed: str, functions: Sequence[FunctionType]
) -> None:
    """Give those of the functions that are of a file the code of the changed text.

    Raises ValueError if a function uses other names of the functions around it than before.
    """
    before = _functions(compile(original, str(path), "exec", dont_inherit=True))
    after = _functions(compile(changed, str(path), "exec", dont_inherit=True))
    new = {
        (code.co_qualname, code.co_firstlineno): after[place]
        for place, code in before.items()
        if place in after and after[place] != code
    }
    for one in functions:
        if one.__code__.co_filename == str(path):
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
