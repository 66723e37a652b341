"""Globs as regular expressions for paths: `*`, `?`, `[a-z]`, `{a,b}`, `**` and backslash.

Globs come from models and repositories, so the expressions never backtrack further than one part
of a path: no glob can be slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from handrail.core.text.globs import BraceGroup, expand_groups

_MAX_LENGTH: Final = 2000
_MAX_ALTERNATIVES: Final = 500
_TOKEN: Final = re.compile(
    r"\\(?P<escaped>.)|(?P<star>\*+)|(?P<any>\?)|\[(?P<set>[!^]?\]?[^\]]*)\]|(?P<char>.)",
    re.DOTALL,
)
# An escape or a set is skipped as a whole.
_BRACE: Final = re.compile(r"\\.|\[[!^]?\]?[^\]]*\]|[{},]", re.DOTALL)


class BadGlob(ValueError):
    """The glob is malformed; the text says why."""


def expand(glob: str) -> tuple[str, ...]:
    """The glob with its braces expanded: one glob per alternative."""
    if len(glob) > _MAX_LENGTH:
        raise BadGlob(f"is longer than {_MAX_LENGTH} characters")
    expanded = expand_groups(glob, _inner_group, _MAX_ALTERNATIVES)
    if expanded is None:
        raise BadGlob(f"has more than {_MAX_ALTERNATIVES} alternatives")
    return tuple(dict.fromkeys(expanded))


def widened(name: str) -> str:
    """A glob for base names that matches at least as much, made of `*` and characters only.

    A colon becomes `*` too: ripgrep uses it as a separator in such globs.
    """
    return "".join(
        "*" if text == ":" or kind not in ("escaped", "char") else literal(text)
        for kind, text in _tokens(name)
    )


def literal(text: str) -> str:
    """A glob that matches exactly this text."""
    return re.sub(r"([*?{}\[\]\\,!])", r"\\\1", text)


def pattern(glob: str) -> str:
    """A regular expression for a whole path; the glob has no braces.

    Between two `**` the leftmost match is as good as any other, so each stretch is an atomic
    group; likewise between two `*` in one part of a path.
    """
    stretches: list[list[str]] = [[]]
    for part in glob.split("/"):
        if part == "**":
            stretches.append([])
        else:
            stretches[-1].append(_part(part))
    first, *rest = stretches
    made = "/".join(first)
    if not rest:
        return made
    made += "/" if first else ""
    *middle, last = rest
    for stretch in filter(None, middle):
        made += f"(?>(?:[^/]+/)*?{'/'.join(stretch)}/)"
    return made + ("(?:[^/]+/)*" + "/".join(last) if last else ".+")


def _part(part: str) -> str:
    chunks = [""]
    for kind, text in _tokens(part):
        if kind == "star":
            chunks.append("")
        elif kind == "any":
            chunks[-1] += "[^/]"
        elif kind == "set":
            chunks[-1] += _set(text)
        else:
            chunks[-1] += re.escape(text)
    first, *rest = chunks
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>[^/]*?{chunk})" for chunk in middle) + "[^/]*" + last


def _tokens(part: str) -> Iterator[tuple[str, str]]:
    for found in _TOKEN.finditer(part):
        kind = str(found.lastgroup)
        yield kind, found[kind]


def _set(content: str) -> str:
    negated = content[:1] in ("!", "^") and len(content) > 1
    body = content[1:] if negated else content
    made = "".join(
        "-" if char == "-" and 0 < index < len(body) - 1 else re.escape(char)
        for index, char in enumerate(body)
    )
    return f"[^/{made}]" if negated else f"(?!/)[{made}]"


def _inner_group(glob: str) -> BraceGroup | None:
    """The first `{…}` without another inside: its position and alternatives."""
    commas: list[int] = []
    start: int | None = None
    for found in _BRACE.finditer(glob):
        sign, index = found[0], found.start()
        if sign == "{":
            start, commas = index, []
        elif sign == "," and start is not None:
            commas.append(index)
        elif sign == "}":
            if start is None:
                raise BadGlob("closes a '}' that was not opened")
            cuts = [start, *commas, index]
            parts = [glob[left + 1 : right] for left, right in pairwise(cuts)]
            return start, index + 1, parts
    if start is not None:
        raise BadGlob("opens a '{' that is not closed")
    return None
