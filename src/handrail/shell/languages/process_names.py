"""The options and patterns of pkill, pgrep and killall."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from handrail.shell.languages.linear_patterns import compile_pattern

# Programs that run on most machines; no letter is in all of their names.
_RUNNING_NAMES: Final = ("init", "bash", "sshd", "systemd", "node", "cron", "python", "dbus")
# How programs are started that run on most machines.
_COMMAND_LINES: Final = (
    "/sbin/init splash",
    "/usr/sbin/sshd -D",
    "/usr/lib/systemd/systemd --user",
    "/usr/sbin/cron -f -P",
    "/usr/bin/dbus-daemon --system",
    "/usr/bin/python3 /srv/job.py",
    "/usr/bin/node server.js",
)
SIGNAL: Final = re.compile(
    r"-(\d+|(?:SIG)?(?:HUP|INT|QUIT|ILL|TRAP|ABRT|IOT|BUS|EMT|FPE|KILL|USR[12]|SEGV|PIPE|ALRM|TERM|STKFLT|CHLD|CLD|CONT"
    r"|STOP|TSTP|TTIN|TTOU|URG|XCPU|XFSZ|VTALRM|PROF|WINCH|IO|POLL|PWR|INFO|SYS|RTMIN(?:\+\d+)?|RTMAX(?:-\d+)?))",
    re.IGNORECASE,
)
# The letters of a cluster up to the first one that takes the rest as its value.
_CLUSTER: Final = re.compile(r"-([^dFgGOPrstuU-]*[dFgGOPrstuU]?).*", re.DOTALL)
_LONG_OPTIONS: Final = {"--inverse": "v", "--full": "f", "--ignore-case": "i"}
# What extended expressions of C and RE2 read differently: the ends of words and of the text, and a
# repetition without its least number.
_ESCAPED: Final = re.compile(r"\\(.)|\{,|^\*+|\++(?=\+)", re.DOTALL)
_TRANSLATED: Final = {"\\<": r"\b", "\\>": r"\b", r"\`": "^", r"\'": "$", "{,": "{0,"}
# `[[.a.]-[.z.]]`, `[[=a=]]`.
_COLLATED: Final = re.compile(r"\[[.=]")


def option_letters(fields: Sequence[str]) -> set[str]:
    """The short options of pkill or pgrep; a long one counts as the short one for the same.

    A signal is no cluster of options, unless it is a digit.
    """
    found: set[str] = set()
    for field in takewhile(lambda one: one != "--", fields):
        if field.startswith("--"):
            found.update(short for long, short in _LONG_OPTIONS.items() if long.startswith(field))
            continue
        cluster = _CLUSTER.fullmatch(field)
        if cluster is not None and (len(field) == 2 or not SIGNAL.fullmatch(field)):
            found.update(cluster[1])
    return found


def matches_every_name(pattern: str, *, full: bool = False, ignore_case: bool = False) -> bool:
    """Whether a pattern matches whatever runs; with `full`, by its whole command line.

    RE2 reads it in time that is linear in its length, whoever wrote it. In doubt it matches.
    """
    if pattern == "*" or _COLLATED.search(pattern):
        return True
    found = compile_pattern(_ESCAPED.sub(_translated, pattern), ignore_case=ignore_case)
    if found is None:
        return True
    lists = (_RUNNING_NAMES, _COMMAND_LINES) if full else (_RUNNING_NAMES,)
    return any(all(map(found.search, names)) for names in lists)


def _translated(match: re.Match[str]) -> str:
    text = match[0]
    # `*x` and `x++` are errors of RE2 only.
    return "" if text[0] in "*+" else _TRANSLATED.get(text, text)
