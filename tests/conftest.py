"""Fixtures that every test may use, what tests need from the machine, and the rule that nothing
is skipped in CI.
"""

import gc
import itertools
import json
import os
import signal
import threading

import pytest
from hypothesis import HealthCheck, settings
from tests.support import machine, sandbox_use
from tests.support.postgres_server import running_server
from tests.support.preloaded import PreloadedProgram

CLEANUP_TIMEOUT_S = 60
LONGEST_BYTES_ID = 24

# How fast a loaded machine draws examples or runs one says nothing about the code under test.
settings.register_profile("handrail", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("handrail")


def pytest_addoption(parser):
    group = parser.getgroup("sandbox")
    group.addoption("--note-sandbox-tests", help="write which tests depend on bubblewrap to a file")
    group.addoption("--only-sandbox-tests", help="of noted folders, only the tests in that file")


def pytest_configure(config):
    if config.option.note_sandbox_tests:
        config.pluginmanager.register(sandbox_use.SandboxNotes(config.option.note_sandbox_tests))
    # Workers of a parallel run are given the width of the terminal; tests set their own.
    os.environ.pop("COLUMNS", None)
    # Tests start many Pythons; without compiled files each would compile every module again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # A shell starts background jobs with Ctrl-C ignored, which tests of Ctrl-C would inherit.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for need in machine.NEEDS:
        config.addinivalue_line("markers", f"{need.marker}: needs {need.what}")


def pytest_report_header():
    """What this environment leaves out."""
    lines = []
    if not machine.frameworks_installed():
        lines.append(
            "without the tests of other frameworks (tests/adapters/frameworks): make test-adapters"
        )
    if not machine.ray_installed():
        lines.append("without the tests on a Ray cluster (tests/scale/on_ray): make test-ray")
    return lines


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers():
    """One worker more than there are processors: many tests wait for programs or for time."""
    return (yield) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Nothing that is collected becomes garbage: not while it is made, nor while tests run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_make_parametrize_id(val):
    """Long bytes are named by their length: their content may differ between workers."""
    return f"{len(val)} bytes" if isinstance(val, bytes) and len(val) > LONGEST_BYTES_ID else None


def pytest_collection_modifyitems(config, items):
    if config.option.only_sandbox_tests:
        sandbox_use.leave_out_independent(config, items)
    machine.prepare_items(items)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """The last lines of a run: what could not be tested here and what to install."""
    yield
    skipped = terminalreporter.getreports("skipped")
    if skipped:
        terminalreporter.section(f"not tested on this machine: {len(skipped)} tests")
        for line in machine.skip_summary(skipped):
            terminalreporter.line(line)


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_timeout_set_timer(settings):
    """The limit of a test strikes again if its `finally` blocks wait for ever."""
    is_set = yield
    delay_s, interval_s = signal.getitimer(signal.ITIMER_REAL)
    if delay_s and not interval_s:
        signal.setitimer(signal.ITIMER_REAL, settings.timeout, CLEANUP_TIMEOUT_S)
    return is_set


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown():
    """pytest-timeout drops its limit when a test fails; the teardown gets one of its own."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getitimer(signal.ITIMER_REAL)[0]:
        return (yield)
    previous = signal.signal(signal.SIGALRM, _fail_teardown)
    signal.setitimer(signal.ITIMER_REAL, CLEANUP_TIMEOUT_S, CLEANUP_TIMEOUT_S)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _fail_teardown(signum, frame):
    pytest.fail(f"Timeout (>{CLEANUP_TIMEOUT_S} s) in the teardown of a failed test")


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server, one for each process of a parallel run."""
    with running_server() as server:
        yield server


@pytest.fixture
def nothing_frozen():
    """The garbage collector as it is in a new process; see `pytest_collection`."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture(scope="session")
def preloaded():
    """`handrail` with its modules loaded, one for each process of a parallel run."""
    program = PreloadedProgram()
    yield program
    program.close()


@pytest.fixture
def script(tmp_path):
    """Write the script of a model; returns its name."""

    def write(*lines):
        path = tmp_path / "model.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return f"script:{path}"

    return write


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def homes(tmp_path_factory):
    """New directories, numbered without a look at those that exist: there is one for each test."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_home(homes, monkeypatch):
    """No test sees or changes the state and configuration of whoever runs it."""
    home = next(homes)
    home.mkdir(0o700)
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    return home


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport():
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report():
    return _refuse_skip((yield))


def _refuse_skip(report):
    if report.outcome == "skipped" and os.environ.get("CI"):
        report.outcome = "failed"
        # pytest does not count a failure that says it was expected.
        vars(report).pop("wasxfail", None)
        report.longrepr = f"skipped, which CI forbids: {report.longrepr}"
    return report
