"""Commits a plan: all of its changes or none.

Every change is staged (temporary file, synced) before the first becomes visible; if one cannot be
published, or its old content cannot be stored, the earlier ones are reverted. Blocks; the engine runs
it in a worker thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from handrail.core.plan import Change, Plan, temp_name
from handrail.core.ports.machine import Blobs, Files, StagedFile
from handrail.core.problems import ProblemRaised
from handrail.core.results import ChangeRecord
from handrail.history.before_images import keep_old_content

_log = logging.getLogger("handrail")
_NAMED: Final = 5
# From this many changes on, syncing the whole file system once is cheaper than syncing each file.
_GROUP: Final = 16


@dataclass(frozen=True, slots=True)
class BlobRetention:
    """The blob store, and the numbers of the changes whose old contents are stored there."""

    blobs: Blobs
    numbers: frozenset[int]


@dataclass(slots=True)
class CommitResidue:
    """What a commit could not clean up on a failing disk: temporary files may be left, or changes may be
    visible although they should have been reverted.
    """

    temp_files_left: bool = False
    partially_applied: bool = False


# Called with the changes after all of them are made.
Done = Callable[[tuple[ChangeRecord, ...]], None]
# Blocks until the intent is on disk and returns what to store; raises if it cannot be written.
IntentWait = Callable[[], BlobRetention | None]


def commit(
    plan: Plan,
    files: Files,
    *,
    durable: bool,
    token: str,
    wait_for_intent: IntentWait = lambda: None,
    residue: CommitResidue | None = None,
    done: Done = lambda _: None,
) -> tuple[ChangeRecord, ...]:
    """Make the changes of the plan; raises `stale`, with nothing changed, if a file has changed since.

    `token` is part of the names of temporary files, so that recovery finds what a crash leaves. New
    contents are written while the intent is being written to disk, but get a name only after
    `wait_for_intent` has returned. `residue` collects what could not be cleaned up. After `done`, only
    the space of the replaced files is freed.
    """
    residue = CommitResidue() if residue is None else residue
    staged: list[StagedFile] = []
    try:
        changes = _apply_changes(
            plan, files, staged, wait_for_intent, residue, durable=durable, token=token
        )
        done(changes)
        return changes
    finally:
        for one in staged:
            one.let_go()


def _apply_changes(
    plan: Plan,
    files: Files,
    staged: list[StagedFile],
    wait_for_intent: IntentWait,
    residue: CommitResidue,
    *,
    durable: bool,
    token: str,
) -> tuple[ChangeRecord, ...]:
    retentions: list[BlobRetention | None] = []

    @cache
    def wait_once() -> None:
        retentions.append(wait_for_intent())

    # Many files are synced together: once before the first becomes visible, once after the last.
    grouped = durable and len(plan.changes) >= _GROUP and files.syncs_groups
    alone = durable and not grouped
    sync = partial(files.sync_group, staged) if grouped else _nothing
    try:
        for number, change in enumerate(plan.changes):
            temp = temp_name(token, number)
            staged.append(files.stage(change, temp, durable=alone, wait_for_intent=wait_once))
        wait_once()
        keeping = retentions[0]
        sync()
        _publish(plan.changes, staged, keeping, residue, sync)
    except ProblemRaised as raised:
        # A change that failed while it was staged cannot report which files it left.
        residue.temp_files_left = residue.temp_files_left or raised.problem.code == "unavailable"
        raise
    finally:
        # The contents of a folder are discarded before the folder.
        for one in reversed(staged):
            residue.temp_files_left = not one.discard() or residue.temp_files_left
    for change in plan.changes:
        if change.empties and not files.prune(change.place, change.empties):
            residue.temp_files_left = True
    records: list[ChangeRecord] = []
    for change in plan.changes:
        if change.only_opens:
            continue
        # Without a journal the contents are not hashed.
        hashes = (None, None) if keeping is None else (change.before_hash, change.after_hash)
        records.append(ChangeRecord(change.path, change.operation, *hashes))
    return tuple(records)


def _publish(
    changes: Sequence[Change],
    staged: Sequence[StagedFile],
    keeping: BlobRetention | None,
    residue: CommitResidue,
    sync: Callable[[], None],
) -> None:
    try:
        # Folders last: their permissions may forbid changes of their content.
        pairs = sorted(zip(staged, changes, strict=True), key=lambda pair: pair[1].of_folder)
        for one, _ in pairs:
            one.publish()
        for number, (one, change) in enumerate(zip(staged, changes, strict=True)):
            if keeping is not None and number in keeping.numbers and change.before is not None:
                keep_old_content(change.before, one, keeping.blobs)
        sync()
    except BaseException as error:
        # The failed change is included, because it may be visible.
        back = [
            _put_back(one, change) for one, change in zip(staged[::-1], changes[::-1], strict=True)
        ]
        residue.partially_applied = not all(back)
        if residue.partially_applied and isinstance(error, ProblemRaised):
            raise _torn(error, [change.path for change in changes]) from error
        raise


def _nothing() -> None:
    """Do nothing, because every change is synced on its own."""


def _put_back(staged: StagedFile, change: Change) -> bool:
    # Two attempts, because a disk error may be transient; reverting twice is harmless.
    for _ in range(2):
        try:
            staged.revert()
        except ProblemRaised:
            # Only logged: the caller reports the problem that caused the revert.
            _log.exception("%s could not be put back after a failed change", change.path)
        else:
            return True
    return False


def _torn(error: ProblemRaised, paths: Sequence[str]) -> ProblemRaised:
    named = ", ".join(map(repr, paths[:_NAMED])) + (" and others" if len(paths) > _NAMED else "")
    disturbed = error.problem.code in ("stale", "conflict")
    cause = "another process changed files" if disturbed else "the disk failed"
    first = "read the files" if disturbed else "repair the disk"
    return ProblemRaised(
        error.problem.code,
        f"{cause} midway: the change of {named} is neither complete nor reverted yet",
        hint=f"{first}, then open the workspace again: that completes or reverts it",
    )
