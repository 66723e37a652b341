"""How the suite itself behaves: what a machine lacks is listed and fails in CI, no test hangs for
ever, and no test file waits without a limit.
"""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
WAITING = TESTS / "support" / "waiting.py"

BODIES = {
    "test_skip.py": "import pytest\ndef test_one():\n    pytest.skip('no such machine')\n",
    "test_xfail.py": "import pytest\n@pytest.mark.xfail\ndef test_one():\n    assert False\n",
    "test_module.py": "import pytest\npytest.skip('no module', allow_module_level=True)\n",
}
NEEDY = """
import pytest

@pytest.mark.parametrize("number", range(3))
@pytest.mark.needs_bubblewrap
def test_confined(number):
    pass

@pytest.mark.needs_node
def test_node():
    pass

def test_anywhere():
    pass
"""
SANDBOXES = """
import subprocess, sys, pytest
from handrail.host.sandbox.local_sandbox import open_sandbox

@pytest.fixture(scope="module")
def shared():
    return subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout

@pytest.fixture
def simple():
    return 1

def test_chosen(tmp_path):
    assert open_sandbox([str(tmp_path)]).backend

def test_forced(tmp_path):
    assert open_sandbox([str(tmp_path)], backend="none").backend == "none"

@pytest.mark.parametrize("forks", [False, True])
def test_fork(forks):
    import os
    if forks and os.fork() == 0:
        os._exit(0)

def test_first(shared):
    assert shared

def test_second(shared):
    assert shared

def test_neither(simple):
    assert subprocess.run(["true"]).returncode == 0
"""
HANGING = """
import subprocess, time, pytest

@pytest.fixture
def endless():
    yield
    time.sleep(600)

def test_in_its_body():
    time.sleep(600)

def test_while_it_cleans_up():
    with subprocess.Popen(["sleep", "600"]):
        assert False

def test_in_a_teardown(endless):
    assert False

def test_after_them():
    pass
"""


@pytest.fixture
def folder(tmp_path):
    """An empty suite with this project's conftest."""
    support = tmp_path / "tests" / "support"
    support.mkdir(parents=True)
    names = ("machine", "postgres", "postgres_server", "preloaded", "sandbox_use", "waiting")
    for name in names:
        shutil.copy(TESTS / "support" / f"{name}.py", support)
    shutil.copy(TESTS / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = -rfE\n")
    return tmp_path


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "1"]], ids=["alone", "workers"])
def test_a_skip_fails_the_run_in_ci_only(folder, workers):
    for name, body in BODIES.items():
        (folder / name).write_text(body)

    inside = run(folder, {"CI": "true"}, workers)
    outside = run(folder, {}, workers)

    assert inside[-1].startswith("2 failed, 1 error in ")
    assert outside[-1].startswith("2 skipped, 1 xfailed in ")


@pytest.mark.finding("F30")
@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]], ids=["alone", "workers"])
def test_the_last_lines_say_what_is_missing_and_what_to_install(folder, workers):
    """Programs that exist but do not run are as missing as those that do not exist."""
    (folder / "test_needy.py").write_text(NEEDY)
    without(folder, "bubblewrap_works", "node_works")

    *_, title, bubblewrap, node, counts = run(folder, {}, workers)
    *_, in_ci = run(folder, {"CI": "true"}, workers)

    assert ": 4 tests" in title
    assert bubblewrap.startswith("bubblewrap: 3 tests. ")
    assert node.endswith("apt-get install nodejs")
    assert counts.startswith("1 passed, 4 skipped in ")
    assert in_ci.startswith("1 passed, 4 errors in ")


@pytest.mark.finding("F30")
def test_tests_of_a_need_can_be_left_out_and_any_other_skip_still_fails(folder):
    (folder / "test_needy.py").write_text(NEEDY)
    without(folder, "bubblewrap_works", "node_works")

    *_, counts = run(folder, {"CI": "true"}, ["-m", "not needs_bubblewrap"])

    assert counts.startswith("1 passed, 3 deselected, 1 error in ")


@pytest.mark.finding("F30")
@pytest.mark.parametrize("content", [None, b"", b"#!/bin/sh\nexit 1\n"])
def test_a_program_that_cannot_run_is_missing(tmp_path, content, monkeypatch):
    from tests.support import machine

    program = tmp_path / "program"
    if content is not None:
        program.write_bytes(content)
        program.chmod(0o755)

    assert not machine._succeeds(str(program))


@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "2"]], ids=["alone", "workers"])
def test_tests_that_depend_on_bubblewrap_are_noted_and_only_they_are_repeated(folder, workers):
    for place in ("spec", "host"):
        folder.joinpath("tests", place).mkdir()
        folder.joinpath("tests", place, f"test_{place}.py").write_text(SANDBOXES)
    notes = folder / "notes"

    *_, first = run(folder, {}, [*workers, f"--note-sandbox-tests={notes}"])
    *_, second = run(folder, {}, [*workers, f"--only-sandbox-tests={notes}"])

    noted = [line.rpartition("::")[2] for line in notes.read_text().splitlines() if "spec" in line]
    assert noted == ["test_chosen", "test_first", "test_fork", "test_second"]
    assert first.startswith("14 passed in ")
    assert "12 passed" in second


@pytest.mark.finding("F26", "F30")
def test_a_test_that_hangs_ends_wherever_it_hangs(folder):
    (folder / "test_hanging.py").write_text(HANGING)
    conftest = folder / "conftest.py"
    text = conftest.read_text()
    assert "CLEANUP_TIMEOUT_S = 60\n" in text
    conftest.write_text(text.replace("CLEANUP_TIMEOUT_S = 60\n", "CLEANUP_TIMEOUT_S = 1\n"))

    options = ["-p", "pytest_timeout", "--timeout", "2", "--timeout-method", "signal"]
    *_, counts = run(folder, {}, options)

    assert counts.startswith("3 failed, 1 passed, 1 error in ")


def test_no_test_file_waits_without_a_limit():
    found = [
        f"{path.relative_to(TESTS)}:{line}: {what}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != WAITING
        for line, what in unbounded_waits(ast.parse(path.read_text(encoding="utf-8")))
    ]

    assert found == [], "use tests/support/waiting.py"


@pytest.mark.parametrize(
    ("code", "is_unbounded"),
    [
        ("while not path.exists():\n    pass", True),
        ("while not done:\n    time.sleep(1)", True),
        ("async def f():\n    while not done:\n        await anyio.sleep(1)", True),
        ("with anyio.fail_after(9):\n    while not done:\n        time.sleep(1)", False),
        ("thread.join()", True),
        ("thread.join(5)", False),
        ("process.wait()", True),
        ("process.wait(timeout=5)", False),
        ("async def f():\n    await event.wait()", False),
        ("async def f():\n    await asyncio.wait_for(event.wait(), 5)", False),
        ("process.communicate()", True),
        ("with subprocess.Popen(x) as process:\n    pass", True),
        ("with running(subprocess.Popen(x)) as process:\n    pass", False),
    ],
)
def test_unbounded_waits_are_recognised(code, is_unbounded):
    assert bool(list(unbounded_waits(ast.parse(code)))) is is_unbounded


PAUSES = ("sleep", "checkpoint")


def unbounded_waits(tree):
    """Line and text of waits that only the time limit of a whole test would end.

    An awaited `wait()` is left alone: it ends with the event loop of the test.
    """
    bounded = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Await):
            bounded.add(node.value)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "asyncio.wait_for":
            bounded.update(node.args)
        if isinstance(node, ast.With | ast.AsyncWith):
            calls = [ast.unparse(item.context_expr) for item in node.items]
            if any(call.startswith("subprocess.Popen(") for call in calls):
                yield node.lineno, calls[0]
            if any("fail_after(" in call or "asyncio.timeout(" in call for call in calls):
                bounded.update(ast.walk(node))
        if node in bounded:
            continue
        if isinstance(node, ast.While) and all(map(_only_passes_time, node.body)):
            yield node.lineno, ast.unparse(node.test)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("join", "wait", "communicate")
            and not node.args
            and not node.keywords
        ):
            yield node.lineno, ast.unparse(node)


def _only_passes_time(node):
    if isinstance(node, ast.Expr):
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        return isinstance(call, ast.Call) and ast.unparse(call.func).endswith(PAUSES)
    return isinstance(node, ast.Pass)


def without(folder, *checks):
    """Make checks of the machine fail."""
    copied = folder / "tests" / "support" / "machine.py"
    text = copied.read_text()
    for name in checks:
        assert f"def {name}() -> bool:\n" in text
        text = text.replace(
            f"def {name}() -> bool:\n", f"def {name}() -> bool:\n    return False\n"
        )
    copied.write_text(text)


def run(folder: Path, extra: dict[str, str], options: list[str]) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    always = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *always, *options, "."],
        cwd=folder,
        env=environment | extra,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout.rstrip().splitlines()
