"""The patterns of pkill, pgrep and killall."""

from __future__ import annotations

from typing import Any, Final

# Programs that run on most machines; no letter is in all of their names.
_RUNNING_NAMES: Final = ("init", "bash", "sshd", "systemd", "node", "cron", "python", "dbus")
_LONGEST: Final = 500
_MEMORY_BYTES: Final = 1 << 20


def matches_every_name(pattern: str, *, inverse: bool = False) -> bool:
    """Whether a pattern matches whatever runs; with `inverse`, whether all but it is meant.

    RE2 reads it in time that is linear in its length, whoever wrote it.
    """
    if inverse or pattern == "*":
        return True
    if len(pattern) > _LONGEST:
        return False
    import re2

    options = re2.Options()
    options.log_errors, options.max_mem = False, _MEMORY_BYTES
    try:
        found: Any = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError):
        return False
    return all(found.search(name) for name in _RUNNING_NAMES)
