"""New lines keep the file's own characters wherever they only repeat the line they replace.

A call may write a line otherwise than the file: other quotes, dashes or blanks. What the old
and the new text of the call have in common was not meant to change, so it is taken from the
file; only the difference is taken from the call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Final, NamedTuple

from handrail.tools._lib.matching.keys import squeeze
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.reindent import Located

# A letter and its accents, in one or in several characters, are one sign.
_TOKEN: Final = re.compile(r"[\w\u0300-\u036f]+|\s+|.", re.DOTALL)
_SIGN: Final = re.compile(r".[\u0300-\u036f]*", re.DOTALL)
_ALIKE: Final = 0.6
# Every new line is compared with every line that goes.
_MOST_PAIRS: Final = 2_500


class Replaced(NamedTuple):
    """A line that goes: as the call has it, and as the file has it, both without indentation."""

    call: str
    file: str


def carry_over(file: FileLines, given: Sequence[Located]) -> list[str]:
    """The text of every operation; new lines with the file's characters where nothing changes.

    A new line that repeats a deleted one as a whole was moved or indented anew: it is the
    file's own line, with the indentation of the call. Blanks at its end stay if it was only
    moved.
    """
    moved: dict[str, list[_Moved]] = {}
    for one in given:
        if one.op.kind == "delete" and one.line is not None and one.op.text.strip():
            own = _Moved(_indent(one.op.text), file.texts[one.line].lstrip())
            moved.setdefault(one.op.text.strip(), []).append(own)
    texts: list[str] = []
    for one, gone in zip(given, _replaced_lines(file, given), strict=True):
        text = one.op.text
        if one.op.kind == "insert" and text.strip():
            indent = _indent(text)
            known = moved.get(text.strip())
            text = indent + (known.pop(0).at(text) if known else _best(text, gone, indent))
        texts.append(text)
    return texts


class _Moved(NamedTuple):
    """A deleted line: how far the call indents it, and the file's text of it."""

    indent: str
    text: str

    def at(self, new: str) -> str:
        """The file's text, where the call repeats it as `new`."""
        if _indent(new) == self.indent:
            return self.text
        return self.text.rstrip() + new[len(new.rstrip()) :]


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _replaced_lines(file: FileLines, given: Sequence[Located]) -> Iterator[Sequence[Replaced]]:
    """For each operation, the deleted lines since the last kept one that differ in the file."""
    gone: list[Replaced] = []
    for one in given:
        if one.op.kind == "keep":
            gone = []
        elif one.op.kind == "delete" and one.line is not None:
            pair = Replaced(one.op.text.strip(), file.texts[one.line].strip())
            if pair.call != pair.file and pair.call:
                gone.append(pair)
        yield gone


def _best(text: str, replaced: Sequence[Replaced], indent: str) -> str:
    """A new line without its indentation, after the line it replaces, if one is like it."""
    core = text[len(indent) :]
    tokens = _TOKEN.findall(core.rstrip())
    if not replaced or len(replaced) * len(tokens) > _MOST_PAIRS:
        return core
    matchers = [SequenceMatcher(None, _TOKEN.findall(one.call), tokens, False) for one in replaced]
    best = max(range(len(replaced)), key=lambda at: matchers[at].ratio())
    if matchers[best].ratio() < _ALIKE:
        return core
    made = merge_line(replaced[best], core.rstrip(), matchers[best])
    return made + core[len(core.rstrip()) :]


def merge_line(old: Replaced, new: str, matcher: SequenceMatcher[str]) -> str:
    """The new line with the file's characters for all tokens that the old line has too."""
    places = _places(old)
    if places is None:
        return new
    before, after = _TOKEN.findall(old.call), _TOKEN.findall(new)
    starts = list(accumulate([len(token) for token in before], initial=0))
    made: list[str] = []
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag != "equal":
            made += after[b0:b1]
            continue
        start = places[starts[a0]].after if before[a0].isspace() else places[starts[a0]].at
        end = places[starts[a1]]
        # A blank that only the file has belongs to the place, unless the call puts one there.
        keeps = before[a1 - 1].isspace() or not (_blank(before, a1) or _blank(after, b1))
        made.append(old.file[start : end.at if keeps else end.after])
    return "".join(made)


class _Position(NamedTuple):
    """Where a position of the call's line is in the file's line: behind the character before
    it, and at the character that follows, with blanks between them if the two differ.
    """

    after: int
    at: int


def _places(old: Replaced) -> list[_Position] | None:
    """For each position in the call's line, the one in the file's; None if they do not agree."""
    said = [(sign, squeeze(sign)) for sign in _SIGN.findall(old.call)]
    own = [(found, squeeze(found[0])) for found in _SIGN.finditer(old.file)]
    if "".join([key for _, key in said]) != "".join([key for _, key in own]):
        return None
    ends: dict[int, int] = {0: 0}
    begins: dict[int, int] = {}
    count = 0
    for found, key in own:
        if key:
            begins[count] = found.start()
            count += len(key)
            ends[count] = found.end()
    begins[count] = len(old.file)
    positions: list[_Position] = []
    count = 0
    for sign, key in [*said, ("x", "")]:
        # A sign that stands for several letters cannot be split.
        if count not in ends or count not in begins:
            return None
        positions += [_Position(ends[count], begins[count])] * len(sign)
        count += len(key)
    return positions


def _blank(tokens: Sequence[str], at: int) -> bool:
    return at < len(tokens) and tokens[at].isspace()
