"""Patches: the `*** Begin Patch` format (files added, updated, moved and deleted in one envelope),
and the choice between this format and unified diffs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from handrail.tools._lib.patches.model import (
    Action,
    FilePatch,
    PatchHunk,
    PatchLine,
    malformed_problem,
    numbered_hunks,
    parse_file_name,
)
from handrail.tools._lib.patches.text import (
    HunkBody,
    HunkLocation,
    parse_location,
    split_patch,
    starts_file,
)
from handrail.tools._lib.patches.unified import parse_unified

_FILE: Final = re.compile(r"\*\*\* (?P<verb>[A-Za-z]+) File: *(?P<name>.*)")
_MOVE: Final = re.compile(r"\*\*\* Move to: *(?P<name>.*)")
_ACTIONS: Final = {"add": Action.CREATE, "update": Action.UPDATE, "delete": Action.DELETE}
_HEREDOC: Final = re.compile(r".*<<-?\s*['\"]?(?P<word>\w+)['\"]?\s*")
BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
END_OF_FILE: Final = "*** End of File"


def is_envelope(line: str) -> bool:
    """Return whether a patch of this format begins with this line."""
    return line.rstrip() == BEGIN or _FILE.fullmatch(line) is not None


def parse_envelope(lines: Sequence[str]) -> list[FilePatch]:
    """Parse the files of the envelope; text before and after it is ignored."""
    sections: list[_EnvelopeSection] = []
    for line in _envelope_body(lines):
        header = _FILE.fullmatch(line)
        if header is not None:
            sections.append(_opened(header["verb"], header["name"]))
        elif sections:
            sections[-1].body.append(line)
        elif line.startswith("*** ") or line.strip():
            raise malformed_problem(
                f"{line!r} stands before any file in the patch",
                "begin with *** Add File: path, *** Update File: path or *** Delete File: path",
            )
    return [section.finished() for section in sections]


def _envelope_body(lines: Sequence[str]) -> list[str]:
    first = next(at for at, line in enumerate(lines) if is_envelope(line))
    heredoc = next((mark for line in lines[:first] if (mark := _HEREDOC.fullmatch(line))), None)
    closing = heredoc["word"] if heredoc is not None else None
    body: list[str] = []
    inside = True
    for line in lines[first:]:
        word = line.rstrip()
        if word == BEGIN:
            inside = True
        elif word in (END, closing):
            inside = False
        elif inside:
            body.append(line)
        elif is_envelope(line) or line.startswith("@@"):
            raise malformed_problem(f"{line!r} stands after {END!r}")
    return body


@dataclass(slots=True)
class _EnvelopeSection:
    action: Action
    name: str
    body: list[str] = field(default_factory=list)

    def finished(self) -> FilePatch:
        match self.action:
            case Action.CREATE:
                return FilePatch(Action.CREATE, "", self.name, (self._content(),))
            case Action.DELETE:
                if any(line.strip() for line in self.body):
                    raise malformed_problem(f"*** Delete File: {self.name} takes no lines below it")
                return FilePatch(Action.DELETE, self.name, "")
            case _:
                return self._update()

    def _content(self) -> PatchHunk:
        body = HunkBody()
        for line in _without_headers(self.body):
            if line.rstrip() != END_OF_FILE:
                body.take(line)
        body.trim()
        return replace(body.hunk(HunkLocation()), lines=added_lines(body.lines, self.name))

    def _update(self) -> FilePatch:
        move = _MOVE.fullmatch(self.body[0]) if self.body else None
        target = parse_file_name(move["name"]) if move is not None else self.name
        if not target:
            raise malformed_problem(f"*** Move to: below {self.name!r} names no file")
        hunks = numbered_hunks(_hunks(_without_headers(self.body[1 if move else 0 :])))
        moves = target != self.name
        return FilePatch(Action.RENAME if moves else Action.UPDATE, self.name, target, hunks)


def added_lines(lines: Sequence[PatchLine], name: str) -> tuple[PatchLine, ...]:
    """Return the lines of a new file; either all have a `+`, or none."""
    if any(line.sign == "-" for line in lines):
        raise malformed_problem(
            f"{name!r} is to be created, but the patch takes lines away from it"
        )
    marked = [line.sign == "+" for line in lines if line.text]
    if all(marked):
        return tuple([line._replace(sign="+", bare=False) for line in lines])
    if any(marked):
        raise malformed_problem(
            f"some lines of the new file {name!r} begin with '+' and some do not",
            "put '+' before every line of a new file",
        )
    # Without any `+`, a leading blank belongs to the line.
    return tuple([PatchLine("+", line.text if line.bare else f" {line.text}") for line in lines])


def _opened(verb: str, name: str) -> _EnvelopeSection:
    action = _ACTIONS.get(verb.lower())
    if action is None:
        raise malformed_problem(
            f"'*** {verb} File:' is not known", "use Add, Update or Delete File"
        )
    path = parse_file_name(name)
    if not path:
        raise malformed_problem(f"'*** {verb} File:' names no file")
    return _EnvelopeSection(action, path)


def _without_headers(lines: Sequence[str]) -> Sequence[str]:
    """Return the body without the two name lines of a unified diff, which some models add."""
    return lines[2:] if lines and starts_file(lines, 0) else lines


def _hunks(lines: Sequence[str]) -> list[PatchHunk]:
    hunks: list[PatchHunk] = []
    place: HunkLocation | None
    place, body, at_end = None, HunkBody(), False

    def close() -> None:
        nonlocal body, at_end
        body.trim()
        if body.lines:
            hunks.append(body.hunk(place or HunkLocation(), at_end=at_end))
        body, at_end = HunkBody(), False

    for line in lines:
        if line.startswith("@@"):
            stacked = () if body.lines or at_end or place is None else place.anchors
            close()
            location = parse_location(line)
            place = location._replace(anchors=stacked + location.anchors)
        elif line.rstrip() == END_OF_FILE:
            at_end = True
        elif _MOVE.fullmatch(line):
            raise malformed_problem("*** Move to: must stand directly below *** Update File:")
        elif body.lines or line or place is not None:
            if at_end:
                close()
                place = None
            body.take(line)
    close()
    return hunks


# Parsed three times per call: for the footprint, the risk and the plan.
@lru_cache(maxsize=8)
def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """Return the files of a patch, in order; raises `invalid_arguments`."""
    lines = split_patch(text)
    if not any(line.strip() for line in lines):
        raise malformed_problem("the patch is empty")
    files = _read(lines)
    if not files:
        raise malformed_problem("this is not a patch: it names no file and has no hunk")
    for file in files:
        if file.action is Action.UPDATE and not file.hunks and file.executable is None:
            name = f" of {file.name!r}" if file.name else ""
            raise malformed_problem(
                f"the patch changes nothing: its part{name} has no line to add or to remove",
                "mark lines to remove with '-' and lines to add with '+'",
            )
    return tuple(files)


def _unified_inside(lines: Sequence[str]) -> list[str] | None:
    """Return the unified diff that stands between the two lines of the envelope; None if none does."""
    inside = [line for line in lines if line.rstrip() not in (BEGIN, END)]
    first = next((at for at, line in enumerate(inside) if line.strip()), None)
    if first is None or any(_FILE.fullmatch(line) for line in inside):
        return None
    opens = inside[first].startswith("diff --git ") or starts_file(inside, first)
    return inside[first:] if opens and lines[0].rstrip() == BEGIN else None


def _read(lines: list[str]) -> list[FilePatch]:
    for at, line in enumerate(lines):
        if line.startswith(("diff --git ", "@@")) or starts_file(lines, at):
            break
        if is_envelope(line):
            unified = _unified_inside(lines[at:])
            return parse_envelope(lines) if unified is None else parse_unified(unified)
        if line.startswith("***************"):
            raise malformed_problem("this is a context diff", "send a unified diff (diff -u)")
    return parse_unified(lines)
