"""File name patterns of search tools: limited to the searched directory, with one syntax
everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from typing import Final

from handrail.core.names.caller_words import arg_name
from handrail.core.problems import ProblemRaised
from handrail.core.text.globs import BraceGroup, expand_groups

_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_STEPS: Final = re.compile(r"[/\\{},]")
_MAX_ALTERNATIVES: Final = 64


def check_globs(
    patterns: str | list[str] | None, field: str, searched: str | None = None
) -> tuple[str, ...]:
    """Return the patterns as a tuple; raises `invalid_arguments` for one that is empty or points
    outside.

    An absolute pattern below the directory `searched` becomes relative to it.
    """
    if patterns is None:
        return ()
    listed = [patterns] if isinstance(patterns, str) else patterns
    if searched is not None:
        top = f"{searched.rstrip('/')}/"
        listed = [pattern.removeprefix(top) or pattern for pattern in listed]
    for pattern in listed:
        _check(pattern, field)
    return tuple(listed)


def name_matcher(pattern: str) -> Callable[[str], object]:
    """Return a function that matches a file name with a glob: `*`, `?`, `[…]` and `{a,b}`."""
    union = "|".join([translate(alternative) for alternative in _alternatives(pattern)])
    return re.compile(union).match


def _check(pattern: str, field: str) -> None:
    if not pattern.strip():
        raise ProblemRaised("invalid_arguments", f"{field} is empty", field=field)
    bare = pattern.removeprefix("!")
    if bare.startswith(("/", "~/")) or ".." in _STEPS.split(bare):
        raise ProblemRaised(
            "invalid_arguments",
            f"the pattern {pattern!r} points outside the directory that is searched",
            hint=f"give the directory as {arg_name('path')} and keep the pattern relative to it, without '..'",
            field=field,
        )


def _alternatives(pattern: str) -> list[str]:
    # A pattern whose braces stand for too many patterns is taken literally.
    return expand_groups(pattern, _brace_group, _MAX_ALTERNATIVES) or [pattern]


def _brace_group(pattern: str) -> BraceGroup | None:
    match = _BRACES.search(pattern)
    return match and (match.start(), match.end(), match[1].split(","))
