"""What a plan is about to replace: described in its intent, kept once it has happened.

Small contents travel inside the intent row. A larger one stands beside its target until the
change is visible and is then moved to the blob store: at no moment is there neither.
"""

from __future__ import annotations

import base64
import stat
from collections.abc import Mapping
from typing import Any, Final

from handrail.core.content import Content
from handrail.core.plan import Change, Plan
from handrail.core.ports import Blobs, Staged
from handrail.core.problems import ProblemRaised
from handrail.history.hashing import hash_side_by_side

INLINE_BYTES: Final = 64 * 1024


def describe_changes(plan: Plan, blobs: Blobs | None) -> list[dict[str, Any]]:
    """The changes of a plan for its intent row. Blocks: it hashes.

    Without `blobs` (journal off), and where they have no room, the old content is not kept
    and the row says so.
    """
    return [_describe(change, blobs) for change in plan.changes]


def keep_old(change: Change, staged: Staged, blobs: Blobs | None) -> None:
    """After the change became visible: keep what it replaced, as its intent said."""
    before = change.before
    if blobs is None or before is None or _image(change, blobs) != "blob":
        return
    target = blobs.target(before.digest)
    if target is None or not staged.keep_old(target):
        blobs.keep(before)


def load_image(described: Mapping[str, Any], blobs: Blobs | None) -> Content | None:
    """The old content of a described change, None if there was no file.

    Raises `not_found` if it was not kept or is gone.
    """
    match described["image"]:
        case "absent":
            return None
        case "inline":
            return Content(base64.b64decode(described["before"]))
        case "blob" if blobs is not None:
            return Content(blobs.load(described["before_hash"]))
        case _:
            raise ProblemRaised(
                "not_found", f"the old content of {described['path']!r} was not kept"
            )


def _describe(change: Change, blobs: Blobs | None) -> dict[str, Any]:
    if blobs is None:
        # Without old contents there is nothing to restore, so nothing to recognise.
        return {
            "path": change.path,
            "absolute": change.place.absolute,
            "operation": change.operation,
            "image": "none",
        }
    hash_side_by_side(change)
    described: dict[str, Any] = {
        "path": change.path,
        "absolute": change.place.absolute,
        "operation": change.operation,
        "before_hash": change.before_hash,
        "after_hash": change.after_hash,
        "before_mode": stat.S_IMODE(change.seen.mode) if change.seen is not None else None,
        "image": _image(change, blobs),
    }
    if described["image"] == "inline" and change.before is not None:
        described["before"] = base64.b64encode(change.before.tobytes()).decode("ascii")
    return described


def _image(change: Change, blobs: Blobs) -> str:
    if change.before is None:
        return "absent"
    if change.before.size <= INLINE_BYTES:
        return "inline"
    return "blob" if blobs.has_room(change.before.size) else "none"
