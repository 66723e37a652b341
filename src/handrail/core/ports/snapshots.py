"""Snapshots of the writable roots, to find what a program changed.

The implementation is `host/snapshots`. Changes are attributed to programs by
`history/command_effects/report_builder.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from handrail.core.places import Form
from handrail.core.ports.machine import Blobs

# Why the content of a file is not stored; users see these texts.
TOO_LARGE: Final = "it is larger than what is kept of one file (setting shadow_file_mb)"
NO_ROOM: Final = "there was no room left to keep it (settings shadow_mb, shadow_files)"
SENSITIVE: Final = "its name says that it holds secrets, of which no copy is made"
UNREADABLE: Final = "it could not be read"
LONG_LINK: Final = "it is a link whose target is too long to be kept"
BUSY: Final = "it was being written while it was to be kept"
HISTORY: Final = "it is a git repository, whose history is not copied"


ENTRY_BYTES: Final = 2048
_FEWEST_ENTRIES: Final = 100_000


class FileState(NamedTuple):
    """One entry at one moment."""

    form: Form
    mode: int
    size: int
    # SHA-256 of a file's content, or the target of a link; "" if unknown.
    text: str
    # Why `text` is unknown.
    why: str
    # When the content was written.
    written_ns: int
    # When content or attributes changed.
    changed_ns: int
    # Number of hard links.
    links: int = 1
    # The inode, which a moved file keeps; 0 if unknown.
    inode: int = 0


class EntryChange(NamedTuple):
    """A changed entry. `before` None: it did not exist; `after` None: it no longer exists."""

    root: int
    rel: str
    before: FileState | None
    after: FileState | None


class OtherNames(NamedTuple):
    """The inode of a file with several names, and some of its remaining names."""

    device: int
    inode: int
    left: tuple[tuple[int, str], ...] = ()


class TreeDiff(NamedTuple):
    """What changed since a snapshot."""

    deltas: tuple[EntryChange, ...] = ()
    # Directories that were not compared, with the reason.
    left: Mapping[str, str] = {}
    # The minimum number of new files that were not compared because of the limits.
    unseen: int = 0
    # Repositories whose history changed, with a description.
    repositories: Mapping[str, str] = {}
    # Hard links of removed files, by root and path.
    names: Mapping[tuple[int, str], OtherNames] = {}


class ObservedWrites(NamedTuple):
    """What the processes of a program were seen to write, rename or remove."""

    # Path → size and modification time before the first write; None if it did not exist.
    files: Mapping[str, tuple[int, int] | None]
    # Directories that were moved.
    trees: tuple[str, ...]
    # The log is incomplete.
    blind: bool
    # When the log was closed.
    written_ns: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """Limits of the copies: number of entries (0: as many as the bytes allow), bytes in total,
    bytes of one file.
    """

    files: int = 0
    total_bytes: int = 2048 << 20
    file_bytes: int = 8 << 20

    @property
    def entries(self) -> int:
        """How many files and folders are indexed; each counts as `ENTRY_BYTES`, for memory."""
        return self.files or max(_FEWEST_ENTRIES, self.total_bytes // ENTRY_BYTES)


class Removal(NamedTuple):
    """What a command is known to delete: an absolute path or glob, ending in a slash if everything
    below is deleted too. `names`: only files matching these globs; None: all.
    """

    path: str
    names: tuple[str, ...] | None = None


class UnkeptFile(NamedTuple):
    """A file whose content would not be stored, and why."""

    path: str
    why: str


class WorkspaceSnapshots(Protocol):
    """Takes snapshots of the roots and compares them. All methods block."""

    def capture(
        self,
        scopes: Sequence[tuple[int, str]] | None,
        progress: Callable[[int], None] | None = None,
    ) -> Any:
        """Take a snapshot of `scopes` (root and path below it; None: all roots) and copy new contents.
        `progress` is called with the number of files copied so far.
        """

    def diff(self, before: Any) -> TreeDiff:
        """What changed since the snapshot."""

    def crash_reference(self, before: Any, notes: str) -> Mapping[str, Any]:
        """A reference with which the snapshot can be found after a crash; empty if that is impossible."""

    def diff_since(
        self, reference: Mapping[str, Any]
    ) -> tuple[TreeDiff, ObservedWrites | None] | None:
        """What changed since a snapshot of a runtime that has ended, and the observed writes of its
        program; None if the snapshot is lost.
        """

    def keep(self, before: Any) -> Any:
        """Keep this snapshot until `diff` has used it, even if newer ones are taken."""

    def new_write_log(self) -> str:
        """Path of a new write log for the tracer; removed when it is read."""

    def read_write_log(self, notes: str) -> ObservedWrites | None:
        """The content of a write log; None if there was no tracer."""

    def is_only_runtime(self) -> bool:
        """Whether no other runtime is open on these roots."""

    def export_content(self, digest: str, size: int, blobs: Blobs) -> bool:
        """Copy a stored content to `blobs`; False if it is lost or there is no room."""

    def close(self) -> None:
        """Release all resources."""
