"""Before-images: the old contents of a plan's files, described in its intent and stored by the commit.

Small contents are part of the intent row. A larger one is in the folder of its target until the change
is visible and is then moved to the blob store, so that one of the two always exists. Large contents are
hashed in threads, because hashing releases the interpreter lock.
"""

from __future__ import annotations

import asyncio
import base64
import stat
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from handrail.core.names.sensitive import is_sensitive
from handrail.core.places import Form, Stat, folders_above
from handrail.core.plan import Change, Plan
from handrail.core.ports.machine import Blobs, StagedFile
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content

_WORTH_A_THREAD: Final = 256 * 1024
# The contents of larger plans are not hashed ahead: hashing would occupy the threads of the pool.
_FEW: Final = 2

Hashing = Sequence[asyncio.Future[None]]


def hash_ahead(plan: Plan, blobs: Blobs) -> Hashing:
    """Start to hash the large contents of a plan with few changes while the policy evaluates the plan.
    The intent, which contains the hashes, waits for the returned futures.
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
    # The first call counts what is stored, which takes time; so it is done in this thread, too.
    blobs.has_room(0)


INLINE_BYTES: Final = 64 * 1024


def describe_changes(plan: Plan, blobs: Blobs | None) -> list[dict[str, Any]]:
    """The changes of a plan for its intent row. Blocks, because contents are hashed.

    Without `blobs` (the journal is off), or if they have no room, the old content is not stored and the
    row says so.
    """
    reserved = 0
    described = []
    for change in plan.changes:
        one = _describe(change, blobs, reserved)
        if one["image"] == "blob" and change.before is not None:
            reserved += change.before.size
        described.append(one)
    return described


def not_kept(described: Mapping[str, Any]) -> str | None:
    """Why the old content of a described change is not stored, None if it is."""
    if described["image"] != "none":
        return None
    if is_sensitive(described["path"]):
        return "files that hold secrets are not copied"
    return "there was no room to keep its old content"


def compare_with_image(
    described: Mapping[str, Any], digest: str | None, seen: Stat | None
) -> Literal["before", "after", "other"]:
    """Whether a file is in the state before a described change, after it, or in neither."""
    if described["before_hash"] == described["after_hash"] == digest and seen is not None:
        # The change is one of permissions only.
        after = stat.S_IMODE(seen.mode) == described["after_mode"] != described["before_mode"]
        return "after" if after else "before"
    if digest == described["before_hash"]:
        return "before"
    return "after" if digest == described["after_hash"] else "other"


def keep_old_content(before: Content, staged: StagedFile, blobs: Blobs) -> None:
    """Store the content that a change replaced, as announced in its intent. Called after the change has
    become visible.
    """
    target = blobs.target(before.digest)
    if target is None or not staged.keep_old(target):
        blobs.keep(before)
    else:
        blobs.adopted(before.size)


def load_image(described: Mapping[str, Any], blobs: Blobs | None) -> Content | None:
    """The old content of a change, None if there was no file. Raises `not_found` if it is lost."""
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


def _describe(change: Change, blobs: Blobs | None, reserved: int) -> dict[str, Any]:
    if blobs is None:
        # Nothing can be restored without old contents, so no hashes are needed.
        return {
            "path": change.path,
            "absolute": change.place.absolute,
            "operation": change.operation,
            "image": "none",
        }
    forms = describe_forms(change.before_form, change.after_form)
    hash_side_by_side(change)
    image = _image(change, blobs, reserved)
    before_mode = None
    if change.seen is not None and change.before_form is not Form.LINK:
        before_mode = stat.S_IMODE(change.seen.mode)
    described: dict[str, Any] = {
        "path": change.path,
        "absolute": change.place.absolute,
        "operation": change.operation,
        "before_hash": change.before_hash,
        "after_hash": change.after_hash,
        "before_mode": before_mode,
        "after_mode": before_mode if change.mode is None else change.mode,
        "image": image,
        **forms,
    }
    if change.operation == "create" and change.place.missing_above:
        described["made"] = folders_above(change.path)[: change.place.missing_above]
    if change.empties:
        described["empties"] = change.empties
    seen = change.seen
    if change.after is None and seen is not None and seen.links > 1 and not change.of_folder:
        # If other names of the file are deleted too, an undo of all of them links them again.
        described |= {"link_group": [seen.device, seen.inode], "link_left": []}
    if described["image"] == "inline" and change.before is not None:
        described["before"] = base64.b64encode(change.before.tobytes()).decode("ascii")
    return described


def describe_forms(before: Form, after: Form) -> dict[str, str]:
    """The forms before and after a described change; empty if both are files."""
    if before is after is Form.FILE:
        return {}
    return {"before_form": before.value, "after_form": after.value}


def form_before(described: Mapping[str, Any]) -> Form:
    """The form of the entry before a described change."""
    return Form(described.get("before_form", Form.FILE))


def form_after(described: Mapping[str, Any]) -> Form:
    """What stands there after a described change."""
    return Form(described.get("after_form", Form.FILE))


def is_of_folder(described: Mapping[str, Any]) -> bool:
    """Whether a described change creates or removes a folder, or changes its permissions."""
    return Form.FOLDER in (described.get("before_form"), described.get("after_form"))


def is_permission_grant(described: Mapping[str, Any]) -> bool:
    """Whether a described change leaves a folder as it is; see `Change.only_opens`."""
    one = described
    same = one.get("before_hash") == one.get("after_hash")
    return is_of_folder(one) and same and one.get("before_mode") == one.get("after_mode")


def _image(change: Change, blobs: Blobs, reserved: int) -> str:
    if change.before is None:
        return "absent"
    if change.before_form is not Form.FILE:
        return "inline"
    if is_sensitive(change.place.rel):
        # A stored copy of a secret would outlive the original.
        return "none"
    if change.before.size <= INLINE_BYTES:
        return "inline"
    return "blob" if blobs.has_room(reserved + change.before.size) else "none"
