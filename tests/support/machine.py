"""What some tests need from the machine. Each need is a marker, and one table says how it is
checked and what to install; tests of a need that is missing are skipped and listed at the end.
"""

import importlib.util
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from tests.support.postgres import postgres_works

ROOT = Path(__file__).resolve().parents[2]
CHECK_TIMEOUT_S = 20
TORTURE_TIMEOUT_S = 1800


@dataclass(frozen=True)
class Need:
    """A marker, the thing it stands for, how to get it, and whether it works here."""

    marker: str
    what: str
    remedy: str
    is_met: Callable[[], bool]

    @property
    def reason(self) -> str:
        return f"needs {self.what} ({self.remedy})"


def load_node_tools() -> ModuleType:
    """The script that installs the public programs for Node, as a module."""
    spec = importlib.util.spec_from_file_location("node_tools", ROOT / "scripts" / "node_tools.py")
    tools = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tools)
    return tools


@cache
def bubblewrap_works() -> bool:
    """Whether bubblewrap can really confine a program: the file alone proves nothing."""
    program = shutil.which("bwrap", path="/usr/bin") or shutil.which("bwrap")
    return program is not None and _succeeds(
        program, "--ro-bind", "/", "/", "--unshare-all", "/bin/true"
    )


@cache
def landlock_works() -> bool:
    """Whether this kernel's Landlock has all that the tests expect of it: files, TCP, scopes."""
    return landlock_version() >= 6


@cache
def landlock_version() -> int:
    from handrail.host.processes import landlock

    return landlock.abi()


@cache
def node_works() -> bool:
    """Whether commands find a Node that runs, as they do without this project's environment."""
    program = shutil.which("node", path="/usr/local/bin:/usr/bin:/bin")
    return program is not None and _succeeds(program, "--version")


@cache
def compiler_works() -> bool:
    program = shutil.which("cc", path="/usr/local/bin:/usr/bin:/bin")
    return program is not None and _succeeds(program, "--version")


@cache
def mcp_programs_work() -> bool:
    """Whether the public MCP programs, and the Node that comes with the packages, are there."""
    tools = load_node_tools()
    try:
        return tools.installed() and _succeeds(str(tools.node()), "--version")
    except FileNotFoundError:
        return False


@cache
def browser_works() -> bool:
    program = shutil.which("chromium-headless-shell")
    return program is not None and _succeeds(program, "--version")


@cache
def language_servers_work() -> bool:
    """Whether servers of two languages are installed beside this Python and can be confined."""
    scripts = Path(sysconfig.get_path("scripts"))
    confined = bubblewrap_works() or landlock_works()
    return confined and all(_succeeds(str(scripts / one), "--version") for one in ("ty", "clangd"))


@cache
def more_language_servers_work() -> bool:
    """Whether the two servers that `make setup` does not install are on PATH."""
    wanted = ("basedpyright-langserver", "tsc")
    return language_servers_work() and all(map(shutil.which, wanted))


@cache
def frameworks_installed() -> bool:
    """Whether the frameworks of the adapters are installed, as in the environment of
    `make test-adapters`.
    """
    names = ("pydantic_ai", "deepagents", "langchain_tests", "agents", "smolagents")
    return all(importlib.util.find_spec(name) is not None for name in names)


@cache
def ray_installed() -> bool:
    """Whether Ray is installed, as in the environment of `make test-ray`."""
    return importlib.util.find_spec("ray") is not None


def _succeeds(*command: str) -> bool:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=CHECK_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


NEEDS = (
    Need(
        "needs_bubblewrap",
        "bubblewrap",
        "apt-get install bubblewrap, and allow unprivileged user namespaces",
        bubblewrap_works,
    ),
    Need("needs_landlock", "Landlock", "Linux 6.12 or later with Landlock", landlock_works),
    Need(
        "needs_newest_landlock",
        "the newest Landlock",
        "Linux 6.15 or later with Landlock",
        lambda: landlock_version() >= 7,
    ),
    Need(
        "needs_sandbox",
        "a sandbox, bubblewrap or Landlock",
        "apt-get install bubblewrap, or Linux 6.12 or later with Landlock",
        lambda: bubblewrap_works() or landlock_works(),
    ),
    Need("needs_node", "Node.js", "apt-get install nodejs", node_works),
    Need("needs_compiler", "a C compiler", "apt-get install gcc libc6-dev", compiler_works),
    Need(
        "needs_mcp_programs",
        "the public MCP programs",
        ".venv/bin/python scripts/node_tools.py",
        mcp_programs_work,
    ),
    Need(
        "needs_browser",
        "a headless Chromium",
        "apt-get install chromium-headless-shell",
        browser_works,
    ),
    Need(
        "needs_language_servers",
        "the language servers ty and clangd, and a sandbox",
        "make setup",
        language_servers_work,
    ),
    Need(
        "needs_more_language_servers",
        "basedpyright and TypeScript 7 on PATH",
        "pip install basedpyright; npm install --global typescript",
        more_language_servers_work,
    ),
    Need(
        "needs_postgres",
        "PostgreSQL and psycopg",
        "apt-get install postgresql; make setup",
        postgres_works,
    ),
    Need("needs_root", "root", "run the tests as root", lambda: os.geteuid() == 0),
)


def prepare_items(items: list[pytest.Item]) -> None:
    """Skip tests whose needs this machine does not meet; give torture tests their limit."""
    for item in items:
        for need in NEEDS:
            if item.get_closest_marker(need.marker) and not need.is_met():
                item.add_marker(pytest.mark.skip(reason=need.reason))
                break
        if item.get_closest_marker("torture") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TORTURE_TIMEOUT_S))


def skip_summary(reports: list[pytest.TestReport]) -> list[str]:
    """One line per reason: what is missing, how many tests, what to install."""
    counts: dict[str, int] = {}
    for report in reports:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        counts[reason] = counts.get(reason, 0) + 1
    missing = {need.reason: need for need in NEEDS}
    lines = []
    for reason, count in sorted(counts.items(), key=lambda one: -one[1]):
        tests = f"{count} test" if count == 1 else f"{count} tests"
        if reason in missing:
            lines.append(f"{missing[reason].what}: {tests}. To run: {missing[reason].remedy}")
        else:
            lines.append(f"other: {tests}. {reason}")
    return lines


def backend_param(name: str) -> object:
    """A sandbox as a parameter of a test, with the marker of what it needs."""
    marks = {"bubblewrap": pytest.mark.needs_bubblewrap, "landlock": pytest.mark.needs_landlock}
    return pytest.param(name, marks=marks[name]) if name in marks else name


SANDBOXES = [backend_param("bubblewrap"), backend_param("landlock")]
SANDBOXES_AND_NONE = [*SANDBOXES, "none"]
