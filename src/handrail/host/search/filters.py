"""Parses the globs of a query and decides which paths, relative to the root, they match.

A glob only narrows a search: it never includes a file that an ignore file hides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from handrail.core.places import Kind, Place
from handrail.core.text.globs import BraceGroup, expand_groups
from handrail.host.search.messages import BAD_GLOB, BAD_GLOB_SET, EMPTY_GLOB, GLOB_LEAVES_PATH
from handrail.host.search.search_roots import SearchRoot

_MAX_LENGTH: Final = 2000
_MAX_ALTERNATIVES: Final = 500
_TOKEN: Final = re.compile(
    r"\\(?P<escaped>.)|(?P<star>\*+)|(?P<any>\?)|\[(?P<set>[!^]?\]?[^\]]*)\]|(?P<char>.)",
    re.DOTALL,
)
# Matches an escape or a set as a whole.
_BRACE: Final = re.compile(r"\\.|\[[!^]?\]?[^\]]*\]|[{},]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PathFilter:
    """`accepts` decides about a file, `prunes` about a directory. The other fields are hints that
    let an engine skip files early.

    `names` are globs for base names; every accepted file matches one of them. None means that
    nothing is known. `excluded` are gitignore-style globs that accepted files never match; those in
    `withheld` ignore case. If `hints_decide`, an engine that applies `names` need not call
    `accepts`.
    """

    names: tuple[str, ...] | None
    excluded: tuple[str, ...]
    hints_decide: bool
    _keep: re.Pattern[str] | None
    _drop: re.Pattern[str] | None
    withheld: tuple[str, ...] = ()
    _hides: Callable[[str], bool] | None = None

    def accepts(self, rel: str) -> bool:
        """Return whether a file belongs to the result."""
        return self.wants(rel) and (self._hides is None or not self._hides(rel))

    def wants(self, rel: str) -> bool:
        """Return whether a file would belong to the result without read denials."""
        if self._keep is not None and self._keep.fullmatch(rel) is None:
            return False
        return self._drop is None or self._drop.fullmatch(rel) is None

    def prunes(self, rel: str) -> bool:
        """Return whether nothing beneath a directory belongs to the result."""
        if self._drop is not None and self._drop.fullmatch(f"{rel}/") is not None:
            return True
        return self._hides is not None and self._hides(rel)

    def without(self, hints: Sequence[str], hides: Callable[[str], bool]) -> PathFilter:
        """Return a filter without the paths for which `hides` is true."""
        return replace(self, hints_decide=False, withheld=tuple(hints), _hides=hides)


def path_filter(root: SearchRoot, place: Place, globs: Sequence[str], field: str) -> PathFilter:
    """Return the filter for a query's globs beneath its place; a leading `!` excludes.

    A file that is searched by its own name always passes. Raises `invalid_arguments` and
    `outside_workspace`.
    """
    if place.kind is Kind.FILE:
        globs = ()
    wanted: list[str] = []
    unwanted = [f"./{literal(rel)}" for rel in root.hidden]
    for glob in globs:
        negated = glob.startswith("!")
        for alternative in _expand(glob.removeprefix("!"), glob, field):
            inside = _from_root(alternative, root, place, glob, field)
            (unwanted if negated else wanted).append(inside)
    names = _names(wanted)
    plain = {f"{_base(place)}**/{name}" for name in names or ()}
    return PathFilter(
        names=names,
        hints_decide=not unwanted and plain == set(wanted),
        excluded=tuple(_for_ripgrep(glob) for glob in unwanted if not set("?[") & set(glob)),
        _keep=_compile([pattern(_beneath(glob)) for glob in wanted], globs, field),
        _drop=_compile([_with_content(glob) for glob in unwanted], globs, field),
    )


def _expand(glob: str, given: str, field: str) -> tuple[str, ...]:
    if not glob or "\0" in glob:
        raise EMPTY_GLOB.error(given=given, field=field)
    try:
        return expand(glob)
    except BadGlob as error:
        raise BAD_GLOB.error(given=given, reason=error, field=field) from error


def _from_root(glob: str, root: SearchRoot, place: Place, given: str, field: str) -> str:
    """Return the glob relative to the root; without a `/` it matches names at any depth."""
    for path in (root.path, *root.aliases):
        own = path.rstrip("/") + "/"
        if glob.startswith(own):
            return "./" + glob.removeprefix(own)
    if glob.startswith("/") or ".." in glob.split("/"):
        raise GLOB_LEAVES_PATH.error(given=given, path=place.path, field=field)
    base = _base(place)
    if "/" not in glob.rstrip("/"):
        return f"{base}**/{glob}"
    return base + glob.removeprefix("./")


def _base(place: Place) -> str:
    return f"./{literal(place.rel)}/" if place.rel else "./"


def _names(wanted: Sequence[str]) -> tuple[str, ...] | None:
    names = {_beneath(glob).rpartition("/")[2] for glob in wanted}
    if not names or "**" in names:
        return None
    return tuple(sorted({widened(name) for name in names}))


def _beneath(glob: str) -> str:
    """Make a glob that ends in `/` match everything below that directory."""
    glob = glob.removeprefix("./")
    return f"{glob}**" if glob.endswith("/") else glob


def _with_content(glob: str) -> str:
    """Return the pattern of an excluded path and its content; only the content for a directory."""
    glob = glob.removeprefix("./")
    if glob.endswith("/"):
        return pattern(glob.rstrip("/")) + "/.*"
    return pattern(glob) + "(?:/.*)?"


def _for_ripgrep(glob: str) -> str:
    return "/" + glob.removeprefix("./")


def _compile(patterns: Sequence[str], globs: Sequence[str], field: str) -> re.Pattern[str] | None:
    if not patterns:
        return None
    try:
        return re.compile("|".join(f"(?:{one})" for one in patterns), re.DOTALL)
    except re.error as error:
        raise BAD_GLOB_SET.error(globs=list(globs), reason=error, field=field) from error


class BadGlob(ValueError):
    """The glob is malformed; the text says why."""


def expand(glob: str) -> tuple[str, ...]:
    """Expand the braces of a glob; return one glob per alternative."""
    if len(glob) > _MAX_LENGTH:
        raise BadGlob(f"is longer than {_MAX_LENGTH} characters")
    expanded = expand_groups(glob, _inner_group, _MAX_ALTERNATIVES)
    if expanded is None:
        raise BadGlob(f"has more than {_MAX_ALTERNATIVES} alternatives")
    return tuple(dict.fromkeys(expanded))


def widened(name: str) -> str:
    """Return a glob for base names that matches at least as much and consists of `*` and characters
    only.

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
    """Return a regular expression for a whole path; the glob has no braces.

    Between two `**` the leftmost match is as good as any other, so each stretch is an atomic group;
    likewise between two `*` in one part of a path.
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
    """Return the position and the alternatives of the first `{…}` that contains no other one."""
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
