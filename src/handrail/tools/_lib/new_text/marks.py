"""New texts that carry the marks of how they were passed on, where the old text has none.

Taken literally they would write line numbers, diff marks or a fence into the file. Each check needs
a line of the old text behind such a mark, so that a text about such marks can be written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from handrail.core.names.caller_words import arg_name
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.byte_text import ByteText, Splice
from handrail.tools._lib.new_text.leftovers import find_leftover

# Most new texts of one line have none of these, and need no check.
SUSPECT: Final = re.compile(r"[<>&`~→|│+\n]|\\[\"'n]|^\s*L?\d+[:\t]")
_NUMBERED: Final = re.compile(r"[ \t]*L?(\d{1,9})(?:\t|[ \t]*→|[ \t]?[|│][ ]?)(?P<text>.*)")
_SEARCH: Final = re.compile(r"<{5,9}(?:[ ]?SEARCH| .*)?")
_REPLACE: Final = re.compile(r">{5,9}(?:[ ]?REPLACE| .*)?")
_DIVIDER: Final = re.compile(r"={5,9}")
_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[\w+#.-]*[ \t]*")
_PROSE: Final = frozenset(
    {".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".org", ".ipynb", ".qmd", ".rmd", ""}
    | {".csv", ".tsv", ".tex", ".sty", ".cls", ".diff", ".patch"}
)

# Languages whose comments are documents with fences.
_FENCES_IN_CODE: Final = frozenset({".ex", ".exs", ".jl"})


def refuse_marked(file: ByteText, place: Splice, old: str, new: str, path: str) -> None:
    """Raise `invalid_arguments` if only the new text has such marks; `place` is where it goes."""
    before, after = old.split("\n"), [line for line in new.split("\n") if line.strip()]
    known = {line.strip() for line in before if line.strip()}
    if not after or not known or shows_marks(path):
        return
    line = file.lines_between(0, place.start) + 1
    if what := find_leftover(old, new, path, line, whole=_is_whole(file, place)):
        raise _problem(what)
    # The marks of one line are part of it.
    if "\n" not in new and "\\n" not in new:
        return
    for what, is_marked in _CHECKS.items():
        if is_marked(after, known) and not is_marked([*filter(str.strip, before)], known):
            raise _problem(what)
    if _is_fenced(after, known, path) and not any(map(_FENCE.fullmatch, before)):
        raise _problem("a code fence around it")


def shows_marks(path: str) -> bool:
    """Whether a file is a document, which may show a diff, or numbered lines."""
    return PurePosixPath(path).suffix.lower() in _PROSE


def _is_whole(file: ByteText, place: Splice) -> bool:
    """Whether nothing but blanks is before and after a place on its lines."""
    start, end = file.line_start(place.start) or 0, place.end
    if not file.data.endswith(file.lf, place.start, place.end):
        end = file.line_end(place.end) or len(file.data)
    around = file.data[start : place.start] + file.data[place.end : end]
    return not file.shown(around).strip()


def _problem(what: str) -> ProblemRaised:
    return ProblemRaised(
        "invalid_arguments",
        f"{arg_name('new_string')} has {what}, which {arg_name('old_string')} has not, and which would be "
        "written to the file",
        hint="give the new text exactly as it should stand in the file",
        field="new_string",
    )


def _has_numbers(lines: Sequence[str], known: set[str]) -> bool:
    found = [_NUMBERED.fullmatch(line) for line in lines]
    marked = [one for one in found if one is not None]
    if len(marked) < 2 or len(marked) != len(found):
        return False
    steps = [int(after[1]) - int(above[1]) for above, after in pairwise(marked)]
    return all(0 < step <= 3 for step in steps) and any(
        one["text"].strip() in known for one in marked
    )


def _has_conflict(lines: Sequence[str], known: set[str]) -> bool:
    texts = [line.strip() for line in lines]
    if not (_SEARCH.fullmatch(texts[0]) and _REPLACE.fullmatch(texts[-1])):
        return False
    divider = next((at for at, text in enumerate(texts) if _DIVIDER.fullmatch(text)), 0)
    return divider > 1 and all(text in known for text in texts[1:divider])


def _has_diff_marks(lines: Sequence[str], known: set[str]) -> bool:
    signs = {line[0] for line in lines}
    gone = [line[1:].strip() for line in lines if line[0] == "-"]
    literal = {line for line in lines if line.strip() in known}
    return (
        {"-", "+"} <= signs <= {"-", "+", " ", "\t"}
        and all(line in known for line in gone)
        and not any(line[0] in "+-" for line in literal)
    )


def _has_escaped_lines(lines: Sequence[str], known: set[str]) -> bool:
    if len(lines) != 1 or "\\n" not in lines[0]:
        return False
    parts = {part.strip() for part in re.split(r"(?<!\\)\\n", lines[0])} & known
    # One word, or one line of several, may have become part of a text in the code.
    return len(parts) > 1 or (len(known) == 1 and any(" " in part for part in parts))


def _is_fenced(lines: Sequence[str], known: set[str], path: str) -> bool:
    opening = _FENCE.fullmatch(lines[0])
    if opening is None or len(lines) < 3 or lines[-1].strip() != opening[1]:
        return False
    shows = PurePosixPath(path).suffix.lower() in _FENCES_IN_CODE
    return not shows or any(line.strip() in known for line in lines[1:-1])


_CHECKS: Final[dict[str, Callable[[Sequence[str], set[str]], bool]]] = {
    "line numbers": _has_numbers,
    "the marks of a search and a replacement": _has_conflict,
    "the marks of a diff": _has_diff_marks,
    "line feeds as a backslash and an n": _has_escaped_lines,
}
