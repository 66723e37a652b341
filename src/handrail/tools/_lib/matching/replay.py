"""Applies the operations of a block to the lines of the file, as bytes.

Kept lines are never rewritten. New lines keep the file's characters where they repeat the line that
they replace, and get the file's indentation and their neighbours' endings; the newline at the end
of the file stays as it was.
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

# A letter and its combining accents are one sign.
_TOKEN: Final = re.compile(r"[\w\u0300-\u036f]+|\s+|.", re.DOTALL)
_SIGN: Final = re.compile(r".[\u0300-\u036f]*", re.DOTALL)
_ALIKE: Final = 0.6
# Every new line is compared with every deleted one.
_MOST_PAIRS: Final = 2_500


class ReplacedLine(NamedTuple):
    """A deleted line: as the call has it, and as the file has it, both without indentation."""

    call: str
    file: str


def carry_over(file: FileLines, lines: Sequence[LocatedLine]) -> list[str]:
    """Return the text of every operation; new lines with the file's characters where nothing
    changes.

    A new line that repeats a whole deleted line was moved or indented: it becomes the file's line
    with the indentation of the call. Its trailing blanks stay if it was only moved.
    """
    moved: dict[str, list[_MovedLine]] = {}
    for located in lines:
        if located.op.kind == "delete" and located.line is not None and located.op.text.strip():
            moved_line = _MovedLine(_indent(located.op.text), file.texts[located.line].lstrip())
            moved.setdefault(located.op.text.strip(), []).append(moved_line)
    texts: list[str] = []
    for located, replaced in zip(lines, _replaced_lines(file, lines), strict=True):
        text = located.op.text
        if located.op.kind == "insert" and text.strip():
            indent = _indent(text)
            same = moved.get(text.strip())
            text = indent + (
                same.pop(0).at(text) if same else _merge_with_most_similar(text, replaced, indent)
            )
        texts.append(text)
    return texts


class _MovedLine(NamedTuple):
    """A deleted line: its indentation in the call, and its text in the file."""

    indent: str
    text: str

    def at(self, new: str) -> str:
        """Return the text of the file where the call repeats it as `new`."""
        if _indent(new) == self.indent:
            return self.text
        return self.text.rstrip() + new[len(new.rstrip()) :]


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]


def _replaced_lines(
    file: FileLines, lines: Sequence[LocatedLine]
) -> Iterator[Sequence[ReplacedLine]]:
    """For each operation, yield the deleted lines since the last kept one that differ in the file."""
    replaced: list[ReplacedLine] = []
    for located in lines:
        if located.op.kind == "keep":
            replaced = []
        elif located.op.kind == "delete" and located.line is not None:
            pair = ReplacedLine(located.op.text.strip(), file.texts[located.line].strip())
            if pair.call != pair.file and pair.call:
                replaced.append(pair)
        yield replaced


def _merge_with_most_similar(text: str, replaced: Sequence[ReplacedLine], indent: str) -> str:
    """Return a new line without its indentation, merged with the most similar line that it
    replaces, if any.
    """
    core = text[len(indent) :]
    tokens = _TOKEN.findall(core.rstrip())
    if not replaced or len(replaced) * len(tokens) > _MOST_PAIRS:
        return core
    matchers = [
        SequenceMatcher(None, _TOKEN.findall(line.call), tokens, False) for line in replaced
    ]
    best = max(range(len(replaced)), key=lambda at: matchers[at].ratio())
    if matchers[best].ratio() < _ALIKE:
        return core
    merged = merge_line(replaced[best], core.rstrip(), matchers[best])
    return merged + core[len(core.rstrip()) :]


def merge_line(old: ReplacedLine, new: str, matcher: SequenceMatcher[str]) -> str:
    """Return the new line with the file's characters for all tokens that the old line has, too."""
    places = _places(old)
    if places is None:
        return new
    before, after = _TOKEN.findall(old.call), _TOKEN.findall(new)
    starts = list(accumulate([len(token) for token in before], initial=0))
    parts: list[str] = []
    replaced = False
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag != "equal":
            parts += after[b0:b1]
            replaced = tag == "replace"
            continue
        # A blank after replaced text that only the file has stays, like the one before it.
        spaced = before[a0].isspace() or (replaced and not _blank_ends(before, after, a0, b0))
        start = places[starts[a0]].after if spaced else places[starts[a0]].at
        end = places[starts[a1]]
        # A blank that only the file has stays, unless the call puts one there.
        keeps = before[a1 - 1].isspace() or not (_blank(before, a1) or _blank(after, b1))
        parts.append(old.file[start : end.at if keeps else end.after])
    return "".join(parts)


class _Position(NamedTuple):
    """A position of the call's line in the file's line: after the previous character, and at the
    next one, with blanks between them if the two differ.
    """

    after: int
    at: int


def _places(old: ReplacedLine) -> list[_Position] | None:
    """For each position in the call's line, return the one in the file's line; None if the lines do
    not agree.
    """
    call_signs = [(sign, squeeze(sign)) for sign in _SIGN.findall(old.call)]
    file_signs = [(match, squeeze(match[0])) for match in _SIGN.finditer(old.file)]
    if "".join([key for _, key in call_signs]) != "".join([key for _, key in file_signs]):
        return None
    ends: dict[int, int] = {0: 0}
    begins: dict[int, int] = {}
    count = 0
    for match, key in file_signs:
        if key:
            begins[count] = match.start()
            count += len(key)
            ends[count] = match.end()
    begins[count] = len(old.file)
    positions: list[_Position] = []
    count = 0
    for sign, key in [*call_signs, ("x", "")]:
        # A sign that replaces several letters cannot be split.
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
    """Return the splices that carry out the block; raises `no_match` if an indentation is not
    certain.

    `as_given`: new lines have the indentation of the file already. `final_newline` sets whether the
    last line is ended, if the block changes it.
    """
    original = _located(block, placement)
    located = _respelled(file, original, carry_over(file, original))
    indentation = Indentation(file, [] if as_given else located)
    ranges = [
        _Range(
            run.first, run.end, tuple([indentation.indent_line(new, run.near) for new in run.new])
        )
        for run in _runs(file, located, placement)
    ]
    ends_with_newline = file.ended if final_newline is None else final_newline
    return tuple(_splices(file, ranges, ends_with_newline=ends_with_newline))


class _Range(NamedTuple):
    """The file's lines `first` up to `end` become `new`."""

    first: int
    end: int
    new: tuple[str, ...]


class _Run(NamedTuple):
    """New lines for the file's lines `first` up to `end`, and the old lines that they resemble."""

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
        SpelledPair(line.op.text, file.texts[line.line])
        for line in located
        if line.line is not None
    ]
    pairs = [pair for pair in zip(located, texts, strict=True) if pair[0].op.kind == "insert"]
    originals = [line.op.text for line, _ in pairs]
    fresh = iter(respell([text for _, text in pairs], known, originals))
    return [
        LocatedLine(LineOp("insert", next(fresh)), None) if line.op.kind == "insert" else line
        for line in located
    ]


def _runs(file: FileLines, located: Sequence[LocatedLine], placement: Placement) -> Iterator[_Run]:
    above: LocatedLine | None = None
    deleted: list[LocatedLine] = []
    new: list[LocatedLine] = []
    for line in located:
        if line.op.kind == "insert":
            new.append(line)
        elif line.line is not None and line.op.kind == "delete":
            deleted.append(line)
        elif line.line is not None:
            yield from _run(file, deleted, new, above, line, placement)
            above, deleted, new = line, [], []
    yield from _run(file, deleted, new, above, None, placement)


def _run(
    file: FileLines,
    deleted: list[LocatedLine],
    new: list[LocatedLine],
    above: LocatedLine | None,
    below: LocatedLine | None,
    placement: Placement,
) -> Iterator[_Run]:
    if deleted and len(deleted) == len(new):
        # Line for line, so that blank lines that the call does not show stay between them.
        for old, new_line in zip(deleted, new, strict=True):
            line = old.line or 0
            yield _Run(line, line + 1, [new_line], [old])
    elif deleted:
        yield _Run(deleted[0].line or 0, (deleted[-1].line or 0) + 1, new)
    elif new:
        at = _between(file, new, above, below, placement)
        neighbours = [line for line in (above, below) if line is not None]
        # One line between two lines of the same depth has that depth; several may be nested.
        yield _Run(at, at, new, neighbours if len(new) == 1 and len(neighbours) > 1 else ())


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
    # Blank lines that the call does not show: new lines go next to the neighbour with the same
    # indentation.
    depth = leading_blanks(next((line.op.text for line in new if line.op.text.strip()), ""))
    ups, downs = leading_blanks(above.op.text), leading_blanks(below.op.text)
    return below.line if depth == downs and depth != ups else above.line + 1


def _splices(
    file: FileLines, ranges: Sequence[_Range], *, ends_with_newline: bool
) -> Iterator[Splice]:
    for first, end, new in ranges:
        start, stop = file.starts[first], file.starts[end]
        endings = [file.ending(line) for line in range(first, end)]
        body = _body(file, first, new, [ending for ending in endings if ending])
        if end == len(file):
            start, body = _end_of_file(file, first, new, body, ends_with_newline=ends_with_newline)
        yield Splice(start, stop, body)


def _body(
    file: FileLines, first: int, new: Sequence[str], replaced_endings: Sequence[bytes]
) -> bytes:
    endings = replaced_endings or (file.ending_for(first),)
    encode = file.file.form.encode_part
    return b"".join(
        [encode(text) + endings[min(at, len(endings) - 1)] for at, text in enumerate(new)]
    )


def _end_of_file(
    file: FileLines, first: int, new: Sequence[str], body: bytes, *, ends_with_newline: bool
) -> tuple[int, bytes]:
    start = file.starts[first]
    above = file.ending(first - 1) if first else b""
    if not new:
        return (start - len(above) if not ends_with_newline else start), body
    if first and not above:
        body = file.ending_for(first) + body
    if not ends_with_newline:
        body = body[: len(body) - len(_last_ending(file, body))]
    return start, body


def _last_ending(file: FileLines, body: bytes) -> bytes:
    for ending in file.file.endings:
        if body.endswith(ending):
            return ending
    return b""
