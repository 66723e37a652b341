"""Opens what a runtime uses of the machine: files, search, store, and the command subsystem."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from handrail.assembly.deferred_commands import Commands, Places, open_commands
from handrail.config.model import Settings
from handrail.core.names.sensitive import is_sensitive
from handrail.core.names.store_location import is_store_url
from handrail.core.problems import ProblemRaised
from handrail.core.text.safe_text import safe_text
from handrail.host.files.local_files import LocalFiles
from handrail.host.processes.helpers.bundled import DISTRIBUTIONS, find_helper
from handrail.host.search.choose_engine import DeferredSearch
from handrail.host.state.blobs import DirectoryBlobs, MemoryBlobs
from handrail.host.state.directories import (
    config_home,
    ensure_outside,
    private_directory,
    state_home,
)
from handrail.host.state.state_paths import StatePaths, find_state_paths
from handrail.store.sqlite.store import RecordStore, open_store

if TYPE_CHECKING:
    from handrail.host.state.file_locks import FileLocks

_log = logging.getLogger(__name__)


class Machine(NamedTuple):
    """The open resources of a runtime; `ends` closes them in reverse order. `commands` None: no commands
    can be run.
    """

    places: Places
    search: DeferredSearch
    store: RecordStore
    commands: Commands | None
    ends: AsyncExitStack

    @property
    def files(self) -> LocalFiles:
        """The roots."""
        return self.places.files

    @property
    def home(self) -> StatePaths:
        """The paths of the runtime's state."""
        return self.places.home


async def open_machine(
    given: Sequence[str | Path],
    settings: Settings,
    config: Path | None,
    where: str | Path | None,
    beside_server: Path | None = None,
) -> Machine:
    """Open all resources for these roots, the workspace first; if that fails, nothing stays open.

    A root that is given by a link can be named by the link in calls, too. `config` is the user's
    configuration file, `where` the store that was given; see `find_state_paths`.
    """
    roots = [real_directory(Path(one)) for one in given]
    home = find_state_paths(roots[0], where, beside_server)
    hidden = _outside(home, roots)
    ends = AsyncExitStack()
    try:
        files = LocalFiles(
            list(map(str, given)),
            hidden=hidden,
            break_hard_links=settings.break_hard_links,
            secret=is_sensitive,
        )
        ends.callback(files.close)
        _check_same(files, roots)
        handles = [files.handle(index) for index in range(len(files.roots))]
        helpers = _find_helpers(files.roots)
        search = DeferredSearch(files.roots, hidden, handles, files.aliases)
        ends.callback(search.close)
        store = open_store(home.store, busy_timeout_s=settings.store_timeout_s)
        ends.push_async_callback(store.aclose)
        own = tuple(_own_places(config, helpers))
        places = Places(home, files, own, hidden, dict(os.environ))
        commands = open_commands(places, settings)
        if commands is not None:
            ends.push_async_callback(commands.aclose)
    except BaseException:
        await ends.aclose()
        raise
    return Machine(places, search, store, commands, ends)


def _find_helpers(roots: Sequence[str]) -> list[str]:
    """The paths of the helper programs; problems with their installation are logged."""
    found = [find_helper(name, roots) for name in DISTRIBUTIONS]
    for problem in (one.problem for one in found):
        if problem is not None:
            _log.warning("%s", safe_text(f"{problem.message}; {problem.hint}", one_line=True))
    return [one.path for one in found if one.path is not None]


def open_blobs(home: StatePaths) -> DirectoryBlobs | MemoryBlobs:
    """The storage of old contents."""
    return DirectoryBlobs(home.blobs) if home.blobs is not None else MemoryBlobs()


def open_locks(home: StatePaths) -> FileLocks | None:
    """The locks between processes; None for a runtime without state on disk."""
    from handrail.host.state.file_locks import FileLocks

    if home.directory is None:
        return None
    try:
        # One folder for all stores, because runtimes with different stores may share a workspace.
        return FileLocks(private_directory(state_home() / "locks"))
    except ProblemRaised:
        return FileLocks(private_directory(home.directory / "locks"))


def real_directory(path: Path) -> Path:
    """The resolved path of a root; raises `not_found` if it is not a directory."""
    try:
        resolved = path.expanduser().resolve(strict=True)
    except OSError:
        raise ProblemRaised(
            "not_found", f"there is no directory {str(path)!r}", hint="make it, or name another"
        ) from None
    if not resolved.is_dir():
        raise ProblemRaised("not_found", f"{str(path)!r} is not a directory")
    return resolved


def _check_same(files: LocalFiles, roots: Sequence[Path]) -> None:
    """Raise `stale` if a link in the path of a root was replaced between resolving and opening it."""
    if not set(files.roots) <= set(map(str, roots)):
        raise ProblemRaised(
            "stale",
            f"a link on the way to {files.roots[0]!r} was replaced while it was opened",
            hint="open it again",
            retryable=True,
        )


def named_directory(path: Path) -> str:
    """The absolute path of a directory with its links kept. A relative path is relative to $PWD, if that
    is the current directory.
    """
    given = path.expanduser()
    if given.is_absolute():
        return str(given)
    logical = os.environ.get("PWD", "")
    try:
        known = logical.startswith("/") and os.path.samefile(logical, ".")  # noqa: PTH121
    except OSError:
        known = False
    return str(Path(logical) / given) if known else str(given.absolute())


def _outside(home: StatePaths, roots: Sequence[Path]) -> tuple[str, ...]:
    """Create the state directory; returns the paths of state, including that of other workspaces, that
    must be hidden because a root contains them.
    """
    inside = [str(root) for root in roots]
    hidden = set(ensure_outside(state_home(), inside))
    if home.directory is not None:
        place = home.directory if is_store_url(home.store) else Path(home.store)
        hidden.update(ensure_outside(place, inside))
        private_directory(home.directory)
    return tuple(sorted(hidden))


def _own_places(config: Path | None, helpers: Sequence[str]) -> list[str]:
    """The paths that a model must never change: Handrail, the interpreter and helper programs, the state
    and the configuration.
    """
    places = {Path(__file__).parents[1], state_home(), config_home()}
    places |= {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable)}
    if config is not None:
        places.add(config)
    places.update(map(Path, helpers))
    return sorted({str(place.resolve()) for place in places})
