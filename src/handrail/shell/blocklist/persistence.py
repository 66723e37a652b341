"""Programs of a directory that everybody can write, started again and again by others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.blocklist import messages

# They start the program later: at a login, or at a time.
_LATER: Final = frozenset(("login", "crontab", "at", "batch"))
_TEMPORARY: Final = re.compile(r"(?:[\w.-]+=)?/(?:tmp|var/tmp|dev/shm)/.*", re.DOTALL)


def find_planted_programs(flat: FlatCommand) -> Iterator[Reason]:
    """Reasons to refuse text that starts a program of a temporary directory later."""
    for one in flat.invocations:
        if not _LATER.isdisjoint(one.wrapped_by) and _is_temporary(one):
            yield Reason(f"{messages.PLANTS_PROGRAM}; {messages.ASK_THE_USER}", one.source)


def _is_temporary(one: Invocation) -> bool:
    """Whether the program, or the file that it runs, is in a temporary directory."""
    return any(_TEMPORARY.match(word.value or "") for word in one.words[:2])
