"""Losing the history of the repository: its objects, or everything that still names them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.deletes import is_deletion, search_starts
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall
from handrail.shell.expand import plain_text

# Forgets what old commits are called, then deletes what nothing names.
_FORGETS: Final = re.compile(
    r"git (?:-\S+ )*reflog expire (?=.*--expire(?:-unreachable)?=(?:now|all|0)).*"
)
_COLLECTS: Final = re.compile(
    r"git (?:-\S+ )*(?:gc (?=.*--prune=(?:now|all|0)).*|prune(?: .*)?|repack .*-\w*d.*)"
)
_EVERY_REF: Final = re.compile(r"git (?:-\S+ )*for-each-ref (?=.*delete ).*")
_BY_LIST: Final = re.compile(r"git (?:-\S+ )*update-ref (?:.* )?--stdin(?: .*)?")


def find_history_losses(command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse commands after which the history of the workspace's repository is gone."""
    told = [
        (call, " ".join((call.name, *map(plain_text, call.arguments))))
        for call in command.calls
        if call.name == "git"
    ]
    for first, second in ((_FORGETS, _COLLECTS), (_EVERY_REF, _BY_LIST)):
        if any(first.fullmatch(text) for _, text in told):
            found = [call for call, text in told if second.fullmatch(text)]
            yield from (call.reason(*_LOSS) for call in found[:1])
    for call in command.calls:
        if _deletes_repository(call, command):
            yield call.reason(*_LOSS)


_LOSS: Final = (messages.LOSES_HISTORY, messages.ASK_THE_USER)


def _deletes_repository(call: ProgramCall, command: ExpandedCommand) -> bool:
    places = command.critical_paths
    if call.name in ("mv", "gmv"):
        away = call.operands[-1:] == ["/dev/null"]
        return away and any(places.is_repository(one, call.cwd) for one in call.operands[:-1])
    if not is_deletion(call):
        return False
    if call.name not in ("find", "gfind"):
        recursive = call.has_option("rR", "recursive") or call.name != "rm"
        return recursive and any(places.is_repository(one, call.cwd) for one in call.operands)
    starts = search_starts(call)
    named = any(
        one in ("-name", "-iname", "-path") and plain_text(after) in (".git", "./.git", "*/.git")
        for one, after in pairwise(call.arguments)
    )
    if named and "-mindepth" not in call.arguments:
        return any(places.is_root(one, call.cwd) for one in starts)
    narrowed = any(one in ("-name", "-iname", "-mtime", "-size") for one in call.arguments)
    return not narrowed and any(places.is_repository(one, call.cwd) for one in starts)
