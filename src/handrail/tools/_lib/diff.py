"""Unified diffs for people and models, at a cost that follows the change, not the file.

Only for looking at: lines are cut, long diffs end early and say so; nothing is applied
from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final, NamedTuple

from handrail.tools._lib.lines import clip, counted

CONTEXT: Final = 3
MAX_SHOWN: Final = 400
_MAX_WIDTH: Final = 500
# SequenceMatcher is quadratic; beyond this a change is shown as one block.
_MAX_PAIRS: Final = 250_000


class Hunk(NamedTuple):
    """Neighbouring lines before and after; line numbers are 1-based."""

    before: Sequence[str]
    after: Sequence[str]
    first_before: int = 1
    first_after: int = 1


def render_diff(path: str, hunks: Sequence[Hunk], *, created: bool = False) -> str:
    """The unified diff of a file; lines keep their endings in `hunks`. Empty if nothing changed."""
    body = [line for hunk in hunks for line in _unified(hunk)]
    if not body:
        return ""
    shown = body[:MAX_SHOWN]
    if len(body) > MAX_SHOWN:
        shown.append(f"[{counted(len(body) - MAX_SHOWN, 'more diff line')}]")
    before = "/dev/null" if created else f"a/{path}"
    return "\n".join([f"--- {before}", f"+++ b/{path}", *shown])


def split_lines(text: str) -> list[str]:
    """Lines with their endings; unlike with `splitlines`, only a line feed ends a line."""
    lines = text.split("\n")
    rest = lines.pop()
    return [line + "\n" for line in lines] + ([rest] if rest else [])


class _Span(NamedTuple):
    """Lines `a0:a1` before became lines `b0:b1` after."""

    a0: int
    a1: int
    b0: int
    b1: int


def _unified(hunk: Hunk) -> Iterator[str]:
    for spans in _grouped(_changed(hunk.before, hunk.after)):
        a0 = max(spans[0].a0 - CONTEXT, 0)
        b0 = spans[0].b0 - (spans[0].a0 - a0)
        a1 = min(spans[-1].a1 + CONTEXT, len(hunk.before))
        b1 = spans[-1].b1 + (a1 - spans[-1].a1)
        before = _range(hunk.first_before + a0, a1 - a0)
        yield f"@@ -{before} +{_range(hunk.first_after + b0, b1 - b0)} @@"
        yield from _body(hunk, spans, a0, a1)


def _body(hunk: Hunk, spans: Sequence[_Span], a0: int, a1: int) -> Iterator[str]:
    at = a0
    for span in spans:
        yield from _marked(" ", hunk.before[at : span.a0])
        yield from _marked("-", hunk.before[span.a0 : span.a1])
        yield from _marked("+", hunk.after[span.b0 : span.b1])
        at = span.a1
    yield from _marked(" ", hunk.before[at:a1])


def _marked(sign: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield sign + clip(line.rstrip("\r\n"), _MAX_WIDTH)
        if not line.endswith(("\n", "\r")):
            yield "\\ No newline at end of file"


def _range(first: int, count: int) -> str:
    if count == 1:
        return str(first)
    return f"{first if count else first - 1},{count}"


def _changed(before: Sequence[str], after: Sequence[str]) -> list[_Span]:
    head = _common(before, after)
    tail = min(_common(before[::-1], after[::-1]), len(before) - head, len(after) - head)
    old = before[head : len(before) - tail]
    new = after[head : len(after) - tail]
    if not old and not new:
        return []
    if not old or not new or len(old) * len(new) > _MAX_PAIRS:
        return [_Span(head, head + len(old), head, head + len(new))]
    return [
        _Span(head + a0, head + a1, head + b0, head + b1)
        for tag, a0, a1, b0, b1 in SequenceMatcher(None, old, new).get_opcodes()
        if tag != "equal"
    ]


def _common(one: Sequence[str], two: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))


def _grouped(spans: Sequence[_Span]) -> Iterator[list[_Span]]:
    group: list[_Span] = []
    for span in spans:
        if group and span.a0 - group[-1].a1 > 2 * CONTEXT:
            yield group
            group = []
        group.append(span)
    if group:
        yield group
