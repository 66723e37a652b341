"""Show what this session changed, in all files or one; reads the record, not the files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.lazy import Lazy
from handrail.core.names.caller_words import tool_name
from handrail.core.paths import PathUse
from handrail.core.places import shown
from handrail.core.ports.undo import UndoableChange, UndoService
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.tools._lib.tool_base import BOOLEAN, INTEGER, STRING, Builtin, object_schema

_CHANGE: Final = object_schema(
    path=STRING,
    operation=STRING,
    call_id=STRING,
    tool=STRING,
    turn=INTEGER,
    at=STRING,
    standing=BOOLEAN,
    attributed=BOOLEAN,
)


class ShowChangesParams(Params):
    path: Annotated[str | None, PathUse.READ] = Field(
        None, description="One file; without it, all of them."
    )
    limit: int = Field(50, ge=1, le=1000, description="How many, the newest first.")


class ShowChanges(Builtin[ShowChangesParams]):
    name = "show_changes"
    summary = "List the file changes of this session."
    params = ShowChangesParams
    effects = Effects.READS_PATHS
    traits = ToolTraits(hidden_by_default=True)
    group = Group.SEARCH
    idempotent = True
    output_schema = object_schema(changes={"type": "array", "items": _CHANGE})

    def __init__(self, past: Lazy[UndoService]) -> None:
        self._past = past

    async def run(self, args: ShowChangesParams, ctx: ToolContext) -> Output:
        """Return the changes, newest first; an undo or redo is a change like any other."""
        path = None if args.path is None else ctx.places["path"].path
        changes = await self._past.value.changes(ctx.session.id, path=path, limit=args.limit)
        text = "\n".join(_line(change) for change in changes) or "nothing was changed"
        return Output(text, data={"changes": [_data(change) for change in changes]})


def _line(change: UndoableChange) -> str:
    notes = "" if change.standing else ", undone"
    if not change.attributed:
        notes += ", perhaps by somebody else"
    tool, path = tool_name(change.tool), shown(change.path)
    return f"turn {change.turn}  {change.call_id}  {tool}  {change.operation} {path}{notes}"


def _data(change: UndoableChange) -> dict[str, Any]:
    return {
        "path": change.path,
        "operation": change.operation,
        "call_id": change.call_id,
        "tool": change.tool,
        "turn": change.turn,
        "at": datetime.fromtimestamp(change.at_ns / 1e9, UTC).isoformat(),
        "standing": change.standing,
        "attributed": change.attributed,
    }
