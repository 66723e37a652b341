"""The diff of a plan without an end that is left out, for a person who must agree to all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from typing import Final

from handrail.core.content import Content
from handrail.core.places import shown
from handrail.core.plan import Change, Plan

# More than anybody reads; beyond it the tool's own preview says how much there is.
_MOST: Final = 2_000_000
# The comparison is quadratic; beyond this many pairs of lines a change is shown as one block.
_PAIRS: Final = 250_000
_LINES: Final = 20_000
# What tools cut their own previews to.
_SHORT: Final = 400
_NARROW: Final = 490


def whole_diff(plan: Plan) -> str | None:
    """All changed lines of all files; None if the plan's own preview shows them, if it is too
    much, or if it is no text.
    """
    lines = plan.preview.split("\n")
    cut = len(lines) > _SHORT or any(len(line) > _NARROW for line in lines)
    if not cut or plan.size > _MOST:
        return None
    try:
        return "\n".join(line for change in plan.changes for line in _lines(change))
    except UnicodeDecodeError:
        return None


def _lines(change: Change) -> Iterator[str]:
    before, after = _text(change.before), _text(change.after)
    head = _common(before, after)
    tail = min(_common(before[::-1], after[::-1]), min(len(before), len(after)) - head)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    names = (shown(f"a/{change.path}") if before else "/dev/null", shown(f"b/{change.path}"))
    if len(old) * len(new) <= _PAIRS and len(before) + len(after) <= _LINES:
        yield from unified_diff(before, after, *names, lineterm="")
        return
    yield f"--- {names[0]}"
    yield f"+++ {names[1]}"
    yield f"@@ -{head + 1},{len(old)} +{head + 1},{len(new)} @@"
    yield from (f"-{line}" for line in old)
    yield from (f"+{line}" for line in new)


def _common(one: Sequence[str], two: Sequence[str]) -> int:
    most = min(len(one), len(two))
    return next((at for at in range(most) if one[at] != two[at]), most)


def _text(content: Content | None) -> list[str]:
    data = b"" if content is None else content.tobytes()
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
    return text.removesuffix("\n").split("\n") if text else []
