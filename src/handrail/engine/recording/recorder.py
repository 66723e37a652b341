"""The record of a call: its rows, its events, its result.

Every call leaves a `requested` and a `completed` row, whatever happens to it; one that writes or
runs something leaves an `intent` row, on disk, before it does. Only a change that is neither
complete nor reverted has no `completed` row until recovery finishes it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from handrail.core.context import Session, ToolContext, current_reads
from handrail.core.names.caller_words import current_words
from handrail.core.places import shown
from handrail.core.ports.machine import Clock
from handrail.core.ports.records import Durability, Row, Store
from handrail.core.problems import ProblemRaised
from handrail.core.results import ChangeRecord, Output, Status, ToolResult
from handrail.engine.call_policy import note_shown_secrets
from handrail.engine.call_state import CallState, Outcome, current_call
from handrail.engine.events import EventBus
from handrail.engine.failures import ended_problem
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.recording.payloads import (
    change_summary,
    ended_events,
    footprint_words,
    log_attributes,
    one_line,
    render_call,
)
from handrail.engine.recording.truncation import (
    DEFAULT_TRUNCATION,
    TruncationOptions,
    truncate,
    truncate_result,
)
from handrail.engine.timing import CallTimer, DeadlineTimer
from handrail.history.recovered_call import mark_pending_cleanup

if TYPE_CHECKING:
    from handrail.core.events import Event, Listener
    from handrail.core.ports.processes import OnOutput, Stream

_log = logging.getLogger("handrail")
_NO_ERRORS: Final = (Status.OK, Status.PLANNED)


@dataclass(frozen=True, slots=True)
class RecorderOptions:
    """How calls of a session are recorded."""

    dialect: str
    # Names this process and this runtime in intents, so that recovery leaves running calls alone.
    owner: Mapping[str, str]
    durability: Durability = "power"
    # Whether reads continue while the store cannot be written.
    reads_without_store: bool = False
    # A digest of the rules that deny reads; None if there are none.
    read_rules: str | None = None
    # Whether the record says which files were read, because a named session may be resumed.
    keep_reads: bool = False
    truncation: TruncationOptions = DEFAULT_TRUNCATION


class Recorder:
    """Writes the rows, events and results of the calls of one session."""

    def __init__(
        self,
        session: Session,
        store: Store,
        bus: EventBus,
        clock: Clock,
        timers: DeadlineTimer,
        options: RecorderOptions,
        on_call_ended: Callable[[], None] | None = None,
    ) -> None:
        self.session = session
        self._store = store
        self._bus = bus
        self._clock = clock
        self._timers = timers
        self._options = options
        self._on_call_ended = on_call_ended

    def begin(self, prepared: PreparedCall, listener: Listener | None) -> CallState:
        """Return the state of a call that begins now, with its timer."""
        entry, name = prepared.entry, prepared.call.name
        if entry is not None:
            name = entry.tool.name
        timer = self._timers.start(prepared.call.id, name, listener)
        context = ToolContext(
            prepared.call,
            self.session,
            partial(self.report, timer),
            timer.cancellation.signal,
            prepared.scope.places,
            chain=prepared.principal.chain,
        )
        if prepared.scope.footprint.command is not None:
            context.on_output = self._output_listener(timer)
        return CallState(prepared, timer, context)

    def replace_prepared(self, state: CallState, prepared: PreparedCall) -> None:
        """Continue the call with other arguments."""
        state.prepared, state.context.call = prepared, prepared.call
        state.context.places = prepared.places
        if prepared.footprint.command is not None:
            state.context.on_output = self._output_listener(state.timer)

    def record(self, state: CallState) -> CallRecording:
        """Record the end of the call when the `async with` block ends, however it ends."""
        return CallRecording(self, state)

    async def write_requested(self, state: CallState) -> None:
        """Write the `requested` row; raises `store_unavailable` if that is impossible."""
        prepared, call = state.prepared, state.prepared.call
        payload = requested_payload(prepared, self._options.dialect)
        now = self._clock.now_ns()
        try:
            self._store.append(Row(self.session.id, "requested", call.id, call.turn, now, payload))
        except ProblemRaised:
            await self._recover(state)
        if state.timer.listener is not None or not self._bus.idle:
            from handrail.core.events import CallStarted

            facts = one_line(prepared), render_call(prepared), footprint_words(prepared)
            started = CallStarted(call.id, prepared.name, call.turn, call.agent, *facts)
            self._bus.emit(started, state.timer.listener)

    async def _recover(self, state: CallState) -> None:
        """Let a store that failed write the row; raises if it cannot, unless reads may continue."""
        try:
            await self._store.flush()
        except ProblemRaised:
            reads_only = state.prepared.reads_only
            if not (self._options.reads_without_store and reads_only):
                raise

    async def write_intent(
        self,
        state: CallState,
        payload: Mapping[str, Any],
        on_disk: Callable[[], None] | None = None,
    ) -> None:
        """Write the `intent` row of a call that is about to change something; return when the row
        is on disk. `on_disk` is called in the store's thread as soon as it is.
        """
        call, now = state.prepared.call, self._clock.now_ns()
        announced = {"tool": state.timer.tool, **self._options.owner, **payload}
        row = Row(self.session.id, "intent", call.id, call.turn, now, announced)
        await self._store.commit(row, self._options.durability, on_disk)

    def report(self, timer: CallTimer, sent: str | Event) -> None:
        """Send the progress that a tool reports, or an event of its own, to the listeners."""
        if timer.listener is not None or not self._bus.idle:
            from handrail.core.events import CallProgress

            own = CallProgress(timer.call_id, timer.tool, sent) if isinstance(sent, str) else sent
            self._bus.emit(own, timer.listener)

    def _output_listener(self, timer: CallTimer) -> OnOutput | None:
        """Return a function that sends the output of a running program to the listeners; None if
        there are none.
        """
        if timer.listener is None and self._bus.idle:
            return None
        from handrail.core.events import CallOutput

        def send(stream: Stream, data: bytes) -> None:
            text = data.decode("utf-8", "replace")
            self._bus.emit(CallOutput(timer.call_id, timer.tool, stream, text), timer.listener)

        return send

    def replayed(self, prepared: PreparedCall, own_id: str, result: ToolResult) -> None:
        """Record that a call was repeated and got the recorded result; nothing ran."""
        asked = {**requested_payload(prepared, self._options.dialect), "repeats": result.call_id}
        answered = {"tool": prepared.name, "status": result.status, "repeats": result.call_id}
        turn, now = prepared.call.turn, self._clock.now_ns()
        with suppress(ProblemRaised):
            self._store.append(Row(self.session.id, "requested", own_id, turn, now, asked))
            self._store.append(Row(self.session.id, "completed", own_id, turn, now, answered))

    def settle(self, state: CallState) -> ToolResult:
        """End a call, on every way out: make its result, its `completed` row, its events."""
        outcome = state.outcome or Outcome.from_problem(ended_problem(state))
        result = self.result(state, outcome)
        note_shown_secrets(state, result)
        try:
            self._write_completed(state, result)
        except ProblemRaised as raised:
            # The changes were made: the caller gets the result, and the store writes the row later.
            name, why = shown(state.timer.tool), raised.problem.message
            _log.error("the record of %s waits: %s", name, why)
        if state.timer.listener is not None or not self._bus.idle:
            for event in ended_events(state, result):
                self._bus.emit(event, state.timer.listener)
        if _log.isEnabledFor(logging.INFO):
            facts = log_attributes(result, self.session)
            _log.info("%s: %s", shown(state.prepared.name), result.status.value, extra=facts)
        return result

    def _write_completed(self, state: CallState, result: ToolResult) -> None:
        residue = state.effects.residue
        if residue is not None and (residue.temp_files_left or residue.partially_applied):
            mark_pending_cleanup(self._store, self.session.id, result.call_id)
        if residue is not None and residue.partially_applied:
            # Without a `completed` row, recovery finishes the call as after a crash.
            return
        payload = completed_payload(state, result)
        if self._options.read_rules is not None:
            payload["read_rules"] = self._options.read_rules
        call, now = state.prepared.call, self._clock.now_ns()
        if (reads := state.notes.reads) and self._options.keep_reads:
            reader = call.reader if call.conversation else call.agent
            payload["reads"] = {"agent": reader, "files": dict(reads)}
        self._store.append(Row(self.session.id, "completed", call.id, call.turn, now, payload))

    def close(self, state: CallState) -> None:
        """Release what a call holds, after its record was written."""
        state.prepared.principal.policy.settle(state)
        if self._on_call_ended is not None:
            self._on_call_ended()
        self._timers.unregister(state.timer)

    def result(self, state: CallState, outcome: Outcome) -> ToolResult:
        """Return the result for the caller: the outcome, truncated, with its measurements."""
        prepared, output, changes = state.prepared, outcome.output, state.effects.changes
        meta: dict[str, Any] = {
            "tool": state.timer.tool,
            "duration_s": self._clock.monotonic() - state.timer.started,
        }
        if output.meta:
            meta.update(output.meta)
        if state.effects.attempts > 1:
            meta["attempts"] = state.effects.attempts
        if prepared.parsed.coerced:
            meta["coerced"] = list(prepared.parsed.coerced)
        if prepared.parsed.ignored:
            meta["ignored"] = list(prepared.parsed.ignored)
        text, entry, most = output.text, prepared.entry, self._options.truncation.max_chars
        if prepared.parsed.result_prefixes:
            text = _apply_dialect_prefix(prepared, output)
        if entry is not None and len(text) > min(entry.tool.max_chars, most):
            text = truncate_result(prepared, text, self._options.truncation, self.session, meta)
        line = None
        if output.display is None and (changes or "undo_left_out" in meta):
            line = change_summary(changes, meta)
        return ToolResult(
            prepared.call.id,
            outcome.status,
            text,
            f"{text}\n{line}" if line is not None else output.display,
            output.data,
            output.problem,
            changes,
            output.modifiers,
            meta,
            output.images,
        )

    def fits(self, state: CallState, text: str) -> bool:
        """Return whether `text` fits the limit untruncated."""
        entry, most = state.prepared.entry, self._options.truncation.max_chars
        return entry is None or len(text) <= min(entry.tool.max_chars, most)

    def cut(self, text: str, state: CallState) -> str:
        """Return the truncated text, as the model would see it; the rest is not saved."""
        if self.fits(state, text):
            return text
        tool, options = state.prepared.tool, self._options.truncation
        limit = min(tool.max_chars, options.max_chars)
        return truncate(text, limit, options.keep or tool.keep, None, "").text


class CallRecording:
    """The recording of one running call; a class, because a generator would cost more."""

    __slots__ = ("_recorder", "_state", "_tokens", "result")

    def __init__(self, recorder: Recorder, state: CallState) -> None:
        self._recorder = recorder
        self._state = state

    result: ToolResult

    async def __aenter__(self) -> CallRecording:
        state, notes = self._state, self._state.notes
        words = state.prepared.parsed.words
        self._tokens = (
            current_call.set((state.context.session, notes)),
            current_reads.set(notes.reads),
            None if words is None else current_words.set(words),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        state, cancellation = self._state, self._state.timer.cancellation
        call, reads, words = self._tokens
        try:
            try:
                if error is None and cancellation.ended:
                    await cancellation.clear()
            finally:
                self.result = self._recorder.settle(state)
            if error is None and self.result.problem is not None:
                failed_calls = state.prepared.principal.policy.failed_calls
                if failed_calls is not None:
                    await failed_calls.value.note(state, self.result)
        finally:
            self._recorder.close(state)
            current_call.reset(call)
            if words is not None:
                current_words.reset(words)
            current_reads.reset(reads)


def requested_payload(prepared: PreparedCall, dialect: str) -> dict[str, Any]:
    """Return the payload of a `requested` row: the call as it was made and parsed. Append-only."""
    call, entry, parsed = prepared.call, prepared.entry, prepared.parsed
    payload = {
        "tool": call.name if entry is None else entry.tool.name,
        "called": call.name,
        "arguments": parsed.arguments,
        "agent": call.agent,
        "dialect": dialect,
        "risk": prepared.scope.risk.word,
    }
    if parsed.coerced:
        payload["coerced"] = parsed.coerced
    if parsed.ignored:
        payload["ignored"] = parsed.ignored
    if call.conversation:
        payload["conversation"] = call.conversation
    if prepared.origin.response is not None:
        payload["response"] = prepared.origin.response
    return payload


def completed_payload(state: CallState, result: ToolResult) -> dict[str, Any]:
    """Return the payload of a `completed` row: the result, and which rule cleared the call.
    Append-only.
    """
    clearance, prepared, changes = state.clearance, state.prepared, result.changes
    verdict, status = clearance.verdict, result.status
    payload = {
        "tool": state.timer.tool,
        # Texts instead of enum members: the JSON is the same, and encoding a member takes longer.
        "status": status._value_,
        "is_error": status not in _NO_ERRORS,
        "text": result.text,
        "data": result.data,
        "problem": result.problem.to_dict() if result.problem else None,
        "changes": _change_rows(changes) if changes else [],
        "cleared": None if verdict is None else [verdict.effect._value_, verdict.rule],
        "asked": clearance.asked,
        "meta": result.meta,
    }
    if clearance.answered_by is not None:
        payload["answered_by"] = clearance.answered_by
    if state.effects.recorded is not None:
        payload["effects"] = state.effects.recorded
    for place in prepared.scope.places.values():
        if place.via:
            # Where links led; they may lead elsewhere when the result is read again.
            payload.setdefault("linked", []).append(place.absolute)
    if state.notes.hook_failures:
        payload["hook_failures"] = state.notes.hook_failures
    if clearance.rewritten:
        payload["rewritten"] = prepared.parsed.arguments
    return payload


def _change_rows(changes: Sequence[ChangeRecord]) -> list[list[str | None]]:
    return [[one.path, one.operation, one.before_hash, one.after_hash] for one in changes]


def _apply_dialect_prefix(prepared: PreparedCall, output: Output) -> str:
    """Return the text with the dialect's first words; output of programs is not changed."""
    data, prefixes = output.data, prepared.parsed.result_prefixes
    if prefixes and isinstance(data, Mapping):
        job = data.get("job", data.get("id"))
        for ours, theirs in prefixes.items():
            if output.text.partition("\n")[0] == f"{ours}: {job}":
                return theirs + output.text.removeprefix(ours)
    return output.text
