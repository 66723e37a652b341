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
# For all files of one change; what is not looked at by then is not spoken of.
_MAX_S: Final = 10.0


class SyntaxNotes(NamedTuple):
    """`text` is added to what the model reads (empty: all is well), `faults` is for
    `meta["syntax"]`.
    """

    text: str
    faults: list[dict[str, Any]]


async def syntax_notes(plan: Plan, check: SyntaxCheck) -> SyntaxNotes:
    """Errors that these changes brought into their files; to be asked once they have happened."""
    texts: list[str] = []
    faults: list[dict[str, Any]] = []
    with anyio.move_on_after(_MAX_S):
        for change in plan.changes:
            if change.after is None or change.after_form is not Form.FILE or len(faults) >= _MOST:
                continue
            before = change.before or _moved(change, plan)
            found = await check.new_errors(change.path, before, change.after)
            shown = found[: _MOST - len(faults)]
            if shown:
                texts.append(_note(change.path, shown))
                faults += [{"path": change.path, **fault._asdict()} for fault in shown]
    return SyntaxNotes("\n".join(texts), faults)


def _moved(change: Change, plan: Plan) -> Content | None:
    """What a new file was before, if the same plan takes one away that it can have been."""
    name = PurePosixPath(change.path)
    gone = {
        PurePosixPath(other.path): other.before
        for other in plan.changes
        if other.after is None and other.before_form is Form.FILE
    }
    alike = [path for path in gone if path.suffix == name.suffix]
    same = [path for path in alike if path.name == name.name]
    found = same or alike
    return gone[found[0]] if len(found) == 1 else None


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
