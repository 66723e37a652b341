"""File names as diff tools and models write them in headers."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_TIME: Final = re.compile(
    r"\s+(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} .*"
    r"|\((?:revision \d+|working copy|nonexistent)\))$"
)
# How `diff -N` says that there was no file.
_EPOCH: Final = re.compile(r"\t(?:1970-01-01|1969-12-31) \d\d:\d\d:\d\d")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(rb'\\([0-7]{1,3}|[abtnvfr"\\])')
_PLAIN: Final = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_NOTHING: Final = {"/dev/null", "dev/null", "a/dev/null", "b/dev/null"}


class Names(NamedTuple):
    """The old and the new name."""

    old: str
    new: str


def file_name(text: str) -> str:
    """The name in a header line, after its first word."""
    if _EPOCH.search(text):
        return "/dev/null"
    quoted = _QUOTED.match(text.strip())
    if quoted is not None:
        return _unquoted(quoted[1])
    name = _TIME.sub("", text.partition("\t")[0]).strip()
    if len(name) > 2 and name[0] == name[-1] and name[0] in "`'":
        return name[1:-1]
    return name


def is_nothing(name: str) -> bool:
    """Whether the name says that there is no file."""
    return name in _NOTHING


def is_same_file(old: str, new: str) -> bool:
    """Whether the names in a `---` and a `+++` line are those of one file, or of a new or
    deleted one.
    """
    before, after = file_name(old), file_name(new)
    if is_nothing(before) or is_nothing(after):
        return before != after
    return before == after or before.partition("/")[2] == after.partition("/")[2] != ""


def git_names(text: str) -> Names | None:
    """Both names of a `diff --git` line, None if it cannot be told where the second begins."""
    found = list(re.finditer(r'"(?:[^"\\]|\\.)*"|\S+', text))
    if len(found) == 2 or '"' in text:
        return Names(file_name(found[0][0]), file_name(found[1][0])) if len(found) == 2 else None
    for blank in re.finditer(" ", text):
        old, new = text[: blank.start()], text[blank.end() :]
        if old == new or old.partition("/")[2] == new.partition("/")[2] != "":
            return Names(old, new)
    return None


def shared_name(names: Names) -> str | None:
    """The name without the prefixes that a diff tool put before it, if the two have some."""
    old, new = names.old.partition("/"), names.new.partition("/")
    prefixed = len(old[0]) == len(new[0]) == 1 and old[0] != new[0]
    return new[2] if prefixed and old[2] == new[2] != "" else None


def _unquoted(text: str) -> str:
    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 255 if code.isdigit() else _PLAIN[code[0]]])

    data = text.encode("utf-8", "surrogatepass")
    return _ESCAPE.sub(plain, data).decode("utf-8", "surrogateescape")
