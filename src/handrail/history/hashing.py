"""Hashing large contents beside other work: it lets go of the interpreter."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Final

from handrail.core.plan import Change, Plan
from handrail.core.ports.machine import Blobs
from handrail.core.text.content import Content

_WORTH_A_THREAD: Final = 256 * 1024
# Of a plan with more than this the pool's threads would be taken up by hashing alone.
_FEW: Final = 2

Hashing = Sequence[asyncio.Future[None]]


def hash_ahead(plan: Plan, blobs: Blobs) -> Hashing:
    """Start to hash the large contents of a plan of few changes, so that it is cleared
    meanwhile; the intent, which names the hashes, waits for what this returns.
    """
    if len(plan.changes) > _FEW:
        return []
    loop = asyncio.get_running_loop()
    return [
        loop.run_in_executor(None, _hash, content, blobs)
        for change in plan.changes
        for content in (change.before, change.after)
        if content is not None and content.size >= _WORTH_A_THREAD and not content.hashed
    ]


def hash_side_by_side(change: Change) -> None:
    """Hash the old and the new content of a change, at the same time if they are large."""
    before, after = change.before, change.after
    if before is None or after is None or min(before.size, after.size) < _WORTH_A_THREAD:
        return
    if before.hashed or after.hashed:
        return
    helper = threading.Thread(target=lambda: before.digest, name="handrail-hash")
    helper.start()
    _ = after.digest
    helper.join()


def _hash(content: Content, blobs: Blobs) -> None:
    _ = content.digest
    # Asked for the first time, it counts what is kept: also nothing to wait for later.
    blobs.has_room(0)
