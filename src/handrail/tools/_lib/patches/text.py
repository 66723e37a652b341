"""The lines of a patch, without fences and decoration that models add, parsed into hunk bodies.

Only text that cannot be part of the patch is removed. The counts of an `@@` line are used only if
they fit the lines; otherwise the hunk ends at the first line that cannot be part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from handrail.tools._lib.patches.model import PatchHunk, PatchLine, is_same_file, malformed_problem

# Stars, then the words; before them may be a quote mark, a heading, a comment, a list marker, or
# the start of code or bold text.
_MARK: Final = re.compile(
    r"(?P<lead>[ \t]*(?:(?:>|#{1,6}|//|[*•]|\d{1,3}\.)[ \t]+)*[`_*]*?)"
    r"\*{3}[ \t]*"
    r"(?:(?P<fixed>begin patch|end patch|end of file)(?:[ \t]*:)?"
    r"|(?P<verb>\w+ file|move to|(?:add|update|delete)(?=:))(?P<colon>:|(?=[ \t]))"
    r"[ \t]*(?P<open>[`*]*)(?P<name>.*?))"
    r"(?P<close>[ \t`*]*)",
    re.IGNORECASE,
)
_FIXED: Final = {
    "begin patch": "*** Begin Patch",
    "end patch": "*** End Patch",
    "end of file": "*** End of File",
}
_VERBS: Final = ("add file", "update file", "delete file", "move to")
_UNIFIED: Final = re.compile(r"diff --git |@@|--- |\+\+\+ ")
_QUOTE: Final = re.compile(r"[ \t]*>[ ]?")


def remove_decoration(lines: Sequence[str]) -> list[str]:
    """Return the lines with every `***` line in its plain spelling; a unified diff is unchanged."""
    marks = [_MARK.fullmatch(line) for line in lines]
    at = next((at for at, mark in enumerate(marks) if mark and _opens_patch(mark)), len(lines))
    first = marks[at] if at < len(lines) else None
    if first is None or any(_UNIFIED.match(line) for line in lines[:at]):
        return list(lines)
    allowed = ("", first["lead"])
    return [
        _plain(mark) if mark is not None and mark["lead"] in allowed else line
        for line, mark in zip(lines, marks, strict=True)
    ]


def remove_quote_marks(
    lines: Sequence[str], starts: Callable[[Sequence[str], int], bool]
) -> list[str]:
    """Return the lines without the `>` before each, if a patch begins behind one and all lines have
    it.

    `starts` returns whether a patch begins at a line.
    """
    bare = [_QUOTE.sub("", line, count=1) for line in lines]
    quoted = [_QUOTE.match(line) is not None for line in lines]
    first = next((at for at in range(len(lines)) if quoted[at] and starts(bare, at)), None)
    if first is None:
        return list(lines)
    end = next((at for at in range(first, len(lines)) if not quoted[at]), len(lines))
    if any(line.strip() for line in lines[end:]):
        return list(lines)
    return bare[first:end]


def _opens_patch(mark: re.Match[str]) -> bool:
    return (mark["fixed"] or "").lower() == "begin patch" or mark["verb"] is not None


def _plain(mark: re.Match[str]) -> str:
    if mark["fixed"]:
        return _FIXED[mark["fixed"].lower()]
    verb = mark["verb"].lower()
    if verb not in _VERBS and not mark["colon"]:
        return mark[0]
    words = "Move to" if verb == "move to" else f"{verb.split()[0].title()} File"
    # A star or quote mark on one side only belongs to the name.
    opening = "" if mark["close"].strip() else mark["open"]
    return f"*** {words}: {opening}{mark['name']}"


_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})[\w+. -]*")
_HEADER: Final = re.compile(
    r"diff --git |\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File:)|Index: |@@"
    r"|(?:rename|copy) from |(?:old|new file|deleted file) mode "
)


def split_patch(text: str) -> list[str]:
    """Return the lines of a patch without fences, surrounding prose or a common indentation.

    Carriage returns at the end of every line belong to the patch; if only some lines have one, it
    belongs to those lines, as in the diff of a CRLF file.
    """
    text = _unescaped(text.removeprefix("\ufeff"))
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if all(line.endswith("\r") for line in lines[:-1]):
        lines = [line.removesuffix("\r") for line in lines]
    lines = remove_quote_marks(_unfenced(lines), _starts)
    return remove_decoration(_dedented(lines))


def starts_file(lines: Sequence[str], at: int) -> bool:
    """Return whether the two name lines of a unified diff begin here."""
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def names_one_file(lines: Sequence[str], at: int) -> bool:
    """Return whether the two name lines of a unified diff are here and name one file.

    A deleted line `-- x` above an added line `++ y` looks like name lines, but rarely has the same
    name twice.
    """
    return starts_file(lines, at) and is_same_file(lines[at][4:], lines[at + 1][4:])


def _unescaped(text: str) -> str:
    # A patch has several lines. A single line with `\n` in it was escaped twice.
    if "\n" in text or "\\n" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text.replace("\\n", "\n").replace("\\t", "\t")


def _starts(lines: Sequence[str], at: int) -> bool:
    head = [line.lstrip() for line in lines[at : at + 2]]
    return _HEADER.match(head[0]) is not None or starts_file(head, 0)


def _unfenced(lines: list[str]) -> list[str]:
    fences = [at for at, line in enumerate(lines) if _FENCE.fullmatch(line)]
    opening = [at for at in fences if _opens(lines, at)]
    if not opening or any(_starts(lines, at) for at in range(opening[0])):
        return lines
    body: list[str] = []
    for start, stop in _between(opening, len(lines)):
        # The last one: an earlier fence is a line of the patched file.
        end = max([at for at in fences if start < at < stop], default=stop)
        body += lines[start + 1 : end]
        if any(_starts(lines, at) for at in range(end, stop)):
            raise malformed_problem(
                "a part of the patch stands outside of the code fence",
                "send the patch alone, without fences and without text around it",
            )
    return body


def _opens(lines: Sequence[str], fence: int) -> bool:
    below = next((at for at in range(fence + 1, len(lines)) if lines[at].strip()), None)
    return below is not None and _starts(lines, below)


def _between(starts: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
    return zip(starts, [*starts[1:], end], strict=True)


def _dedented(lines: list[str]) -> list[str]:
    first = next((at for at in range(len(lines)) if _starts(lines, at)), None)
    if first is None:
        return lines
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    rest = lines[first:]
    if not indent or not all(line.startswith(indent) or not line.strip() for line in rest):
        return lines
    return [line.removeprefix(indent) for line in rest]


_RANGES: Final = re.compile(
    r"@@\s*-(\d{1,9})(?:,(\d{1,9}))?\s+\+(\d{1,9})(?:,(\d{1,9}))?\s*(?:@@(?P<heading>.*))?$"
)
_ONE_LINE: Final = re.compile(r"(?:lines?\s*)?[-+]?(\d{1,9})(?:\s*[-,]\s*\d{1,9})?", re.IGNORECASE)
# `...`, `… existing code …`, or signs only: a placeholder, not a place.
_PLACEHOLDER: Final = re.compile(r"[\W_]*|(?:\.{3}|…).*(?:\.{3}|…)")

# Not inside a word: `@@total` is a name in some languages.
_SEPARATOR: Final = re.compile(r"(?:^|\s)@@(?:\s|$)")


class HunkLocation(NamedTuple):
    """Line and counts as written, None if missing; `PatchHunk` explains the fields."""

    line: int | None = None
    old_count: int | None = None
    new_count: int | None = None
    anchors: tuple[str, ...] = ()
    heading: str = ""


def parse_location(text: str) -> HunkLocation:
    """Parse an `@@` line."""
    if text.startswith("@@@"):
        raise malformed_problem(
            "the patch is a combined diff of a merge, which says nothing about one old file",
            "send a diff against one version",
        )
    ranges = _RANGES.match(text)
    if ranges is not None:
        line, old, _, new = ranges.groups()[:4]
        heading = (ranges["heading"] or "").strip()
        return HunkLocation(int(line), _count(old), _count(new), heading=heading)
    inner = text[2:].strip().removesuffix("@@")
    parts = [part.strip() for part in _SEPARATOR.split(inner)]
    anchors = tuple([word for word in parts if not _PLACEHOLDER.fullmatch(word)])
    if len(anchors) == 1 and (number := _ONE_LINE.fullmatch(anchors[0])):
        return HunkLocation(int(number[1]))
    return HunkLocation(anchors=anchors)


def _count(text: str | None) -> int:
    return 1 if text is None else int(text)


_VERSION: Final = re.compile(r"\d+\.\d+[\w.() -]*")
Ends = Callable[[Sequence[str], int], bool]


@dataclass(slots=True)
class HunkBody:
    """A hunk while it is parsed; `end` is the first line after it."""

    lines: list[PatchLine] = field(default_factory=list)
    end: int = 0
    old_ends: bool = False
    new_ends: bool = False
    counted: bool = False

    def hunk(self, where: HunkLocation, *, at_end: bool = False) -> PatchHunk:
        """Return the finished hunk."""
        added = len(self.lines) if all(line.sign == "+" for line in self.lines) else None
        return PatchHunk(
            tuple(self.lines),
            line=where.line,
            anchors=where.anchors,
            heading=where.heading,
            at_end=at_end or self.old_ends,
            old_ends=self.old_ends,
            new_ends=self.new_ends,
            counted=self.counted,
            numbered=where.old_count == 0 and where.new_count == added,
        )

    def take(self, text: str) -> PatchLine | None:
        """Add one line of the patch; None if it is the mark for a missing newline."""
        if is_no_newline(text):
            self._mark()
            return None
        line = read_line(text)
        self.lines.append(line)
        return line

    def trim(self) -> None:
        """Drop unmarked empty lines at the end: they only separate hunks."""
        while self.lines and self.lines[-1].bare and not self.lines[-1].text:
            self.lines.pop()

    def _mark(self) -> None:
        if not self.lines:
            return
        last = self.lines[-1] = self.lines[-1]._replace(crlf=None)
        self.old_ends |= last.sign != "+"
        self.new_ends |= last.sign != "-"


def read_line(text: str) -> PatchLine:
    """Parse a line by its first character; a line without a known mark is context that lost it."""
    crlf = text.endswith("\r")
    text = text.removesuffix("\r")
    match text[:1]:
        case "+":
            return PatchLine("+", text[1:], crlf=crlf)
        case "-":
            return PatchLine("-", text[1:], crlf=crlf)
        case " ":
            return PatchLine(" ", text[1:], crlf=crlf)
        case _:
            return PatchLine(" ", text, bare=True, crlf=crlf)


def is_no_newline(text: str) -> bool:
    """Return whether this is diff's mark, in any language, for a last line without newline."""
    return text.startswith("\\ ") and (len(text) > 10 or "newline" in text.lower())


def read_body(lines: Sequence[str], at: int, where: HunkLocation, ends: Ends) -> HunkBody:
    """Parse the body that begins at line `at`; `ends` returns whether another part begins at a
    line.
    """
    counted = _by_counts(lines, at, where, ends)
    if counted is not None:
        return counted
    body = HunkBody()
    while at < len(lines) and not ends(lines, at) and not _is_signature(lines, at):
        body.take(lines[at])
        at += 1
    body.trim()
    body.end = at
    return body


def _by_counts(lines: Sequence[str], at: int, where: HunkLocation, ends: Ends) -> HunkBody | None:
    if where.old_count is None or where.new_count is None:
        return None
    body = HunkBody()
    old, new = where.old_count, where.new_count
    while old > 0 or new > 0 or (at < len(lines) and is_no_newline(lines[at])):
        if at >= len(lines) or names_one_file(lines, at):
            return None
        line = body.take(lines[at])
        at += 1
        if line is None:
            continue
        if line.bare and line.text:
            return None
        old -= line.sign != "+"
        new -= line.sign != "-"
    body.end, body.counted = at, True
    return body if (old, new) == (0, 0) and _is_over(lines, at, ends) else None


def _is_over(lines: Sequence[str], at: int, ends: Ends) -> bool:
    """Return whether no line before the next part of the patch can belong to a hunk."""
    while at < len(lines) and not ends(lines, at) and not _is_signature(lines, at):
        if lines[at].strip() and not lines[at][0].isalnum():
            return False
        at += 1
    return True


def _is_signature(lines: Sequence[str], at: int) -> bool:
    """Return whether a mail signature begins here, as `git format-patch` adds it."""
    return (
        lines[at] in ("-- ", "--")
        and at + 1 < len(lines)
        and _VERSION.fullmatch(lines[at + 1]) is not None
        and not any(line.strip() for line in lines[at + 2 :])
    )
