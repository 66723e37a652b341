"""The machines that the arguments of a command name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from handrail.shell.classify.arguments import Argument
from handrail.shell.classify.effects import EffectCollector

_URL: Final = re.compile(r"(?i)[a-z][a-z0-9+.-]*://(?:[^/@\s]*@)?(\[[^\]]+\]|[^/:?#\s]+)")
_REMOTE: Final = re.compile(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+|localhost)(?::.*)?")
_BARE: Final = re.compile(
    r"(?:[\w.-]+@)?([A-Za-z0-9][\w.-]*|\[[0-9a-fA-F:]+\]|[0-9a-fA-F:]+:[0-9a-fA-F:]*)"
)
_LOGIN: Final = re.compile(r"[\w.-]+@([\w.-]+)(?::.*)?|([\w.-]+\.[A-Za-z]{2,}|\d+(?:\.\d+){3}):.*")


def collect_hosts(
    arguments: Iterable[Argument], collector: EffectCollector, *, strict: bool = False
) -> None:
    """Add the hosts that the arguments name. `strict`: only complete addresses count."""
    for argument in arguments:
        value = argument.text or argument.prefix
        found = _URL.search(value)
        if found is not None:
            collector.add_host(found.group(1).strip("[]").casefold())
        elif not value.startswith("-"):
            named = (_LOGIN if strict else _REMOTE).fullmatch(value)
            if named is not None and "/" not in value.partition(":")[0]:
                collector.add_host(next(one for one in named.groups() if one).casefold())


def collect_first_host(arguments: Iterable[Argument], collector: EffectCollector) -> None:
    """Add the first operand as a host."""
    for argument in arguments:
        value = argument.text
        if value and not value.startswith(("-", "@", "+")) and not value.isdigit():
            found = _BARE.fullmatch(value)
            if found is not None:
                collector.add_host(found.group(1).strip("[]").casefold())
            return
