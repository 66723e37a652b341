"""After a crash: calls that had been requested and had changed nothing are recorded as
interrupted, and the sessions of dead processes are closed in the ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from handrail.core.ports.machine import Clock
from handrail.core.ports.records import OpenRequest, Row, Store

_TEXT: Final = "it was interrupted before it changed anything; Handrail ended meanwhile"


async def close_abandoned_sessions(
    store: Store, clock: Clock, is_alive: Callable[[str], bool]
) -> None:
    """Complete what dead processes requested and never began, then close their sessions.

    The id of such a call may be used again: nothing had happened.
    """
    found = await store.abandoned(is_alive)
    for request in found.requests:
        store.append(_interrupted_row(request, clock.now_ns()))
    if found.requests:
        await store.flush()
    if found.requests or found.to_close:
        await store.close_abandoned(is_alive)


def _interrupted_row(request: OpenRequest, now_ns: int) -> Row:
    payload: dict[str, Any] = {
        "tool": request.tool,
        "status": "interrupted",
        "is_error": True,
        "text": f"{request.tool}: {_TEXT}",
        "data": None,
        "problem": {
            "code": "cancelled",
            "message": f"{request.tool}: {_TEXT}",
            "hint": "call again; the same id may be used",
            "field": None,
            "retryable": True,
        },
        "changes": [],
        "cleared": None,
        "asked": False,
        "meta": {"interrupted": True},
        "not_started": True,
    }
    return Row(request.session, "completed", request.call_id, request.turn, now_ns, payload)
