"""The operations of a block applied to the file's own lines, as bytes.

Kept lines are never written anew. New lines keep the file's characters where they repeat the line
they replace, and get the file's indentation and their neighbours' endings; whether the file ends with
a newline stays as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Final, NamedTuple

from handrail.tools._lib.byte_text import Splice
from handrail.tools._lib.matching.indentation import Indentation, LocatedLine, leading_blanks
from handrail.tools._lib.matching.lines import FileLines, LineBlock, LineOp
from handrail.tools._lib.matching.normalize import SpelledPair, respell, squeeze
from handrail.tools._lib.matching.placement import Placement

# A letter and its accents, in one or in several characters, are one sign.
_TOKEN: Final = re.compile(r"[\w\u0300-\u036f]+|\s+|.", re.DOTALL)
_SIGN: Final = re.compile(r".[\u0300-\u036f]*", re.DOTALL)
_ALIKE: Final = 0.6
# Every new line is compared with every line that goes.
_MOST_PAIRS: Final = 2_500


class ReplacedLine(NamedTuple):
    """A line that goes: as the call has it, and as the file has it, both without indentation."""

    call: str
    file: str


def carry_over(file: FileLines, given: Sequence[LocatedLine]) -> list[str]:
    """The text of every operation; new lines with the file's characters where nothing changes.

    A new line that repeats a deleted one as a whole was moved or indented anew: it is the
    file's own line, with the indentation of the call. Blanks at its end stay if it was only
    moved.
    """
    moved: dict[str, list[_MovedLines]] = {}
    for one in given:
        if one.op.kind == "delete" and one.line is not None and one.op.text.strip():
            own = _MovedLines(_indent(one.op.text), file.texts[one.line].lstrip())
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


class _MovedLines(NamedTuple):
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


def _replaced_lines(
    file: FileLines, given: Sequence[LocatedLine]
) -> Iterator[Sequence[ReplacedLine]]:
    """For each operation, the deleted lines since the last kept one that differ in the file."""
    gone: list[ReplacedLine] = []
    for one in given:
        if one.op.kind == "keep":
            gone = []
        elif one.op.kind == "delete" and one.line is not None:
            pair = ReplacedLine(one.op.text.strip(), file.texts[one.line].strip())
            if pair.call != pair.file and pair.call:
                gone.append(pair)
        yield gone


def _best(text: str, replaced: Sequence[ReplacedLine], indent: str) -> str:
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


def merge_line(old: ReplacedLine, new: str, matcher: SequenceMatcher[str]) -> str:
    """The new line with the file's characters for all tokens that the old line has too."""
    places = _places(old)
    if places is None:
        return new
    before, after = _TOKEN.findall(old.call), _TOKEN.findall(new)
    starts = list(accumulate([len(token) for token in before], initial=0))
    made: list[str] = []
    replaced = False
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag != "equal":
            made += after[b0:b1]
            replaced = tag == "replace"
            continue
        # A blank that only the file has behind replaced text stays, as the one before it does.
        spaced = before[a0].isspace() or (replaced and not _blank_ends(before, after, a0, b0))
        start = places[starts[a0]].after if spaced else places[starts[a0]].at
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


def _places(old: ReplacedLine) -> list[_Position] | None:
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


def _blank_ends(before: Sequence[str], after: Sequence[str], a0: int, b0: int) -> bool:
    return before[a0 - 1].isspace() or after[b0 - 1].isspace()


def _blank(tokens: Sequence[str], at: int) -> bool:
    return at < len(tokens) and tokens[at].isspace()


def replay_block(
    file: FileLines,
    block: LineBlock,
    placement: Placement,
    *,
    as_given: bool = False,
    final_newline: bool | None = None,
) -> tuple[Splice, ...]:
    """The splices that do what the block says; `no_match` if no indentation is certain.

    `as_given`: new lines are indented for the file already. `final_newline` sets whether the
    last line is ended, if the block changes it.
    """
    given = _located(block, placement)
    located = _respelled(file, given, carry_over(file, given))
    indentation = Indentation(file, [] if as_given else located)
    ranges = [
        _Range(run.first, run.end, tuple([indentation.put(new, run.near) for new in run.new]))
        for run in _runs(file, located, placement)
    ]
    ended = file.ended if final_newline is None else final_newline
    return tuple(_splices(file, ranges, ended=ended))


class _Range(NamedTuple):
    """The file's lines `first` up to `end` become `new`."""

    first: int
    end: int
    new: tuple[str, ...]


class _Run(NamedTuple):
    """New lines for the file's lines `first` up to `end`, and the old lines they are like."""

    first: int
    end: int
    new: Sequence[LocatedLine]
    near: Sequence[LocatedLine] = ()


def _located(block: LineBlock, placement: Placement) -> list[LocatedLine]:
    lines = iter(placement.lines)
    return [LocatedLine(op, None if op.kind == "insert" else next(lines)) for op in block.ops]


def _respelled(
    file: FileLines, located: Sequence[LocatedLine], texts: Sequence[str]
) -> list[LocatedLine]:
    known = [
        SpelledPair(one.op.text, file.texts[one.line]) for one in located if one.line is not None
    ]
    pairs = [pair for pair in zip(located, texts, strict=True) if pair[0].op.kind == "insert"]
    given = [one.op.text for one, _ in pairs]
    fresh = iter(respell([text for _, text in pairs], known, given))
    return [
        LocatedLine(LineOp("insert", next(fresh)), None) if one.op.kind == "insert" else one
        for one in located
    ]


def _runs(file: FileLines, located: Sequence[LocatedLine], placement: Placement) -> Iterator[_Run]:
    above: LocatedLine | None = None
    gone: list[LocatedLine] = []
    new: list[LocatedLine] = []
    for one in located:
        if one.op.kind == "insert":
            new.append(one)
        elif one.line is not None and one.op.kind == "delete":
            gone.append(one)
        elif one.line is not None:
            yield from _run(file, gone, new, above, one, placement)
            above, gone, new = one, [], []
    yield from _run(file, gone, new, above, None, placement)


def _run(
    file: FileLines,
    gone: list[LocatedLine],
    new: list[LocatedLine],
    above: LocatedLine | None,
    below: LocatedLine | None,
    placement: Placement,
) -> Iterator[_Run]:
    if gone and len(gone) == len(new):
        # Line for line, so that blank lines nobody mentioned stay between them.
        for old, one in zip(gone, new, strict=True):
            line = old.line or 0
            yield _Run(line, line + 1, [one], [old])
    elif gone:
        yield _Run(gone[0].line or 0, (gone[-1].line or 0) + 1, new)
    elif new:
        at = _between(file, new, above, below, placement)
        beside = [one for one in (above, below) if one is not None]
        # One line between two of the same depth has that depth; several may be nested.
        yield _Run(at, at, new, beside if len(new) == 1 and len(beside) > 1 else ())


def _between(
    file: FileLines,
    new: Sequence[LocatedLine],
    above: LocatedLine | None,
    below: LocatedLine | None,
    placement: Placement,
) -> int:
    if above is None or above.line is None:
        return placement.first if below is None or below.line is None else below.line
    if below is None or below.line is None or below.line == above.line + 1:
        return above.line + 1
    # Blank lines nobody mentioned: the new lines belong to whom they are indented like.
    depth = leading_blanks(next((one.op.text for one in new if one.op.text.strip()), ""))
    ups, downs = leading_blanks(above.op.text), leading_blanks(below.op.text)
    return below.line if depth == downs and depth != ups else above.line + 1


def _splices(file: FileLines, ranges: Sequence[_Range], *, ended: bool) -> Iterator[Splice]:
    for first, end, new in ranges:
        start, stop = file.starts[first], file.starts[end]
        own = [file.ending(line) for line in range(first, end)]
        body = _body(file, first, new, [one for one in own if one])
        if end == len(file):
            start, body = _last(file, first, new, body, ended=ended)
        yield Splice(start, stop, body)


def _body(file: FileLines, first: int, new: Sequence[str], own: Sequence[bytes]) -> bytes:
    endings = own or (file.ending_for(first),)
    encode = file.file.form.encode_part
    return b"".join(
        [encode(text) + endings[min(at, len(endings) - 1)] for at, text in enumerate(new)]
    )


def _last(
    file: FileLines, first: int, new: Sequence[str], body: bytes, *, ended: bool
) -> tuple[int, bytes]:
    start = file.starts[first]
    above = file.ending(first - 1) if first else b""
    if not new:
        return (start - len(above) if not ended else start), body
    if first and not above:
        body = file.ending_for(first) + body
    if not ended:
        body = body[: len(body) - len(_last_ending(file, body))]
    return start, body


def _last_ending(file: FileLines, body: bytes) -> bytes:
    for ending in file.file.endings:
        if body.endswith(ending):
            return ending
    return b""
