"""Delete one file, if the user allows it."""

from __future__ import annotations

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.paths import WritePath
from handrail.core.places import Place
from handrail.core.plan import Change, Plan
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Risk
from handrail.tools._lib.tool_base import (
    INTEGER,
    STRING,
    Builtin,
    format_count,
    object_schema,
    require_file,
    run_sized,
    size_to_change,
)


class DeleteFileParams(Params):
    path: WritePath = Field(description="The file.")


class DeleteFile(Builtin[DeleteFileParams]):
    name = "delete_file"
    summary = "Delete a file."
    params = DeleteFileParams
    effects = Effects.WRITES_PATHS
    traits = ToolTraits(family=RuleFamily.WRITE)
    group = Group.EDIT
    output_schema = object_schema(path=STRING, bytes=INTEGER)

    def __init__(self, files: Files, *, allow_delete: bool) -> None:
        self._files = files
        self._allow_delete = allow_delete

    def shown(self, session: Session) -> bool:
        """Return whether deletion is allowed; a call while it is not explains how to allow it."""
        return self._allow_delete and self.enabled(session)

    def risk(self, args: DeleteFileParams) -> Risk:
        """Return DANGEROUS: a deleted file cannot be inspected again."""
        del args
        return Risk.DANGEROUS

    async def plan(self, args: DeleteFileParams, ctx: ToolContext) -> Plan:
        """The deletion; raises `denied` unless deleting is allowed, `not_found`, or `not_text`."""
        del args
        if not self._allow_delete:
            raise ProblemRaised(
                "denied",
                "deleting files is switched off (allow_delete=False)",
                hint="the user can switch it on with allow_delete=True",
            )
        place = ctx.places["path"]
        require_file(place, "only single files can be deleted, not directories")
        size = size_to_change(place, self._files.stat(place))
        return await run_sized(size, self._delete, place)

    def _delete(self, place: Place) -> Plan:
        file = self._files.read(place)
        size = format_count(len(file.content), "byte")
        return Plan(
            changes=(Change(place, file.content, None, file.stat),),
            text=f"deleted {place.shown} ({size})",
            preview=f"delete {place.shown} ({size})",
            data={"path": place.path, "bytes": len(file.content)},
            relies_on="nothing",
        )
