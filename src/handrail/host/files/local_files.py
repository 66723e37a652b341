"""The files of this machine beneath the roots; implements the `Files` port."""

from __future__ import annotations

import copy
import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, Self

from handrail.core.places import PLAN_FILE_ROOT, Entry, Form, Kind, Place, Stat
from handrail.core.plan import Change
from handrail.core.ports.machine import FileContent, PathEntry, StagedFile, Window
from handrail.core.problems import ProblemRaised
from handrail.host.files import reading
from handrail.host.files.directory import (
    Parent,
    can_sync_groups,
    remove_empty,
    sync_filesystems,
)
from handrail.host.files.errors import FAILING, problem_from_oserror, quoted
from handrail.host.files.locate import Locator, find_entry
from handrail.host.files.messages import NOT_A_DIRECTORY_TO_LIST
from handrail.host.files.roots import LIST, Roots

# A directory of this size has at most a few hundred entries on most file systems.
_ONE_LOOK: Final = 4096
_MOST_LISTED: Final = 500


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
        """`secret` returns whether the content of a path must not be cached. Raises `not_found` for
        a root that is not a directory.
        """
        self._roots = Roots(roots, hidden)
        self._break_hard_links = break_hard_links
        self._syncs_groups = can_sync_groups()
        self._locator = Locator(self._roots)
        self.cache = reading.WindowCache(secret)
        self._windows = reading.Windows(self._roots, self.cache)
        self._beside: Callable[[str], str | None] | None = None

    @property
    def roots(self) -> tuple[str, ...]:
        """Canonical absolute paths, the workspace first."""
        return self._roots.paths

    @property
    def aliases(self) -> tuple[tuple[str, str], ...]:
        """Other absolute paths that lead to roots through links, each with the canonical path."""
        return self._roots.aliases

    def handle(self, root: int) -> int:
        """Return the open handle of a root, in which a process can be started."""
        return self._roots.handles[root]

    def close(self) -> None:
        """Close the root handles and stop counting lines."""
        self._windows.close()
        self.close_beside()
        self._roots.close()

    def open_beside(self, directory: Path) -> str:
        """Open a directory outside the roots for `with_beside`; returns its canonical path."""
        if self._roots.beside is None:
            self._roots.beside = Roots([directory], ())
        return self._roots.beside.paths[0]

    def close_beside(self) -> None:
        """Close the directory outside the roots; may be called twice."""
        beside, self._roots.beside = self._roots.beside, None
        if beside is not None:
            beside.close()

    def with_beside(self, reach: Callable[[str], str | None]) -> Self:
        """Return a view of these files that also reaches part of the directory outside the roots.
        `reach` returns the path relative to that directory for an absolute path that may be
        resolved there, else None.
        """
        view = copy.copy(self)
        view._beside = reach  # noqa: SLF001 - a copy of this object
        return view

    def locate(self, path: str) -> Place:
        """Resolve a path, relative to the workspace or absolute, beneath a root."""
        if self._beside is not None and path.startswith("/"):
            rel = self._beside(path)
            if rel is not None:
                return self.locate_beside(rel)
        return self._locator.locate(path)

    def locate_beside(self, rel: str) -> Place:
        """Resolve a path in the directory outside the roots, which must be open."""
        place = Locator(self._roots.opened_beside()).locate(rel)
        return place._replace(root=PLAN_FILE_ROOT, path=place.absolute)

    def named(self, path: str) -> PathEntry:
        """Return the entry of this name, without following a final link."""
        rel = self._beside(path) if self._beside is not None else None
        if rel is None:
            return find_entry(self._roots, self._locator, path)
        beside = self._roots.opened_beside()
        found = find_entry(beside, Locator(beside), rel)
        place = found.place._replace(root=PLAN_FILE_ROOT, path=found.place.absolute)
        return found._replace(place=place)

    def stat(self, place: Place) -> Stat | None:
        """Return the stat of a file; None if it is missing."""
        return reading.stat_place(self._roots, place)

    def read(self, place: Place, *, max_bytes: int | None = None) -> FileContent:
        """Read the whole file. Raises `not_found`, `not_text` (not a regular file), `too_large`."""
        return reading.read(self._roots, place, max_bytes)

    def read_part(self, place: Place, offset: int, count: int) -> bytes:
        """Read at most `count` bytes from a byte offset."""
        return reading.read_part(self._roots, place, offset, count)

    def window(self, place: Place, first: int, count: int) -> Window:
        """Read `count` lines from line `first` (1-based) of a text file of any size."""
        return self._windows.window(place, first, count)

    def scan(self, place: Place) -> list[Entry]:
        """List the entries of a directory, sorted; a link has the kind of its target in the
        roots.
        """
        try:
            handle = self._roots.open(place, LIST)
        except FileNotFoundError as error:
            raise reading.missing_file_problem(self._roots, place) from error
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
        """Return whether the target of the change is still as it was when the plan was made."""
        from handrail.host.files.staged_change import is_unchanged, stat_target

        try:
            parent = Parent(self._roots, change.place, None, durable=False)
        except FileNotFoundError:
            return change.before is None
        except NotADirectoryError:
            return False
        except OSError as error:
            raise problem_from_oserror(error, change.place.path) from error
        try:
            return is_unchanged(parent, stat_target(parent), change)
        except OSError as error:
            raise problem_from_oserror(error, change.place.path) from error
        finally:
            parent.close()

    def prune(self, place: Place, levels: int) -> bool:
        """Remove up to this many empty directories above a place; return False on a disk error."""
        above = place.rel
        try:
            for _ in range(levels):
                above = above.rpartition("/")[0]
                with suppress(FileNotFoundError):
                    remove_empty(self._roots, place._replace(rel=above))
        except OSError as error:
            # This directory is in use, and so are all directories above it.
            return error.errno not in FAILING
        return True

    def stage(
        self,
        change: Change,
        temp: str | None = None,
        *,
        durable: bool,
        wait_for_intent: Callable[[], None] = lambda: None,
    ) -> StagedFile:
        """Prepare the new content next to its target, unnamed where possible."""
        from handrail.host.files.staged_change import StagedChange
        from handrail.host.files.staged_folder import StagedFolder, refuse_exchange

        if Form.FOLDER in (change.before_form, change.after_form):
            refuse_exchange(change)
            return StagedFolder(
                self._roots, change, durable=durable, wait_for_intent=wait_for_intent
            )
        return StagedChange(
            self._roots,
            change,
            temp,
            durable=durable,
            break_links=self._break_hard_links,
            wait_for_intent=wait_for_intent,
        )

    @property
    def syncs_groups(self) -> bool:
        """Whether one call syncs a whole group of changes."""
        return self._syncs_groups

    def sync_group(self, staged: Sequence[StagedFile]) -> None:
        """Sync everything that was written for these changes."""
        if not staged:
            return
        try:
            sync_filesystems(one.folder_handle for one in staged if one.folder_handle >= 0)
        except OSError as error:
            raise problem_from_oserror(error, self._roots.paths[0]) from error

    def _entry(self, place: Place, entry: os.DirEntry[str]) -> Entry | None:
        absolute = f"{place.absolute.rstrip('/')}/{entry.name}"
        if place.root != PLAN_FILE_ROOT and self._roots.hides(absolute):
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


class TopLinks:
    """Finds which of the given names are links at the top level of a root, and their targets.

    Called before every write, so names are looked up again only after the directory changed.
    """

    def __init__(self, files: LocalFiles, names: Sequence[str]) -> None:
        self._files = files
        self._names = names
        self._seen: dict[int, tuple[int, tuple[str, ...]]] = {}

    def __call__(self) -> dict[str, str]:
        """Return the absolute path of each link with its resolved target."""
        leads: dict[str, str] = {}
        for root, top in enumerate(self._files.roots):
            for name in self._links(root):
                link = f"{top.rstrip('/')}/{name}"
                try:
                    leads[link] = self._files.locate(link).absolute
                except ProblemRaised:
                    # The link leads outside the roots or in a loop; nothing can be written through
                    # it.
                    continue
        return leads

    def _links(self, root: int) -> tuple[str, ...]:
        handle = self._files.handle(root)
        top = os.fstat(handle)
        changed = top.st_ctime_ns
        seen = self._seen.get(root)
        if seen is not None and seen[0] == changed:
            return seen[1]
        names = self._names if top.st_size > _ONE_LOOK else self._possible_links(handle)
        links = tuple(name for name in names if _is_link(handle, name))
        if reading.is_settled(changed):
            self._seen[root] = (changed, links)
        return links

    def _possible_links(self, handle: int) -> Sequence[str]:
        """Return the names that may be links according to the directory's listing, which takes one
        call instead of many if the directory is small. The comparison ignores case, as the file
        system may; if it may ignore other characters of a link, all names are returned.
        """
        try:
            links = _listed_links(handle)
        except OSError:
            return self._names
        if links is None or not all(map(_is_plain, links)):
            return self._names
        if not links:
            return ()
        folded = {name.casefold() for name in links}
        return [name for name in self._names if name.casefold() in folded]


def _listed_links(handle: int) -> list[str] | None:
    """Return the names of all links in a directory; None if it is too large to list."""
    listed = os.open(".", LIST, dir_fd=handle)
    try:
        with os.scandir(listed) as entries:
            some = list(islice(entries, _MOST_LISTED + 1))
            found = [entry.name for entry in some if entry.is_symlink()]
    finally:
        os.close(listed)
    return found if len(some) <= _MOST_LISTED else None


def _is_plain(name: str) -> bool:
    """Return whether no file system ignores characters of this name."""
    return name.isascii() and name.isprintable() and not name.endswith((".", " "))


def _is_link(handle: int, name: str) -> bool:
    try:
        os.readlink(name, dir_fd=handle)
    except OSError as error:
        # After a disk error it is unknown whether this is a link.
        if error.errno not in (errno.EINVAL, errno.ENOENT):
            raise
        return False
    return True
