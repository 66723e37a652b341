"""Gaining rights, giving them to everybody, and taking them from the system's own files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocklist.deletes import piped_operands
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall
from handrail.shell.expand import plain_text
from handrail.shell.tables.catastrophes import ACCOUNTS

_CHANGERS: Final = frozenset(("chmod", "chown", "chgrp", "setfacl", "chattr", "chflags", "gchmod"))
_INSTEAD: Final = "change only the files of the workspace that need it"
_EVERYBODY: Final = re.compile(r"0*[0246]?777|(?:a|ugo|augo|ugoa)?[+=]rwx")
_SET_ID: Final = re.compile(r"0*[2467][0-7]{3}|[ugoa]*[+=][rwxX]*s[rwxXst]*")
_ALL_RIGHTS: Final = "it gives everybody all rights (mode 777)"


def find_permission_changes(act: ProgramCall, scene: ExpandedCommand) -> Iterator[Reason]:
    """Changes of rights and owners that are refused."""
    if act.name not in _CHANGERS:
        return
    if act.name in ("chmod", "gchmod"):
        yield from _modes(act, scene)
    for field in (*act.operands, *piped_operands(act, scene)):
        lost = scene.places.lost(field, act.cwd, follow=True)
        what = lost or scene.places.system(field, act.cwd)
        if what is not None:
            yield act.because(f"it changes the rights or the owner of {what}", _INSTEAD)
            return


def _modes(act: ProgramCall, scene: ExpandedCommand) -> Iterator[Reason]:
    # A mode may begin with a minus; it only ever takes rights away.
    modes = plain_text(act.operands[0]).split(",") if act.operands else []
    if any(_EVERYBODY.fullmatch(mode) for mode in modes):
        yield act.because(_ALL_RIGHTS, "give only what is needed, such as u+x or 755")
    if any(_SET_ID.fullmatch(mode) for mode in modes):
        yield from _set_id(act, scene)


def _set_id(act: ProgramCall, scene: ExpandedCommand) -> Iterator[Reason]:
    roots = tuple(f"{root}/" for root in scene.where.roots)
    for field in act.operands[1:]:
        if field.startswith("/") and not field.startswith(roots):
            yield act.because(*ACCOUNTS)
            return
