"""The pattern of a rule about paths, and the globs that it stands for.

Relative to a root as in a .gitignore; `//` begins an absolute path, `~/` one in the home.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.policy.rules.path_glob import ANY, Glob, alternatives, compile_glob, part_of, split


class Grounds(NamedTuple):
    """What patterns are relative to: the roots (the workspace first), and the home; `resolve`
    answers where an absolute path really leads. `aliases` are further absolute paths of roots,
    each with the path of its root.
    """

    roots: tuple[str, ...] = ()
    home: str | None = None
    resolve: Callable[[str], str] | None = None
    aliases: tuple[tuple[str, str], ...] = ()


class _Parsed(NamedTuple):
    """`slash`: it began with a single `/`, which some people mean as an absolute path."""

    base: Literal["root", "absolute", "home"]
    names: tuple[str, ...]
    slash: bool = False


_TOP: Final = ("**",)


def check_path_pattern(pattern: str) -> None:
    """Raise `invalid_arguments` with the reason if the pattern cannot be read."""
    for one in _all(pattern):
        if not one.names and one.base == "root":
            raise _wrong("it names no path")
        for name in one.names:
            if name == "..":
                raise _wrong("`..` leads out of what it is relative to; write the path itself")
            if name.count("\\") % 2 and name.endswith("\\"):
                raise _wrong("a backslash stands before nothing")
            if ANY in name and name != ANY:
                raise _wrong("`**` must stand alone between slashes")
            try:
                part_of(name, fold=False)
            except re.error as error:
                raise _wrong(f"{name!r} cannot be read: {error}") from error


def everything(pattern: str) -> bool:
    """Whether the pattern means whole trees outside the workspace, or nothing less than all."""
    return any(
        one.base != "root" and not any(name not in (ANY, "*") for name in one.names)
        for one in _all(pattern)
    )


class WidePlace(NamedTuple):
    """Where a pattern of a deny or an ask holds: below `top`, by the globs `names`.
    `floating`: below every root, and for the sake of caution anywhere else.
    """

    top: tuple[str, ...]
    names: tuple[str, ...]
    floating: bool = False


def wide_globs(pattern: str, grounds: Grounds) -> Iterator[Glob]:
    """For deny and ask: relative to every root, at any depth if it names no folder, without
    regard to case, and by where its links lead.
    """
    for place in wide_places(pattern, grounds):
        yield compile_glob(place.top, place.names, fold=True)


def wide_places(pattern: str, grounds: Grounds) -> Iterator[WidePlace]:
    """What `wide_globs` is made of."""
    for one in _all(pattern):
        ground = {"root": bool(grounds.roots), "home": grounds.home is not None}
        for top in _tops(one, grounds, grounds.roots) or [[]]:
            if not ground.get(one.base, True) and one.names[:1] != _TOP:
                # Nobody said what it is relative to, so it may be anything.
                yield WidePlace((), (*_TOP, *one.names), floating=True)
                continue
            floating = one.base == "root" and one.names[:1] == _TOP
            yield WidePlace(tuple(top), one.names, floating)
            real = _led(top, one.names, grounds)
            if real is not None:
                yield WidePlace(tuple(real[0]), tuple(real[1]))


def narrow_globs(pattern: str, grounds: Grounds) -> Iterator[Glob]:
    """For allow: relative to the workspace, exactly as written; a root by any of its paths."""
    for one in _all(pattern):
        if one.base == "root":
            tops = [split(root) for root in grounds.roots[:1]]
        else:
            tops = _tops(one, grounds, ())
        for top in tops:
            yield compile_glob(top, one.names, fold=False)
        for alias, root in grounds.aliases if one.base == "absolute" else ():
            above = split(alias)
            if list(one.names[: len(above)]) == above:
                yield compile_glob(split(root), one.names[len(above) :], fold=False)


def _all(pattern: str) -> Iterator[_Parsed]:
    for text in alternatives(pattern):
        yield _parse(text)


def _parse(text: str) -> _Parsed:
    if text.startswith("!"):
        raise _wrong("a rule cannot take back another; a leading `!` is written `\\!`")
    if text.startswith("//"):
        return _Parsed("absolute", _names(text))
    if text == "~" or text.startswith("~/"):
        return _Parsed("home", _names(text[1:]))
    names = _names(text)
    anchored = "/" in text.rstrip("/")
    if not anchored and names and names[0] != ANY:
        names = (ANY, *names)
    return _Parsed("root", names, slash=text.startswith("/"))


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split("/") if name not in ("", "."))
    return (*names, ANY) if text.endswith("/") and names and names[-1] != ANY else names


def _tops(one: _Parsed, grounds: Grounds, roots: Sequence[str]) -> list[list[str]]:
    """The names in front of the pattern; no names: it may begin anywhere."""
    if one.base == "absolute":
        return [[]]
    if one.base == "home":
        return [split(grounds.home)] if grounds.home is not None else []
    if one.names[:1] == _TOP:
        return [[]]
    tops = [split(root) for root in roots] or [[]]
    return [*tops, []] if one.slash and roots else tops


def _led(
    top: Sequence[str], names: Sequence[str], grounds: Grounds
) -> tuple[list[str], list[str]] | None:
    """The same pattern behind the links that the names before its first wildcard pass."""
    if grounds.resolve is None:
        return None
    fixed = 0
    while (
        fixed < len(names)
        and names[fixed] != ANY
        and isinstance(part_of(names[fixed], fold=False), str)
    ):
        fixed += 1
    said = "/" + "/".join((*top, *(str(part_of(name, fold=False)) for name in names[:fixed])))
    real = grounds.resolve(said)
    return None if real == said else (split(real), list(names[fixed:]))


def _wrong(why: str) -> ProblemRaised:
    return ProblemRaised("invalid_arguments", why)
