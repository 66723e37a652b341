"""Apply a patch to all files that it names, or to none.

All parts are applied to copies first; the plan has all changes, so it is one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Access, Footprint, Touch
from handrail.core.paths import PathUse
from handrail.core.places import Place
from handrail.core.plan import Plan
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Risk
from handrail.tools._lib.patches.envelope import parse_patch
from handrail.tools._lib.patches.model import Action, Target, resolve_targets
from handrail.tools._lib.patches.workspace import PatchStep, PatchWorkspace, total_size
from handrail.tools._lib.tool_base import (
    INTEGER,
    STRING,
    Builtin,
    append_notes,
    object_schema,
    run_sized,
)

# Cost factor: lines are decoded and compared with hunks, per byte that could be scanned instead.
_WORK_PER_BYTE: Final = 10
_WORK_PER_PATCH_BYTE: Final = 50
_FILES: Final = {"type": "array", "items": object_schema(path=STRING, operation=STRING)}


class ApplyPatchParams(Params):
    patch: str = Field(description="The patch.")
    path: Annotated[str | None, PathUse.WRITE] = Field(
        None, description="The file, if the patch is about one and does not name it."
    )


class ApplyPatch(Builtin[ApplyPatchParams]):
    name = "apply_patch"
    summary = "Apply a patch to one or more files."
    params = ApplyPatchParams
    effects = Effects.WRITES_PATHS
    traits = ToolTraits(family=RuleFamily.WRITE, quotes_content=True)
    group = Group.EDIT
    output_schema = object_schema(files=_FILES, hunks=INTEGER)

    def __init__(self, files: Files, *, allow_delete: bool) -> None:
        self._files = files
        self._allow_delete = allow_delete

    def footprint(self, args: ApplyPatchParams) -> Footprint:
        """Return every file that the patch names; raises a problem for one that is out of reach."""
        only = None if args.path is None else self._files.locate(args.path)
        touches: dict[str, Access] = {}
        for target in self._targets(args, only):
            if target.source is not None:
                reads = target.action is Action.COPY and target.source.key not in touches
                touches[target.source.key] = Access.READ if reads else Access.WRITE
            if target.target is not None:
                touches[target.target.key] = Access.WRITE
        return Footprint(tuple([Touch(key, access) for key, access in touches.items()]))

    def risk(self, args: ApplyPatchParams) -> Risk | None:
        """Return DANGEROUS if the patch deletes a file."""
        deletes = any(part.action is Action.DELETE for part in parse_patch(args.patch))
        return Risk.DANGEROUS if deletes else None

    async def plan(self, args: ApplyPatchParams, ctx: ToolContext) -> Plan:
        """Return all changes. Raises `no_match`, `ambiguous`, `already_applied`, `exists`,
        `not_found`, `outside_workspace`, or `invalid_arguments` for an invalid patch.
        """
        targets = self._targets(args, ctx.places.get("path"))
        if not self._allow_delete and any(target.action is Action.DELETE for target in targets):
            raise ProblemRaised(
                "denied",
                "the patch deletes a file, and deleting files is switched off (allow_delete=False)",
                hint="leave the deletion out; the user can switch it on with allow_delete=True",
            )
        size = total_size(self._files, targets)
        work = size * _WORK_PER_BYTE + len(args.patch) * _WORK_PER_PATCH_BYTE
        return await run_sized(work, self._plan, targets)

    def _targets(self, args: ApplyPatchParams, only: Place | None) -> list[Target]:
        return resolve_targets(self._files, parse_patch(args.patch), only)

    def _plan(self, targets: Sequence[Target]) -> Plan:
        workspace = PatchWorkspace(self._files)
        steps = [workspace.carry_out(target) for target in targets]
        changes = workspace.changes()
        if not changes:
            raise ProblemRaised(
                "already_applied",
                "the files are already as the patch would make them",
                hint="nothing is left to do",
                field="patch",
            )
        data = {
            "files": [{"path": change.path, "operation": change.operation} for change in changes],
            "hunks": sum(len(target.patch.hunks) for target in targets),
        }
        preview = "\n".join([step.preview for step in steps])
        return Plan(changes, _describe_steps(steps), preview, data)


def _describe_steps(steps: Sequence[PatchStep]) -> str:
    notes = [f"{step.target.path}: {note}" for step in steps for note in step.notes]
    return append_notes("\n".join([step.words for step in steps]), notes)
