"""A block's operations carried out on the file's own lines, as bytes.

Kept lines are never written anew. New lines get the file's indentation and their neighbours'
endings; whether the file ends with a newline stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from handrail.tools._lib.matching.blocks import Block, Op
from handrail.tools._lib.matching.carryover import carry_over
from handrail.tools._lib.matching.indents import indent_of
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.place import Placement
from handrail.tools._lib.matching.reindent import Indentation, Located
from handrail.tools._lib.matching.spelling import Spelled, respell
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
    new: Sequence[Located]
    near: Sequence[Located] = ()


def _located(block: Block, placement: Placement) -> list[Located]:
    lines = iter(placement.lines)
    return [Located(op, None if op.kind == "insert" else next(lines)) for op in block.ops]


def _respelled(file: FileLines, located: Sequence[Located], texts: Sequence[str]) -> list[Located]:
    known = [Spelled(one.op.text, file.texts[one.line]) for one in located if one.line is not None]
    pairs = list(zip(located, texts, strict=True))
    fresh = iter(respell([text for one, text in pairs if one.op.kind == "insert"], known))
    return [
        Located(Op("insert", next(fresh)), None) if one.op.kind == "insert" else one
        for one in located
    ]


def _runs(file: FileLines, located: Sequence[Located], placement: Placement) -> Iterator[_Run]:
    above: Located | None = None
    gone: list[Located] = []
    new: list[Located] = []
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
    gone: list[Located],
    new: list[Located],
    above: Located | None,
    below: Located | None,
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
    new: Sequence[Located],
    above: Located | None,
    below: Located | None,
    placement: Placement,
) -> int:
    if above is None or above.line is None:
        return placement.first if below is None or below.line is None else below.line
    if below is None or below.line is None or below.line == above.line + 1:
        return above.line + 1
    # Blank lines nobody mentioned: the new lines belong to whom they are indented like.
    depth = indent_of(next((one.op.text for one in new if one.op.text.strip()), ""))
    ups, downs = indent_of(above.op.text), indent_of(below.op.text)
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
        body = body[: len(body) - len(_ending_of(file, body))]
    return start, body


def _ending_of(file: FileLines, body: bytes) -> bytes:
    for ending in file.file.endings:
        if body.endswith(ending):
            return ending
    return b""
