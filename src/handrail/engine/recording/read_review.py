"""Decides whether the result of an earlier call may be read again, under the present rules.

A result quotes what its call has read. Rules, limits of agents and links change, so the footprint
of the call is judged again each time, as a read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from handrail.core.call import ToolCall
from handrail.core.footprint import Access, Footprint, Touch
from handrail.core.outputs import OUTPUT_OF
from handrail.core.places import Place
from handrail.core.ports.machine import Files
from handrail.core.ports.read_denials import ReadDenyPatterns
from handrail.core.ports.records import CallRecord
from handrail.core.problems import ProblemRaised
from handrail.core.results import Status
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Effect, Risk, Verdict
from handrail.engine import messages
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.registry import ToolOrigin
from handrail.policy.policy_input import PolicyInput

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalysis

_READING: Final = "read_file"
MAX_PATHS: Final = 20_000


class ReadDenialCheck(ReadDenyPatterns, Protocol):
    """The paths that no call may read, and whether a command may reach one of them."""

    def may_affect(self, analysis: CommandAnalysis) -> bool:
        """Return whether the command could read a denied path if none was hidden from it."""


class ReadJudge(Protocol):
    """What judges a read."""

    def judge_read(self, subject: PolicyInput) -> Verdict:
        """Return the verdict of guards, rules and mode, as if a user could be asked."""


class ReadReview(NamedTuple):
    """Judges recorded calls as reads. `denials` is None if no path is denied now."""

    preparer: Preparer
    files: Files
    judge: ReadJudge
    denials: ReadDenialCheck | None = None

    def check(self, record: CallRecord, caller: ToolCall) -> None:
        """Raise `denied` unless the caller may read what the recorded call has returned."""
        done = record.completed
        if done is None or done.get("status") == Status.REFUSED or self._is_user(caller):
            # A refusal quotes only the call itself.
            return
        maker = str(record.requested.get("agent", "main"))
        if not self.preparer.principals.agents.same_chain(maker, caller.agent):
            raise _denied(record, f"it belongs to the agent {maker!r}")
        made_in = record.requested.get("conversation", "")
        if caller.conversation and maker == caller.agent and made_in != caller.conversation:
            raise _denied(record, "it belongs to another conversation")
        prepared = self._prepare_recorded(record, caller)
        verdict = self.judge.judge_read(self._read_subject(prepared, done))
        if verdict.effect is Effect.DENY:
            raise _denied(record, verdict.reason)
        by_rule = not verdict.rule.startswith("mode:")
        if verdict.effect is Effect.ASK and by_rule and not done.get("asked"):
            raise _denied(record, f"it would be asked about now: {verdict.reason}")
        denials = self.denials
        if denials is not None and done.get("read_rules") != read_rules_digest(denials):
            self._check_newly_withheld(record, prepared, denials)

    def denies_unrecorded(self, call: ToolCall) -> bool:
        """Return whether a read of what a call touches would be denied, by its arguments alone.
        False for a call that cannot be parsed.
        """
        prepared = self.preparer.prepare(call)
        if prepared.problem is not None or prepared.entry is None:
            return False
        requested = {"agent": call.agent, "arguments": prepared.arguments}
        done = {"tool": prepared.name, "status": Status.OK.value}
        record = CallRecord("", call.id, 0, 0, requested, None, done, 0)
        try:
            self.check(record, call)
        except ProblemRaised:
            return True
        return False

    def _is_user(self, caller: ToolCall) -> bool:
        """Return whether the caller is the user, who may read every result."""
        return self.preparer.principals.of_call(caller).reader is None

    def _prepare_recorded(self, record: CallRecord, caller: ToolCall) -> PreparedCall:
        """Return the recorded call, prepared as if the caller made it now."""
        done = record.completed or {}
        arguments = done.get("rewritten", record.requested.get("arguments"))
        if not isinstance(arguments, Mapping):
            raise _denied(record, "its arguments are no longer kept")
        call = ToolCall(record.call_id, str(done.get("tool")), arguments, agent=caller.agent)
        prepared = self.preparer.prepare(call)
        if prepared.problem is not None or prepared.entry is None:
            why = "its tool is gone" if prepared.problem is None else prepared.problem.message
            raise _denied(record, f"the call could not be made now: {why}")
        return prepared

    def _read_subject(self, prepared: PreparedCall, done: Mapping[str, Any]) -> PolicyInput:
        """Return the call as a read of everything that it touched, then and now."""
        tool, command = prepared.name, prepared.footprint.command
        traits = prepared.tool.traits
        if command is not None or not prepared.reads_only:
            tool, traits = _READING, ToolTraits(family=RuleFamily.READ)
        touches = [
            Touch(touch.key, Access.READ)
            for touch in prepared.footprint.touches
            if touch.key.startswith(("file:", "tree:"))
        ]
        touches += [Touch(f"file:{path}", Access.READ) for path in done.get("linked", ())]
        places = [*prepared.places.values(), *self._places(_changed_paths(done))]
        touches += [Touch(place.key, Access.READ) for place in places]
        footprint = Footprint(tuple(dict.fromkeys(touches)))
        return PolicyInput(
            tool, Risk.SAFE, footprint, True, None, False, tuple(places), traits=traits
        )

    def _check_newly_withheld(
        self, record: CallRecord, prepared: PreparedCall, denials: ReadDenialCheck
    ) -> None:
        """Check what a call may have shown besides its paths, after the rules have changed."""
        footprint = prepared.footprint
        if footprint.command is not None:
            withheld = denials.may_affect(footprint.command)
        elif footprint.open_ended or _reads_unnamed_job(record, footprint):
            withheld = True
        else:
            withheld = self._shows_withheld(record, prepared, denials)
        if withheld:
            raise _denied(record, "it may hold text that a rule withholds by now")

    def _shows_withheld(
        self, record: CallRecord, prepared: PreparedCall, denials: ReadDenialCheck
    ) -> bool:
        trees = [
            touch.key.removeprefix("tree:")
            for touch in prepared.footprint.touches
            if touch.key.startswith("tree:")
        ]
        if not any(denials.hides(tree) or denials.reaches(tree) for tree in trees):
            return False
        data = (record.completed or {}).get("data")
        if (
            data is None
            or prepared.entry is None
            or prepared.entry.origin is not ToolOrigin.BUILTIN
        ):
            # It is unknown which files the result quotes.
            return True
        shown = list(list_named_paths(data))
        if len(shown) >= MAX_PATHS:
            return True
        return any(denials.hides(place.absolute) for place in self._places(shown))

    def _places(self, paths: list[str]) -> Iterator[Place]:
        """Return where paths lead; a path that cannot be resolved any more is left out."""
        for path in dict.fromkeys(paths):
            try:
                yield self.files.locate(path)
            except ProblemRaised:
                continue


def read_rules_digest(denials: ReadDenyPatterns | None) -> str | None:
    """Return a digest of the denied paths, to detect changes of the rules."""
    if denials is None:
        return None
    globs = sorted([glob.top, list(glob.names), glob.floating] for glob in denials.globs)
    return hashlib.sha256(json.dumps(globs).encode()).hexdigest()[:16]


def _reads_unnamed_job(record: CallRecord, footprint: Footprint) -> bool:
    """Whether the call shows a job and its record does not say which call started that job."""
    meta = (record.completed or {}).get("meta")
    if isinstance(meta, Mapping) and OUTPUT_OF in meta:
        return False
    return any(key.startswith("job:") and use is Access.READ for key, use in footprint.touches)


def _changed_paths(done: Mapping[str, Any]) -> list[str]:
    return [str(change[0]) for change in done.get("changes", ()) if change]


def list_named_paths(data: Any) -> Iterator[str]:
    """Return the paths that a result names, as Handrail's own tools name them."""
    waiting, found = [data], 0
    while waiting and found < MAX_PATHS:
        value = waiting.pop()
        if isinstance(value, Mapping):
            paths = value.get("paths", ())
            listed = [value.get("path"), *(paths if isinstance(paths, list) else ())]
            for one in listed:
                if isinstance(one, str):
                    found += 1
                    yield one
            waiting += value.values()
        elif isinstance(value, list):
            waiting += [one for one in value if isinstance(one, Mapping | list)]


def _denied(record: CallRecord, why: str) -> ProblemRaised:
    return messages.OUTPUT_DENIED.error(call_id=record.call_id, why=why)
