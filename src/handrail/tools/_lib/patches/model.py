"""A patch independent of its format: file names, hunks, and the files that it targets.

Every name goes through `Files.locate`, so that none leaves the workspace. The prefixes `a/` and
`b/` of diff tools are removed; where that is ambiguous, the file that exists decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal, NamedTuple

from handrail.core.names.caller_words import shown_arg
from handrail.core.places import Kind, Place
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised

Sign = Literal[" ", "-", "+"]


class PatchLine(NamedTuple):
    """One line of a hunk without its ending. `crlf` is None if the ending is missing.

    `bare`: the line lacked the blank that marks context.
    """

    sign: Sign
    text: str
    bare: bool = False
    crlf: bool | None = False


@dataclass(frozen=True, slots=True)
class PatchHunk:
    """One change, and what the patch states about its place.

    `number` counts hunks within their file from 1. `line` is the first line in the old file.
    `anchors` must be found above the hunk; `heading` (the text that diff tools print after the
    second `@@`) only helps to choose. `old_ends` and `new_ends`: the old or new file ends here
    without a newline; `at_end`: the old file ends here. `counted`: the hunk has as many lines as
    its `@@` line states, so no mark was lost or added. `numbered`: the hunk only adds lines, has no
    context, and its counts agree (`-9,0 +10,2`): only `line` tells where they belong.
    """

    lines: tuple[PatchLine, ...]
    number: int = 1
    line: int | None = None
    anchors: tuple[str, ...] = ()
    heading: str = ""
    at_end: bool = False
    old_ends: bool = False
    new_ends: bool = False
    counted: bool = False
    numbered: bool = False

    @property
    def old(self) -> list[str]:
        """The lines before the change."""
        return [line.text for line in self.lines if line.sign != "+"]

    @property
    def new(self) -> list[str]:
        """The lines after the change."""
        return [line.text for line in self.lines if line.sign != "-"]

    @property
    def changes(self) -> bool:
        """Whether the hunk changes anything."""
        return self.old != self.new or self.old_ends != self.new_ends or self.changes_endings

    @property
    def changes_endings(self) -> bool:
        """Whether a line is replaced by the same text with another ending."""
        with_ending = [line for line in self.lines if line.crlf is not None]
        deleted = {line.text: line.crlf for line in with_ending if line.sign == "-"}
        new = [line for line in with_ending if line.sign == "+"]
        return any(line.crlf != deleted.get(line.text, line.crlf) for line in new)


class Action(StrEnum):
    """What a patch does to one file."""

    UPDATE = "update"
    CREATE = "create"
    DELETE = "delete"
    RENAME = "rename"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class FilePatch:
    """The part of a patch about one file; `old` and `new` are the names as written.

    `prefixed`: a diff tool may have added `a/` and `b/`. A name is empty if the patch gives none.
    `executable` is the new mode, None if the patch does not change it.
    """

    action: Action
    old: str
    new: str
    hunks: tuple[PatchHunk, ...] = ()
    prefixed: bool = False
    executable: bool | None = None

    @property
    def name(self) -> str:
        """The name for messages before the path is resolved."""
        return self.new or self.old


def malformed_problem(message: str, hint: str | None = None) -> ProblemRaised:
    """Return the problem of a patch that cannot be parsed."""
    return ProblemRaised(
        "invalid_arguments",
        message,
        hint=hint or "send a unified diff, or the *** Begin Patch format",
        field="patch",
    )


def numbered_hunks(hunks: Iterable[PatchHunk]) -> tuple[PatchHunk, ...]:
    """Return the hunks that change something, numbered from 1 over all hunks."""
    counted = [replace(hunk, number=number) for number, hunk in enumerate(hunks, 1)]
    return tuple([hunk for hunk in counted if hunk.changes])


def join_added_lines(hunks: Sequence[PatchHunk]) -> str:
    """Return the text of a file that only has added lines."""
    lines = [line for hunk in hunks for line in hunk.lines if line.sign != "-"]
    if not lines:
        return ""
    texts = [line.text + ("\r\n" if line.crlf else "\n") for line in lines[:-1]]
    last = lines[-1].text
    if not hunks[-1].new_ends:
        last += "\r\n" if lines[-1].crlf else "\n"
    return "".join([*texts, last])


_TIME: Final = re.compile(
    r"\s+(?:\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} .*"
    r"|\((?:revision \d+|working copy|nonexistent)\))$"
)
# How `diff -N` marks a missing file.
_EPOCH: Final = re.compile(r"\t(?:1970-01-01|1969-12-31) \d\d:\d\d:\d\d")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(rb'\\([0-7]{1,3}|[abtnvfr"\\])')
_PLAIN: Final = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_NOTHING: Final = {"/dev/null", "dev/null", "a/dev/null", "b/dev/null"}


class FileNames(NamedTuple):
    """The old and the new name."""

    old: str
    new: str


def parse_file_name(text: str) -> str:
    """Return the name in a header line, after its first word."""
    if _EPOCH.search(text):
        return "/dev/null"
    quoted = _QUOTED.match(text.strip())
    if quoted is not None:
        return _unquoted(quoted[1])
    name = _TIME.sub("", text.partition("\t")[0]).strip()
    if len(name) > 2 and name[0] == name[-1] and name[0] in "`'":
        return name[1:-1]
    return name


def is_null_name(name: str) -> bool:
    """Return whether the name means that there is no file."""
    return name in _NOTHING


def is_same_file(old: str, new: str) -> bool:
    """Return whether `---` and `+++` name one file, or a new or deleted one."""
    before, after = parse_file_name(old), parse_file_name(new)
    if is_null_name(before) or is_null_name(after):
        return before != after
    return before == after or before.partition("/")[2] == after.partition("/")[2] != ""


def git_names(text: str) -> FileNames | None:
    """Return both names of a `diff --git` line; None if the start of the second one is ambiguous."""
    parts = list(re.finditer(r'"(?:[^"\\]|\\.)*"|\S+', text))
    if len(parts) == 2 or '"' in text:
        return (
            FileNames(parse_file_name(parts[0][0]), parse_file_name(parts[1][0]))
            if len(parts) == 2
            else None
        )
    for blank in re.finditer(" ", text):
        old, new = text[: blank.start()], text[blank.end() :]
        if old == new or old.partition("/")[2] == new.partition("/")[2] != "":
            return FileNames(old, new)
    return None


def shared_name(names: FileNames) -> str | None:
    """Return the name without the prefixes of a diff tool, if both names have some."""
    old, new = names.old.partition("/"), names.new.partition("/")
    prefixed = len(old[0]) == len(new[0]) == 1 and old[0] != new[0]
    return new[2] if prefixed and old[2] == new[2] != "" else None


def _unquoted(text: str) -> str:
    def plain(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8) & 255 if code.isdigit() else _PLAIN[code[0]]])

    data = text.encode("utf-8", "surrogatepass")
    return _ESCAPE.sub(plain, data).decode("utf-8", "surrogateescape")


# Prefixes of git before the two names of a file; the second row only with `mnemonicPrefix`, so it
# counts only if the names are otherwise equal.
_PREFIXES: Final = ("a/", "b/", "./")
_MNEMONIC: Final = ("i/", "w/", "c/", "o/", *_PREFIXES)


@dataclass(frozen=True, slots=True)
class Target:
    """A file of a patch: `source` is read (None: it is new), `target` is written (None: it is
    deleted).
    """

    action: Action
    patch: FilePatch
    source: Place | None
    target: Place | None

    @property
    def path(self) -> str:
        """The path for display."""
        place = self.target or self.source
        return place.path if place is not None else self.patch.name


def resolve_targets(files: Files, patch: Sequence[FilePatch], only: Place | None) -> list[Target]:
    """Resolve every file of a patch; raises `outside_workspace` or `invalid_arguments`.

    With `only`, the patch must be about that file, and need not name it.
    """
    targets = [_target(files, part, only) for part in patch]
    if only is not None:
        for resolved in targets:
            for place in (resolved.source, resolved.target):
                if place is not None and place.absolute != only.absolute:
                    raise malformed_problem(
                        f"the patch is about {place.path!r}, but path is {only.path!r}",
                        "a call with a path changes only that file: give the file that the patch names",
                    )
    return targets


def _target(files: Files, part: FilePatch, only: Place | None) -> Target:
    match part.action:
        case Action.CREATE:
            name = _without(part.new, _PREFIXES) if part.prefixed else part.new
            return Target(part.action, part, None, files.locate(name))
        case Action.DELETE:
            return Target(part.action, part, _existing(files, part, part.old), None)
        case Action.RENAME | Action.COPY:
            return _moved(files, part)
        case Action.UPDATE:
            return _updated(part, _one_file(files, part, only))


def _updated(part: FilePatch, place: Place) -> Target:
    # `@@ -0,0` with additions only: the diff of a new file without its /dev/null.
    new = bool(part.hunks) and all(hunk.line == 0 and not hunk.old for hunk in part.hunks)
    if new and place.kind is Kind.MISSING:
        return Target(Action.CREATE, part, None, place)
    return Target(Action.UPDATE, part, place, place)


def _moved(files: Files, part: FilePatch) -> Target:
    source = files.locate(part.old)
    new = part.new
    if source.kind is Kind.MISSING and part.old.startswith("a/") and new.startswith("b/"):
        shorter = files.locate(part.old[2:])
        if shorter.kind is not Kind.MISSING:
            source, new = shorter, new[2:]
    return Target(part.action, part, source, files.locate(new))


def _one_file(files: Files, part: FilePatch, only: Place | None) -> Place:
    old, new = part.old, part.new
    if not old and not new:
        if only is None:
            headers = "put '--- a/path' and '+++ b/path' above the first @@ line"
            hint = headers if (word := shown_arg("path")) is None else f"{headers}, or give {word}"
            raise malformed_problem("the patch names no file", hint)
        return only
    if old == new:
        return _existing(files, part, new)
    if _without(old, _MNEMONIC) == _without(new, _MNEMONIC):
        return files.locate(_without(new, _MNEMONIC))
    return _choose_existing(files, part)


def _choose_existing(files: Files, part: FilePatch) -> Place:
    """Return the file of two different names: of `x.orig` and `x`, the one that exists."""
    before = files.locate(_without(part.old, _PREFIXES))
    after = files.locate(_without(part.new, _PREFIXES))
    top_old, _, rest_old = part.old.partition("/")
    top_new, _, rest_new = part.new.partition("/")
    if rest_old and rest_old == rest_new and top_old != top_new:
        shared = files.locate(rest_new)
        if shared.kind is Kind.FILE:
            return shared
    if before.kind is Kind.MISSING and after.kind is Kind.FILE:
        return after
    raise malformed_problem(
        f"the patch names two files, {part.old!r} and {part.new!r}",
        "give the same name twice; to rename, add lines 'rename from …' and 'rename to …'",
    )


def _existing(files: Files, part: FilePatch, name: str) -> Place:
    """Return the place of a name that may have a prefix: the likelier one of those that exist."""
    shorter = _without(name, _PREFIXES)
    if shorter == name:
        return files.locate(name)
    # A deletion has only one name, which usually has the prefix of a diff tool.
    likely = [shorter, name] if part.prefixed and part.action is Action.DELETE else [name, shorter]
    places = [files.locate(candidate) for candidate in likely]
    # If neither exists, the reported problem names the path without prefix.
    return next(
        (place for place in places if place.kind is not Kind.MISSING), files.locate(shorter)
    )


def _without(name: str, prefixes: tuple[str, ...]) -> str:
    shorter = name[2:] if name.startswith(prefixes) else ""
    return (shorter.lstrip("/") if name.startswith("./") else shorter) or name
