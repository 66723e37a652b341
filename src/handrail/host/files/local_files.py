"""The files of this machine beneath the roots; implements the `Files` port."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from handrail.core.places import Entry, Kind, Place, Stat
from handrail.core.plan import Change
from handrail.core.ports.machine import FileContent, Named, Staged, Window
from handrail.core.problems import ProblemRaised
from handrail.host.files.errors import FAILING, problem_from_oserror, quoted
from handrail.host.files.messages import NOT_A_DIRECTORY_TO_LIST
from handrail.host.files.paths.entry import find_entry
from handrail.host.files.paths.locate import Locator
from handrail.host.files.paths.openat2 import LIST
from handrail.host.files.paths.roots import Roots
from handrail.host.files.reading import open_file
from handrail.host.files.reading.read_cache import WindowCache
from handrail.host.files.reading.window import Windows
from handrail.host.files.staging.parents import Parent, remove_empty
from handrail.host.files.staging.staged_change import StagedChange, is_unchanged, stat_target
from handrail.host.files.staging.staged_folder import StagedFolder, refuse_exchange
from handrail.host.files.staging.sync import can_sync_groups, sync_filesystems


class LocalFiles:
    """Reads and changes files beneath `roots`, the workspace first.

    `hidden` are directories inside roots that no tool may reach. A file with several hard links is
    replaced only with `break_hard_links`.
    """

    def __init__(
        self,
        roots: Sequence[str | Path],
        *,
        hidden: Sequence[str] = (),
        break_hard_links: bool = False,
        secret: Callable[[str], bool] = lambda path: False,
    ) -> None:
        """`secret` returns whether a path's content must not be cached. Raises `not_found` for a
        root that is not a directory.
        """
        self._roots = Roots(roots, hidden)
        self._break_hard_links = break_hard_links
        self._syncs_groups = can_sync_groups()
        self._locator = Locator(self._roots)
        self.cache = WindowCache(secret)
        self._windows = Windows(self._roots, self.cache)

    @property
    def roots(self) -> tuple[str, ...]:
        """Canonical absolute paths, the workspace first."""
        return self._roots.paths

    @property
    def aliases(self) -> tuple[tuple[str, str], ...]:
        """Further absolute paths of roots, through links, each with the canonical one."""
        return self._roots.aliases

    def handle(self, root: int) -> int:
        """The open handle of a root, from which a process can start."""
        return self._roots.handles[root]

    def close(self) -> None:
        """Close the root handles and stop counting lines."""
        self._windows.close()
        self._roots.close()

    def locate(self, path: str) -> Place:
        """Resolve a path, relative to the workspace or absolute, beneath a root."""
        return self._locator.locate(path)

    def named(self, path: str) -> Named:
        """The entry of this name, without following a final link."""
        return find_entry(self._roots, self._locator, path)

    def stat(self, place: Place) -> Stat | None:
        """The stat of a file; None if it is missing."""
        return open_file.stat_place(self._roots, place)

    def read(self, place: Place, *, max_bytes: int | None = None) -> FileContent:
        """The whole file. Raises `not_found`, `not_text` (not a regular file), `too_large`."""
        return open_file.read(self._roots, place, max_bytes)

    def read_part(self, place: Place, offset: int, count: int) -> bytes:
        """At most `count` bytes from a byte offset."""
        return open_file.read_part(self._roots, place, offset, count)

    def window(self, place: Place, first: int, count: int) -> Window:
        """`count` lines from line `first` (1-based) of a text file of any size."""
        return self._windows.window(place, first, count)

    def scan(self, place: Place) -> list[Entry]:
        """The entries of a directory, sorted; a link has the kind of its target inside the roots."""
        try:
            handle = self._roots.open(place, LIST)
        except FileNotFoundError as error:
            raise open_file.missing_file_problem(self._roots, place) from error
        except NotADirectoryError as error:
            raise NOT_A_DIRECTORY_TO_LIST.error(path=quoted(place.path)) from error
        except OSError as error:
            raise problem_from_oserror(error, place.path) from error
        try:
            with os.scandir(handle) as entries:
                found = [self._entry(place, entry) for entry in entries]
        except OSError as error:
            raise problem_from_oserror(error, place.path) from error
        finally:
            os.close(handle)
        return sorted(entry for entry in found if entry is not None)

    def unchanged(self, change: Change) -> bool:
        """Whether the change's target is still what the plan saw."""
        try:
            parent = Parent(self._roots, change.place, None, durable=False)
        except FileNotFoundError:
            return change.before is None
        except NotADirectoryError:
            return False
        except OSError as error:
            raise problem_from_oserror(error, change.path) from error
        try:
            return is_unchanged(parent, stat_target(parent), change)
        except OSError as error:
            raise problem_from_oserror(error, change.path) from error
        finally:
            parent.close()

    def prune(self, place: Place, levels: int) -> bool:
        """Remove at most this many empty directories above a place, lowest first; False on a disk
        error.
        """
        above = place.rel
        try:
            for _ in range(levels):
                above = above.rpartition("/")[0]
                with suppress(FileNotFoundError):
                    remove_empty(self._roots, place._replace(rel=above))
        except OSError as error:
            # In use, and so are those above it.
            return error.errno not in FAILING
        return True

    def stage(
        self,
        change: Change,
        temp: str | None = None,
        *,
        durable: bool,
        announce: Callable[[], None] = lambda: None,
    ) -> Staged:
        """Prepare the new content next to its target, unnamed where possible."""
        if change.of_folder:
            refuse_exchange(change)
            return StagedFolder(self._roots, change, durable=durable, announce=announce)
        return StagedChange(
            self._roots,
            change,
            temp,
            durable=durable,
            break_links=self._break_hard_links,
            announce=announce,
        )

    @property
    def syncs_groups(self) -> bool:
        """Whether one call syncs a whole group of changes."""
        return self._syncs_groups

    def sync_group(self, staged: Sequence[Staged]) -> None:
        """Sync everything written for these changes."""
        if not staged:
            return
        try:
            sync_filesystems(one.folder_handle for one in staged if one.folder_handle >= 0)
        except OSError as error:
            raise problem_from_oserror(error, self._roots.paths[0]) from error

    def _entry(self, place: Place, entry: os.DirEntry[str]) -> Entry | None:
        absolute = f"{place.absolute.rstrip('/')}/{entry.name}"
        if self._roots.hidden and self._roots.hides(absolute):
            return None
        # A name that is not valid UTF-8 can only be shown, not requested.
        name = os.fsencode(entry.name).decode("utf-8", "replace")
        if entry.is_symlink():
            return Entry(name, self._leads_to(absolute), is_link=True)
        if entry.is_dir(follow_symlinks=False):
            return Entry(name, Kind.DIRECTORY, is_link=False)
        regular = entry.is_file(follow_symlinks=False)
        return Entry(name, Kind.FILE if regular else Kind.SPECIAL, is_link=False)

    def _leads_to(self, absolute: str) -> Kind:
        try:
            return self.locate(absolute).kind
        except ProblemRaised:
            return Kind.SPECIAL
