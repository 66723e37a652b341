"""Hashing large contents two at a time: it lets go of the interpreter."""

from __future__ import annotations

import threading
from typing import Final

from handrail.core.plan import Change

_WORTH_A_THREAD: Final = 256 * 1024


def hash_side_by_side(change: Change) -> None:
    """Hash the old and the new content of a change, at the same time if they are large."""
    before, after = change.before, change.after
    if before is None or after is None or min(before.size, after.size) < _WORTH_A_THREAD:
        return
    helper = threading.Thread(target=lambda: before.digest, name="handrail-hash")
    helper.start()
    _ = after.digest
    helper.join()
