"""Converts the indentation of a call to the indentation of the file.

Learned from lines that both have. If these prove nothing, the edit is refused: a guessed
indentation is a wrong edit in many languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.matching.lines import FileLines, LineOp

Rule = Callable[[str], str | None]


class IndentPair(NamedTuple):
    """The indentation of one line, in the call and in the file."""

    call: str
    file: str


def leading_blanks(line: str) -> str:
    """Return the blanks at the start of a line."""
    return line[: len(line) - len(line.lstrip())]


def learn_indents(pairs: Sequence[IndentPair]) -> list[Rule]:
    """The rules that all pairs follow: a shift, another unit, or both; none if they disagree."""
    if all(pair.call == pair.file for pair in pairs):
        return [_unchanged]
    return [rule for rule in (_shift(pairs), _scale(pairs)) if rule is not None]


def lacks_first_indent(pairs: Sequence[IndentPair]) -> bool:
    """Return whether only the first line lost its indentation, like text copied from inside a line."""
    rest = pairs[1:]
    return not pairs[0].call and any(pair.call for pair in rest) and bool(learn_indents(rest))


def _unchanged(indent: str) -> str | None:
    return indent


def _shift(pairs: Sequence[IndentPair]) -> Rule | None:
    call, file = pairs[0]
    if file.endswith(call):
        added = file.removesuffix(call)
        if all(pair.file == added + pair.call for pair in pairs) and _fits(pairs):
            return lambda indent: added + indent
    if call.endswith(file):
        removed = call.removesuffix(file)
        if all(removed + pair.file == pair.call for pair in pairs):
            return lambda indent: (
                indent.removeprefix(removed) if indent.startswith(removed) else None
            )
    return None


def _fits(pairs: Sequence[IndentPair]) -> bool:
    # Blanks before tabs: the file uses another kind of indentation than the call.
    return all(" \t" not in pair.file or " \t" in pair.call for pair in pairs)


def _scale(pairs: Sequence[IndentPair]) -> Rule | None:
    call_char = _one_char([pair.call for pair in pairs])
    file_char = _one_char([pair.file for pair in pairs])
    if not call_char or not file_char:
        return None
    points = sorted({(len(pair.call), len(pair.file)) for pair in pairs})
    step, base = _line_through(points)
    if any(step * x + base != y for x, y in points):
        return None
    # Two points are always on a line; a change of unit is a whole step from zero.
    if step <= 0 or (step != int(step) and 1 / step != int(1 / step)):
        return None
    if base and call_char == file_char:
        return None

    def scaled(indent: str) -> str | None:
        if indent.strip(call_char):
            return None
        width = step * len(indent) + base
        if width < 0 or (width.denominator != 1 and file_char != "\t"):
            return None
        whole = width.numerator // width.denominator
        # A rest of less than one tab was alignment and stays alignment.
        rest = (width - whole) / step
        return file_char * whole + " " * int(rest)

    return scaled


def _line_through(points: Sequence[tuple[int, int]]) -> tuple[Fraction, Fraction]:
    (x0, y0), (x1, y1) = points[0], points[-1]
    if x0 == x1:
        return (Fraction(y1, x1) if x1 else Fraction(0)), Fraction(0)
    step = Fraction(y1 - y0, x1 - x0)
    return step, y0 - step * x0


def _one_char(indents: Sequence[str]) -> str | None:
    chars = {char for indent in indents for char in indent}
    return chars.pop() if len(chars) == 1 else None


_LOOKED_AT: Final = 2_000


class LocatedLine(NamedTuple):
    """An operation and the line of the file that it concerns; None for new lines and missing blank
    lines.
    """

    op: LineOp
    line: int | None


class Indentation:
    """What the lines of a block show about the indentation of the file."""

    def __init__(self, file: FileLines, located: Sequence[LocatedLine]) -> None:
        self._file = file
        self._old_lines = [
            line for line in located if line.line is not None and line.op.text.strip()
        ]
        self._pairs = [self._pair(line) for line in self._old_lines]
        # Trailing blanks that the file lacks are not meant on new lines either.
        self._noisy = any(map(self._padded, self._old_lines))
        self._fresh = [line.op.text for line in located if line.op.kind == "insert"]
        self._rules: list[Rule] = learn_indents(self._pairs) if self._pairs else [str]
        self._lost: IndentPair | None = None
        self._first_new = next(
            (line for line in located if line.op.kind != "delete" and line.op.text.strip()), None
        )
        pairs = self._pairs
        if not self._rules and lacks_first_indent(pairs):
            self._rules = learn_indents(pairs[1:])
            self._lost, pairs = pairs[0], pairs[1:]
        self._table = _table(pairs)
        self._fits = _fits_file(self._pairs, located, PurePosixPath(file.path).suffix)

    def indent_line(self, new: LocatedLine, near: Sequence[LocatedLine]) -> str:
        """Return a new line indented for the file; `near` are the old lines that it replaces or is
        between. Raises `no_match` if the indentation is not certain.
        """
        text = new.op.text.rstrip(" \t") if self._noisy else new.op.text
        if not text.strip():
            return text
        indent = leading_blanks(text)
        if self._fits:
            return text
        if self._lost is not None and new is self._first_new and indent == self._lost.call:
            file_indent = self._first(text)
        else:
            file_indent = self._by_rule(indent)
            if file_indent is None:
                file_indent = self._like(indent, near)
        if file_indent is None:
            raise ProblemRaised(
                "no_match",
                f"{self._file.path!r} is indented otherwise than the call, so how far to indent "
                f"{text.strip()!r} is not certain",
                hint="read the lines and give them with exactly the file's indentation",
            )
        return file_indent + text[len(indent) :]

    def _padded(self, line: LocatedLine) -> bool:
        text = line.op.text
        return text[-1] in " \t" and self._file.texts[line.line or 0] == text.rstrip(" \t")

    def _first(self, text: str) -> str | None:
        """Return the indentation for a first line without any; None if the line was further down at
        another depth: it may have moved out, or only lost the text above it.
        """
        indents = [
            self._pair(line).file
            for line in self._old_lines
            if line.op.text.strip() == text.strip()
        ]
        first = self._pairs[0].file
        return first if all(indent == first for indent in indents) else None

    def _by_rule(self, indent: str) -> str | None:
        known = self._table.get(indent)
        if known is not None:
            return known
        if (deeper := self._by_tabs(indent)) is not None:
            return deeper
        candidates = [candidate for rule in self._rules if (candidate := rule(indent)) is not None]
        fitting = {
            fit
            for candidate in candidates
            if (fit := self._in_style(indent, candidate)) is not None
        }
        return fitting.pop() if len(fitting) == 1 else None

    def _by_tabs(self, indent: str) -> str | None:
        """Return the indentation for a deeper line of a call with tabs, if all its old lines are
        equally deep: how wide a tab is, is not known then, but how wide a step of the file is.
        """
        call, file = next(iter(self._table.items()), ("", ""))
        more = len(indent) - len(call)
        unit = find_indent_unit(self._file)
        if len(self._table) != 1 or not call or not file or more <= 0 or unit == 1:
            return None
        same = not indent.strip("\t") and not file.strip(" ") and len(file) % unit == 0
        return file + " " * unit * more if same else None

    def _in_style(self, indent: str, candidate: str) -> str | None:
        """Return an indentation that fits the file; None if it is between two steps."""
        if candidate == indent:
            return candidate
        base = self._base(candidate)
        extra = candidate[len(base) :]
        # A file with blanks after its tabs keeps that style.
        tabbed = not any(" " in pair.file for pair in self._pairs)
        if "\t" in base and tabbed and extra and extra.strip(" ") == "":
            step = self._call_step()
            return base + "\t" * (len(extra) // step) if len(extra) % step == 0 else None
        unit = find_indent_unit(self._file)
        if "\t" in extra and "\t" not in base and base:
            return base + extra.replace("\t", " " * unit)
        return None if extra.strip(" ") == "" and 0 < len(extra) < unit else candidate

    def _base(self, candidate: str) -> str:
        bases = [pair.file for pair in self._pairs if candidate.startswith(pair.file)]
        return max(bases, key=len, default="")

    def _call_step(self) -> int:
        base = min([len(pair.call) for pair in self._pairs])
        steps = {len(leading_blanks(text)) - base for text in self._fresh if text.strip()}
        return min((step for step in steps if step > 1), default=1)

    def _like(self, indent: str, near: Sequence[LocatedLine]) -> str | None:
        pairs = [self._pair(line) for line in near if line.line is not None]
        if not pairs or any(pair.call != indent for pair in pairs):
            return None
        indents = {pair.file for pair in pairs}
        return indents.pop() if len(indents) == 1 else None

    def _pair(self, line: LocatedLine) -> IndentPair:
        text = self._file.texts[line.line or 0]
        return IndentPair(leading_blanks(line.op.text), leading_blanks(text))


_ENDED: Final = re.compile(r".*[;}]\s*")
_ENDED_PYTHON: Final = re.compile(r"(?:.*[\w)\]}\"'])?\s*")
_GOES_ON: Final = re.compile(
    r"\s*[.+\-*/%&|<>=?:,)\]}]|\s*(?:and|or|if|else|for|in|not|is)\b.*[^:]\s*$"
)


def _fits_file(pairs: Sequence[IndentPair], located: Sequence[LocatedLine], suffix: str) -> bool:
    """Return whether only the old lines lost their indentation: the new ones are as deep as the file,
    and as lines inside of the line above they would make no sense.
    """
    depths = {pair.file for pair in pairs}
    if any(pair.call for pair in pairs) or len(depths) != 1 or not (depth := depths.pop()):
        return False
    fresh = [line.op.text for line in located if line.op.kind == "insert" and line.op.text.strip()]
    if not fresh or leading_blanks(fresh[0]) != depth:
        return False
    if _GOES_ON.match(fresh[0]) or not all(text.startswith(depth) for text in fresh):
        return False
    above = ""
    for line in located:
        if line.op.kind == "insert" and line.op.text.strip():
            break
        if line.op.kind == "keep" and line.op.text.strip():
            above = line.op.text
    ended = _ENDED_PYTHON if suffix in (".py", ".pyi") else _ENDED
    return bool(above) and ended.fullmatch(above) is not None


def find_indent_unit(file: FileLines) -> int:
    """Return the number of blanks per indentation step of a file; 1 if that is not clear."""
    return file.memo(_find_unit)


def _find_unit(file: FileLines) -> int:
    indents = [leading_blanks(file.texts[line]) for line in file.solid[:_LOOKED_AT]]
    widths = [len(indent) for indent in indents if indent and "\t" not in indent]
    for unit in (4, 2):
        if widths and sum(width % unit == 0 for width in widths) >= 0.95 * len(widths):
            return unit
    return 1


def _table(pairs: Sequence[IndentPair]) -> dict[str, str]:
    table: dict[str, str] = {}
    for call, file in pairs:
        if table.setdefault(call, file) != file:
            return {}
    return table
