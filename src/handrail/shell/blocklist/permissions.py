"""Rights that a command gives to everybody, or takes from the system."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.deletes import piped_operands
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall
from handrail.shell.expand import plain_text
from handrail.shell.tables.catastrophes import ACCOUNTS

_CHANGERS: Final = frozenset(
    ("chmod", "chown", "chgrp", "setfacl", "chattr", "chflags", "gchmod", "chcon")
)
_EVERYBODY: Final = re.compile(r"0*[0246]?777|(?:a|ugo|augo|ugoa)?[+=]rwx")
_SET_ID: Final = re.compile(r"0*[2467][0-7]{3}|[ugoa]*[+=][rwxX]*s[rwxXst]*")


def find_permission_changes(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse a change of permissions or owners."""
    if call.name == "install" and _SET_ID.fullmatch(call.option_value("m", "mode") or ""):
        yield from _set_id(call, command)
    if call.name not in _CHANGERS:
        return
    if call.name in ("chmod", "gchmod"):
        yield from _modes(call, command)
    for field in (*call.operands, *piped_operands(call, command)):
        lost = command.critical_paths.critical_loss(field, call.cwd, follow=True)
        what = lost or command.critical_paths.system_target(field, call.cwd)
        if what is not None:
            yield call.reason(
                messages.CHANGES_RIGHTS.format(what=what), messages.CHANGE_WORKSPACE_FILES
            )
            return


def _modes(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    # A mode may begin with a minus; it only ever takes rights away.
    modes = plain_text(call.operands[0]).split(",") if call.operands else []
    if any(_EVERYBODY.fullmatch(mode) for mode in modes):
        yield call.reason(messages.WORLD_WRITABLE, messages.GRANT_LESS)
    if any(_SET_ID.fullmatch(mode) for mode in modes):
        yield from _set_id(call, command)


def _set_id(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    roots = tuple(f"{root}/" for root in command.where.roots)
    for field in call.operands[1:]:
        if field.startswith("/") and not field.startswith(roots):
            yield call.reason(*ACCOUNTS)
            return
