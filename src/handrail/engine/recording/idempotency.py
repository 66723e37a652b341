"""Idempotency by call id: a repeated id with equal arguments gets the recorded result, with other
arguments it is refused as `duplicate_id`. For servers that reuse call ids in every response, the
id of the response distinguishes the calls.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.core.outputs import Outputs
from handrail.core.places import shown
from handrail.core.ports.records import CallRecord, Store
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import ToolResult
from handrail.engine import messages
from handrail.engine.batch.scheduler import collect_into, release_slot_while
from handrail.engine.pipeline import Pipeline
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.preparer import CallIds
from handrail.engine.recording.payloads import replay
from handrail.engine.recording.stored_results import find_own_call

if TYPE_CHECKING:
    from handrail.core.events import Listener

# How long a call waits for the first call of its id in another process, and the polling interval.
OTHER_PROCESS_WAIT_S: Final = 10.0
_POLL_S: Final = 0.02
_LISTED: Final = 8


class IdClaim(NamedTuple):
    """Whether a call may run: it may if there is neither a conflict nor a previous call.

    `previous` returns the result of the first call with this id. If it returns None, that call
    ended without a result, and the id must be claimed again. It raises `ProblemRaised` if there is
    no result and the call must not run either.
    """

    previous: Callable[[], Awaitable[ToolResult | None]] | None = None
    conflict: Problem | None = None


_FRESH: Final = IdClaim()


class InFlightCall(NamedTuple):
    fingerprint: str
    ended: asyncio.Future[ToolResult | None]


class _CallHistory:
    """The recorded calls of one session in the store."""

    def __init__(self, session: str, store: Store) -> None:
        self.session = session
        self.store = store
        # Other sessions in which calls of continued conversations were made, by call id.
        self.elsewhere: dict[str, str] = {}

    async def find(self, call_id: str) -> CallRecord | None:
        return await self.store.find_completed(self.session, call_id)

    async def result(self, call_id: str) -> ToolResult | None:
        found = await self.find(call_id)
        if found is None or found.completed is None:
            return None
        if "status" not in found.completed:
            raise ProblemRaised.of(_result_gone_problem(call_id, found.completed))
        result = replay(found)
        return (
            result if result is None or not result.changes else await self._with_undo_note(result)
        )

    async def _with_undo_note(self, result: ToolResult) -> ToolResult:
        """Return the result of a change, which may have been undone since."""
        from handrail.history.undo.recorded_changes import find_undone_paths

        undone = await find_undone_paths(self.store, self.session, result.call_id)
        if not undone:
            return result
        listed = ", ".join(shown(path) for path in undone[:_LISTED])
        more = f" and {len(undone) - _LISTED} more" if len(undone) > _LISTED else ""
        said = f"{result.text}\n[handrail: undone since, and not done again: {listed}{more}]"
        return replace(result, text=said, meta={**result.meta, "undone": undone})

    async def has_intent(self, call_id: str) -> bool:
        """Return whether the call announced a change, which it may have made."""
        newest = await self.store.calls(session=self.session, call_id=call_id, limit=1)
        return bool(newest) and newest[0].intent is not None

    def compare(self, found: CallRecord, known: str | None, fingerprint: str) -> IdClaim:
        if known is None:
            return IdClaim(conflict=_result_gone_problem(found.call_id, found.requested))
        if known != fingerprint:
            return IdClaim(conflict=_duplicate_id(found.call_id))
        return IdClaim(previous=partial(self.result, found.call_id))


class _SharedIds:
    """The ids of a session that other processes may have open too: the store decides about them."""

    def __init__(self, past: _CallHistory, owner: str, alive: Callable[[str], bool]) -> None:
        self._past = past
        self._owner = owner
        self._alive = alive

    async def claim(self, call_id: str, fingerprint: str) -> IdClaim:
        past = self._past
        held = await past.store.claim(past.session, call_id, fingerprint, self._owner)
        if held is None:
            return _FRESH
        found = await past.find(call_id)
        if found is not None:
            known = held.fingerprint or _recorded_fingerprint(found.requested)
            return past.compare(found, known, fingerprint)
        if held.fingerprint != fingerprint:
            return IdClaim(conflict=_duplicate_id(call_id))
        if self._alive(held.owner):
            return IdClaim(previous=partial(self._wait, call_id, held.owner))
        return await self._take_over(call_id, held.owner)

    async def _take_over(self, call_id: str, dead: str) -> IdClaim:
        past = self._past
        if await past.has_intent(call_id):
            return IdClaim(conflict=messages.RESULT_UNKNOWN.fill(call_id=call_id))
        if await past.store.take_over(past.session, call_id, dead, self._owner):
            return _FRESH
        return IdClaim(previous=partial(self._wait, call_id, dead))

    async def _wait(self, call_id: str, owner: str) -> ToolResult | None:
        clock = asyncio.get_running_loop().time
        deadline = clock() + OTHER_PROCESS_WAIT_S
        while (result := await self._past.result(call_id)) is None:
            if not self._alive(owner):
                return None
            if clock() >= deadline:
                raise messages.RUNNING_ELSEWHERE.error(call_id=call_id)
            await asyncio.sleep(_POLL_S)
        return result


def _assume_alive(owner: str) -> bool:
    del owner
    return True


class CallIdLedger:
    """The ids that callers gave in one session.

    `resumed`: the session has a name, so that other processes may have used it or use it now; its
    ids are claimed in the store. `owner` names this process there; `alive` returns whether the
    process of an owner may still run: the id of a dead process can be taken over.
    """

    def __init__(
        self,
        session: str,
        store: Store,
        *,
        resumed: bool,
        owner: str = "",
        alive: Callable[[str], bool] = _assume_alive,
    ) -> None:
        self._past = _CallHistory(session, store)
        self._shared = _SharedIds(self._past, owner, alive) if resumed else None
        # Part of every id that Handrail generates, which no caller can produce by chance.
        self.prefix = os.urandom(4).hex()
        self._seen: dict[str, str] = {}
        # Ids of calls that ended without a result; they may run again if they have changed nothing.
        self._abandoned: set[str] = set()
        self._responses: dict[str, str] = {}
        self._running: dict[str, InFlightCall] = {}

    async def name_for(self, call_id: str, response: str | None) -> str:
        """Return the id to record a call under: its own, unless another response has used it."""
        if response is None:
            return call_id
        if self._shared is not None and call_id not in self._responses:
            found = await self._past.find(call_id)
            if found is not None:
                self._responses[call_id] = str(found.requested.get("response"))
        if self._responses.setdefault(call_id, response) == response:
            return call_id
        return f"{call_id}~{hashlib.sha256(response.encode()).hexdigest()[:8]}"

    async def is_recorded(self, call_id: str, conversation: str) -> bool:
        """Return whether a call of this id has completed; a cancelled call has not. If its
        conversation made it in another session, a claim of the id finds it there from now on.
        """
        if call_id in self._abandoned:
            return False
        past = self._past
        found = await find_own_call(past.store, past.session, call_id, conversation)
        if found is not None and found.session != past.session:
            self._past.elsewhere[call_id] = found.session
        return found is not None

    async def claim(self, prepared: PreparedCall) -> IdClaim:
        """Claim the id for this call, or return the conflict or the previous call. A caller that
        got the claim must call `settle`.
        """
        call_id, fingerprint = prepared.call.id, _fingerprint(prepared)
        running = self._running.get(call_id)
        known = running.fingerprint if running is not None else self._seen.get(call_id)
        if known is not None and known != fingerprint:
            return IdClaim(conflict=_duplicate_id(call_id))
        if running is not None:
            return IdClaim(previous=lambda: asyncio.shield(running.ended))
        if known is not None and call_id not in self._abandoned:
            return IdClaim(previous=partial(self._recorded, call_id))
        # Before anything is awaited: of several concurrent calls, one is first.
        future = asyncio.get_running_loop().create_future()
        self._running[call_id] = InFlightCall(fingerprint, future)
        claim: IdClaim | None = None
        try:
            if call_id in self._past.elsewhere:
                claim = await self._claim_elsewhere(prepared)
            else:
                claim = await self._decide(call_id, fingerprint)
        finally:
            if claim is not _FRESH:
                del self._running[call_id]
                future.set_result(None)
        return claim

    def settle(self, call_id: str, result: ToolResult | None) -> None:
        """Record that the call of this id has ended; `result` is None if it was cancelled."""
        running = self._running.pop(call_id, None)
        if running is None:
            return
        self._seen[call_id] = running.fingerprint
        if result is None:
            self._abandoned.add(call_id)
        else:
            self._abandoned.discard(call_id)
        running.ended.set_result(result)

    async def _decide(self, call_id: str, fingerprint: str) -> IdClaim:
        if call_id in self._abandoned:
            if not await self._past.has_intent(call_id):
                return _FRESH
            self._abandoned.discard(call_id)
            return IdClaim(previous=partial(self._recorded, call_id))
        if self.prefix in call_id:
            found = await self._past.find(call_id)
            if found is None:
                return IdClaim(conflict=_duplicate_id(call_id))
            known = _recorded_fingerprint(found.requested)
            return self._past.compare(found, known, fingerprint)
        if self._shared is not None:
            return await self._shared.claim(call_id, fingerprint)
        return _FRESH

    async def _claim_elsewhere(self, prepared: PreparedCall) -> IdClaim:
        """Return the claim of a call whose conversation has made it in another session. Ids of a
        conversation are unique in it; arguments are not compared, because secrets in the recorded
        ones are masked.
        """
        call = prepared.call
        past = _CallHistory(self._past.elsewhere[call.id], self._past.store)
        found = await past.find(call.id)
        asked = {} if found is None else found.requested
        if (asked.get("agent"), asked.get("called")) != (call.agent, call.name):
            return IdClaim(conflict=_duplicate_id(call.id))
        return IdClaim(previous=partial(past.result, call.id))

    async def _recorded(self, call_id: str) -> ToolResult | None:
        result = await self._past.result(call_id)
        if result is None:
            if await self._past.has_intent(call_id):
                raise messages.RESULT_UNKNOWN.error(call_id=call_id)
            self._abandoned.add(call_id)
        return result


def mark_replayed(result: ToolResult) -> ToolResult:
    """Return the result, with a note if it is the recorded one of an earlier call: without response
    ids, a repeated id may have been meant as another call.
    """
    if not result.meta.get("replayed"):
        return result
    note = "a call with this id was already made; this is its recorded result, and nothing was run again"
    return replace(result, text=f"{result.text}\n[handrail: {note}]")


def _fingerprint(prepared: PreparedCall) -> str:
    # The agent is included: one agent must not be shown what another was allowed to see.
    parts: list[Any] = [prepared.call.agent, prepared.name, prepared.arguments]
    if prepared.args is None and prepared.problem is not None:
        # The call could not be parsed, so its arguments may be missing.
        parts.append(prepared.problem.message)
    return _digest(parts)


def _recorded_fingerprint(requested: Mapping[str, Any]) -> str | None:
    if "arguments" not in requested:
        return None
    return _digest([requested.get("agent"), requested.get("tool"), requested["arguments"]])


def _digest(value: object) -> str:
    # A hash, because it stays when the arguments themselves are purged.
    text = json.dumps(value, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _duplicate_id(call_id: str) -> Problem:
    return messages.DUPLICATE_ID.fill(call_id=call_id)


def _result_gone_problem(call_id: str, payload: Mapping[str, Any]) -> Problem:
    why = "was purged from the record" if payload.get("purged") else "could not be recorded"
    return messages.RESULT_GONE.fill(call_id=call_id, why=why)


@dataclass(frozen=True, slots=True)
class IdempotentRunner:
    """Runs each call id once. A repeated call gets the recorded result; a call with a used id and
    other arguments is refused as `duplicate_id`.
    """

    pipeline: Pipeline
    ledger: CallIdLedger
    ids: CallIds
    stored: Outputs

    async def run(self, prepared: PreparedCall, listener: Listener | None = None) -> ToolResult:
        """Run the call, unless the caller chose its id and has used it before."""
        if not prepared.origin.has_client_id:
            return await self.pipeline.run(prepared, listener)
        given = prepared.call.id
        try:
            name = await self.ledger.name_for(given, prepared.origin.response)
            prepared.call = prepared.call._replace(id=name)
            result = await self._run_claimed(prepared, listener)
        except ProblemRaised as raised:
            # The store cannot tell whether the id was used, so the call is refused.
            result = await self._refuse(prepared, raised.problem, listener)
        return result if result.call_id == given else replace(result, call_id=given)

    async def _run_claimed(self, prepared: PreparedCall, listener: Listener | None) -> ToolResult:
        claim = await self.ledger.claim(prepared)
        if claim.conflict is not None:
            return await self._refuse(prepared, claim.conflict, listener)
        if claim.previous is not None:
            found: list[ToolResult | None] = []
            await release_slot_while(collect_into(found, claim.previous()))
            previous = found[0]
            if previous is None:
                # The first call was cancelled; one of those that waited may run.
                return await self._run_claimed(prepared, listener)
            # The recorded text must still be readable under the present rules.
            await self.stored.check(prepared.call.id, prepared.call)
            self.pipeline.recorder.replayed(prepared, self._unused_id(prepared), previous)
            return previous
        result: ToolResult | None = None
        try:
            result = await self.pipeline.run(prepared, listener)
        finally:
            self.ledger.settle(prepared.call.id, result)
        return result

    async def _refuse(
        self, prepared: PreparedCall, problem: Problem, listener: Listener | None
    ) -> ToolResult:
        """Record a refusal under a new id, because the given one may belong to an earlier call."""
        prepared.problem = problem
        prepared.call = prepared.call._replace(id=self._unused_id(prepared))
        return await self.pipeline.run(prepared, listener)

    def _unused_id(self, prepared: PreparedCall) -> str:
        return self.ids.repeated_id(prepared.call.id)
