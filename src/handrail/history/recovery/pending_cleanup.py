"""Calls that ended while the disk failed and left something to clear away: noted in the store,
so that the next opening sees to them although their process lives on.
"""

from __future__ import annotations

import json
from typing import Final

from handrail.core.ports.records import Store

# Beside the states of sessions; no session has an empty name.
NO_SESSION: Final = ""
# Begins the names of the notes about background jobs.
JOB_PREFIX: Final = "job: "
_PREFIX: Final = "given up: "


def mark_pending_cleanup(store: Store, session: str, call_id: str) -> None:
    """Note that a call is over, and that something of it may be left."""
    store.save_state(NO_SESSION, _key(session, call_id), True)


def clear_pending_cleanup(store: Store, session: str, call_id: str) -> None:
    """Nothing of it is left."""
    store.save_state(NO_SESSION, _key(session, call_id), None)


async def list_pending_cleanup(store: Store) -> set[tuple[str, str]]:
    """Session and id of the calls that something may be left of."""
    found = await store.load_state(NO_SESSION)
    keys = [key for key, value in found.items() if value and key.startswith(_PREFIX)]
    return {(one, other) for one, other in (json.loads(key[len(_PREFIX) :]) for key in keys)}


def _key(session: str, call_id: str) -> str:
    return _PREFIX + json.dumps([session, call_id])
