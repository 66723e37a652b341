"""Slips of how a text was handed over, undone: fences, line numbers, entities, marks, escapes.

Each needs evidence in the old text, and says nothing about the file: the repaired pair must
then be found there literally, blanks aside. A new text that cannot be repaired with the same
certainty is not repaired at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from handrail.tools._lib.matching.escapes import escaped_lines, escaped_quotes, lost_escapes
from handrail.tools._lib.matching.handed import Repair

_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[\w+#.-]*[ \t]*")
_CDATA: Final = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "&": "&amp;"}
_OTHER_ENTITIES: Final = (("&apos;", "'"), ("&#x27;", "'"), ("&#34;", '"'), ("&nbsp;", " "))


def repairs(old: str, new: str) -> Iterator[list[Repair]]:
    """Every pair that this one may have been: with one slip undone, then with two."""
    first = list(_once(Repair(old, new)))
    yield first
    seen = {(one.old, one.new) for one in first} | {(old, new)}
    second: list[Repair] = []
    for repair in first:
        for again in _once(repair):
            if (again.old, again.new) not in seen:
                seen.add((again.old, again.new))
                second.append(again)
    yield second


def _once(pair: Repair) -> Iterator[Repair]:
    for undo in _UNDO:
        for repair in undo(pair.old, pair.new):
            if repair.old.strip() and (repair.old, repair.new) != (pair.old, pair.new):
                how = f"{pair.how} and {repair.how}" if pair.how else repair.how
                line, there = repair.line or pair.line, repair.there or pair.there
                yield Repair(repair.old, repair.new, how, line, there)


def _fenced(old: str, new: str) -> Iterator[Repair]:
    inner = _without_fence(old)
    if inner is not None:
        outer = _without_fence(new)
        yield Repair(inner, new if outer is None else outer, "a code fence")


def _without_fence(text: str) -> str | None:
    lines = text.strip("\n").split("\n")
    opening = _FENCE.fullmatch(lines[0])
    if opening is None or len(lines) < 2 or lines[-1].strip() != opening[1]:
        return None
    return "\n".join(lines[1:-1])


def _wrapped(old: str, new: str) -> Iterator[Repair]:
    inner, outer = _CDATA.fullmatch(old), _CDATA.fullmatch(new)
    if inner:
        yield Repair(inner[1], outer[1] if outer else new, "a CDATA wrapper")


_NUMBERED: Final = (
    re.compile(r"[ \t]*(\d+)\t"),
    re.compile(r"[ \t]*(\d+)[ \t]*→"),
    re.compile(r"[ \t]*L?(\d+)[ \t]?[|│][ ]"),
    re.compile(r"[ \t]*L?(\d+)[ \t]?[|│]"),
    re.compile(r"[ \t]*L?(\d+):[ ]"),
    re.compile(r"[ \t]*L?(\d+):"),
    re.compile(r"[ \t]*\[(\d+)\][ ]?"),
)
# So weak a mark that the numbers must be those of the very lines.
_BARELY_NUMBERED: Final = (
    re.compile(r"[ \t]*(\d+)-"),
    re.compile(r"[ ]*(\d+)[ ]{2}"),
    re.compile(r"[ ]*(\d+)[ ]"),
)

_ANY_NUMBER: Final = re.compile(r"\s*\[?L?(\d+)\b")


def _numbered(old: str, new: str) -> Iterator[Repair]:
    before, after = old.split("\n"), new.split("\n")
    for style in _NUMBERED + _BARELY_NUMBERED:
        first = _first_number(style, before)
        if first is None:
            continue
        fresh = _new_without_numbers(style, after, before, first)
        if fresh is not None:
            bare = "\n".join([_bare(style, line) for line in before])
            sure = style in _NUMBERED and len(before) > 1
            yield Repair(bare, "\n".join(fresh), "line numbers", first, there=not sure)


def _first_number(style: re.Pattern[str], lines: list[str]) -> int | None:
    """The number of the first line, if every line has the number that follows from it."""
    first: int | None = None
    for index, line in enumerate(lines):
        number = _number(style, line)
        if number is None:
            if line.strip():
                return None
            continue
        if first is None:
            first = number - index
        if number != first + index:
            return None
    return first


def _number(style: re.Pattern[str], line: str) -> int | None:
    # The mark's own blank is often lost on an empty line.
    found = style.match(line) or style.fullmatch(line + " ")
    return int(found[1]) if found else None


def _bare(style: re.Pattern[str], line: str) -> str:
    found = style.match(line)
    if found:
        return line[found.end() :]
    return "" if style.fullmatch(line + " ") else line


def _new_without_numbers(
    style: re.Pattern[str], lines: list[str], old: list[str], first: int
) -> list[str] | None:
    """The new lines bare: all are numbered from the same line on, or only those that stay."""
    numbers = [_number(style, line) for line in lines if line.strip()]
    counted = [number for number in numbers if number is not None]
    if len(counted) == len(numbers) and numbers and _go_on(counted, first):
        return [_bare(style, line) for line in lines]
    known = set(old)
    rest = [line for line in lines if line not in known and line.strip()]
    if any(style.match(line) for line in rest) and len(rest) < len(numbers):
        return None
    others = [int(found[1]) for line in rest if (found := _ANY_NUMBER.match(line))]
    if others and len(others) == len(rest) and _go_on(others, first):
        # Numbered as well, but set off in another way.
        return None
    return [_bare(style, line) if line in known else line for line in lines]


def _go_on(numbers: list[int], first: int) -> bool:
    steps = [after - before for before, after in pairwise(numbers)]
    return first <= numbers[0] <= first + 1 and all(0 <= step <= 2 for step in steps)


def _entities(old: str, new: str) -> Iterator[Repair]:
    kinds = [char for char, entity in _ENTITIES.items() if entity in old]
    others = any(entity in old for entity, _ in _OTHER_ENTITIES)
    if kinds or others:
        # What stands bare in the old text is not escaped in the new one either.
        chars = [char for char in _ENTITIES if char in kinds or char not in old]
        yield Repair(_decoded(old, chars), _decoded(new, chars), "HTML entities")


def _decoded(text: str, chars: list[str]) -> str:
    for entity, char in _OTHER_ENTITIES:
        if char in chars or char == " ":
            text = text.replace(entity, char)
    # The ampersand last, so that an escaped entity loses one level only.
    for char in chars:
        text = text.replace(_ENTITIES[char], char)
    return text


def _diffed(old: str, new: str) -> Iterator[Repair]:
    before, after = old.split("\n"), new.split("\n")
    marks = _marks(before, "-") | _marks(after, "+")
    if marks <= {" ", "-", "+"} and marks & {"-", "+"}:
        yield Repair(_unmarked(before), _unmarked(after), "diff marks")


def _marks(lines: list[str], sign: str) -> set[str]:
    """What the lines begin with; `sign` is the mark of this side, any other is none."""
    firsts = {line[0] for line in lines if line.strip()}
    return {first if first in (" ", sign) else "?" for first in firsts}


def _unmarked(lines: list[str]) -> str:
    return "\n".join([line[1:] if line.strip() else line for line in lines])


_UNDO: Final[tuple[Callable[[str, str], Iterator[Repair]], ...]] = (
    _fenced,
    _wrapped,
    _numbered,
    escaped_lines,
    escaped_quotes,
    _entities,
    _diffed,
    lost_escapes,
)
