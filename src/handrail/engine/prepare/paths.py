"""The paths of a call: each resolved and contained, and what the call touches because of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from handrail.core.arguments.nodes import PathValue
from handrail.core.effects import find_excess
from handrail.core.footprint import NOTHING, Access, Footprint, Touch
from handrail.core.outputs import output_call_id
from handrail.core.paths import PathUse
from handrail.core.places import ASIDE, Place
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised
from handrail.engine import messages
from handrail.engine.registry import ToolEntry, ToolOrigin


def resolve_nested(
    entry: ToolEntry, args: BaseModel | None, files: Files
) -> tuple[dict[str, Place], list[Touch]]:
    """The paths inside other arguments by name (`paths[0]`, `edits[1].path`), and what they
    make the call touch. Raises what `Files.locate` raises, naming the path's place.
    """
    places: dict[str, Place] = {}
    touches: list[Touch] = []
    if entry.arguments.nested_paths is None or args is None:
        return places, touches
    for value in entry.arguments.nested_paths.collect(args):
        place = _locate(value, files)
        places[value.name] = place
        for use in value.uses:
            check_tree(value.name, use, place)
            touches.append(path_touch(use, place))
    return places, touches


def _locate(value: PathValue, files: Files) -> Place:
    if output_call_id(value.given) is not None:
        raise _no_file(value.given, value.name)
    try:
        return files.locate(value.given)
    except ProblemRaised as raised:
        problem = raised.problem
        field = value.name if problem.field in (None, "path") else problem.field
        raise ProblemRaised.of(replace(problem, field=field)) from raised


def resolve_direct(
    entry: ToolEntry, args: BaseModel | None, files: Files
) -> tuple[dict[str, Place], list[Touch]]:
    """The plain path arguments by name, and what they make the call touch. A handle of an
    earlier result has no place. Raises what `Files.locate` raises.
    """
    places: dict[str, Place] = {}
    touches: list[Touch] = []
    for name, use in entry.arguments.paths:
        given = getattr(args, name)
        if given is None:
            continue
        if output_call_id(given) is not None:
            if not entry.tool.reads_outputs:
                raise _no_file(given, name)
            touches.append(Touch(given, Access.READ))
            continue
        place = places[name] = files.locate(given)
        if use is PathUse.READ:
            touches.append(Touch(f"file:{place.absolute}", Access.READ))
            continue
        check_tree(name, use, place)
        touches.append(path_touch(use, place))
    return places, touches


def _no_file(given: str, name: str) -> ProblemRaised:
    return messages.OUTPUT_HANDLE_AS_PATH.error(given=given, field=name)


def path_touch(use: PathUse, place: Place) -> Touch:
    """What is touched when a path is used in a way."""
    if use is PathUse.TREE:
        return Touch(f"tree:{place.absolute}", Access.READ)
    return Touch(f"file:{place.absolute}", Access.READ if use is PathUse.READ else Access.WRITE)


def check_tree(name: str, use: PathUse, place: Place) -> None:
    """Refuse to search the plan file: it is a file to read and write, and lies in no tree."""
    if use is PathUse.TREE and place.root == ASIDE:
        raise messages.PATH_NOT_SEARCHABLE.error(path=place.path, field=name)


def call_footprint(
    entry: ToolEntry, args: Any, touches: Sequence[Touch], files: Files
) -> Footprint:
    """What the call touches: its paths, and what the tool states or says of this call.

    Raises `internal` for a footprint that goes beyond the stated effects, and
    `outside_workspace` for one of a tool of the user's own that leads out of the workspace.
    """
    said = entry.tool.footprint(args) if entry.touches.computed else None
    if said is None:
        if entry.touches.base is NOTHING:
            return Footprint(tuple(touches)) if touches else NOTHING
        return entry.touches.base._replace(touches=(*touches, *entry.touches.base.touches))
    if not isinstance(said, Footprint):
        raise TypeError(f"its footprint is {said!r:.200}, which is not a Footprint")
    if entry.origin is not ToolOrigin.BUILTIN:
        said = said._replace(touches=tuple([_typed(*touch) for touch in said.touches]))
    excess = find_excess(entry.touches.effects, said)
    if excess is not None:
        raise messages.FOOTPRINT_EXCEEDS_EFFECTS.error(tool=entry.tool.name, excess=excess)
    if entry.origin is not ToolOrigin.BUILTIN:
        said = _contained(said, files)
    if said.command is not None or not touches:
        return said
    # Whatever else it touches, rules about its path arguments bind it.
    known = {_path(touch) for touch in said.touches}
    missing = [touch for touch in touches if _path(touch) not in known]
    return said._replace(touches=(*missing, *said.touches)) if missing else said


def _typed(key: str, access: str) -> Touch:
    """A touch as the tool's author may write it; raises ValueError for an unknown access."""
    return Touch(key, Access(access))


def _contained(footprint: Footprint, files: Files) -> Footprint:
    """The footprint with the real name of each path, so that rules about them bind."""
    touches = tuple([_real(touch, footprint, files) for touch in footprint.touches])
    return footprint._replace(touches=touches)


def _real(touch: Touch, footprint: Footprint, files: Files) -> Touch:
    kind, _, path = touch.key.partition(":")
    if kind not in ("file", "tree"):
        return touch
    try:
        return touch._replace(key=f"{kind}:{files.locate(path).absolute}")
    except ProblemRaised:
        # An open-ended call is asked about, wherever it leads.
        if footprint.open_ended:
            return touch
        raise


def _path(touch: Touch) -> str:
    kind, _, path = touch.key.partition(":")
    return path if kind in ("file", "tree") else touch.key
