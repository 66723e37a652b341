"""Commits a plan: all of its changes or none.

Every change is staged (temp file, synced) before the first becomes visible; if one cannot be
published, or its old content cannot be kept, those before it are reverted. Blocks; the engine runs it
in a worker thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from handrail.core.places import Form
from handrail.core.plan import Change, Plan, temp_name
from handrail.core.ports.machine import Blobs, Files, StagedFile
from handrail.core.problems import ProblemRaised
from handrail.core.results import ChangeRecord
from handrail.history.before_images import keep_old_content

_log = logging.getLogger("handrail")
_NAMED: Final = 5
# From this many changes on, one call that writes a whole file system through is cheaper.
_GROUP: Final = 16


@dataclass(frozen=True, slots=True)
class BlobRetention:
    """Where old contents go, and of which changes (by number) they are kept there."""

    blobs: Blobs
    numbers: frozenset[int]


@dataclass(slots=True)
class CommitResidue:
    """What a commit could not clean up on a failing disk: temporary files that may be left, and
    changes that are visible although they should have been reverted.
    """

    temp_files_left: bool = False
    partially_applied: bool = False


# Called with the changes once all of them are made.
Done = Callable[[tuple[ChangeRecord, ...]], None]
# Blocks until the intent is on disk and returns what to keep; raises if it cannot be written.
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
    """Make the plan's changes; raises `stale` (nothing changed) if a file is not as planned.

    `token` names the temp files, so that recovery finds what a crash leaves behind. New contents
    are written while the intent is still on its way to the disk, but get no name before
    `wait_for_intent` has returned. `residue` collects what could not be cleaned up. After `done` only the space of the
    replaced files is freed.
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

    # Many files are synced together, before the first appears and after the last.
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
        # A change that was being staged when the disk failed cannot report what it left.
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
        # Without a journal there are no hashes to recognise the contents by.
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
        # A folder gets its permissions once everything is in it: they may close it.
        for one, _ in sorted(zip(staged, changes, strict=True), key=_is_folder_change):
            one.publish()
        for number, (one, change) in enumerate(zip(staged, changes, strict=True)):
            if keeping is not None and number in keeping.numbers and change.before is not None:
                keep_old_content(change.before, one, keeping.blobs)
        sync()
    except BaseException as error:
        # The failed one is included: it may be visible all the same.
        back = [
            _put_back(one, change) for one, change in zip(staged[::-1], changes[::-1], strict=True)
        ]
        residue.partially_applied = not all(back)
        if residue.partially_applied and isinstance(error, ProblemRaised):
            raise _torn(error, [change.path for change in changes]) from error
        raise


def _is_folder_change(one: tuple[StagedFile, Change]) -> bool:
    return Form.FOLDER in (one[1].before_form, one[1].after_form)


def _nothing() -> None:
    """Nothing to sync: every change is synced on its own."""


def _put_back(staged: StagedFile, change: Change) -> bool:
    # Twice, as a disk may fail once; a second revert of a reverted change does nothing.
    for _ in range(2):
        try:
            staged.revert()
        except ProblemRaised:
            # The first problem is the one to report.
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
