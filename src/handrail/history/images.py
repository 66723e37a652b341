"""What a plan is about to replace, kept before it happens.

Small contents travel inside the intent row; larger ones go to the blob store first.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from handrail.core.plan import Change, Plan
from handrail.core.ports import Blobs

INLINE_BYTES: Final = 64 * 1024


def describe_changes(plan: Plan, blobs: Blobs | None) -> list[dict[str, Any]]:
    """The changes of a plan for its intent row. Blocks: it hashes, and may write a blob.

    Without `blobs` (journal off) the old contents are not kept and the row says so.
    """
    return [_describe(change, blobs) for change in plan.changes]


def _describe(change: Change, blobs: Blobs | None) -> dict[str, Any]:
    described: dict[str, Any] = {
        "path": change.path,
        "absolute": change.place.absolute,
        "operation": change.operation,
        "mode": change.mode,
    }
    if blobs is None:
        return {**described, "image": "none"}
    described["after_hash"] = change.after_hash
    if change.before is None:
        return {**described, "image": "absent"}
    described["before_hash"] = change.before_hash
    if change.before.size <= INLINE_BYTES:
        text = base64.b64encode(change.before.tobytes()).decode("ascii")
        return {**described, "image": "inline", "before": text}
    blobs.keep(change.before)
    return {**described, "image": "blob"}
