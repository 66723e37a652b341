"""Collects what a task has changed from its record: a patch, copies of the files, or a commit."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from handrail.core.names.caches import is_cache
from handrail.core.ports.records import CallRecord, Store
from handrail.history.call_diffs import CallDiffs, NetChange
from handrail.host.files.local_files import LocalFiles
from handrail.host.state.blobs import DirectoryBlobs
from handrail.host.state.state_paths import StatePaths
from handrail.scale.patches import patch_obstacle, patch_parts
from handrail.scale.sources.git_files import GitCache
from handrail.scale.sources.tree_writer import is_inside
from handrail.scale.state import TaskPlace
from handrail.scale.tasks import FleetTask

MOST_CALLS: Final = 10_000


class ChangedFiles(NamedTuple):
    """The files that a task changed. `left_out` are those whose contents the record does not have,
    each with the reason: a file that became a folder, a pipe, a file too large to keep.
    """

    changes: tuple[NetChange, ...]
    left_out: Mapping[str, str]

    @property
    def paths(self) -> list[str]:
        """The changed paths, sorted."""
        return sorted({*(change.path for change in self.changes), *self.left_out})

    @property
    def without_diff(self) -> dict[str, str]:
        """The files that the patch lacks, each with the reason."""
        reasons = {change.path: change.reason or patch_obstacle(change) for change in self.changes}
        without = {path: reason for path, reason in reasons.items() if reason}
        return {**without, **self.left_out}


async def read_changes(
    store: Store, session: str, workspace: Path, home: StatePaths
) -> ChangedFiles:
    """Return what the calls of a session changed, without caches of programs."""
    traces = await store.traces(session=session)
    # Old contents are in the intent of a call, those of links also where its effects are.
    rows = {row for trace in traces for row in (trace.row, trace.completed_row) if row is not None}
    contents = {row: await store.old_contents(row) for row in rows}
    calls = {call.call_id: call for call in await store.calls(session=session, limit=MOST_CALLS)}
    files = LocalFiles([str(workspace)])
    try:
        blobs = None if home.blobs is None else DirectoryBlobs(home.blobs)
        diffs = CallDiffs(
            traces, contents.__getitem__, blobs, files, lambda key: calls.get(key.call_id)
        )
        changes = [
            change for change in diffs.net_changes(lambda _: True) if not is_cache(change.path)
        ]
    finally:
        files.close()
    left_out = _left_out(calls.values(), {change.path for change in changes})
    # A folder is named only if nothing inside it is.
    paths = [*(change.path for change in changes), *left_out]
    above = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    return ChangedFiles(tuple(change for change in changes if change.path not in above), left_out)


def _left_out(calls: Iterable[CallRecord], known: Set[str]) -> dict[str, str]:
    """Return the paths that commands changed besides the `known` ones, with the reasons why they
    are missing.
    """
    reasons: dict[str, str] = {}
    for call in calls:
        effects = (call.completed or {}).get("effects")
        omitted = effects.get("left_out") if isinstance(effects, Mapping) else None
        reasons |= omitted if isinstance(omitted, Mapping) else {}
    return {path: why for path, why in reasons.items() if path not in known and not is_cache(path)}


def collect_result(
    task: FleetTask, changes: ChangedFiles, workspace: Path, place: TaskPlace, git: GitCache
) -> Mapping[str, Any]:
    """Save what the task asks for; return where it is. Raises `unavailable`."""
    if task.collect == "commit":
        paths = [path for path in changes.paths if not PurePosixPath(path).is_absolute()]
        result_commit = git.commit_changes(task.source.place, task.source.commit, workspace, paths)
        return {"commit": result_commit, "repository": str(git.repository(task.source.place))}
    if task.collect == "files":
        target = place.directory / "files"
        _copy_files(changes.paths, workspace, target)
        return {"files": str(target)}
    patch = place.directory / "changes.patch"
    with patch.open("wb") as file:
        file.writelines(patch_parts(changes.changes))
    return {"patch": str(patch)}


def _copy_files(paths: Sequence[str], workspace: Path, target: Path) -> None:
    """Copy the regular files among some paths; a deleted file is only in the list."""
    target.mkdir(mode=0o700, exist_ok=True)
    for path in paths:
        origin = workspace / path
        if origin.is_symlink() or not is_inside(origin, workspace) or not origin.is_file():
            continue
        copy = target / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(origin, copy, follow_symlinks=False)
