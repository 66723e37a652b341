"""From options to a workspace: its settings, its record on disk, and a runtime on it."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli.render import output
from handrail.core.problems import Problem, ProblemRaised

if TYPE_CHECKING:
    import sqlite3

    from handrail.assembly.runtime_opener import RuntimeOpener
    from handrail.config.model import Settings
    from handrail.host.state.state_paths import StatePaths

DEFAULT_SESSION: Final = "cli"
MEMORY: Final = ":memory:"
ASK_CHOICES: Final = ("terminal", "approvals", "nobody")

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
# Two digits, so that two calls of one millisecond differ.
_RANDOM: Final = len(_DIGITS) ** 2


@dataclass(frozen=True, slots=True)
class Workspace:
    """What is known of a workspace without opening a session in it.

    `problem` says why its record cannot be kept at all; `home` is then only where it would be.
    """

    root: Path
    home: StatePaths
    problem: Problem | None = None

    @property
    def recorded(self) -> bool:
        """Whether anything has been recorded here."""
        if self.problem is not None or self.home.store == MEMORY:
            return False
        return Path(self.home.store).is_file()


def find_workspace(options: Namespace) -> Workspace:
    """The workspace the options name; opens no session in it."""
    from handrail.host.state.state_paths import find_state_paths

    root = workspace_directory(options)
    return Workspace(root, find_state_paths(root, options.store))


def find_workspace_or_problem(options: Namespace) -> Workspace:
    """The same, but where no record can be kept that is said in the workspace's `problem`."""
    from handrail.host.state.directories import state_home
    from handrail.host.state.state_paths import StatePaths

    root = workspace_directory(options)
    try:
        return find_workspace(options)
    except ProblemRaised as raised:
        return Workspace(root, StatePaths(str(state_home()), None), raised.problem)


def refuse_session(options: Namespace, why: str) -> None:
    """Raise `invalid_arguments` if a session was named where it would mean nothing."""
    if options.session is not None:
        raise ProblemRaised(
            "invalid_arguments",
            f"`{options.command}` takes no --session: {why}",
            hint="leave --session out; `handrail log --session NAME` shows the calls of one",
            field="session",
        )


def load_settings(options: Namespace) -> Settings:
    """The settings in force; raises `invalid_arguments` if they cannot be read."""
    from handrail.assembly.settings_files import load_from

    return load_from(
        workspace_directory(options), config_path(options), _overrides(options)
    ).settings


def open_session(options: Namespace, **more: Any) -> RuntimeOpener:
    """A runtime for `async with`, in the session that the command line uses."""
    from handrail.assembly.runtime_opener import open as open_runtime
    from handrail.cli.render.recovery import warn_recovered

    output.install_log_handler()
    settings = {"store": options.store, "session": options.session or DEFAULT_SESSION, **more}
    settings.setdefault("approver", choose_approver(options))
    opening = open_runtime(
        workspace_as_given(options), config=config_path(options), **_overrides(options), **settings
    )
    # Every call is a process of its own: a job that ended with it could never be looked at.
    opening.keep_jobs()
    opening.hears = warn_recovered
    return opening


@contextmanager
def open_record(place: Workspace) -> Iterator[sqlite3.Connection]:
    """The record of a workspace, read-only; `store_unavailable` if it cannot be read."""
    import sqlite3

    from handrail.store.sqlite.connection import open_read_only
    from handrail.store.sqlite.errors import explain_error, problem_error

    if place.home.store == MEMORY:
        raise ProblemRaised(
            "store_unavailable",
            "a store in memory ends with its process; there is nothing to read",
            hint="leave --store out, or name a file",
        )
    db = open_read_only(place.home.store)
    try:
        yield db
    except sqlite3.Error as error:
        raise problem_error(explain_error(error, place.home.store)) from error
    finally:
        db.close()


def workspace_directory(options: Namespace) -> Path:
    """The workspace as a real directory; raises `invalid_arguments` if it is none."""
    given = Path(options.workspace).expanduser()
    try:
        root = given.resolve(strict=True)
        if root.is_dir():
            return root
    except (OSError, RuntimeError):
        pass
    raise ProblemRaised(
        "invalid_arguments",
        f"the workspace {str(given)!r} is not a directory",
        hint="name one that exists with -w DIR",
    )


def workspace_as_given(options: Namespace) -> Path:
    """The workspace by the path that names it, links kept; raises `invalid_arguments` if it is
    no directory.
    """
    workspace_directory(options)
    return Path(options.workspace)


def config_path(options: Namespace) -> str | None:
    """The settings file that was named, if one was; raises `invalid_arguments` if it is none."""
    given: str | None = options.config
    if given is not None and not Path(given).expanduser().is_file():
        raise ProblemRaised(
            "invalid_arguments",
            f"there is no configuration file {given!r}",
            hint="leave --config out to use your own settings",
        )
    return None if given is None else str(Path(given).expanduser())


def add_ask_option(parser: ArgumentParser) -> None:
    """The option that says who is asked."""
    parser.add_argument(
        "--ask", choices=ASK_CHOICES, metavar="WHOM",
        help="who is asked: terminal (default, if there is one), approvals or nobody",
    )  # fmt: skip


def choose_approver(options: Namespace | None = None) -> Any:
    """Somebody to ask: whom the options name, or a person who looks at a terminal; else None.
    Raises `unavailable` if the terminal is named and there is none.
    """
    asked = getattr(options, "ask", None)
    if options is not None and asked == "approvals":
        return _queue_approver(options)
    if asked == "nobody" or (asked is None and not sys.stderr.isatty()):
        return None
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        if asked is None:
            return None
        raise ProblemRaised(
            "unavailable",
            "there is no terminal to ask at",
            hint="use --ask approvals and answer with `handrail approvals` in another one",
        ) from None
    from handrail.cli.render.screen import use_colour
    from handrail.host.terminal.prompt import TerminalApprover

    return TerminalApprover(colour=use_colour(sys.stderr))


def _queue_approver(options: Namespace) -> Any:
    import shlex
    import time

    from handrail.cli.program import command_name
    from handrail.host.terminal.approval_queue import QueueApprover

    root = workspace_directory(options)

    def tell(name: str) -> None:
        command = f"{command_name()} approvals -w {shlex.quote(str(root))}"
        output.warn(f"{name} waits for an answer: {command}")

    return QueueApprover(root, time.time_ns, tell)


def new_call_id() -> str:
    """A short id for a call that has none. Not a counter: a named session outlives this
    process, and would use the same number twice.
    """
    import time

    number = time.time_ns() // 1_000_000 * _RANDOM + int.from_bytes(os.urandom(4)) % _RANDOM
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def _overrides(options: Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("mode", "dialect", "dry_run")}
