"""Undoes escapes in how a text was passed on: one level too many, or one too few.

Each repair needs evidence in the old text; `input_repairs` says what must hold for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from handrail.tools._lib.matching.lines import shared_ends


class Repair(NamedTuple):
    """The pair without the slip, and what the slip was.

    `line` is the line that its numbers speak of; `there` says that it must be found there,
    because a number or two prove nothing by themselves. `whole`: it must be whole lines.
    """

    old: str
    new: str
    how: str = ""
    line: int | None = None
    there: bool = False
    whole: bool = False


_HOW: Final = "one level of escaping"
_JSON: Final = re.compile(r'\\(["\\/nrtbf]|u[0-9a-fA-F]{4})')
_MEANT: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
# Letters beyond ASCII; what has a surrogate is not read.
_CODE: Final = re.compile(r"(?<!\\)\\u((?!00[0-7])(?![dD][89a-fA-F])[0-9a-fA-F]{4})")
# Signs that are escaped in Markdown, LaTeX or JSON, and mean nothing else in a pattern.
_ALSO_ESCAPED: Final = "/_#<>!&~"
_IN_PATTERNS: Final = "*[](){}|"
_VARIABLE: Final = re.compile(r"\$(?=[{(A-Za-z_])")
_LEADING_TABS: Final = re.compile(r"^(?:\\t)+", re.MULTILINE)
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|' + r"(?<!\w)'(?:[^'\\\n]|\\.)*'")


def repair_escaped_lines(old: str, new: str) -> Iterator[Repair]:
    r"""Line feeds that came as a backslash and an n; only if there is no real one."""
    if "\n" in old or "\\n" not in old:
        return
    fresh = _one_level(new) if _is_json(old) and _is_json(new) and "\n" not in new else None
    if fresh is not None:
        yield Repair(_one_level(old), fresh, _HOW)
        if '\\"' in new and all(map(_balanced, fresh.split("\n"))):
            # Every quote came escaped with the line feeds, so both are one level.
            return
    for split in (_everywhere, _outside_strings):
        lines = split(old)
        made = split(new) if "\n" not in new else new
        if _certain(made, new, lines):
            yield Repair(lines, made, "escaped line feeds")


def repair_escaped_tabs(old: str, new: str) -> Iterator[Repair]:
    r"""Tabs that came as a backslash and a t, in front of lines or everywhere; only if there is
    no real one. Elsewhere in the new text they may be the escape of a string.
    """
    if "\t" in old or "\\t" not in old:
        return
    lines, made = _leading_tabs(old), _leading_tabs(new)
    if lines != old:
        yield Repair(lines, new if "\t" in new else made, "escaped tabs")
    if "\\t" in lines and ("\t" in new or _same_escapes(lines, new if lines == old else made)):
        made = new if "\t" in new else new.replace("\\t", "\t")
        yield Repair(old.replace("\\t", "\t"), made, "escaped tabs")


def _leading_tabs(text: str) -> str:
    return _LEADING_TABS.sub(_tabs, text)


def _same_escapes(old: str, new: str) -> bool:
    """Whether all escaped tabs of each new line are in what it and an old line begin or end with."""
    before = [line.lstrip("\t") for line in old.split("\n")]
    after = [line.lstrip("\t") for line in new.split("\n") if "\\t" in line]
    return all(any("\\t" not in _different(one, line) for one in before) for line in after)


def _different(old: str, new: str) -> str:
    """The new line without what both begin and end with, but with an escape shared in half."""
    head, rest = shared_ends(old, new)
    tail = len(new) - rest
    return new[head - new[:head].endswith("\\") : tail + new[tail:].startswith("t")]


def repair_escaped_quotes(old: str, new: str) -> Iterator[Repair]:
    """Quotes that all have a backslash before them, and backslashes that are all doubled."""
    marks = [mark for mark in "\"'`" if _all_escaped(mark, old)]
    others = [mark for mark in _other_signs(old) if _all_escaped(mark, old)]
    for some, how in ((marks, "escaped quotes"), (marks + others, "escaped signs")):
        fresh = _unescaped_new(some, old, new) if some else None
        if fresh is not None and (some is marks or others):
            yield Repair(_unescaped(some, old), fresh, how)
    if "\\\\" in old and _doubled(old) and _doubled(new):
        yield Repair(_halved(old), _halved(new), _HOW)


def repair_escaped_letters(old: str, new: str) -> Iterator[Repair]:
    r"""Letters that came as `\u00e9`; all that the new text has must be in the old one too."""
    codes = set(_CODE.findall(old))
    if codes and codes >= set(_CODE.findall(new)):
        yield Repair(_CODE.sub(_letter, old), _CODE.sub(_letter, new), "escaped letters")


def _letter(found: re.Match[str]) -> str:
    return chr(int(found[1], 16))


def repair_lost_escapes(old: str, new: str) -> Iterator[Repair]:
    r"""A `\n` inside a string that came as a real line feed, or a single backslash for two."""
    if "\n" in old:
        before, after = _rejoined(old), _rejoined(new)
        if before is not None and after is not None and before != old:
            yield Repair(before, after, "line feeds inside strings")
    if "\\" in old and "\\\\" not in old:
        kept = set(old.split("\n"))
        if all(line in kept or "\\" not in line for line in new.split("\n")):
            yield Repair(old.replace("\\", "\\\\"), new.replace("\\", "\\\\"), "lost backslashes")


def _is_json(text: str) -> bool:
    return '"' not in re.sub(r"\\.", "", text, flags=re.DOTALL)


def _one_level(text: str) -> str:
    return _JSON.sub(_meaning, text)


def _meaning(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code[1:], 16)) if code[0] == "u" else _MEANT.get(code, code)


def _everywhere(text: str) -> str:
    return _leading_tabs(text.replace("\\r\\n", "\n").replace("\\n", "\n"))


def _tabs(found: re.Match[str]) -> str:
    return "\t" * (len(found[0]) // 2)


def _outside_strings(text: str) -> str:
    parts: list[str] = []
    at = 0
    for string in _STRING.finditer(text):
        parts += (text[at : string.start()].replace("\\n", "\n"), string[0])
        at = string.end()
    return "".join([*parts, text[at:].replace("\\n", "\n")])


def _certain(made: str, new: str, old: str) -> bool:
    if "\n" in new or _everywhere(new) == _outside_strings(new):
        return True
    # Both readings agree on every line that is not in the old text.
    kept = set(old.split("\n"))
    return all(line in kept or _balanced(line) for line in made.split("\n"))


def _balanced(line: str) -> bool:
    return "\\n" not in line and line.count('"') % 2 == 0 and line.count("'") % 2 == 0


def _other_signs(old: str) -> str:
    """The signs whose backslash is one too many, where they can be part of no pattern."""
    signs = _ALSO_ESCAPED
    if old.count("$") == len(_VARIABLE.findall(old)):
        signs += "$"
    return signs if any(mark in old for mark in "\"'/") else signs + _IN_PATTERNS


def _all_escaped(mark: str, text: str) -> bool:
    return mark in text and text.count(mark) == text.count("\\" + mark)


def _unescaped(marks: list[str], text: str) -> str:
    for mark in marks:
        text = text.replace("\\" + mark, mark)
    return text


def _unescaped_new(marks: list[str], old: str, new: str) -> str | None:
    kept = set(old.split("\n"))
    lines: list[str] = []
    for line in new.split("\n"):
        bare = [mark for mark in marks if mark in line and not _all_escaped(mark, line)]
        escaped = [mark for mark in marks if _all_escaped(mark, line)]
        if bare and escaped and line not in kept:
            return None
        lines.append(line if bare and line not in kept else _unescaped(marks, line))
    return "\n".join(lines)


def _doubled(text: str) -> bool:
    runs = re.findall(r"(?<!\\)\\+(?![\\\"'`])", text)
    return all(len(run) % 2 == 0 for run in runs)


def _halved(text: str) -> str:
    return re.sub(r"\\([\\\"'`])", r"\1", text)


def _rejoined(text: str) -> str | None:
    """Lines that end inside a string joined with the next; None if one is never closed."""
    done: list[str] = []
    held = ""
    for line in text.split("\n"):
        whole = f"{held}\\n{line}" if held else line
        held = whole if _open_string(whole) else ""
        if not held:
            done.append(whole)
    return None if held else "\n".join(done)


def _open_string(line: str) -> bool:
    rest = _STRING.sub("", line)
    return rest.count('"') % 2 == 1 and '"""' not in line
