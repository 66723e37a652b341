"""The paths of a call: resolves each inside the roots, and determines what the call touches because
of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from handrail.core.arguments.nodes import PathValue
from handrail.core.effects import Effects, find_excess
from handrail.core.footprint import NOTHING, Access, Footprint, Touch
from handrail.core.outputs import output_call_id
from handrail.core.paths import PathUse
from handrail.core.places import PLAN_FILE_ROOT, Place
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised
from handrail.engine import messages
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.registry import ToolEntry, ToolOrigin
from handrail.policy.agents import AgentAction

if TYPE_CHECKING:
    from pydantic import BaseModel


def resolve_nested(
    entry: ToolEntry,
    args: BaseModel | None,
    files: Files,
    places: dict[str, Place],
    touches: list[Touch],
) -> None:
    """Add the paths inside other arguments by name (`paths[0]`, `edits[1].path`), and what they
    make the call touch. Raises what `Files.locate` raises, naming the argument.
    """
    if entry.arguments.nested_paths is None or args is None:
        return
    for value in entry.arguments.nested_paths.collect(args):
        place = places[value.name] = _locate(value, files)
        for use in value.uses:
            if use is PathUse.TREE:
                touches.append(tree_touch(value.name, place))
            else:
                access = Access.READ if use is PathUse.READ else Access.WRITE
                touches.append(Touch(f"file:{place.absolute}", access))


def _locate(value: PathValue, files: Files) -> Place:
    if output_call_id(value.given) is not None:
        raise _no_file(value.given, value.name)
    try:
        return files.locate(value.given)
    except ProblemRaised as raised:
        problem = raised.problem
        field = value.name if problem.field in (None, "path") else problem.field
        raise ProblemRaised.of(replace(problem, field=field)) from raised


def output_touch(entry: ToolEntry, name: str, handle: str) -> Touch:
    """Return the touch of a call that reads an earlier result; raises if its tool cannot."""
    if not entry.tool.reads_outputs:
        raise _no_file(handle, name)
    return Touch(handle, Access.READ)


def tree_touch(name: str, place: Place) -> Touch:
    """The touch of a call that searches a folder. The plan file lies in no tree: it is refused."""
    if place.root == PLAN_FILE_ROOT:
        raise messages.PATH_NOT_SEARCHABLE.error(path=place.path, field=name)
    return Touch(f"tree:{place.absolute}", Access.READ)


def _no_file(given: str, name: str) -> ProblemRaised:
    return messages.OUTPUT_HANDLE_AS_PATH.error(given=given, field=name)


def call_footprint(
    entry: ToolEntry, args: Any, touches: Sequence[Touch], files: Files
) -> Footprint:
    """Return what the call touches: its paths, and what the tool states or computes for this call.

    Raises `internal` for a footprint that goes beyond the stated effects, and `outside_workspace`
    for one of a tool of the user's own that leads out of the workspace.
    """
    said = entry.tool.footprint(args) if entry.touches.computed else None
    if said is None:
        if entry.touches.base is NOTHING:
            return Footprint(tuple(touches)) if touches else NOTHING
        return entry.touches.base._replace(touches=(*touches, *entry.touches.base.touches))
    if not isinstance(said, Footprint):
        raise TypeError(f"its footprint is {said!r:.200}, which is not a Footprint")
    by_host = entry.origin in (ToolOrigin.USER, ToolOrigin.RESOLVED)
    if by_host:
        said = said._replace(touches=tuple([_typed(*touch) for touch in said.touches]))
    if Effects.OPEN_ENDED not in entry.touches.effects:
        excess = find_excess(entry.touches.effects, said)
        if excess is not None:
            raise messages.FOOTPRINT_EXCEEDS_EFFECTS.error(tool=entry.tool.name, excess=excess)
    if by_host:
        said = _contained(said, files)
    if said.command is not None or not touches:
        return said
    # Rules about its path arguments apply, whatever else it touches.
    known = {_path(touch) for touch in said.touches}
    missing = [touch for touch in touches if _path(touch) not in known]
    return said._replace(touches=(*missing, *said.touches)) if missing else said


def _typed(key: str, access: str) -> Touch:
    """Return a touch from the author's form of it; raises ValueError for an unknown access."""
    return Touch(key, Access(access))


def _contained(footprint: Footprint, files: Files) -> Footprint:
    """Return the footprint with the real name of each path, so that rules about paths apply."""
    touches = tuple([_real(touch, footprint, files) for touch in footprint.touches])
    return footprint._replace(touches=touches)


def _real(touch: Touch, footprint: Footprint, files: Files) -> Touch:
    kind, _, path = touch.key.partition(":")
    if kind not in ("file", "tree"):
        return touch
    try:
        return touch._replace(key=f"{kind}:{files.locate(path).absolute}")
    except ProblemRaised:
        # The user is asked about an open-ended call, wherever it leads.
        if footprint.open_ended:
            return touch
        raise


def _path(touch: Touch) -> str:
    kind, _, path = touch.key.partition(":")
    return path if kind in ("file", "tree") else touch.key


def check_agent_writes(prepared: PreparedCall) -> None:
    """Refuse a command of an agent that may not change files if the text of the command shows that
    it would; the sandbox prevents any other write.
    """
    call, analysis, access = (
        prepared.call,
        prepared.scope.footprint.command,
        prepared.principal.access,
    )
    if analysis is None or access is None or access.may(AgentAction.PATCH):
        return
    prepared.scope = replace(prepared.scope, writes_nothing=True)
    if analysis.effects.writes or analysis.unconfined:
        would = "leave the sandbox"
        if analysis.effects.writes:
            would = f"write {analysis.effects.writes[0]!r}"
        raise messages.AGENT_MAY_NOT_WRITE.error(agent=call.agent, would=would)
