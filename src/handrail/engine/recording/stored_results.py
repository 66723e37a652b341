"""Results of earlier calls of this session, by their ids: for replays and for handles."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handrail.core.call import ToolCall
from handrail.core.outputs import OUTPUT_OF, StoredOutput, StoredStream, output_call_id
from handrail.core.ports.machine import Artifacts
from handrail.core.ports.records import CallRecord, Store
from handrail.core.problems import ProblemRaised
from handrail.core.results import Status
from handrail.engine import messages
from handrail.engine.recording.read_review import ReadReview

_STREAMS: Final = ("stdout", "stderr")
# The number of outputs of outputs that are followed back to the first read.
_MOST_STEPS: Final = 20
# The number of attempts of one call that are examined, each perhaps in another session.
_MOST_SESSIONS: Final = 20


class StoredResults(NamedTuple):
    """Implements `core.outputs.Outputs` on the record and the saved texts of one session."""

    session: str
    store: Store
    artifacts: Artifacts
    review: ReadReview

    async def check(self, call_id: str, caller: ToolCall) -> None:
        """Raise `denied` if the caller may not read what a call has returned."""
        record = await find_own_call(self.store, self.session, call_id, caller.conversation)
        if record is not None:
            await self._review(record, caller)

    async def load(self, call_id: str, caller: ToolCall) -> StoredOutput:
        """Return the full output of a call; raises `not_found` or `denied`."""
        record = await self._find(call_id, caller)
        done = record.completed
        if done is None or "status" not in done:
            raise _missing_problem(call_id, "it was deleted from the record")
        await self._review(record, caller)
        meta = done.get("meta")
        try:
            known = meta if isinstance(meta, Mapping) else {}
            return assemble_output(call_id, done, known, self.artifacts)
        except ProblemRaised as raised:
            if raised.problem.code != "not_found":
                raise
            raise _missing_problem(
                call_id, "it was deleted to make room, or by `handrail gc`"
            ) from raised

    async def denies(self, call: ToolCall) -> bool:
        """See `Outputs.denies`. Calls of imported conversations, and of forks into another
        directory, are not recorded here.
        """
        for newer in await self.store.calls(call_id=call.id, limit=_MOST_SESSIONS):
            record = await self.store.find_completed(newer.session, call.id)
            if record is not None and "status" in (record.completed or {}):
                break
        else:
            return self.review.denies_unrecorded(call)
        try:
            await self._review(record, call._replace(conversation=""))
        except ProblemRaised as raised:
            return raised.problem.code == "denied"
        return False

    async def _review(self, record: CallRecord, caller: ToolCall) -> None:
        """Review the call and, if it has read the output of another call, that call too."""
        for _ in range(_MOST_STEPS):
            self.review.check(record, caller)
            source = _source_call(record)
            if source is None:
                return
            found = await find_own_call(
                self.store, record.session, source, record.requested.get("conversation")
            )
            if found is None:
                break
            record = found
        raise messages.QUOTED_OUTPUT_GONE.error(call_id=record.call_id)

    async def _find(self, call_id: str, caller: ToolCall) -> CallRecord:
        record = await find_own_call(self.store, self.session, call_id, caller.conversation)
        if record is not None:
            return record
        if await self.store.calls(call_id=call_id, limit=1):
            raise messages.OUTPUT_OF_OTHER_SESSION.error(call_id=call_id, field="path")
        raise messages.NO_SUCH_OUTPUT.error(call_id=call_id, field="path")


async def find_own_call(
    store: Store, session: str, call_id: str, conversation: str | None
) -> CallRecord | None:
    """Return the completed call of a session, else that of another session in which the same
    conversation made it. A conversation may continue in another session and keeps its calls.
    """
    found = await store.find_completed(session, call_id)
    if found is not None or not conversation:
        return found
    for newer in await store.calls(call_id=call_id, limit=_MOST_SESSIONS):
        found = await store.find_completed(newer.session, call_id)
        if found is not None and found.requested.get("conversation") == conversation:
            return found
    return None


def assemble_output(
    call_id: str, done: Mapping[str, Any], meta: Mapping[str, Any], artifacts: Artifacts
) -> StoredOutput:
    """Return the full output of a call from its `completed` row and the texts that were saved next
    to the record; raises `not_found` if one is missing.
    """
    text = str(done.get("text", ""))
    data = done.get("data")
    if any(f"{name}_saved" in meta for name in _STREAMS) and isinstance(data, Mapping):
        streams = [
            StoredStream(name, _load_stream(name, meta, data, artifacts)) for name in _STREAMS
        ]
        return StoredOutput(call_id, text, tuple(streams), data.get("exit_code"))
    oversize = meta.get("oversize")
    if isinstance(oversize, Mapping):
        saved = oversize.get("saved")
        if saved is None:
            raise _missing_problem(call_id, "it could not be kept, or holds what must not be kept")
        text = artifacts.load(str(saved)).decode("utf-8", "surrogatepass")
    return StoredOutput(call_id, text)


def _load_stream(
    name: str, meta: Mapping[str, Any], data: Mapping[str, Any], artifacts: Artifacts
) -> str:
    saved = meta.get(f"{name}_saved")
    if saved is None:
        return str(data.get(name) or "")
    kept = artifacts.load(posixpath.basename(str(saved)))
    text = kept.decode("utf-8", "replace")
    total = meta.get(f"{name}_bytes")
    if isinstance(total, int) and total > len(kept):
        text = f"{text}\n[{total - len(kept):,} bytes more were not kept]"
    return text


def _source_call(record: CallRecord) -> str | None:
    """The call whose output a call has read, by a handle or a job; None if it has read none."""
    done = record.completed or {}
    if done.get("status") == Status.REFUSED:
        return None
    meta = done.get("meta")
    if isinstance(meta, Mapping) and OUTPUT_OF in meta:
        return str(meta[OUTPUT_OF])
    arguments = done.get("rewritten", record.requested.get("arguments"))
    return output_call_id(arguments.get("path")) if isinstance(arguments, Mapping) else None


def _missing_problem(call_id: str, why: str) -> ProblemRaised:
    return messages.OUTPUT_NOT_KEPT.error(call_id=call_id, why=why, field="path")
