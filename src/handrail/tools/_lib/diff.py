"""Unified diffs for users and models, at a cost that depends on the change, not on the file.

Only for display: lines are cut, and a long diff ends with the number of lines that are not shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import Final, NamedTuple

from handrail.core.places import Place, shown
from handrail.core.plan import Change, Plan
from handrail.core.text.content import Content
from handrail.core.text.encoding import UTF8
from handrail.tools._lib.byte_text import ByteText, Splice
from handrail.tools._lib.tool_base import clip, format_count, number_lines

_MAX_BYTES: Final = 2_000_000
_MAX_LINES: Final = 12
_MAX_REPEATS: Final = 50
_MAX_COMPARED: Final = 3_000
_ALIKE: Final = 0.6
_WIDTH: Final = 300

CONTEXT: Final = 3
MAX_SHOWN: Final = 400
_MAX_WIDTH: Final = 500
# SequenceMatcher is quadratic; beyond this a change is shown as one block.
_MAX_PAIRS: Final = 250_000
_STRIDE: Final = 1_000
# A line longer than this is shown only around the change.
_LONG: Final = 1_000
_AROUND: Final = 200


class DiffHunk(NamedTuple):
    """Neighbouring lines before and after; line numbers are 1-based."""

    before: Sequence[str]
    after: Sequence[str]
    first_before: int = 1
    first_after: int = 1


def render_diff(path: str, hunks: Sequence[DiffHunk], *, created: bool = False) -> str:
    """The unified diff of a file; lines keep their endings in `hunks`. Empty if nothing changed."""
    body = (line for hunk in hunks for line in _unified(hunk))
    lines = [_format_line(*line) for line in islice(body, MAX_SHOWN)]
    return _add_header(path, lines, sum(1 for _ in body), created=created) if lines else ""


def render_creation(path: str, text: str) -> str:
    """Return the unified diff of a new file; reads no more of the text than is shown."""
    if not text:
        return ""
    total = count_lines(text)
    head = split_lines(text, MAX_SHOWN - 1)
    body = [_DiffLine("", f"@@ -0,0 +{_range(1, total)} @@"), *_signed("+", head)]
    unended = not text.endswith(("\n", "\r"))
    omitted = 1 + total + unended - MAX_SHOWN
    return _add_header(
        path, [_format_line(*line) for line in body[:MAX_SHOWN]], omitted, created=True
    )


def _add_header(path: str, lines: list[str], omitted: int, *, created: bool) -> str:
    if omitted > 0:
        lines.append(f"[{format_count(omitted, 'more diff line')}]")
    before = "/dev/null" if created else shown(f"a/{path}")
    return "\n".join([f"--- {before}", f"+++ {shown(f'b/{path}')}", *lines])


def split_lines(text: str, most: int = -1) -> list[str]:
    """Split text into lines with their endings; unlike `splitlines`, only a line feed ends a line.

    With `most`, return at most that many lines.
    """
    lines = text.split("\n", most)
    rest = lines.pop()
    complete = [line + "\n" for line in lines]
    return complete if not rest or len(complete) == most else [*complete, rest]


def count_lines(text: str) -> int:
    """Return how many lines `split_lines` makes of a text."""
    return text.count("\n") + (not text.endswith("\n") and bool(text))


class _DiffLine(NamedTuple):
    sign: str
    text: str


_UNENDED: Final = _DiffLine("", "\\ No newline at end of file")


class Span(NamedTuple):
    """Lines `a0:a1` before became lines `b0:b1` after."""

    a0: int
    a1: int
    b0: int
    b1: int


def _unified(hunk: DiffHunk) -> Iterator[_DiffLine]:
    for spans in _group_spans(changed_spans(hunk.before, hunk.after)):
        a0 = max(spans[0].a0 - CONTEXT, 0)
        b0 = spans[0].b0 - (spans[0].a0 - a0)
        a1 = min(spans[-1].a1 + CONTEXT, len(hunk.before))
        b1 = spans[-1].b1 + (a1 - spans[-1].a1)
        before = _range(hunk.first_before + a0, a1 - a0)
        yield _DiffLine("", f"@@ -{before} +{_range(hunk.first_after + b0, b1 - b0)} @@")
        yield from _body(hunk, spans, a0, a1)


def _body(hunk: DiffHunk, spans: Sequence[Span], a0: int, a1: int) -> Iterator[_DiffLine]:
    at = a0
    for span in spans:
        yield from _signed(" ", hunk.before[at : span.a0])
        yield from _signed("-", hunk.before[span.a0 : span.a1])
        yield from _signed("+", hunk.after[span.b0 : span.b1])
        at = span.a1
    yield from _signed(" ", hunk.before[at:a1])


def _signed(sign: str, lines: Sequence[str]) -> Iterator[_DiffLine]:
    for line in lines:
        yield _DiffLine(sign, line)
        if not line.endswith(("\n", "\r")):
            yield _UNENDED


def _format_line(sign: str, text: str) -> str:
    # Called only for lines that are shown: a long diff has many more.
    return sign + clip(text.rstrip("\r\n"), _MAX_WIDTH).replace("\0", "\\x00")


def _range(first: int, count: int) -> str:
    if count == 1:
        return str(first)
    return f"{first if count else first - 1},{count}"


def changed_spans(before: Sequence[str], after: Sequence[str]) -> list[Span]:
    """Return the ranges of lines in which two texts differ; a single range for long texts."""
    head = _common(before, after)
    tail = min(_common(before[::-1], after[::-1]), len(before) - head, len(after) - head)
    old = before[head : len(before) - tail]
    new = after[head : len(after) - tail]
    if not old and not new:
        return []
    # Without a common line there is nothing to align.
    if len(old) * len(new) > _MAX_PAIRS or set(old).isdisjoint(new):
        return [Span(head, head + len(old), head, head + len(new))]
    return [
        Span(head + a0, head + a1, head + b0, head + b1)
        for tag, a0, a1, b0, b1 in SequenceMatcher(None, old, new).get_opcodes()
        if tag != "equal"
    ]


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    at, most = 0, min(len(first), len(second))
    while at < most and first[at : at + _STRIDE] == second[at : at + _STRIDE]:
        at += _STRIDE
    while at < most and first[at] == second[at]:
        at += 1
    return min(at, most)


def _group_spans(spans: Sequence[Span]) -> Iterator[list[Span]]:
    group: list[Span] = []
    for span in spans:
        if group and span.a0 - group[-1].a1 > 2 * CONTEXT:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def make_hunks(file: ByteText, splices: Sequence[Splice], line: int) -> list[DiffHunk]:
    """Return what the first few hundred splices change, with context lines.

    `line` is the number of the line in which the first splice begins.
    """
    hunks: list[DiffHunk] = []
    grown = counted_to = 0
    for group, low, high in _blocks(file, splices[:MAX_SHOWN]):
        if hunks:
            line += file.lines_between(counted_to, low.at)
        else:
            line -= file.lines_between(low.at, group[0].start)
        counted_to = low.at
        before = _shown_lines(file, file.data[low.at : high.at], low, high)
        after = _shown_lines(file, _after(file.data, group, low.at, high.at), low, high)
        hunks.append(DiffHunk(before, after, line, line + grown))
        grown += len(after) - len(before)
    return hunks


class _Edge(NamedTuple):
    at: int
    clipped: bool


_Block = tuple[list[Splice], _Edge, _Edge]


def _blocks(file: ByteText, splices: Sequence[Splice]) -> list[_Block]:
    blocks: list[_Block] = []
    for splice in splices:
        low, high = _upper_edge(file, splice.start), _lower_edge(file, splice.end)
        if blocks and low.at < blocks[-1][2].at:
            group, first, _ = blocks[-1]
            group.append(splice)
            blocks[-1] = (group, first, high)
        else:
            blocks.append(([splice], low, high))
    return blocks


def _upper_edge(file: ByteText, position: int) -> _Edge:
    start = file.line_start(position, position - _LONG)
    if start is None:
        cut = position - _AROUND
        return _Edge(cut - cut % file.width, clipped=True)
    for _ in range(CONTEXT):
        above = file.line_start(start - file.width, start - _LONG) if start else None
        if above is None:
            break
        start = above
    return _Edge(start, clipped=False)


def _lower_edge(file: ByteText, position: int) -> _Edge:
    if position >= file.width and file.data.startswith(file.lf, position - file.width):
        end: int | None = position
    else:
        end = file.line_end(position, position + _LONG)
    if end is None:
        cut = position + _AROUND
        return _Edge(cut - cut % file.width, clipped=True)
    for _ in range(CONTEXT):
        below = file.line_end(end, end + _LONG)
        if below is None:
            break
        end = below
    return _Edge(end, clipped=False)


def _after(data: bytes, group: Sequence[Splice], low: int, high: int) -> bytes:
    parts: list[bytes] = []
    at = low
    for splice in group:
        parts += (data[at : splice.start], splice.new)
        at = splice.end
    return b"".join([*parts, data[at:high]])


def _shown_lines(file: ByteText, data: bytes, low: _Edge, high: _Edge) -> list[str]:
    text = file.shown(data)
    if low.clipped:
        text = "…" + text
    if high.clipped:
        text += "…\n"
    return split_lines(text)


def plan_creation(place: Place, text: str) -> Plan:
    """Plan a new UTF-8 file with exactly this text; missing parent directories are created."""
    content = Content(UTF8.encode(text))
    lines = count_lines(text)
    size = f"{format_count(lines, 'line')}, {format_count(len(content), 'byte')}"
    return Plan(
        changes=(Change(place, None, content),),
        text=f"created {place.shown} ({size})",
        preview=render_creation(place.path, text),
        data={"path": place.path, "created": True, "lines": lines, "bytes": len(content)},
    )


def nearest_lines(file: ByteText, text: str) -> str | None:
    """Return the most similar lines with their numbers; None if no line is similar."""
    lines = _lines(file.shown(file.data[:_MAX_BYTES]))
    needle_lines = _lines(text.strip("\r\n"))
    start = _start_by_votes(lines, needle_lines)
    if start is None:
        start = _start_by_similarity(lines, needle_lines)
    if start is None:
        return None
    count = min(len(needle_lines), _MAX_LINES)
    shown = [clip(line, _WIDTH) for line in lines[start : start + count]]
    return "\n".join(number_lines(shown, start + 1))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _start_by_votes(lines: Sequence[str], needle_lines: Sequence[str]) -> int | None:
    # Each line of the text that is in the file, blanks ignored, votes for a start of the text.
    places: dict[str, list[int]] = {}
    keys = {"".join(line.split()) for line in needle_lines} - {""}
    for number, line in enumerate(lines):
        key = "".join(line.split())
        if key in keys:
            places.setdefault(key, []).append(number)
    votes: Counter[int] = Counter()
    for index, line in enumerate(needle_lines):
        for number in places.get("".join(line.split()), ())[:_MAX_REPEATS]:
            votes[max(number - index, 0)] += 1
    return votes.most_common(1)[0][0] if votes else None


def _start_by_similarity(lines: Sequence[str], needle_lines: Sequence[str]) -> int | None:
    index, longest = max(enumerate(needle_lines), key=lambda pair: len(pair[1]))
    needle = longest.strip()[:_WIDTH]
    matcher = SequenceMatcher(autojunk=False, b=needle)
    best, start = _ALIKE, None
    for number, line in enumerate(lines[:_MAX_COMPARED]):
        matcher.set_seq1(line.strip()[:_WIDTH])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, start = ratio, max(number - index, 0)
    return start
