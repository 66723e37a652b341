"""Opens what the options name: the workspace, its settings, its record, a runtime."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.cli import messages
from handrail.cli.parser import SETTING_OPTIONS
from handrail.cli.render import output
from handrail.core.names.store_location import MEMORY, is_store_url
from handrail.core.problems import Problem, ProblemRaised

if TYPE_CHECKING:
    from handrail.assembly.runtime_opener import RuntimeOpener
    from handrail.config.model import Settings
    from handrail.core.approval import Reply
    from handrail.core.ports.machine import Approver
    from handrail.host.state.state_paths import StatePaths
    from handrail.store.sql import SqlConnection

DEFAULT_SESSION: Final = "cli"
_DAY_S: Final = 86_400
ASK_CHOICES: Final = ("terminal", "approvals", "both", "nobody")

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
# Two random digits: two calls may start in the same millisecond.
_RANDOM: Final = len(_DIGITS) ** 2


class Workspace(NamedTuple):
    """A workspace and its state directory, without an open session."""

    root: Path
    home: StatePaths
    problem: Problem | None = None  # why no record can be kept; `home` is then unused

    @property
    def recorded(self) -> bool:
        """Whether anything has been recorded here."""
        if self.problem is not None or self.home.store == MEMORY:
            return False
        # For a database, this is checked when it is opened.
        return is_store_url(self.home.store) or Path(self.home.store).is_file()


def find_workspace(options: Namespace) -> Workspace:
    """Return the workspace that the options name; opens no session."""
    from handrail.host.state.state_paths import find_state_paths

    root = workspace_directory(options)
    return Workspace(root, find_state_paths(root, options.store))


def find_workspace_or_problem(options: Namespace) -> Workspace:
    """Like `find_workspace`, but set `problem` instead of raising if no record can be kept."""
    from handrail.host.state.directories import state_home
    from handrail.host.state.state_paths import StatePaths

    root = workspace_directory(options)
    try:
        return find_workspace(options)
    except ProblemRaised as raised:
        return Workspace(root, StatePaths(str(state_home()), None), raised.problem)


def refuse_session(options: Namespace, reason: str) -> None:
    """Raise `invalid_arguments` if --session was given to a command that does not use it."""
    if options.session is not None:
        raise messages.SESSION_NOT_ACCEPTED.error(
            command=options.command, reason=reason, field="session"
        )


def load_settings(options: Namespace) -> Settings:
    """Load the settings in force; raises `invalid_arguments` if they are invalid."""
    from handrail.assembly.settings_files import load_from

    return load_from(
        workspace_directory(options), config_path(options), _overrides(options)
    ).settings


def is_set(options: Namespace, setting: str) -> bool:
    """Return whether a settings file sets this; raises `invalid_arguments` if one is invalid."""
    from handrail.assembly.settings_files import load_from
    from handrail.config.layers.sources import Layer

    loaded = load_from(workspace_directory(options), config_path(options), _overrides(options))
    source = loaded.sources.get(setting)
    return source is not None and source.layer is not Layer.DEFAULT


def open_session(options: Namespace, **more: Any) -> RuntimeOpener:
    """Return a runtime for `async with`, in the session of the command line."""
    from handrail.assembly.runtime_opener import open as open_runtime
    from handrail.cli.render.recovery import warn_recovered

    output.install_log_handler()
    settings = {"store": options.store, "session": options.session or DEFAULT_SESSION, **more}
    settings.setdefault("approver", choose_approver(options))
    opening = open_runtime(
        workspace_as_given(options), config=config_path(options), **_overrides(options), **settings
    )
    # Each command is a separate process: background jobs must outlive it.
    opening.keep_jobs()
    opening.on_recovered = warn_recovered
    return opening


@contextmanager
def open_record(place: Workspace) -> Iterator[SqlConnection]:
    """Open the record of a workspace read-only; raises `store_unavailable`."""
    import sqlite3

    from handrail.store.opening import open_read_only
    from handrail.store.sqlite.errors import explain_error, problem_error

    if place.home.store == MEMORY:
        raise messages.STORE_IN_MEMORY.error()
    db = open_read_only(place.home.store)
    try:
        yield db
    except sqlite3.Error as error:
        raise problem_error(explain_error(error, place.home.store)) from error
    finally:
        db.close()


class SessionName(NamedTuple):
    """What `--session` names: the id of a conversation, whose calls may be in several runtime
    sessions, or else a runtime session. Both None: any.
    """

    session: str | None = None
    conversation: str | None = None


def read_session_name(db: SqlConnection, name: str | None) -> SessionName:
    """Return what the name refers to in this record."""
    from handrail.store.records.conversations import is_conversation

    if name is not None and is_conversation(db, name):
        return SessionName(conversation=name)
    return SessionName(session=name)


def check_session(db: SqlConnection, name: str | None) -> None:
    """Raise `invalid_arguments` for a session without any record."""
    if name is None:
        return
    from handrail.store.records.calls import is_recorded

    if not is_recorded(db, name) and read_session_name(db, name).conversation is None:
        raise messages.NO_SUCH_SESSION.error(session=name, field="session")


def check_turn(db: SqlConnection, session: str, turn: int, called: Sequence[int]) -> None:
    """Raise `not_found` if a session has no such turn: none with a call, as in `called`, and no
    response of the model.
    """
    from handrail.store.records.conversations import list_conversations

    if turn in called:
        return
    ends = [
        conversation.last_turn
        for conversation in list_conversations(db)
        if conversation.session == session
    ]
    last = max([*called, *ends], default=0)
    if not 0 < turn <= last:
        raise messages.NO_SUCH_TURN.error(session=session, turn=turn, last=last, field="turn")


def workspace_directory(options: Namespace) -> Path:
    """Return the resolved workspace; raises `invalid_arguments` if it is not a directory."""
    directory = Path(options.workspace).expanduser()
    try:
        root = directory.resolve(strict=True)
        if root.is_dir():
            return root
    except (OSError, RuntimeError):
        pass
    raise messages.WORKSPACE_NOT_A_DIRECTORY.error(path=str(directory))


def workspace_as_given(options: Namespace) -> Path:
    """Return the workspace path as given, with symbolic links.

    Raises `invalid_arguments` if it is not a directory.
    """
    workspace_directory(options)
    return Path(options.workspace)


def config_path(options: Namespace) -> str | None:
    """Return the file given with --config, or None; raises `invalid_arguments` if it is missing."""
    file: str | None = options.config
    if file is not None and not Path(file).expanduser().is_file():
        raise messages.NO_CONFIG_FILE.error(path=file)
    return None if file is None else str(Path(file).expanduser())


def add_ask_option(parser: ArgumentParser) -> None:
    """Add --ask."""
    parser.add_argument(
        "--ask", choices=ASK_CHOICES, metavar="WHERE",
        help="where approvals are asked: terminal (default), approvals, both or nobody",
    )  # fmt: skip


def choose_approver(
    options: Namespace | None = None, *, single_call: bool = False, session_ends: bool = False
) -> Any:
    """Return the approver that --ask names, by default the terminal if there is one, or None.
    With `single_call`, ending the run is not offered as an answer; `session_ends`
    says that the session is over with the call.

    Raises `needs_approval` if the terminal was named and there is none.
    """
    choice = getattr(options, "ask", None)
    if options is not None and choice == "approvals":
        return _queue_approver(options)
    if choice == "nobody" or (choice is None and not sys.stderr.isatty()):
        return None
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        if choice is None:
            return None
        raise messages.NO_TERMINAL.error() from None
    from handrail.cli.render.screen import use_colour
    from handrail.host.terminal.prompt import TerminalApprover

    terminal = TerminalApprover(
        colour=use_colour(sys.stderr), single_call=single_call, session_ends=session_ends
    )
    return _shared(terminal, options) if options is not None and choice == "both" else terminal


def _shared(terminal: Approver, options: Namespace) -> Approver:
    """Return an approver that asks here and in the queue, and reports an answer from elsewhere."""
    from handrail.host.terminal.approval_queue import VIA
    from handrail.policy.approval.shared_approver import SharedApprover

    def report(reply: Reply) -> None:
        if reply.via == VIA:
            who = "" if reply.who is None else f" by {reply.who}"
            output.warn(f"answered elsewhere{who}: {reply.answer.value}")

    return SharedApprover([terminal, _queue_approver(options)], report)


def _queue_approver(options: Namespace) -> Any:
    import shlex

    from handrail.assembly.approver import queue_approver
    from handrail.cli.program import command_name

    root = workspace_directory(options)

    def notify(name: str) -> None:
        command = f"{command_name()} approvals -w {shlex.quote(str(root))}"
        output.warn(f"{name} waits for approval; answer with: {command}")

    return queue_approver(root, options.store, notify)


def collect_if_due(options: Namespace) -> None:
    """Once a day, delete some of the old data of the workspace; see `auto_gc`."""
    try:
        home = find_workspace(options).home
    except ProblemRaised:
        return
    if home.directory is not None and home.directory.is_dir() and _is_due(home.directory):
        from handrail.cli.commands.record.gc import collect_automatically

        collect_automatically(options)


def _is_due(directory: Path) -> bool:
    """Return whether the last run was a day ago, and record the new one. The first day is not due."""
    import time

    stamp = directory / "gc-time"
    try:
        due = time.time() - stamp.stat().st_mtime > _DAY_S
        if due:
            stamp.touch()
    except FileNotFoundError:
        stamp.touch(mode=0o600)
        return False
    except OSError:
        return False
    return due


def new_call_id() -> str:
    """Return a new call id. Not a counter: a named session outlives this process."""
    import time

    number = time.time_ns() // 1_000_000 * _RANDOM + int.from_bytes(os.urandom(4)) % _RANDOM
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def _overrides(options: Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in SETTING_OPTIONS}
