"""Undoes transcription errors in a pair: fences, line numbers, entities, marks, escapes.

Each repair needs evidence in the old text, and the repaired pair must then be found in the file
literally, blanks ignored. A new text that cannot be repaired with the same certainty is left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from handrail.tools._lib.matching.lines import shared_ends


class Repair(NamedTuple):
    """The pair without the error, and what the error was.

    `line` is the line that its numbers name; `there` requires a match at that line, because one or
    two numbers prove nothing.
    """

    old: str
    new: str
    how: str = ""
    line: int | None = None
    there: bool = False


_HOW: Final = "one level of escaping"
_JSON: Final = re.compile(r'\\(["\\/nrtbf]|u[0-9a-fA-F]{4})')
_MEANT: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_LEADING_TABS: Final = re.compile(r"^(?:\\t)+", re.MULTILINE)
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|' + r"(?<!\w)'(?:[^'\\\n]|\\.)*'")


def repair_escaped_lines(old: str, new: str) -> Iterator[Repair]:
    """Yield the pair with line feeds for a backslash and an n; only if it has no real line feed."""
    if "\n" in old or "\\n" not in old:
        return
    fresh = _one_level(new) if _is_json(old) and _is_json(new) and "\n" not in new else None
    if fresh is not None:
        yield Repair(_one_level(old), fresh, _HOW)
    for split in (_everywhere, _outside_strings):
        lines = split(old)
        repaired = split(new) if "\n" not in new else new
        if _certain(repaired, new, lines):
            yield Repair(lines, repaired, "escaped line feeds")


def repair_escaped_tabs(old: str, new: str) -> Iterator[Repair]:
    """Yield the pair with tabs for a backslash and a t, at the start of lines or everywhere; only
    if it has no real tab. Elsewhere in the new text they may be the escape of a string.
    """
    if "\t" in old or "\\t" not in old:
        return
    lines, repaired = _leading_tabs(old), _leading_tabs(new)
    if lines != old:
        yield Repair(lines, new if "\t" in new else repaired, "escaped tabs")
    if "\\t" in lines and ("\t" in new or _same_escapes(lines, new if lines == old else repaired)):
        repaired = new if "\t" in new else new.replace("\\t", "\t")
        yield Repair(old.replace("\\t", "\t"), repaired, "escaped tabs")


def _leading_tabs(text: str) -> str:
    return _LEADING_TABS.sub(_tabs, text)


def _same_escapes(old: str, new: str) -> bool:
    """Return whether each new line shares its escaped tabs with an end of an old line."""
    before = [line.lstrip("\t") for line in old.split("\n")]
    after = [line.lstrip("\t") for line in new.split("\n") if "\\t" in line]
    return all(any("\\t" not in _different(text, line) for text in before) for line in after)


def _different(old: str, new: str) -> str:
    """The part of the new line between the ends shared with the old line; escapes stay whole."""
    head, rest = shared_ends(old, new)
    tail = len(new) - rest
    return new[head - new[:head].endswith("\\") : tail + new[tail:].startswith("t")]


def repair_escaped_quotes(old: str, new: str) -> Iterator[Repair]:
    """Yield the pair with quotes unescaped if all are escaped, and backslashes halved if all are
    doubled.
    """
    marks = [mark for mark in "\"'`" if _all_escaped(mark, old)]
    if marks:
        fresh = _unescaped_new(marks, old, new)
        if fresh is not None:
            yield Repair(_unescaped(marks, old), fresh, "escaped quotes")
    if "\\\\" in old and _doubled(old) and _doubled(new):
        yield Repair(_halved(old), _halved(new), _HOW)


def repair_lost_escapes(old: str, new: str) -> Iterator[Repair]:
    r"""Yield the pair with `\n` for a line feed inside a string, or with doubled backslashes."""
    if "\n" in old:
        before, after = _rejoined(old), _rejoined(new)
        if before is not None and after is not None and before != old:
            yield Repair(before, after, "line feeds inside strings")
    if "\\" in old and "\\\\" not in old:
        old_lines = set(old.split("\n"))
        if all(line in old_lines or "\\" not in line for line in new.split("\n")):
            yield Repair(old.replace("\\", "\\\\"), new.replace("\\", "\\\\"), "lost backslashes")


def _is_json(text: str) -> bool:
    return '"' not in re.sub(r"\\.", "", text, flags=re.DOTALL)


def _one_level(text: str) -> str:
    return _JSON.sub(_meaning, text)


def _meaning(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if code[0] == "u" else _MEANT.get(code, code)


def _everywhere(text: str) -> str:
    return _leading_tabs(text.replace("\\r\\n", "\n").replace("\\n", "\n"))


def _tabs(match: re.Match[str]) -> str:
    return "\t" * (len(match[0]) // 2)


def _outside_strings(text: str) -> str:
    parts: list[str] = []
    at = 0
    for string in _STRING.finditer(text):
        parts += (text[at : string.start()].replace("\\n", "\n"), string[0])
        at = string.end()
    return "".join([*parts, text[at:].replace("\\n", "\n")])


def _certain(repaired: str, new: str, old: str) -> bool:
    if "\n" in new or _everywhere(new) == _outside_strings(new):
        return True
    # Both readings agree on every line that is not in the old text.
    old_lines = set(old.split("\n"))
    return all(line in old_lines or _balanced(line) for line in repaired.split("\n"))


def _balanced(line: str) -> bool:
    return "\\n" not in line and line.count('"') % 2 == 0 and line.count("'") % 2 == 0


def _all_escaped(mark: str, text: str) -> bool:
    return mark in text and text.count(mark) == text.count("\\" + mark)


def _unescaped(marks: list[str], text: str) -> str:
    for mark in marks:
        text = text.replace("\\" + mark, mark)
    return text


def _unescaped_new(marks: list[str], old: str, new: str) -> str | None:
    old_lines = set(old.split("\n"))
    lines: list[str] = []
    for line in new.split("\n"):
        bare = [mark for mark in marks if mark in line and not _all_escaped(mark, line)]
        escaped = [mark for mark in marks if _all_escaped(mark, line)]
        if bare and escaped and line not in old_lines:
            return None
        lines.append(line if bare and line not in old_lines else _unescaped(marks, line))
    return "\n".join(lines)


def _doubled(text: str) -> bool:
    runs = re.findall(r"(?<!\\)\\+(?![\\\"'`])", text)
    return all(len(run) % 2 == 0 for run in runs)


def _halved(text: str) -> str:
    return re.sub(r"\\([\\\"'`])", r"\1", text)


def _rejoined(text: str) -> str | None:
    """Join lines that end inside a string with the next line; None if a string is never closed."""
    joined: list[str] = []
    pending = ""
    for line in text.split("\n"):
        candidate = f"{pending}\\n{line}" if pending else line
        pending = candidate if _open_string(candidate) else ""
        if not pending:
            joined.append(candidate)
    return None if pending else "\n".join(joined)


def _open_string(line: str) -> bool:
    rest = _STRING.sub("", line)
    return rest.count('"') % 2 == 1 and '"""' not in line


_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[\w+#.-]*[ \t]*")
_CDATA: Final = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
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
    # The blank after the mark is often lost on an empty line.
    match = style.match(line) or style.fullmatch(line + " ")
    return int(match[1]) if match else None


def _bare(style: re.Pattern[str], line: str) -> str:
    match = style.match(line)
    if match:
        return line[match.end() :]
    return "" if style.fullmatch(line + " ") else line


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
    rest = [line for line in lines if line not in old_lines and line.strip()]
    if any(style.match(line) for line in rest) and len(rest) < len(numbers):
        return None
    other_numbers = [int(match[1]) for line in rest if (match := _ANY_NUMBER.match(line))]
    if other_numbers and len(other_numbers) == len(rest) and _go_on(other_numbers, first):
        # Numbered too, but in another style.
        return None
    return [_bare(style, line) if line in old_lines else line for line in lines]


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
    """Yield the pair with plain spaces, if every space is a no-break or wide one; if the new text
    has both kinds, they are intended.
    """
    plain = old.translate(_WIDE_SPACES)
    if plain != old and " " not in old:
        yield Repair(plain, new if " " in new else new.translate(_WIDE_SPACES), "no-break spaces")


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
    _numbered,
    repair_escaped_lines,
    repair_escaped_tabs,
    repair_escaped_quotes,
    _spaced,
    _entities,
    _diffed,
    repair_lost_escapes,
)
