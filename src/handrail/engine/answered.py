"""Calls that come twice: the same id with the same arguments gets the recorded result, with
others it is a `duplicate_id`. Nothing runs twice because a client repeated itself. Some
servers count their ids anew in every response; there the response's id tells them apart.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from handrail.core.ports import Store
from handrail.core.problems import Problem
from handrail.core.results import ToolResult
from handrail.engine.prepare import Prepared
from handrail.engine.record import replay


class Claim(NamedTuple):
    """Whether a call may run: `earlier` gives the result of its first time instead."""

    earlier: Callable[[], Awaitable[ToolResult | None]] | None = None
    clash: Problem | None = None


_FRESH = Claim()


class Answered:
    """The ids that callers gave in one session; `resumed` sessions also ask the store."""

    def __init__(self, session: str, store: Store, *, resumed: bool) -> None:
        self._session = session
        self._store = store
        self._resumed = resumed
        self._seen: dict[str, str] = {}
        self._responses: dict[str, str] = {}
        self._running: dict[str, asyncio.Future[ToolResult | None]] = {}

    async def name_for(self, call_id: str, response: str | None) -> str:
        """The id to record a call under: its own, unless another response has used it."""
        if response is None:
            return call_id
        if call_id not in self._seen and self._resumed:
            await self._recall(call_id)
        if self._responses.setdefault(call_id, response) == response:
            return call_id
        return f"{call_id}~{hashlib.sha256(response.encode()).hexdigest()[:8]}"

    async def claim(self, prepared: Prepared) -> Claim:
        """Take the id for this call, or say who had it before."""
        call_id, print_ = prepared.call.id, _print(prepared)
        if call_id not in self._seen and self._resumed:
            await self._recall(call_id)
        earlier = self._seen.get(call_id)
        if earlier is None:
            self._seen[call_id] = print_
            self._running[call_id] = asyncio.get_running_loop().create_future()
            return _FRESH
        if earlier != print_:
            return Claim(clash=_clash(call_id))
        return Claim(earlier=lambda: self._earlier(call_id))

    def settle(self, call_id: str, result: ToolResult | None) -> None:
        """The call of this id is over; None if it was cancelled away."""
        future = self._running.pop(call_id, None)
        if future is not None and not future.done():
            future.set_result(result)

    async def _earlier(self, call_id: str) -> ToolResult | None:
        running = self._running.get(call_id)
        if running is not None:
            return await asyncio.shield(running)
        found = await self._store.find_completed(self._session, call_id)
        return replay(found) if found is not None else None

    async def _recall(self, call_id: str) -> None:
        found = await self._store.find_completed(self._session, call_id)
        if found is not None:
            asked = found.requested
            self._seen[call_id] = _encode([asked.get("tool"), asked.get("arguments")])
            self._responses[call_id] = str(asked.get("response"))


def _print(prepared: Prepared) -> str:
    return _encode([prepared.name, prepared.arguments])


def _encode(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=repr, ensure_ascii=False)


def _clash(call_id: str) -> Problem:
    return Problem(
        "duplicate_id",
        f"a call with id {call_id!r} was made before, with other arguments",
        hint="give every call an id of its own",
    )
