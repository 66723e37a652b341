"""What programs change in the writable roots: how it was before, how it is afterwards.

The implementation is `host/snapshots`. Nothing here says who changed something: see
`history/command_effects/report_builder.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from handrail.core.places import Form
from handrail.core.ports import Blobs

# Why the content of a file is not kept, as it is told.
TOO_LARGE: Final = "it is larger than what is kept of one file (setting shadow_file_mb)"
NO_ROOM: Final = "there was no room left to keep it (settings shadow_mb, shadow_files)"
SENSITIVE: Final = "its name says that it holds secrets, of which no copy is made"
UNREADABLE: Final = "it could not be read"
LONG_LINK: Final = "it is a link whose target is too long to be kept"
BUSY: Final = "it was being written while it was to be kept"
HISTORY: Final = "it is a git repository, whose history is not copied"


class FileState(NamedTuple):
    """One entry at one moment. `text` is the SHA-256 of a file's content or the target of a
    link; empty if it is not known, and then `why` says why. `links` counts a file's names.
    `written_ns` is when its content was written, `changed_ns` when anything of it changed.
    `inode` goes with a file that is moved; 0 if it is not known.
    """

    form: Form
    mode: int
    size: int
    text: str
    why: str
    written_ns: int
    changed_ns: int
    links: int = 1
    inode: int = 0


class EntryChange(NamedTuple):
    """An entry that is not as it was; None: it did not exist, or does not any more."""

    root: int
    rel: str
    before: FileState | None
    after: FileState | None


class OtherNames(NamedTuple):
    """What the names of one file share (hard links), and some of those that are left."""

    device: int
    inode: int
    left: tuple[tuple[int, str], ...] = ()


class TreeDiff(NamedTuple):
    """What is different from before. `left`: directories that were not looked into, with the
    reason; `unseen`: at least so many new files are beyond what is looked at. `repositories`
    whose history moved, with what is known of that. `names`: of files that are gone and had
    other names, by root and path.
    """

    deltas: tuple[EntryChange, ...] = ()
    left: Mapping[str, str] = {}
    unseen: int = 0
    repositories: Mapping[str, str] = {}
    names: Mapping[tuple[int, str], OtherNames] = {}


class ObservedWrites(NamedTuple):
    """What the processes of a program were seen to open for writing, rename, remove and the
    like. `files`: path → size and time of writing when they first came to it, None if there was
    nothing; `trees`: directories that were moved. `blind`: we were not let see all.
    """

    files: Mapping[str, tuple[int, int] | None]
    trees: tuple[str, ...]
    blind: bool
    # When the last word was written.
    written_ns: int = 0


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """How much is copied: entries, bytes of all contents together, bytes of one file."""

    files: int = 100_000
    total_bytes: int = 512 << 20
    file_bytes: int = 8 << 20


class Removal(NamedTuple):
    """What a command is known to delete: an absolute path or glob, with a slash at the end for
    all that is below it too. `names`: only files of these names (globs) below it; None: all.
    """

    path: str
    names: tuple[str, ...] | None = None


class UnkeptFile(NamedTuple):
    """A file whose content would not be kept, and why."""

    path: str
    why: str


class WorkspaceSnapshots(Protocol):
    """Copies of what programs may change, kept up to date by looking. Everything blocks."""

    def capture(self, scopes: Sequence[tuple[int, str]] | None) -> Any:
        """Look at these places (root, path from it), None: at all roots; copy what is new."""

    def diff(self, before: Any) -> TreeDiff:
        """Look at the same places again: what is different."""

    def crash_reference(self, before: Any, notes: str) -> Mapping[str, Any]:
        """What finds this look again after a crash; empty if nothing does."""

    def diff_since(
        self, reference: Mapping[str, Any]
    ) -> tuple[TreeDiff, ObservedWrites | None] | None:
        """What is different from a look of a runtime that is gone, and what its program was
        seen to write; None if the look is lost.
        """

    def keep(self, before: Any) -> Any:
        """The same look, told against even after later ones; until `after` has told it."""

    def new_write_log(self) -> str:
        """A new file for what a program is seen to write; it is gone once it was read."""

    def read_write_log(self, notes: str) -> ObservedWrites | None:
        """What stands in it; None if nobody watched."""

    def is_only_runtime(self) -> bool:
        """Whether no other runtime is open on these roots."""

    def export_content(self, digest: str, size: int, blobs: Blobs) -> bool:
        """Put a copied content among the old contents; False if it is lost or has no room."""

    def close(self) -> None:
        """Let go of it."""
