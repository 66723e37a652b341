"""Which tests depend on bubblewrap: noted in a run with it, so that only they are repeated without.

A test depends on it if a sandbox that may choose bubblewrap is asked for in its process, or if the
test itself starts another process that may ask for one. If that happens in a fixture that several
tests share, all of them do.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
# Elsewhere every test is repeated.
NOTED = ("tests/spec/", "tests/cli/", "tests/mcp/")
PROPERTY = "depends on bubblewrap"


class SandboxNotes:
    """Writes the names of tests that depend on bubblewrap."""

    def __init__(self, file: str) -> None:
        self._file = Path(file)
        self._met = False
        self._names: set[str] = set()

    def pytest_sessionstart(self) -> None:
        from handrail.host.sandbox.local_sandbox import LocalSandbox

        choose, start = LocalSandbox._choice, subprocess.Popen.__init__
        fork, fork_terminal = os.fork, os.forkpty

        def choice(sandbox):
            self._met |= "bubblewrap" in sandbox._wanted.backends
            return choose(sandbox)

        def popen(process, args, *more, **named):
            self._met |= _may_run_handrail(args) and _is_started_by_a_test()
            start(process, args, *more, **named)

        def noted(original):
            def forked():
                self._met |= _is_started_by_a_test()
                return original()

            return forked

        LocalSandbox._choice, subprocess.Popen.__init__ = choice, popen
        os.fork, os.forkpty = noted(fork), noted(fork_terminal)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        before, self._met = self._met, False
        result = yield
        if self._met and fixturedef.scope != "function":
            for item in request.session.items:
                if fixturedef.argname in getattr(item, "fixturenames", ()):
                    _mark(item)
        self._met |= before
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        result = yield
        if self._met:
            _mark(item)
        self._met = False
        return result

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "teardown" and (PROPERTY, True) in report.user_properties:
            self._names.add(_function(report.nodeid))

    def pytest_sessionfinish(self, session) -> None:
        if not hasattr(session.config, "workerinput"):
            self._file.write_text("".join(f"{name}\n" for name in sorted(self._names)))


def _mark(item) -> None:
    if (PROPERTY, True) not in item.user_properties:
        item.user_properties.append((PROPERTY, True))


def _function(nodeid: str) -> str:
    """A test without its parameters: they share what they depend on."""
    return nodeid.partition("[")[0]


def _may_run_handrail(args) -> bool:
    words = [args] if isinstance(args, str | bytes | os.PathLike) else list(args)
    names = [os.fsdecode(word) if isinstance(word, bytes | os.PathLike) else word for word in words]
    return any("python" in name or "handrail" in name for name in map(str, names))


def _is_started_by_a_test() -> bool:
    """Whether the nearest code that is not of a library is a test's; True if neither is near."""
    source = str(TESTS.parent / "src")
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(source):
            return False
        if file.startswith(str(TESTS)) and file != __file__:
            return True
        frame = frame.f_back
    return True


def leave_out_independent(config, items) -> None:
    """Keep the tests that a run with bubblewrap noted, and those of other folders."""
    kept = set(Path(config.option.only_sandbox_tests).read_text().split("\n"))
    left_out = [
        item
        for item in items
        if item.nodeid.startswith(NOTED) and _function(item.nodeid) not in kept
    ]
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]
