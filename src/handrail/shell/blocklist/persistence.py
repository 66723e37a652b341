"""Programs of a directory that everybody can write, started again and again by others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.program_calls import program_basename
from handrail.shell.simulate.carried_commands import is_startup_file

# They start the program later: at a login, or at a time.
_LATER: Final = frozenset(("login", "crontab", "at", "batch"))
_TEMPORARY: Final = re.compile(r"(?:[\w.-]+=)?/(?:tmp|var/tmp|dev/shm)/.*", re.DOTALL)
_PLACING: Final = frozenset(("ln", "cp", "mv", "install", "rsync", "gcp", "gmv", "gln"))
# Who asks for a password could also keep it.
_PASSWORD_ALIAS: Final = re.compile(
    r"(sudo|su|doas|ssh|passwd|pkexec|gpg|login)=[\"']?(?!\s*(?:command\s+)?\1\b)\S"
)
_ENABLES: Final = re.compile(r"\b(?:enable|link|start)\b")
# A setting that names a program.
_SETS: Final = re.compile(
    r"(?i)\bconfig\b.*\b(?:set|add|--global|--system)?\b.*(?:shell|editor|pager|hook\w*|command|helper|program|path|proxycommand)\b"
)


def find_planted_programs(flat: FlatCommand) -> Iterator[Reason]:
    """Reasons to refuse what starts a program of a temporary directory later."""
    for one in flat.invocations:
        later = not _LATER.isdisjoint(one.wrapped_by)
        if (later and (_is_temporary(one) or _replaces_login(one))) or _installs_temporary(one):
            yield Reason(f"{messages.PLANTS_PROGRAM}; {messages.ASK_THE_USER}", one.source)


def _replaces_login(one: Invocation) -> bool:
    """Whether an alias takes the place of a program to which people give their password."""
    return one.program == "alias" and any(
        _PASSWORD_ALIAS.match(word.value or "") for word in one.words[1:]
    )


def _installs_temporary(one: Invocation) -> bool:
    """Whether a file of a temporary directory becomes a start file, a service, a hook or a setting."""
    values = [word.value or "" for word in one.words]
    planted = [value for value in values[1:] if _TEMPORARY.fullmatch(value)]
    if not planted:
        return False
    name = program_basename(one.program or "")
    if name in _PLACING:
        return is_startup_file(values[-1])
    told = " ".join(values[1:])
    return (
        _ENABLES.search(told) is not None if name == "systemctl" else _SETS.search(told) is not None
    )


def _is_temporary(one: Invocation) -> bool:
    """Whether the program, or the file that it runs, is in a temporary directory."""
    return any(_TEMPORARY.match(word.value or "") for word in one.words[:2])
