"""What is said of a change that left a file broken: a note, never a refusal and never a revert."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import anyio

from handrail.core.content import Content
from handrail.core.places import Form
from handrail.core.plan import Change, Plan
from handrail.core.safe_text import safe_text
from handrail.core.syntax import SyntaxCheck, SyntaxFault

_MOST: Final = 10
# Of more files that go, nobody looks for the one that a new file was.
_MOST_ALIKE: Final = 100
# For all files of one change; what is not looked at by then is not spoken of.
_MAX_S: Final = 10.0


class SyntaxReport(NamedTuple):
    """`text` is added to what the model reads (empty: all is well), `faults` is for
    `meta["syntax"]`.
    """

    text: str
    faults: list[dict[str, Any]]


async def syntax_report(plan: Plan, check: SyntaxCheck) -> SyntaxReport:
    """Errors that these changes brought into their files; to be asked once they have happened."""
    texts: list[str] = []
    faults: list[dict[str, Any]] = []
    with anyio.move_on_after(_MAX_S):
        removed = _removed_files(plan)
        for change in plan.changes:
            if change.after is None or change.after_form is not Form.FILE or len(faults) >= _MOST:
                continue
            before = change.before or _moved(change, removed)
            found = await check.new_errors(change.path, before, change.after)
            shown = found[: _MOST - len(faults)]
            if shown:
                texts.append(_note(change.path, shown))
                faults += [{"path": change.path, **fault._asdict()} for fault in shown]
    return SyntaxReport("\n".join(texts), faults)


def _removed_files(plan: Plan) -> dict[str, list[Change]]:
    """The files that a plan takes away, by the ending of their names."""
    found: dict[str, list[Change]] = {}
    for change in plan.changes:
        if change.after is None and change.before_form is Form.FILE:
            found.setdefault(PurePosixPath(change.path).suffix, []).append(change)
    return found


def _moved(change: Change, removed: dict[str, list[Change]]) -> Content | None:
    """What a new file was before, if the same plan takes one away that it can have been."""
    name = PurePosixPath(change.path)
    alike = removed.get(name.suffix, [])
    if len(alike) > _MOST_ALIKE:
        return None
    same = [one for one in alike if PurePosixPath(one.path).name == name.name]
    found = same or alike
    return found[0].before if len(found) == 1 else None


def _note(path: str, faults: tuple[SyntaxFault, ...]) -> str:
    many = (
        f"{len(faults)} syntax errors that were" if len(faults) > 1 else "a syntax error that was"
    )
    lines = [
        f"[{path} now has {many} not there before, says {faults[0].reader}; the change stands]"
    ]
    for fault in faults:
        lines.append(f"  line {fault.line}, column {fault.column}: {_safe(fault.message)}")
        if fault.text:
            lines.append(f"    {_safe(fault.text)}")
    return "\n".join(lines)


def _safe(text: str) -> str:
    return safe_text(text, one_line=True)
