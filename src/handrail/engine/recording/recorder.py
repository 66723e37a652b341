"""What is told and written of a call: its rows, its events, its result.

Every call leaves a `requested` and a `completed` row, whatever happens to it; one that
writes or runs something leaves an `intent` row, on disk, before it does.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from handrail.core.context import Session
from handrail.core.events import (
    CallEnded,
    CallOutput,
    CallProgress,
    CallStarted,
    Event,
    FileChanged,
)
from handrail.core.places import shown
from handrail.core.ports import Clock
from handrail.core.problems import ProblemRaised
from handrail.core.processes import OnOutput, Stream
from handrail.core.records import Durability, Row, Store
from handrail.core.results import ToolResult
from handrail.core.sensitive import is_sensitive
from handrail.core.tool import Keep
from handrail.engine.call_state import CallOutcome, CallState
from handrail.engine.events import EventBus
from handrail.engine.prepare.preparer import PreparedCall
from handrail.engine.recording import payloads
from handrail.engine.recording.change_summary import change_summary
from handrail.engine.recording.truncation import truncate
from handrail.history.recovery.pending_cleanup import mark_pending_cleanup

_log = logging.getLogger("handrail")


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """How much is shown and how durably it is kept; `max_chars` None: as each tool says.
    `owner` names this process, so that recovery leaves the living alone.
    """

    dialect: str
    owner: str
    durability: Durability = "power"
    max_chars: int | None = None
    reads_without_store: bool = False
    # Which paths rules withhold, by a name for all of them; None if none does.
    read_rules: str | None = None
    # Which part of an oversized text is shown; None: as each tool says.
    keep: Keep | None = None
    # Whether a later run may go on with the session, and needs to know what was read in it.
    keep_reads: bool = False


class Recorder:
    """Writes down and tells what happens to calls of one session."""

    def __init__(
        self,
        session: Session,
        store: Store,
        bus: EventBus,
        clock: Clock,
        recording: RecorderOptions,
    ) -> None:
        self._session = session
        self._store = store
        self._bus = bus
        self._clock = clock
        self._recording = recording
        # Two runtimes may go on with one session, and then count the same turns.
        self._run = os.urandom(4).hex()

    async def begin(self, running: CallState) -> None:
        """The call was asked for; raises `store_unavailable` if that cannot be recorded."""
        prepared = running.prepared
        payload = payloads.requested(prepared, self._recording.dialect)
        try:
            self._store.append(self._row(running, "requested", payload))
        except ProblemRaised:
            await self._recover(running)
        if self._heard(running):
            call, line = prepared.call, payloads.one_line(prepared)
            started = CallStarted(call.id, prepared.name, call.turn, call.agent, line)
            self._emit(running, started)

    async def _recover(self, running: CallState) -> None:
        """A store that failed holds the row back; see whether it can write it by now."""
        try:
            await self._store.flush()
        except ProblemRaised:
            reads_only = running.prepared.reads_only
            if not (self._recording.reads_without_store and reads_only):
                raise

    async def intent(
        self,
        running: CallState,
        payload: Mapping[str, Any],
        at_once: Callable[[], None] | None = None,
    ) -> None:
        """The call is about to change something: on disk before it does. `at_once` is called
        in the store's thread as soon as it is there.
        """
        owner = {"owner": self._recording.owner, "run": self._run}
        said = {"tool": running.prepared.name, **owner, **payload}
        row = self._row(running, "intent", said)
        await self._store.commit(row, self._recording.durability, at_once)

    def report(self, running: CallState, text: str) -> None:
        """The tool says how far it is."""
        prepared = running.prepared
        if self._heard(running):
            self._emit(running, CallProgress(prepared.call.id, prepared.name, text))

    def listens(self, running: CallState) -> OnOutput | None:
        """Who hears what the call's program says while it runs; None if nobody does."""
        if running.prepared.footprint.command is None or not self._heard(running):
            return None
        prepared = running.prepared

        def hear(stream: Stream, data: bytes) -> None:
            text = data.decode("utf-8", "replace")
            self._emit(running, CallOutput(prepared.call.id, prepared.name, stream, text))

        return hear

    def replayed(self, prepared: PreparedCall, own_id: str, result: ToolResult) -> None:
        """A call that was made before was made again; nothing ran, but it is on record."""
        asked = {**payloads.requested(prepared, self._recording.dialect), "repeats": result.call_id}
        told = {"tool": prepared.name, "status": result.status, "repeats": result.call_id}
        turn, now = prepared.call.turn, self._clock.now_ns()
        with suppress(ProblemRaised):
            self._store.append(Row(self._session.id, "requested", own_id, turn, now, asked))
            self._store.append(Row(self._session.id, "completed", own_id, turn, now, told))

    def settle(self, running: CallState, outcome: CallOutcome) -> ToolResult:
        """The one exit of every call: result, record, events."""
        result = self.result(running, outcome)
        name, mess = running.prepared.name, running.mess
        try:
            if mess is not None and (mess.temp_files_left or mess.partially_applied):
                mark_pending_cleanup(self._store, self._session.id, result.call_id)
            # Without its completion it is what a crash leaves, and recovery makes it whole.
            if mess is None or not mess.partially_applied:
                told = payloads.completed(running, result)
                if self._recording.read_rules is not None:
                    told["read_rules"] = self._recording.read_rules
                if running.reads and self._recording.keep_reads:
                    told["reads"] = payloads.reads_of_call(running)
                self._store.append(self._row(running, "completed", told))
        except ProblemRaised as raised:
            # What happened has happened: the caller must hear of it even so. A store that
            # failed holds the row back and writes it once it can.
            _log.error("the record of %s waits: %s", shown(name), raised.problem.message)
        if self._heard(running):
            for change in result.changes:
                event = FileChanged(result.call_id, change.path, change.operation)
                self._emit(running, event)
            self._emit(running, _ended(name, result))
        if _log.isEnabledFor(logging.INFO):
            ended = result.status.value
            _log.info("%s: %s", shown(name), ended, extra={"call_id": result.call_id})
        return result

    def result(self, running: CallState, outcome: CallOutcome) -> ToolResult:
        """What the caller gets: the outcome, cut to size, with its measures."""
        prepared = running.prepared
        meta: dict[str, Any] = {
            "tool": prepared.name,
            "duration_s": self._clock.monotonic() - running.watch.started,
        }
        if outcome.meta:
            meta.update(outcome.meta)
        if running.attempts > 1:
            meta["attempts"] = running.attempts
        if prepared.coerced:
            meta["coerced"] = list(prepared.coerced)
        if prepared.ignored:
            meta["ignored"] = list(prepared.ignored)
        said = _in_own_words(prepared, outcome)
        text, display = self._fitted(running, said, meta), outcome.display
        line = change_summary(running.changes, meta) if display is None else None
        return ToolResult(
            prepared.call.id,
            outcome.status,
            text,
            f"{text}\n{line}" if line is not None else display,
            outcome.data,
            outcome.problem,
            running.changes,
            outcome.modifiers,
            meta,
            outcome.images,
        )

    def fits(self, running: CallState, text: str) -> bool:
        """Whether the model is told all of it."""
        return running.prepared.entry is None or len(text) <= self._limit(running)

    def cut(self, text: str, running: CallState) -> str:
        """The text as the model would be told it, without keeping the rest of a long one."""
        if self.fits(running, text):
            return text
        keep = self._recording.keep or running.prepared.tool.keep
        return truncate(text, self._limit(running), keep, None, "").text

    def _limit(self, running: CallState) -> int:
        limit = running.prepared.tool.max_chars
        if self._recording.max_chars is not None:
            limit = min(limit, self._recording.max_chars)
        return limit

    def _fitted(self, running: CallState, text: str, meta: dict[str, Any]) -> str:
        if self.fits(running, text):
            return text
        prepared, limit = running.prepared, self._limit(running)
        tool = prepared.tool
        command = prepared.footprint.command
        named = [place.rel for place in prepared.places.values()]
        named += command.effects.reads if command is not None else ()
        artifacts = None if any(map(is_sensitive, named)) else self._session.artifacts
        keep = self._recording.keep or tool.keep
        fitted = truncate(text, limit, keep, artifacts, prepared.call.id)
        meta["oversize"] = {"cut": fitted.cut, "saved": fitted.saved}
        return fitted.text

    def _row(
        self,
        running: CallState,
        kind: Literal["requested", "intent", "completed"],
        payload: Mapping[str, Any],
    ) -> Row:
        call = running.prepared.call
        return Row(self._session.id, kind, call.id, call.turn, self._clock.now_ns(), payload)

    def _heard(self, running: CallState) -> bool:
        """Whether anybody listens; if not, no event need be built."""
        return running.listener is not None or not self._bus.idle

    def _emit(self, running: CallState, event: Event) -> None:
        self._bus.emit(event, running.listener)


def _in_own_words(prepared: PreparedCall, outcome: CallOutcome) -> str:
    """The text as the caller's vocabulary begins it; what a program printed stays."""
    data = outcome.data
    if prepared.openings and isinstance(data, Mapping):
        job = data.get("job", data.get("id"))
        for ours, theirs in prepared.openings.items():
            if outcome.text.partition("\n")[0] == f"{ours}: {job}":
                return theirs + outcome.text.removeprefix(ours)
    return outcome.text


def _ended(tool: str, result: ToolResult) -> CallEnded:
    code = result.problem.code if result.problem else None
    duration = result.meta["duration_s"]
    return CallEnded(result.call_id, tool, result.status.value, code, duration)
