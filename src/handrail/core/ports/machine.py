"""Protocols of what the engine and the tools need from the machine.

Implementations live in `host/` and `store/`; tests wrap them with a fault layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from handrail.core.places import Entry, Form, Place, Stat
from handrail.core.plan import Change
from handrail.core.text.content import Content

if TYPE_CHECKING:
    from handrail.core.approval import Answer, ApprovalRequest, Reply

# --- files -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a text file.

    `text` is `number` lines with LF between them and none at the end. `total` is the number of lines of
    the file if it is known without reading further; `more`: lines follow. `unterminated`: the last shown
    line is the last of the file and has no newline. `digest` is the hash of the whole content if the
    file is at most 1 MB or `whole`; `shown_digest` is the hash of the bytes of the shown lines.
    """

    text: str
    number: int
    first: int
    total: int | None
    more: bool
    whole: bool
    encoding: str
    stat: Stat
    digest: str | None
    shown_digest: str
    note: str | None = None
    unterminated: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, each without its ending."""
        return tuple(self.text.split("\n")) if self.number else ()


class FileContent(NamedTuple):
    """All bytes of a file, with the stat they belong to."""

    content: Content
    stat: Stat


class PathEntry(NamedTuple):
    """The entry of a name, links not followed. `form` None: it does not exist. `content` is the target
    of a link, empty for a folder, and None for a file, which is to be read.
    """

    place: Place
    form: Form | None = None
    content: Content | None = None
    stat: Stat | None = None


class StagedFile(Protocol):
    """A prepared change: the new content is in the folder of its target, not visible yet."""

    def publish(self) -> None:
        """Make the change visible in one step; raises `stale` if the target has changed since."""

    def keep_old(self, destination: str) -> bool:
        """After `publish`: move the replaced file to another path of this machine; False if
        it lies on another file system (or nothing was replaced).
        """

    def revert(self) -> None:
        """Put the old content back after `publish` (another change of the plan failed)."""

    def discard(self) -> bool:
        """Remove the files of staging; may be called at any time and repeatedly. False if something
        could not be removed.
        """

    def let_go(self) -> None:
        """After `discard`: free the space of the removed files, which may take a while."""

    @property
    def folder_handle(self) -> int:
        """An open handle on the directory of the change; -1 after `discard`."""


class Files(Protocol):
    """All reads and changes of the workspace, relative to open handles of the roots."""

    @property
    def roots(self) -> tuple[str, ...]:
        """Canonical absolute paths; the workspace first."""

    def locate(self, path: str) -> Place:
        """Resolve a path, relative to the workspace or absolute, below a root.

        Symlinks are followed as long as they stay inside the roots. Raises `outside_workspace`,
        `not_found` (a parent is a file, a loop), `invalid_arguments` (NUL, empty, too long). A missing
        file is a place of kind MISSING.
        """

    def named(self, path: str) -> PathEntry:
        """The entry of this name; a link at its end is not followed. Raises as `locate` does."""

    def stat(self, place: Place) -> Stat | None:
        """The current stat of the file, None if it is missing."""

    def read(self, place: Place, *, max_bytes: int | None = None) -> FileContent:
        """The whole file. Raises `not_found`, `not_text` (not a regular file), `too_large`."""

    def read_part(self, place: Place, offset: int, count: int) -> bytes:
        """Up to `count` bytes from a byte offset."""

    def window(self, place: Place, first: int, count: int) -> Window:
        """`count` lines from line `first` (1-based) of a text file of any size.

        Raises `not_text` for binary content, `not_found` for a missing file.
        """

    def scan(self, place: Place) -> list[Entry]:
        """The names in a directory, sorted."""

    def unchanged(self, change: Change) -> bool:
        """Whether the target of the change is unchanged since the plan was made."""

    def prune(self, place: Place, levels: int) -> bool:
        """Remove up to `levels` directories above a place, lowest first, while they are empty; False if
        one could not be removed.
        """

    def stage(
        self,
        change: Change,
        temp: str | None = None,
        *,
        durable: bool,
        wait_for_intent: Callable[[], None] = lambda: None,
    ) -> StagedFile:
        """Write the new content to the folder of its target, with fsync if `durable`. `temp` is the
        temporary name (None: any), which the replaced file has from `publish` until `discard`.
        `wait_for_intent` is called before anything appears in that folder, even the temporary name.
        """

    @property
    def syncs_groups(self) -> bool:
        """Whether `sync_group` works on this machine; if not, every change is staged with `durable`."""

    def sync_group(self, staged: Sequence[StagedFile]) -> None:
        """Sync everything that was done for these changes to the disk at once."""


# --- search ----------------------------------------------------------------------------


class GrepMode(StrEnum):
    """What a content search returns."""

    FILES = "files_with_matches"
    CONTENT = "content"
    COUNT = "count"


class GrepQuery(NamedTuple):
    """A search for text in files."""

    pattern: str
    place: Place
    mode: GrepMode = GrepMode.FILES
    literal: bool = False
    ignore_case: bool = False
    multiline: bool = False
    before: int = 0
    after: int = 0
    globs: tuple[str, ...] = ()
    type: str | None = None
    recursive: bool = True


class Hit(NamedTuple):
    """One line of a content search; `matched` is False for context lines."""

    path: str
    line: int
    text: str
    matched: bool


class GrepFound(NamedTuple):
    """The result of a content search, sorted by path and line; paths are in the form of `Place.path`.
    `partial` says why the search stopped early (deadline, too many results), None if it is complete.
    """

    files: tuple[str, ...]
    counts: tuple[int, ...]
    hits: tuple[Hit, ...]
    partial: str | None
    engine: str


class FilesQuery(NamedTuple):
    """A search for files by name; a pattern without `/` matches base names."""

    place: Place
    patterns: tuple[str, ...] = ()
    sort: Literal["name", "mtime"] = "name"
    recursive: bool = True


class FilesFound(NamedTuple):
    """Paths of regular files in the form of `Place.path`; in order of mtime the newest is first."""

    paths: tuple[str, ...]
    partial: str | None
    engine: str


class Search(Protocol):
    """Search below a root that respects ignore files, follows no link out of the root, and always ends."""

    async def grep(self, query: GrepQuery) -> GrepFound:
        """Lines that match. Raises `invalid_arguments` for a pattern that does not compile."""

    async def grep_text(self, query: GrepQuery, text: str) -> GrepFound:
        """`grep` in one text; the place of the query is only used for display."""

    async def files(self, query: FilesQuery) -> FilesFound:
        """Files whose names match."""


# --- storage -------------------------------------------------------------------------


class Artifacts(Protocol):
    """Stores the full texts of long results, and files of tools."""

    def save(self, name: str, data: bytes) -> str:
        """Store bytes under a name, which is made safe; returns the reference to show."""

    def load(self, reference: str) -> bytes:
        """The bytes of a reference; raises `not_found`."""


class Blobs(Protocol):
    """Stores old contents by their hash, for undo."""

    def keep(self, content: Content) -> str:
        """Store the content durably until it is released; returns its hash. Blocks."""

    def load(self, digest: str) -> bytes:
        """The content of a hash; raises `not_found`."""

    def target(self, digest: str) -> str | None:
        """The path to which a file can be moved to store it by its hash; None if only `keep` works."""

    def adopted(self, size: int) -> None:
        """Record that a file of this size was moved to its target."""

    def has_room(self, size: int) -> bool:
        """Whether so many further bytes may be stored."""


class LockHandle(Protocol):
    """Locks that this process holds against other processes."""

    def release(self) -> None:
        """Release the locks."""


class ProcessLocks(Protocol):
    """Locks that the processes of this machine share."""

    async def acquire(self, keys: Sequence[str]) -> LockHandle:
        """Wait until all keys are locked for this process; never locks a part of them."""


# --- users and time --------------------------------------------------------------------


class Approver(Protocol):
    """Asks the user whether a call may run."""

    async def ask(self, request: ApprovalRequest) -> bool | Answer | Reply:
        """Wait for the user's answer without a time limit; raises `needs_approval` if no user can be
        asked.
        """


class Clock(Protocol):
    """The time; tests can set it."""

    def now_ns(self) -> int:
        """Wall clock in nanoseconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go back."""
