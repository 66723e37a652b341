"""Rebuilds the new content of a file from its old content and the record of the call. A candidate is
used only if it has the recorded hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from handrail.core.places import shown
from handrail.core.ports.records import CallRecord
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.core.text.encoding import UTF8, TextForm, detect

_MAX_BYTES: Final = 1_000_000
_MAX_SECTIONS: Final = 20
_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_UNENDED: Final = "\\ No newline at end of file"
# A diff does not show the line ends.
_LINE_ENDS: Final = ("\n", "\r\n")


def rebuild_content(
    call: CallRecord, path: str, before: Content | None, digest: str
) -> Content | None:
    """The new content of the file, which has this hash; None if it cannot be rebuilt."""
    if before is not None and before.size > _MAX_BYTES:
        return None
    text = str((call.completed or {}).get("text") or "")
    guesses = (*_diff_guesses(text, path, before), *_argument_guesses(call.requested))
    return next((one for one in guesses if one.digest == digest), None)


def _argument_guesses(requested: Any) -> Iterator[Content]:
    """Yield the text arguments of a call: one of them is the content if the tool writes whole files."""
    arguments = requested.get("arguments")
    for value in arguments.values() if isinstance(arguments, dict) else ():
        if isinstance(value, str) and len(value) <= _MAX_BYTES:
            yield Content(value.encode("utf-8", "surrogatepass"))


def _diff_guesses(text: str, path: str, before: Content | None) -> Iterator[Content]:
    data = b"" if before is None else before.tobytes()
    form: TextForm | None = UTF8 if before is None else detect(data)
    if form is None:
        return
    old = _split_lines(form.decode(data))
    for section in islice(_sections(text.split("\n"), path), _MAX_SECTIONS):
        for line_end in _LINE_ENDS:
            new = _apply_hunks(old, section, line_end)
            try:
                if new is not None:
                    yield Content(form.encode("".join(new)))
            except ProblemRaised:
                continue


def _sections(lines: Sequence[str], path: str) -> Iterator[Sequence[str]]:
    """Yield the lines after each header of the file in a diff."""
    header = f"+++ {shown(f'b/{path}')}"
    for number, line in enumerate(lines[1:], 1):
        if line == header and lines[number - 1].startswith("--- "):
            yield lines[number + 1 :]


def _apply_hunks(old: Sequence[str], section: Sequence[str], line_end: str) -> list[str] | None:
    """The new lines; None if the hunks do not match the old lines exactly."""
    new: list[str] = []
    at, position = 0, 0
    while position < len(section) and (hunk := _HUNK.fullmatch(section[position])):
        first, removed, added = (int(one) if one is not None else 1 for one in hunk.groups())
        start = first - 1 if removed else first
        if not at <= start <= len(old):
            return None
        new += old[at:start]
        at, position = start, position + 1
        end = at + removed
        while at < end or added > 0:
            line = section[position] if position < len(section) else ""
            sign, body = line[:1], line[1:]
            if sign in (" ", "-"):
                if at >= end or old[at].rstrip("\r\n") != body:
                    return None
                new += old[at : at + 1] if sign == " " else ()
                at += 1
            elif sign == "+":
                new.append(body + line_end)
            elif line != _UNENDED:
                return None
            added -= sign in (" ", "+")
            position += 1
            if sign == "+" and section[position : position + 1] == [_UNENDED]:
                new[-1] = body
        position += section[position : position + 1] == [_UNENDED]
    return [*new, *old[at:]] if position else None


def _split_lines(text: str) -> list[str]:
    *ended, rest = text.split("\n")
    return [*(f"{line}\n" for line in ended), *([rest] if rest else [])]
