"""Undoes transcription errors in a pair: fences, line numbers, entities, marks, escapes.

Each repair needs evidence in the old text, and the repaired pair must then be found in the file
literally, blanks ignored. A new text that cannot be repaired with the same certainty is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from handrail.tools._lib.matching.escape_repairs import (
    Repair,
    repair_escaped_letters,
    repair_escaped_lines,
    repair_escaped_quotes,
    repair_escaped_tabs,
    repair_lost_escapes,
)

_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[\w+#.-]*[ \t]*")
_CDATA: Final = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_TAGGED: Final = re.compile(
    r"\s*<(old_string|new_string|old_str|new_str|old|new|search|replace|code)>\n?"
    r"(?P<text>.*)</\1>\s*",
    re.DOTALL,
)
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "&": "&amp;"}
_OTHER_ENTITIES: Final = (("&apos;", "'"), ("&#x27;", "'"), ("&#34;", '"'), ("&nbsp;", " "))


def find_repairs(old: str, new: str) -> Iterator[list[Repair]]:
    """Yield the possible originals of a pair: with one error undone, then with two."""
    first = list(_once(Repair(old, new)))
    yield first
    seen = {(one.old, one.new) for one in first} | {(old, new)}
    second: list[Repair] = []
    for repair in first:
        for twice in _once(repair):
            if (twice.old, twice.new) not in seen:
                seen.add((twice.old, twice.new))
                second.append(twice)
    yield second


def _once(pair: Repair) -> Iterator[Repair]:
    for undo in _UNDO:
        for repair in undo(pair.old, pair.new):
            if repair.old.strip() and (repair.old, repair.new) != (pair.old, pair.new):
                how = f"{pair.how} and {repair.how}" if pair.how else repair.how
                line, there = repair.line or pair.line, repair.there or pair.there
                whole = repair.whole or pair.whole
                yield Repair(repair.old, repair.new, how, line, there, whole)


def _fenced(old: str, new: str) -> Iterator[Repair]:
    inner = _without_fence(old)
    if inner is not None:
        outer = _without_fence(new)
        if outer is None and new.endswith("\n"):
            # The last line of the old text is ended too, before the fence.
            inner += "\n"
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
    before, after = _TAGGED.fullmatch(old), _TAGGED.fullmatch(new)
    if before and after:
        yield Repair(before["text"], after["text"], "tags around it")
    for mark in "\"'`":
        # Whole lines only: inside a line the quotes tell a string from a name.
        if _quoted(mark, old) and _quoted(mark, new):
            yield Repair(old[1:-1], new[1:-1], "quotes around it", whole=True)


def _quoted(mark: str, text: str) -> bool:
    return len(text) > 2 and text[0] == text[-1] == mark and mark not in text[1:-1]


def _carriage_returns(old: str, new: str) -> Iterator[Repair]:
    if "\r" in old.rstrip("\r\n") and "\n" not in old:
        yield Repair(old.replace("\r", "\n"), new.replace("\r", "\n"), "carriage returns")


_NUMBERED: Final = (
    re.compile(r"[ \t]*(\d+)\t"),
    re.compile(r"[ \t]*(\d+)[ \t]*→"),
    re.compile(r"[ \t]*L?(\d+)[ \t]?[|│][ ]"),
    re.compile(r"[ \t]*L?(\d+)[ \t]?[|│]"),
    re.compile(r"[ \t]*(?:L|[Ll]ine )?(\d+):[ ]"),
    re.compile(r"[ \t]*(?:L|[Ll]ine )?(\d+):"),
    re.compile(r"[ \t]*\[(\d+)\][ ]?"),
)
# The mark is weak evidence, so the numbers must be those of these very lines.
_BARELY_NUMBERED: Final = (
    re.compile(r"[ \t]*(\d+)-"),
    re.compile(r"[ \t]*\(?#?(\d+)[.)>][ ]"),
    re.compile(r"[ ]*(\d+)[ ]{2}"),
    re.compile(r"[ ]*(\d+)[ ]"),
)

_SHORT: Final = 3
_ANY_NUMBER: Final = re.compile(r"\s*[\[(#]*(?:L|[Ll]ine )?(\d+)\b")


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
    """Return the number of the first line, if every line has the number that follows from it."""
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
    found = style.match(line) or style.fullmatch(line + " ") or style.fullmatch(line + "\t")
    return int(found[1]) if found else None


def _bare(style: re.Pattern[str], line: str) -> str:
    found = style.match(line)
    if found:
        return line[found.end() :]
    return line if _number(style, line) is None else ""


def _new_without_numbers(
    style: re.Pattern[str], lines: list[str], old: list[str], first: int
) -> list[str] | None:
    """Return the new lines without numbers: all are numbered from the same line on, or only those
    that stay.
    """
    numbers = [_number(style, line) for line in lines if line.strip()]
    counted = [number for number in numbers if number is not None]
    if len(counted) == len(numbers) and numbers and _go_on(counted, first):
        return [_bare(style, line) for line in lines]
    old_lines = set(old)
    margins = _margins(style, old)
    lines = [_without_margin(line, margins) for line in lines]
    rest = [line for line in lines if line not in old_lines and line.strip()]
    if any(_is_beside_margin(line, margins) for line in rest):
        return None
    if any(style.match(line) for line in rest) and len(rest) < len(numbers):
        return None
    other_numbers = [int(match[1]) for line in rest if (match := _ANY_NUMBER.match(line))]
    if other_numbers and len(other_numbers) == len(rest) and _go_on(other_numbers, first):
        # Numbered too, but in another style.
        return None
    return [_bare(style, line) if line in old_lines else line for line in lines]


def _margins(style: re.Pattern[str], lines: list[str]) -> set[str]:
    """Return what is before the text of numbered lines, with blanks for the number."""
    found = [style.match(line) for line in lines]
    margins = {re.sub(r"\d", " ", one[0]) for one in found if one}
    return {margin for margin in margins if margin.strip(" ")}


def _without_margin(line: str, margins: set[str]) -> str:
    """Return a line without the empty place for its number."""
    return next((line[len(one) :] for one in margins if line.startswith(one)), line)


def _is_beside_margin(line: str, margins: set[str]) -> bool:
    """Whether something else is in the place of the number, such as `+` or `1a`."""
    for margin in margins:
        mark = margin.lstrip(" ")
        width = len(margin) - len(mark)
        place = line[:width]
        if line.startswith(mark, width) and place.strip() and len(place.split()[-1]) <= _SHORT:
            return place.lstrip() != place
    return False


def _go_on(numbers: list[int], first: int) -> bool:
    steps = [after - before for before, after in pairwise(numbers)]
    return first <= numbers[0] <= first + 1 and all(0 <= step <= 2 for step in steps)


def _entities(old: str, new: str) -> Iterator[Repair]:
    kinds = [char for char, entity in _ENTITIES.items() if entity in old]
    has_other = any(entity in old for entity, _ in _OTHER_ENTITIES)
    if kinds or has_other:
        # A character that is not escaped in the old text is not escaped in the new text either.
        chars = [char for char in _ENTITIES if char in kinds or char not in old]
        yield Repair(_decoded(old, chars), _decoded(new, chars), "HTML entities")


def _decoded(text: str, chars: list[str]) -> str:
    for entity, char in _OTHER_ENTITIES:
        if char in chars or char == " ":
            text = text.replace(entity, char)
    # The ampersand last, so that an escaped entity loses only one level.
    for char in chars:
        text = text.replace(_ENTITIES[char], char)
    return text


_WIDE_SPACES: Final = dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000"), " ")


def _spaced(old: str, new: str) -> Iterator[Repair]:
    """Every space came as a no-break or a wide one; if the new text has some of both, they are
    meant as they are on lines that are new.
    """
    plain = old.translate(_WIDE_SPACES)
    if plain != old and " " not in old:
        known = set(old.split("\n")) if " " in new else set(new.split("\n"))
        fresh = [
            line.translate(_WIDE_SPACES) if line in known else line for line in new.split("\n")
        ]
        yield Repair(plain, "\n".join(fresh), "no-break spaces")


def _diffed(old: str, new: str) -> Iterator[Repair]:
    before, after = old.split("\n"), new.split("\n")
    marks = _marks(before, "-") | _marks(after, "+")
    if marks <= {" ", "-", "+"} and marks & {"-", "+"}:
        yield Repair(_unmarked(before), _unmarked(after), "diff marks")


def _marks(lines: list[str], sign: str) -> set[str]:
    """Return the characters at the start of the lines; `sign` is the mark of this side, any other
    counts as none.
    """
    firsts = {line[0] for line in lines if line.strip()}
    return {first if first in (" ", sign) else "?" for first in firsts}


def _unmarked(lines: list[str]) -> str:
    return "\n".join([line[1:] if line.strip() else line for line in lines])


_UNDO: Final[tuple[Callable[[str, str], Iterator[Repair]], ...]] = (
    _fenced,
    _wrapped,
    _carriage_returns,
    _numbered,
    repair_escaped_lines,
    repair_escaped_tabs,
    repair_escaped_quotes,
    repair_escaped_letters,
    _spaced,
    _entities,
    _diffed,
    repair_lost_escapes,
)
