"""Creates the workspace of a task from its source. Blocks, so the caller runs it in a thread."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from handrail.host.files.tree_copy import copy_tree
from handrail.scale import messages
from handrail.scale.sources.fsspec_files import copy_fsspec
from handrail.scale.sources.git_files import GitCache
from handrail.scale.sources.tarball import extract_tarball
from handrail.scale.sources.tree_writer import TreeLimits, TreeWriter, discard_tree
from handrail.scale.tasks import SourceSpec

_PART: Final = ".part"
_MAX_SHOWN: Final = 500


def prepare_workspace(
    source: SourceSpec,
    target: Path,
    limits: TreeLimits,
    repositories: GitCache,
    left_out: str = "",
) -> Path:
    """Return the directory to work in: the source itself, or `target`, which is filled completely
    or not at all. A target that exists is complete. `left_out`, the state of the fleet, is not
    copied, and refused inside a source that is used itself. Raises `not_found`,
    `invalid_arguments`, `unavailable`, `untrusted`, `too_large`.
    """
    # Unlike `Path.is_dir`, this is False for a name that is too long.
    if source.kind == "directory" and not os.path.isdir(source.place):  # noqa: PTH112
        raise messages.SOURCE_MISSING.error(what="directory", path=source.place[:_MAX_SHOWN])
    if source.in_place:
        if left_out and Path(left_out).is_relative_to(source.place):
            raise messages.STATE_IN_WORKSPACE.error(state=left_out)
        return Path(source.place)
    if target.is_dir():
        return target
    part = target.with_name(target.name + _PART)
    # Left by a process that was killed.
    discard_tree(part)
    part.mkdir(mode=0o700, parents=True)
    try:
        writer = TreeWriter(part, limits, source.place)
        if source.kind == "directory":
            _copy_directory(source.place, part, writer, limits, left_out)
        else:
            _fill(source, writer, repositories)
        part.rename(target)
    except BaseException:
        discard_tree(part)
        raise
    return target


def _fill(source: SourceSpec, writer: TreeWriter, repositories: GitCache) -> None:
    if source.kind == "tarball":
        extract_tarball(source.place, writer)
    elif source.kind == "git":
        repositories.write_files(source.place, source.commit, writer)
    else:
        copy_fsspec(source.place, writer)


def _copy_directory(
    source: str, target: Path, writer: TreeWriter, limits: TreeLimits, left_out: str
) -> None:
    total = 0

    def count(path: str) -> bool:
        nonlocal total
        if path == left_out:
            return True
        total += os.lstat(path).st_size
        if total > limits.bytes:
            raise writer.too_large("bytes", limits.bytes)
        writer.count_entry()
        return False

    copy_tree(source, target, count)
