"""Globs over absolute paths: `*` stays within one name, `**` crosses directories.

Matching takes time proportional to the product of both lengths for every pattern: it never
backtracks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Final, NamedTuple

from handrail.core.names.protected_names import fold_name
from handrail.core.problems import ProblemRaised
from handrail.core.text.globs import BraceGroup, expand_groups

GLOBSTAR: Final = "**"
_WILD: Final = re.compile(r"[*?\[\\]")
_MAX_ALTERNATIVES: Final = 64


class WildcardPart(NamedTuple):
    """A name with wildcards; `head` and `tail` are its literal beginning and end."""

    regex: re.Pattern[str]
    head: str
    tail: str


GlobPart = str | WildcardPart


class Overlap(IntEnum):
    """How certainly a glob matches a touched path."""

    NO = 0
    MAYBE = 1
    WITHIN = 2
    SURE = 3


class Glob(NamedTuple):
    """A compiled glob. `prefix` is the path before the first wildcard, `needs` are the literal names
    after it; `inside`: the glob matches paths below `parts`, not the path itself.
    """

    parts: tuple[GlobPart, ...]
    prefix: str
    needs: tuple[str, ...]
    literal: bool
    inside: bool


def fold_path(path: str) -> str:
    """The path in the form that case-insensitive comparison uses."""
    if path.isascii() and "./" not in path and " /" not in path and path[-1:] not in (".", " "):
        return path.lower()
    return "/".join(map(fold_name, path.split("/")))


def split_path(path: str) -> list[str]:
    """The names of an absolute path."""
    return path.strip("/").split("/") if path.strip("/") else []


def compile_glob(top: Sequence[str], names: Sequence[str], *, fold: bool) -> Glob:
    """Compile a glob; the names of `top` are literal."""
    inside = False
    rest = list(names)
    while rest and rest[-1] == GLOBSTAR:
        rest.pop()
        inside = True
    plain = [fold_name(name) if fold else name for name in top]
    parts = (
        *plain,
        *(name if name == GLOBSTAR else compile_part(name, fold=fold) for name in rest),
    )
    literals: list[str] = []
    for part in parts:
        if isinstance(part, WildcardPart) or part == GLOBSTAR:
            break
        literals.append(part)
    prefix = "".join(f"/{name}" for name in literals)
    behind = parts[len(literals) :]
    needs = tuple(part for part in behind if isinstance(part, str) and part != GLOBSTAR)
    return Glob(parts, prefix, needs, not behind, inside)


def compile_part(name: str, *, fold: bool) -> GlobPart:
    """One name of a glob; raises `re.error` for an invalid character class."""
    if fold:
        name = fold_name(name) or name
    if not _WILD.search(name):
        return name
    pieces = list(_tokenize_name(name))
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(piece for piece in pieces if isinstance(piece, str))
    return WildcardPart(re.compile(_name_regex(pieces), re.DOTALL), *_literal_ends(pieces))


def covers_exactly(glob: Glob, names: Sequence[str], *, tree: bool = False) -> bool:
    """Whether the glob matches exactly this path and, for a `tree`, everything below it."""
    if glob.literal:
        count = len(glob.parts)
        deep = len(names) > count or tree if glob.inside else len(names) == count and not tree
        return deep and tuple(names[:count]) == glob.parts
    met = list(_match_ends(glob.parts, names))
    here = len(met) > len(names) and met[-1]
    if glob.inside:
        return any(met[: len(names)]) or (tree and here)
    return here and not tree


def matches_path_or_parent(glob: Glob, names: Sequence[str]) -> bool:
    """Whether the glob matches the path or a directory above it."""
    if glob.literal:
        return tuple(names[: len(glob.parts)]) == glob.parts
    return all(name in names for name in glob.needs) and any(_match_ends(glob.parts, names))


def glob_overlap(glob: Glob, names: Sequence[GlobPart], *, tree: bool) -> Overlap:
    """How a glob overlaps a path that has wildcards itself or includes everything below it (`tree`)."""
    whole = len(glob.parts)
    for dotted, found in ((False, Overlap.SURE), (True, Overlap.MAYBE)):
        state = _skip_globstars(glob.parts, 1)
        for name in names:
            if state >> whole & 1:
                break
            state = _step(glob.parts, state, name, dotted=dotted)
        if state >> whole & 1:
            return found
        if state and tree:
            return min(Overlap.WITHIN, found)
    return Overlap.NO


def expand_braces(pattern: str) -> list[str]:
    """Expand the `{a,b}` groups of a pattern; raises `invalid_arguments` for too many results."""
    expanded = expand_groups(pattern, _first_brace_group, _MAX_ALTERNATIVES)
    if expanded is None:
        raise ProblemRaised("invalid_arguments", f"more than {_MAX_ALTERNATIVES} alternatives")
    return expanded


# --- the automaton: a set of positions in the pattern, as bits of an integer -------------


def _skip_globstars(parts: Sequence[GlobPart], state: int) -> int:
    for index, part in enumerate(parts):
        if part == GLOBSTAR and state >> index & 1:
            state |= 1 << index + 1
    return state


def _step(parts: Sequence[GlobPart], state: int, name: GlobPart, *, dotted: bool) -> int:
    if name == GLOBSTAR:
        # It may stand for any names, so every later position can be reached.
        lowest = (state & -state).bit_length() - 1
        return ((1 << len(parts) + 1) - 1) >> lowest << lowest if state else 0
    after = 0
    for index, part in enumerate(parts):
        if state >> index & 1:
            if part == GLOBSTAR:
                after |= 1 << index
            elif _matches_name(part, name, dotted=dotted):
                after |= 1 << index + 1
    return _skip_globstars(parts, after)


def _match_ends(parts: Sequence[GlobPart], names: Sequence[str]) -> Iterator[bool]:
    """Yield, before the first and after each name, whether the whole pattern matches the names so far."""
    state = _skip_globstars(parts, 1)
    yield bool(state >> len(parts) & 1)
    for name in names:
        state = _step(parts, state, name, dotted=True)
        if not state:
            return
        yield bool(state >> len(parts) & 1)


def _matches_name(part: GlobPart, name: GlobPart, *, dotted: bool) -> bool:
    if isinstance(name, WildcardPart):
        return _may_match_wildcard(part, name, dotted=dotted)
    if isinstance(part, WildcardPart):
        return part.regex.fullmatch(name) is not None
    return part == name


def _may_match_wildcard(part: GlobPart, name: WildcardPart, *, dotted: bool) -> bool:
    head = part.head if isinstance(part, WildcardPart) else part
    # By default a shell's wildcard does not match a leading dot.
    if not dotted and head.startswith(".") and not name.head:
        return False
    if isinstance(part, str):
        return name.regex.fullmatch(part) is not None
    heads = part.head.startswith(name.head) or name.head.startswith(part.head)
    tails = part.tail.endswith(name.tail) or name.tail.endswith(part.tail)
    return heads and tails


# --- parsing one name ------------------------------------------------------------------


class _Wildcard(NamedTuple):
    regex: str


def _tokenize_name(name: str) -> Iterator[str | _Wildcard]:
    at = 0
    while at < len(name):
        letter = name[at]
        if letter == "\\" and at + 1 < len(name):
            yield name[at + 1]
            at += 2
        elif letter == "*":
            yield _Wildcard("*")
            at += 1
        elif letter == "?":
            yield _Wildcard(".")
            at += 1
        elif letter == "[" and (end := _class_end(name, at)):
            yield _Wildcard(_class_regex(name[at + 1 : end]))
            at = end + 1
        else:
            yield letter
            at += 1


def _class_end(name: str, at: int) -> int:
    """The index where the class closes, 0 if nowhere; a `]` in first position is literal."""
    first = at + 1 + (name[at + 1 : at + 2] in ("!", "^"))
    return max(name.find("]", first + 1), 0)


def _class_regex(text: str) -> str:
    if text.startswith("[:"):
        raise re.error("named classes are not known here")
    negated = text[0] in "!^"
    letters = text[1:] if negated else text
    escaped = letters.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    escaped = re.sub(r"([&~|^])", r"\\\1", escaped)
    return f"[{'^' if negated else ''}{escaped}]"


def _name_regex(pieces: Sequence[str | _Wildcard]) -> str:
    """The regular expression of a name. The groups are atomic, which avoids backtracking: between two
    stars the first match is as good as any other.
    """
    chunks: list[str] = [""]
    for piece in pieces:
        if isinstance(piece, _Wildcard) and piece.regex == "*":
            chunks.append("")
        else:
            chunks[-1] += piece.regex if isinstance(piece, _Wildcard) else re.escape(piece)
    if len(chunks) == 1:
        return chunks[0]
    middle = "".join(f"(?>.*?{chunk})" for chunk in chunks[1:-1] if chunk)
    return f"{chunks[0]}{middle}.*{chunks[-1]}"


def _literal_ends(pieces: Sequence[str | _Wildcard]) -> tuple[str, str]:
    head, tail = "", ""
    for piece in pieces:
        if isinstance(piece, _Wildcard):
            break
        head += piece
    for piece in reversed(pieces):
        if isinstance(piece, _Wildcard):
            break
        tail = piece + tail
    return head, tail


def _first_brace_group(pattern: str) -> BraceGroup | None:
    """The start, the end and the choices of the first `{…}` that directly contains a comma."""
    opened: list[tuple[int, list[int]]] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            at += 1
        elif letter == "{":
            opened.append((at, []))
        elif letter == "," and opened:
            opened[-1][1].append(at)
        elif letter == "}" and opened:
            start, commas = opened.pop()
            if commas:
                bounds = [start, *commas, at]
                choices = [pattern[low + 1 : high] for low, high in pairwise(bounds)]
                return start, at + 1, choices
        at += 1
    return None
