"""The first half of a call: understand it. Reads, but changes nothing and asks nobody.

name → tool, arguments → canonical, coerced, validated, paths resolved, footprint, risk.
What is wrong is kept in `Prepared.problem`: a call that cannot be understood still takes
its place in a batch and leaves its record.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from handrail.core.call import ToolCall
from handrail.core.context import Session
from handrail.core.footprint import NOTHING, OPEN_ENDED, Access, Footprint, Touch
from handrail.core.paths import PathUse
from handrail.core.places import Place
from handrail.core.ports import Files
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.tool import Tool
from handrail.core.verdicts import Risk
from handrail.dialects.base import View, Vocabulary
from handrail.engine.arguments import check_plain, parse_arguments
from handrail.engine.coerce import coerce, explain_errors
from handrail.engine.registry import Entry, Origin, Registry

_log = logging.getLogger("handrail")


@dataclass(slots=True)
class Prepared:
    """A call that has been understood, or the reason why it cannot be."""

    call: ToolCall
    name: str
    arguments: Mapping[str, Any]
    entry: Entry | None = None
    args: BaseModel | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    footprint: Footprint = NOTHING
    reads_only: bool = True
    risk: Risk = Risk.SAFE
    coerced: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    spelled: Mapping[str, str] = field(default_factory=dict)
    response: str | None = None
    given_id: bool = False
    problem: Problem | None = None

    @property
    def tool(self) -> Tool[Any]:
        """The tool of a call without a problem."""
        if self.entry is None:
            raise LookupError(f"{self.name!r} was never found")
        return self.entry.tool

    @property
    def attempts(self) -> int:
        """How often the call may be tried."""
        return 1 if self.entry is None else self.entry.attempts


class Preparer:
    """Prepares calls for one runtime; an agent may be limited to some tools."""

    def __init__(
        self, registry: Registry, vocabulary: Vocabulary, files: Files, session: Session
    ) -> None:
        self._registry = registry
        self._vocabulary = vocabulary
        self._files = files
        self._session = session
        self._limits: dict[str, frozenset[str]] = {}

    def limit(self, agent: str, tools: Collection[str] | None) -> None:
        """Let an agent call only these tools; None lifts the limit, empty means none."""
        if tools is None:
            self._limits.pop(agent, None)
        else:
            self._limits[agent] = frozenset(tools)

    def prepare(self, call: ToolCall) -> Prepared:
        """Understand the call; never raises."""
        prepared = Prepared(call, call.name, {})
        self._keep_problem(prepared, self._understand)
        return prepared

    def resolve_again(self, prepared: Prepared) -> None:
        """Look anew where the paths lead: earlier calls may have changed that."""
        if prepared.problem is None:
            self._keep_problem(prepared, self._resolve)

    def _keep_problem(self, prepared: Prepared, step: Callable[[Prepared], None]) -> None:
        try:
            step(prepared)
        except ProblemRaised as raised:
            prepared.problem = raised.problem
        except Exception as bug:  # noqa: BLE001 - a tool's own code, or a mapping that lies
            _log.exception("%s cannot be prepared", prepared.name)
            message = f"{prepared.name} cannot be prepared: {type(bug).__name__}: {bug}"
            prepared.problem = Problem("internal", message[:2000])

    def _understand(self, prepared: Prepared) -> None:
        call = prepared.call
        if isinstance(call.arguments, str):
            given: Mapping[str, Any] = parse_arguments(call.arguments)
        elif not isinstance(call.arguments, Mapping):
            raise ProblemRaised(
                "invalid_arguments",
                f"Invalid arguments: expected an object, got {type(call.arguments).__name__}",
            )
        else:
            check_plain(call.arguments)
            given = dict(call.arguments)
        prepared.arguments = given
        view, entry = self._find(call)
        prepared.name, prepared.entry = entry.tool.name, entry
        translated = self._vocabulary.translate(view, given)
        prepared.arguments = translated.arguments
        prepared.ignored = tuple(translated.ignored)
        prepared.spelled = translated.spelled
        try:
            prepared.args = entry.validate(translated.arguments)
        except ValidationError:
            self._repair(prepared, entry, view, translated.spelled)
        self._resolve(prepared)

    def _find(self, call: ToolCall) -> tuple[View, Entry]:
        view = self._vocabulary.resolve(call.name)
        entry = self._registry.entry(call.name)
        # A tool of the user's own wins over another vocabulary's word for one of ours.
        own = entry is not None and entry.origin is not Origin.BUILTIN
        if view is None or (own and not self._vocabulary.shows(view)):
            view = self._vocabulary.shown(call.name)
        else:
            entry = self._registry.entry(view.tool)
        allowed = self._limits.get(call.agent) if self._limits else None
        if entry is None or (allowed is not None and entry.tool.name not in allowed):
            raise self._unknown(call.name, allowed)
        if not entry.tool.enabled(self._session):
            raise ProblemRaised(
                "unavailable",
                f"{call.name!r} is disabled in current context",
                hint="use another tool",
            )
        return view, entry

    def _unknown(self, name: str, allowed: Collection[str] | None) -> ProblemRaised:
        shown = sorted(
            self._vocabulary.shown(tool.name).name
            for tool in self._registry.list_all()
            if (allowed is None or tool.name in allowed) and tool.shown(self._session)
        )
        if not name:
            return ProblemRaised(
                "invalid_arguments", "the call names no tool", hint='give it a "name"', field="name"
            )
        close = get_close_matches(name[:100], shown, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"tools: {', '.join(shown)}"
        return ProblemRaised("unknown_tool", f"there is no tool named {name!r:.200}", hint=hint)

    def _repair(
        self, prepared: Prepared, entry: Entry, view: View, spelled: Mapping[str, str]
    ) -> None:
        repaired = coerce(entry.params, prepared.arguments)
        try:
            prepared.args = entry.validate(repaired.arguments)
        except ValidationError as error:
            shown = view.shown_args(entry.schema.get("properties", ()))
            raise explain_errors(error, spelled, [arg.name for arg in shown]) from error
        prepared.arguments = repaired.arguments
        prepared.coerced = repaired.notes

    def _resolve(self, prepared: Prepared) -> None:
        entry, args = prepared.entry, prepared.args
        if entry is None:
            return
        if entry.paths:
            prepared.places = {
                name: self._files.locate(given)
                for name, _ in entry.paths
                if (given := getattr(args, name)) is not None
            }
        footprint = entry.tool.footprint(args)
        if footprint is None or footprint == OPEN_ENDED:
            # Whatever else it touches, rules about its paths still bind it.
            known = _of_paths(entry, prepared.places)
            footprint = known if footprint is None else known._replace(open_ended=True)
        prepared.footprint = footprint
        prepared.reads_only = footprint.reads_only
        risk = entry.tool.risk(args)
        if risk is None:
            risk = Risk.SAFE if prepared.reads_only else Risk.MODERATE
        prepared.risk = risk


def _of_paths(entry: Entry, places: Mapping[str, Place]) -> Footprint:
    return Footprint(
        tuple([_touch(use, places[name]) for name, use in entry.paths if name in places])
    )


def _touch(use: PathUse, place: Place) -> Touch:
    if use is PathUse.TREE:
        return Touch(f"tree:{place.absolute}", Access.READ)
    return Touch(f"file:{place.absolute}", Access.READ if use is PathUse.READ else Access.WRITE)
