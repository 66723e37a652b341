"""A block's operations carried out on the file's own lines, as bytes.

Kept lines are never written anew. New lines get the file's indentation and their neighbours'
endings; whether the file ends with a newline stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.matching.blocks import Block, Op
from handrail.tools._lib.matching.indents import Pair, Rule, indent_of, learn
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.place import Placement
from handrail.tools._lib.splice import Splice


def replay(
    file: FileLines,
    block: Block,
    placement: Placement,
    *,
    as_given: bool = False,
    final_newline: bool | None = None,
) -> tuple[Splice, ...]:
    """The splices that do what the block says; `no_match` if no indentation is certain.

    `as_given`: new lines are indented for the file already. `final_newline` sets whether the
    last line is ended, if the block changes it.
    """
    located = _located(block, placement)
    indented = _Indentation(file, [] if as_given else located)
    ranges = [
        _Range(first, end, tuple([indented.put(line) for line in new]))
        for first, end, new in _ranges(file, located, placement)
    ]
    ended = file.ended if final_newline is None else final_newline
    return tuple(_splices(file, ranges, ended=ended))


class _Line(NamedTuple):
    """An operation and the file's line it is about; None for new lines and missing blanks."""

    op: Op
    line: int | None


class _Range(NamedTuple):
    """The file's lines `first` up to `end` become `new`."""

    first: int
    end: int
    new: tuple[str, ...]


def _located(block: Block, placement: Placement) -> list[_Line]:
    lines = iter(placement.lines)
    return [_Line(op, None if op.kind == "insert" else next(lines)) for op in block.ops]


def _ranges(
    file: FileLines, located: Sequence[_Line], placement: Placement
) -> Iterator[tuple[int, int, list[_Line]]]:
    above: int | None = None
    gone: list[int] = []
    new: list[_Line] = []
    for one in located:
        if one.op.kind == "insert":
            new.append(one)
        elif one.line is not None and one.op.kind == "delete":
            gone.append(one.line)
        elif one.line is not None:
            yield from _run(file, gone, new, above, one.line)
            above, gone, new = one.line, [], []
    yield from _run(file, gone, new, above, None if above is not None else placement.first)


def _run(
    file: FileLines, gone: list[int], new: list[_Line], above: int | None, below: int | None
) -> Iterator[tuple[int, int, list[_Line]]]:
    if gone and len(gone) == len(new):
        # Line for line, so that blank lines nobody mentioned stay between them.
        yield from ((line, line + 1, [one]) for line, one in zip(gone, new, strict=True))
    elif gone:
        yield gone[0], gone[-1] + 1, new
    elif new:
        at = _between(file, new, above, below)
        yield at, at, new


def _between(file: FileLines, new: Sequence[_Line], above: int | None, below: int | None) -> int:
    if above is None:
        return below or 0
    if below is None or below == above + 1:
        return above + 1
    # Blank lines nobody mentioned: the new lines belong to whom they are indented like.
    depth = indent_of(next((one.op.text for one in new if one.op.text.strip()), ""))
    ups, downs = indent_of(file.texts[above]), indent_of(file.texts[below])
    return below if depth == downs and depth != ups else above + 1


class _Indentation:
    """Gives each new line the indentation that the file has where the call has its own."""

    def __init__(self, file: FileLines, located: Sequence[_Line]) -> None:
        self._pairs = [
            (one, Pair(indent_of(one.op.text), indent_of(file.texts[one.line])))
            for one in located
            if one.line is not None and one.op.text.strip()
        ]
        pairs = [pair for _, pair in self._pairs]
        self._rule: Rule | None = learn(pairs) if pairs else str
        self._table = _table(pairs)
        self._first: Pair | None = None
        self._first_new = next((one for one in located if one.op.kind != "delete"), None)
        if self._rule is None and not pairs[0].call and len(pairs) > 1:
            self._first = pairs[0]
            self._rule = learn(pairs[1:])
            self._table = _table(pairs[1:])

    def put(self, line: _Line) -> str:
        text = line.op.text
        if not text.strip():
            return text
        indent = indent_of(text)
        if line is self._first_new and self._first is not None and indent == self._first.call:
            return self._first.file + text.lstrip()
        own = self._table.get(indent)
        if own is None and self._rule is not None:
            own = self._rule(indent)
        if own is None:
            raise ProblemRaised(
                "no_match",
                f"the file is indented otherwise than the call, so where {text.strip()!r} "
                "belongs is not certain",
                hint="read the lines and give them with exactly the file's indentation",
            )
        return own + text[len(indent) :]


def _table(pairs: Sequence[Pair]) -> dict[str, str]:
    table: dict[str, str] = {}
    for call, own in pairs:
        if table.setdefault(call, own) != own:
            return {}
    return table


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
        body = body[: len(body) - len(_ending_of(file, body))]
    return start, body


def _ending_of(file: FileLines, body: bytes) -> bytes:
    for ending in file.file.endings:
        if body.endswith(ending):
            return ending
    return b""
