"""File name patterns: kept beneath the searched directory, matched the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from typing import Final

from handrail.core.problems import ProblemRaised

_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_STEPS: Final = re.compile(r"[/\\{},]")
_MAX_ALTERNATIVES: Final = 64


def check_globs(patterns: str | list[str] | None, field: str) -> tuple[str, ...]:
    """The patterns as a tuple; refuses one that is empty or points outside."""
    if patterns is None:
        return ()
    listed = [patterns] if isinstance(patterns, str) else patterns
    for pattern in listed:
        _check(pattern, field)
    return tuple(listed)


def name_matcher(pattern: str) -> Callable[[str], object]:
    """Tests one file name against a glob with `*`, `?`, `[…]` and `{a,b}`."""
    union = "|".join([translate(one) for one in _alternatives(pattern)])
    return re.compile(union).match


def _check(pattern: str, field: str) -> None:
    if not pattern.strip():
        raise ProblemRaised("invalid_arguments", f"{field} is empty", field=field)
    bare = pattern.removeprefix("!")
    if bare.startswith(("/", "~/")) or ".." in _STEPS.split(bare):
        raise ProblemRaised(
            "invalid_arguments",
            f"the pattern {pattern!r} points outside the directory that is searched",
            hint="give the directory as path and keep the pattern relative to it, without '..'",
            field=field,
        )


def _alternatives(pattern: str) -> list[str]:
    pending, done = [pattern], list[str]()
    while pending:
        one = pending.pop()
        found = _BRACES.search(one)
        # A set of braces that multiplies without end is taken literally.
        if found is None or len(pending) + len(done) > _MAX_ALTERNATIVES:
            done.append(one)
            continue
        head, tail = one[: found.start()], one[found.end() :]
        pending += [head + choice + tail for choice in found[1].split(",")]
    return done
