"""Counts the lines that a change adds and removes, as a diff would show them, in bounded time."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from typing import Final

from handrail.core.plan import Change
from handrail.policy.guardrails.code_checks import changed_middle

# How often every line may be examined to find a short diff.
_LOOKS: Final = 40


def lines_changed(change: Change) -> int:
    """The number of lines that a change adds and removes."""
    old = b"" if change.before is None else change.before.tobytes()
    new = b"" if change.after is None else change.after.tobytes()
    before, after = changed_middle(old, new)
    return _differing(before.splitlines(keepends=True), after.splitlines(keepends=True))


def _differing(old: list[bytes], new: list[bytes]) -> int:
    """The number of differing lines. The texts are split at lines that occur once on both sides and in
    the same order, until there is nothing left to split. The result is close to the minimum, and the time
    is nearly linear.
    """
    waiting, count = [(old, new)], 0
    budget = _LOOKS * (len(old) + len(new))
    while waiting:
        one, two = _without_ends(*waiting.pop())
        budget -= len(one) + len(two)
        anchors = _anchors(one, two) if one and two and budget > 0 else []
        if not anchors:
            count += _unpaired(one, two)
            continue
        at = to = 0
        for here, there in [*anchors, (len(one), len(two))]:
            waiting.append((one[at:here], two[to:there]))
            at, to = here + 1, there + 1
    return count


def _without_ends(old: list[bytes], new: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    most, head, tail = min(len(old), len(new)), 0, 0
    while head < most and old[head] == new[head]:
        head += 1
    while tail < most - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return old[head : len(old) - tail], new[head : len(new) - tail]


def _unpaired(old: list[bytes], new: list[bytes]) -> int:
    """The number of lines left after pairing equal lines in order, where there are no anchors."""
    if not old or not new:
        return len(old) + len(new)
    places: dict[bytes, deque[int]] = {}
    for at, line in enumerate(new):
        places.setdefault(line, deque()).append(at)
    pairs = [(at, places[line].popleft()) for at, line in enumerate(old) if places.get(line)]
    return len(old) + len(new) - 2 * len(_longest_increasing(pairs))


def _anchors(old: list[bytes], new: list[bytes]) -> list[tuple[int, int]]:
    """The longest sequence of lines that occur once on each side and in the same order."""
    here = _once(old)
    there = _once(new)
    pairs = sorted((at, there[line]) for line, at in here.items() if line in there)
    return _longest_increasing(pairs)


def _once(lines: list[bytes]) -> dict[bytes, int]:
    counts = Counter(lines)
    return {line: at for at, line in enumerate(lines) if counts[line] == 1}


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence of the pairs whose second numbers increase."""
    ends: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for number, (_, at) in enumerate(pairs):
        place = bisect_left(ends, at)
        before.append(tops[place - 1] if place else -1)
        ends[place : place + 1] = [at]
        tops[place : place + 1] = [number]
    found = []
    last = tops[-1] if tops else -1
    while last >= 0:
        found.append(pairs[last])
        last = before[last]
    return found[::-1]
