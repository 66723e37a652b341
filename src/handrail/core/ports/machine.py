"""The outside world as protocols: what the engine and the tools need of the machine.

Implementations live in `host/` and `store/`; tests wrap them with a fault layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from handrail.core.places import Entry, Form, Place, Stat
from handrail.core.plan import Change
from handrail.core.text.content import Content

if TYPE_CHECKING:
    from handrail.core.approval import Answer, ApprovalRequest, Reply

# --- files -----------------------------------------------------------------------------


class Window(NamedTuple):
    """Some lines of a text file.

    `text` is `number` lines with LF between them and none at the end. `total` is the number of
    lines of the file where it is known without reading further; `more` says that lines
    follow. `unterminated`: the last shown line ends the file without a newline. `digest` is the hash of the whole content where the file is at most 1 MB or
    `whole`; `shown_digest` covers the shown lines' bytes.
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
    """What bears a name itself. `form` None: nothing does. `content` of a link is where it leads,
    of a folder it is empty; that of a file is to be read.
    """

    place: Place
    form: Form | None = None
    content: Content | None = None
    stat: Stat | None = None


class StagedFile(Protocol):
    """One change made ready beside its target; nothing visible has happened yet."""

    def publish(self) -> None:
        """Make it visible in one step; raises `stale` if the target is not what was seen."""

    def keep_old(self, destination: str) -> bool:
        """After `publish`: move the replaced file to another path of this machine; False if
        it lies on another file system (or nothing was replaced).
        """

    def revert(self) -> None:
        """Put the old content back after `publish` (another change of the plan failed)."""

    def discard(self) -> bool:
        """Remove what staging left behind; safe to call at any time, and twice. False if the
        disk did not let go of something.
        """

    def let_go(self) -> None:
        """After `discard`: give the space of what was removed back, which may take a while."""

    @property
    def folder_handle(self) -> int:
        """An open handle on the directory of the change; -1 after `discard`."""


class Files(Protocol):
    """Every look at and change of the workspace goes through here, beneath root handles."""

    @property
    def roots(self) -> tuple[str, ...]:
        """Canonical absolute paths; the workspace first."""

    def locate(self, path: str) -> Place:
        """Resolve a path, relative to the workspace or absolute, beneath a root.

        Symlinks are followed as long as they stay inside. Raises `outside_workspace`,
        `not_found` (a parent is a file, a loop), `invalid_arguments` (NUL, empty, too long).
        A missing file is a place of kind MISSING.
        """

    def named(self, path: str) -> PathEntry:
        """What bears this name, a link at its end not followed. Raises as `locate` does."""

    def stat(self, place: Place) -> Stat | None:
        """The file's stat now, None if it is missing."""

    def read(self, place: Place, *, max_bytes: int | None = None) -> FileContent:
        """The whole file. Raises `not_found`, `not_text` (not a regular file), `too_large`."""

    def read_part(self, place: Place, offset: int, count: int) -> bytes:
        """Up to `count` bytes from a byte offset."""

    def window(self, place: Place, first: int, count: int) -> Window:
        """`count` lines from line `first` (1-based) of a text file of any size.

        Raises `not_text` for binary content, `not_found` likewise.
        """

    def scan(self, place: Place) -> list[Entry]:
        """The names in a directory, sorted."""

    def unchanged(self, change: Change) -> bool:
        """Whether the change's target is still what the plan saw."""

    def prune(self, place: Place, levels: int) -> bool:
        """Remove up to so many directories above a place, lowest first, while they are empty;
        False if the disk did not let go of one.
        """

    def stage(
        self,
        change: Change,
        temp: str | None = None,
        *,
        durable: bool,
        wait_for_intent: Callable[[], None] = lambda: None,
    ) -> StagedFile:
        """Write the new content beside its target, with fsync if `durable`. `wait_for_intent` is
        called before anything appears there, if only the name `temp` (None: any), under
        which the replaced file stands from `publish` until discarded.
        """

    @property
    def syncs_groups(self) -> bool:
        """Whether `sync_group` works here; if not, every change is staged with `durable`."""

    def sync_group(self, staged: Sequence[StagedFile]) -> None:
        """Write everything that was done for these changes through to the disk at once."""


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
    """All that was found, sorted by path and line; paths shown as `Place.path` shows them.

    `partial` says why the search stopped early (deadline, too much), None if it is complete.
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
    """Paths of regular files, shown as `Place.path` shows them; mtime order is newest first."""

    paths: tuple[str, ...]
    partial: str | None
    engine: str


class Search(Protocol):
    """Ignore-aware search beneath a root; never follows a link out, always comes back."""

    async def grep(self, query: GrepQuery) -> GrepFound:
        """Lines that match. Raises `invalid_arguments` for a pattern that does not compile."""

    async def grep_text(self, query: GrepQuery, text: str) -> GrepFound:
        """The same in one text; the query's place only says how it is shown."""

    async def files(self, query: FilesQuery) -> FilesFound:
        """Files whose names match."""


# --- what is kept --------------------------------------------------------------------


class Artifacts(Protocol):
    """Where full texts of oversized results and tools' own files are kept."""

    def save(self, name: str, data: bytes) -> str:
        """Keep bytes under a name made safe; returns the reference to show."""

    def load(self, reference: str) -> bytes:
        """What was kept under a reference; raises `not_found`."""


class Blobs(Protocol):
    """Old contents that undo still promises, by their hash."""

    def keep(self, content: Content) -> str:
        """Keep the content until it is released; returns its hash. Blocks; durable."""

    def load(self, digest: str) -> bytes:
        """The content of a hash; raises `not_found`."""

    def target(self, digest: str) -> str | None:
        """The path to move a file to, to keep it by its hash; None: only `keep` works."""

    def adopted(self, size: int) -> None:
        """A file of this size was moved to its target."""

    def has_room(self, size: int) -> bool:
        """Whether this much more may be kept."""


class LockHandle(Protocol):
    """Locks held between processes."""

    def release(self) -> None:
        """Let go."""


class ProcessLocks(Protocol):
    """Locks that other processes of this machine respect too."""

    async def acquire(self, keys: Sequence[str]) -> LockHandle:
        """Wait until all keys are ours; never a part of them."""


# --- people and time -------------------------------------------------------------------


class Approver(Protocol):
    """Somebody who can be asked."""

    async def ask(self, request: ApprovalRequest) -> bool | Answer | Reply:
        """Wait for the user without a limit; raises `needs_approval` if no user can be
        asked.
        """


class Clock(Protocol):
    """Time, so that tests can set it."""

    def now_ns(self) -> int:
        """Wall clock in nanoseconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go back."""
