"""Path patterns of rules, and the globs that they are compiled to.

A pattern is relative to a root as in a .gitignore; `//` starts an absolute path, `~/` a path in the
home directory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.policy.rules.paths.glob import (
    GLOBSTAR,
    Glob,
    compile_glob,
    compile_part,
    expand_braces,
    split_path,
)


class PathBase(NamedTuple):
    """The directories to which patterns are relative: the roots (the workspace first) and the home
    directory. `resolve` follows the links of an absolute path. `aliases` are further absolute paths of
    roots, each with the path of its root.
    """

    roots: tuple[str, ...] = ()
    home: str | None = None
    resolve: Callable[[str], str] | None = None
    aliases: tuple[tuple[str, str], ...] = ()


class _ParsedPattern(NamedTuple):
    """`slash`: the pattern starts with a single `/`, which some users mean as an absolute path."""

    base: Literal["root", "absolute", "home"]
    names: tuple[str, ...]
    slash: bool = False


_ANY_DEPTH: Final = ("**",)


def check_path_pattern(pattern: str) -> None:
    """Raise `invalid_arguments` with the reason if the pattern is invalid."""
    for one in _parse_alternatives(pattern):
        if not one.names and one.base == "root":
            raise _invalid("it names no path")
        for name in one.names:
            if name == "..":
                raise _invalid("`..` leads out of what it is relative to; write the path itself")
            if name.count("\\") % 2 and name.endswith("\\"):
                raise _invalid("a backslash stands before nothing")
            if GLOBSTAR in name and name != GLOBSTAR:
                raise _invalid("`**` must stand alone between slashes")
            try:
                compile_part(name, fold=False)
            except re.error as error:
                raise _invalid(f"{name!r} cannot be read: {error}") from error


def matches_whole_trees(pattern: str) -> bool:
    """Whether the pattern matches whole trees outside the workspace, or everything."""
    return any(
        one.base != "root" and not any(name not in (GLOBSTAR, "*") for name in one.names)
        for one in _parse_alternatives(pattern)
    )


class BroadPattern(NamedTuple):
    """The pattern of a deny or ask rule: the globs `names` below `top`. `floating`: it applies below
    every root and, to be safe, everywhere else.
    """

    top: tuple[str, ...]
    names: tuple[str, ...]
    floating: bool = False


def broad_globs(pattern: str, path_base: PathBase) -> Iterator[Glob]:
    """Yield the globs of a deny or ask rule: relative to every root, at any depth if the pattern names
    no folder, case-insensitive, and with links followed.
    """
    for place in broad_patterns(pattern, path_base):
        yield compile_glob(place.top, place.names, fold=True)


def broad_patterns(pattern: str, path_base: PathBase) -> Iterator[BroadPattern]:
    """Yield the patterns that `broad_globs` compiles."""
    for one in _parse_alternatives(pattern):
        ground = {"root": bool(path_base.roots), "home": path_base.home is not None}
        for top in _base_paths(one, path_base, path_base.roots) or [[]]:
            if not ground.get(one.base, True) and one.names[:1] != _ANY_DEPTH:
                # The base is unknown, so the pattern may match anywhere.
                yield BroadPattern((), (*_ANY_DEPTH, *one.names), floating=True)
                continue
            floating = one.base == "root" and one.names[:1] == _ANY_DEPTH
            yield BroadPattern(tuple(top), one.names, floating)
            real = _resolve_links(top, one.names, path_base)
            if real is not None:
                yield BroadPattern(tuple(real[0]), tuple(real[1]))


def exact_globs(pattern: str, path_base: PathBase) -> Iterator[Glob]:
    """Yield the globs of an allow rule: relative to the workspace, or absolute; an absolute pattern may
    use any path of a root.
    """
    for one in _parse_alternatives(pattern):
        if one.base == "root":
            tops = [split_path(root) for root in path_base.roots[:1]]
        else:
            tops = _base_paths(one, path_base, ())
        for top in tops:
            yield compile_glob(top, one.names, fold=False)
        for alias, root in path_base.aliases if one.base == "absolute" else ():
            above = split_path(alias)
            if list(one.names[: len(above)]) == above:
                yield compile_glob(split_path(root), one.names[len(above) :], fold=False)


def _parse_alternatives(pattern: str) -> Iterator[_ParsedPattern]:
    for text in expand_braces(pattern):
        yield _parse(text)


def _parse(text: str) -> _ParsedPattern:
    if text.startswith("!"):
        raise _invalid("a rule cannot negate another; a leading `!` is written `\\!`")
    if text.startswith("//"):
        return _ParsedPattern("absolute", _split_names(text))
    if text == "~" or text.startswith("~/"):
        return _ParsedPattern("home", _split_names(text[1:]))
    names = _split_names(text)
    anchored = "/" in text.rstrip("/")
    if not anchored and names and names[0] != GLOBSTAR:
        names = (GLOBSTAR, *names)
    return _ParsedPattern("root", names, slash=text.startswith("/"))


def _split_names(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split("/") if name not in ("", "."))
    return (*names, GLOBSTAR) if text.endswith("/") and names and names[-1] != GLOBSTAR else names


def _base_paths(one: _ParsedPattern, path_base: PathBase, roots: Sequence[str]) -> list[list[str]]:
    """The directories to which a pattern is relative, as names; no names: any directory."""
    if one.base == "absolute":
        return [[]]
    if one.base == "home":
        return [split_path(path_base.home)] if path_base.home is not None else []
    if one.names[:1] == _ANY_DEPTH:
        return [[]]
    tops = [split_path(root) for root in roots] or [[]]
    return [*tops, []] if one.slash and roots else tops


def _resolve_links(
    top: Sequence[str], names: Sequence[str], path_base: PathBase
) -> tuple[list[str], list[str]] | None:
    """The pattern with the links in its literal names resolved; None if there are no links."""
    if path_base.resolve is None:
        return None
    fixed = 0
    while (
        fixed < len(names)
        and names[fixed] != GLOBSTAR
        and isinstance(compile_part(names[fixed], fold=False), str)
    ):
        fixed += 1
    written = "/" + "/".join(
        (*top, *(str(compile_part(name, fold=False)) for name in names[:fixed]))
    )
    real = path_base.resolve(written)
    return None if real == written else (split_path(real), list(names[fixed:]))


def _invalid(why: str) -> ProblemRaised:
    return ProblemRaised("invalid_arguments", why)


# Names that match everything in the folder before them.
_WHOLE_FOLDER: Final = frozenset((GLOBSTAR, "*"))


def exact_denied_paths(pattern: str, path_base: PathBase) -> tuple[str, ...] | None:
    """The files and folders that a pattern matches, one for each root. None if the pattern can match
    paths with other names, or a whole root.
    """
    found: dict[str, None] = {}
    for place in broad_patterns(pattern, path_base):
        path = _exact_path(place)
        if path is None or _contains_root(path, path_base.roots):
            return None
        found[path] = None
    return tuple(found) or None


def _exact_path(place: BroadPattern) -> str | None:
    names = [
        name if name in _WHOLE_FOLDER else compile_part(name, fold=False) for name in place.names
    ]
    while names and names[-1] in _WHOLE_FOLDER:
        names.pop()
    plain = [name for name in names if isinstance(name, str) and name not in _WHOLE_FOLDER]
    if place.floating or len(plain) < len(names):
        return None
    return "/" + "/".join((*place.top, *plain))


def _contains_root(path: str, roots: Iterable[str]) -> bool:
    top = f"{path.rstrip('/')}/"
    return any(f"{root.rstrip('/')}/".startswith(top) for root in roots)
