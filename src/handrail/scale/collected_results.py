"""What a task has changed, from its record: a patch, copies of the changed files, or a commit."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from handrail.core.names.caches import is_cache
from handrail.core.ports.records import Store
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
    """The files that a task changed."""

    changes: tuple[NetChange, ...]

    @property
    def paths(self) -> list[str]:
        """The changed paths, sorted."""
        return [one.path for one in self.changes]

    @property
    def without_diff(self) -> dict[str, str]:
        """The files that the patch does not have, each with the reason."""
        found = {one.path: one.reason or patch_obstacle(one) for one in self.changes}
        return {path: reason for path, reason in found.items() if reason}


async def read_changes(
    store: Store, session: str, workspace: Path, home: StatePaths
) -> ChangedFiles:
    """What the calls of a session changed, caches of programs left out."""
    traces = await store.traces(session=session)
    contents = {one.row: await store.old_contents(one.row) for one in traces}
    calls = {one.call_id: one for one in await store.calls(session=session, limit=MOST_CALLS)}
    files = LocalFiles([str(workspace)])
    try:
        blobs = None if home.blobs is None else DirectoryBlobs(home.blobs)
        again = CallDiffs(
            traces, contents.__getitem__, blobs, files, lambda key: calls.get(key.call_id)
        )
        found = [one for one in again.net_changes(lambda _: True) if not is_cache(one.path)]
    finally:
        files.close()
    # A folder is named where nothing in it is.
    above = {str(parent) for one in found for parent in PurePosixPath(one.path).parents}
    return ChangedFiles(tuple(one for one in found if one.path not in above))


def collect_result(
    task: FleetTask, changes: ChangedFiles, workspace: Path, place: TaskPlace, git: GitCache
) -> Mapping[str, Any]:
    """Keep what the task asks for; returns where it is. Raises `unavailable`."""
    if task.collect == "commit":
        paths = [one for one in changes.paths if not PurePosixPath(one).is_absolute()]
        made = git.commit_changes(task.source.place, task.source.commit, workspace, paths)
        return {"commit": made, "repository": str(git.repository(task.source.place))}
    if task.collect == "files":
        target = place.directory / "files"
        _copy_files(changes.paths, workspace, target)
        return {"files": str(target)}
    patch = place.directory / "changes.patch"
    with patch.open("wb") as file:
        file.writelines(patch_parts(changes.changes))
    return {"patch": str(patch)}


def _copy_files(paths: Sequence[str], workspace: Path, target: Path) -> None:
    """Copy the regular files among some paths; a file that was deleted is in the list only."""
    target.mkdir(mode=0o700, exist_ok=True)
    for path in paths:
        origin = workspace / path
        if origin.is_symlink() or not is_inside(origin, workspace) or not origin.is_file():
            continue
        made = target / path
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(origin, made, follow_symlinks=False)
