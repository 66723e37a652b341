"""Confinement by bubblewrap: a program sees a file system composed of the paths it may see.

Mounts are ordered from the top down, so the deepest mount decides. Nothing is mounted on a path
that does not exist: bubblewrap would create it in the user's tree.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.ports.processes import Confinement, Launch
from handrail.host.files.root_identity import is_inside
from handrail.host.files.roots import real_path
from handrail.host.sandbox.backends.landlock_grants import inode_key
from handrail.host.sandbox.backends.syscall_filter import command_filter
from handrail.host.sandbox.recipe import FILTER_HANDLE, Recipe
from handrail.host.sandbox.visible_paths import SharedMounts, is_inside_any

# Variables that no C program acts on. All others are set by bubblewrap for the command only: in
# bubblewrap's own environment, LD_PRELOAD would load code that runs unconfined.
_INERT: Final = frozenset({"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "USER"})
_APART: Final = (
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
)


# Each mount costs a fraction of a millisecond, which grows with their number. Beyond this limit,
# the paths nearest to the top are mounted; the others are repaired afterwards, like missing ones.
_MAX_READ_ONLY: Final = 200
# The limit for hidden paths. These cannot be repaired afterwards, so further ones are a gap.
MAX_HIDDEN_PATHS: Final = 100


class _MountKind(Enum):
    SHOWN = "--ro-bind-try"
    WRITABLE = "--bind-try"
    EMPTY = "--tmpfs"
    NULL_DEVICE = "--ro-bind"
    EMPTY_READ_ONLY = "--remount-ro"
    LINK = "--symlink"
    PROCESSES = "--proc"
    DEVICES = "--dev"
    DEVICE = "--dev-bind"


class _Mount(NamedTuple):
    how: _MountKind
    # The path that is shown, or the target of a link.
    source: str = ""


_Mounts = dict[str, _Mount]
_BOUND: Final = (_MountKind.SHOWN.value, _MountKind.WRITABLE.value)


def mounts_handles(program: str) -> bool:
    """Whether this bubblewrap can mount file descriptors (0.10, and some earlier builds)."""
    try:
        return b"--ro-bind-fd" in Path(program).read_bytes()
    except OSError:
        return False


class BubblewrapBackend:
    """Makes recipes that start a program through bubblewrap.

    `own_proc` is False on a machine (most likely a container) that does not allow mounting a new
    /proc; then processes outside stay visible. `by_handle` says that bubblewrap can mount
    descriptors, so that paths in a root need not be looked up by name again.
    """

    name = "bubblewrap"

    def __init__(self, program: str, *, own_proc: bool = True, by_handle: bool = False) -> None:
        self.program = program
        self.own_proc = own_proc
        self.by_handle = by_handle

    def recipe(self, launch: Launch, shared_mounts: SharedMounts) -> Recipe:
        """Return the recipe for a launch."""
        wanted = launch.confinement
        code = command_filter(inet=True, ipc=True, attributes=True)
        mounts = self._mounts(launch, shared_mounts)
        apart = (*_APART, *(() if wanted.network else ("--unshare-net",)))
        mounted = tuple(_arguments(mounts))
        options = (
            *apart,
            *mounted,
            *(("--seccomp", FILTER_HANDLE) if code else ()),
            *_hidden_variables(launch.env),
            "--setenv",
            "TMPDIR",
            "/tmp",  # noqa: S108 - a private one
            "--chdir",
            real_path(launch.cwd),
        )
        return Recipe(
            argv=(self.program, *options, "--", *launch.argv),
            env={name: value for name, value in launch.env.items() if _is_inert(name)},
            cwd="/",
            filter=code,
            own_pids=True,
            file_arguments=len(options),
            binds=tuple(_binds(mounted, 1 + len(apart), shared_mounts.roots))
            if self.by_handle
            else (),
            denied=tuple(_inodes(wanted.denied_reads)),
        )

    def _mounts(self, launch: Launch, shared_mounts: SharedMounts) -> _Mounts:
        """Return the mount of each path; later entries replace earlier ones."""
        wanted = launch.confinement
        mounts: _Mounts = {"/run": _Mount(_MountKind.EMPTY), "/var/tmp": _Mount(_MountKind.EMPTY)}  # noqa: S108 - private
        mounts["/var/run"] = _Mount(_MountKind.LINK, "/run")
        mounts |= {path: _shown(path) for path in shared_mounts.places.read}
        mounts["/dev"] = _Mount(_MountKind.DEVICES)
        for path, node in shared_mounts.devices.items():
            mounts[path] = _Mount(_MountKind.DEVICE, node)
        mounts["/proc"] = (
            _Mount(_MountKind.PROCESSES) if self.own_proc else _Mount(_MountKind.SHOWN, "/proc")
        )
        mounts["/tmp"] = _Mount(_MountKind.WRITABLE, shared_mounts.temporary)  # noqa: S108 - private
        if _can_be_empty(shared_mounts.places.home, mounts):
            mounts[shared_mounts.places.home] = _Mount(_MountKind.EMPTY)
        mounts |= {path: _shown(path) for path in _readable(wanted, shared_mounts.places.read)}
        mounts |= _alias_links(shared_mounts, mounts)
        mounts |= {root: _shown(root) for root in shared_mounts.roots}
        for copy in wanted.copies:
            mounts[copy.root] = _Mount(_MountKind.WRITABLE, copy.path)
            mounts |= {path: _Mount(_MountKind.SHOWN, path) for path in copy.shared}
        writable = [path for path in map(real_path, wanted.writable) if _exists(path)]
        mounts |= {path: _Mount(_MountKind.WRITABLE, path) for path in writable}
        read_only = _read_only(wanted, writable)
        mounts |= {
            path: _Mount(_MountKind.WRITABLE, path)
            for path in _pinned_directories(read_only, writable)
        }
        mounts |= {path: _Mount(_MountKind.SHOWN, path) for path in read_only}
        masked = (*wanted.hidden, *wanted.denied_reads[:MAX_HIDDEN_PATHS], *shared_mounts.hidden)
        hidden = list(_visible_hidden_paths(masked, mounts))
        for path in hidden:
            mounts |= _parents_of_hidden(path, mounts)
        mounts |= {path: _hiding_mount(path) for path in hidden}
        if wanted.denied_reads:
            # An empty directory has no entry to mount on.
            empty = frozenset(hidden)
            mounts = {path: one for path, one in mounts.items() if not _is_in_empty(path, empty)}
        return mounts | _tmp_parents(mounts)

    def hiding_gap(self, confinement: Confinement, shared_mounts: SharedMounts) -> str | None:
        """Return why some denied paths are not hidden; None if all are."""
        del shared_mounts
        number = len(confinement.denied_reads)
        if number <= MAX_HIDDEN_PATHS:
            return None
        return f"{number:,} denied paths exist, and at most {MAX_HIDDEN_PATHS} can be hidden"

    def enforced_read_only(self, confinement: Confinement) -> tuple[str, ...]:
        """Return the resolved read-only paths that are mounted read-only."""
        writable = [path for path in map(real_path, confinement.writable) if _exists(path)]
        return tuple(_read_only(confinement, writable))


def _arguments(mounts: _Mounts) -> Iterator[str]:
    for path in sorted(mounts, key=_depth):
        mount = mounts[path]
        if mount.how is _MountKind.EMPTY_READ_ONLY:
            yield from ("--tmpfs", path)
        yield from (mount.how.value, *([mount.source] if mount.source else []), path)
        if mount.how is _MountKind.PROCESSES:
            # Root can write to /proc/sys without any capability, for example to set a core dump
            # handler.
            yield from ("--remount-ro", path)
    if "/" not in mounts:
        # A write outside all mounts should fail instead of being lost.
        yield from ("--remount-ro", "/")


def _binds(mounted: Sequence[str], start: int, roots: Sequence[str]) -> Iterator[int]:
    """Return the positions in the arguments at which a path in a root is mounted: option, source
    and target. No source can look like an option, because sources are absolute.
    """
    for at, word in enumerate(mounted[:-2]):
        if word in _BOUND and is_inside_any(mounted[at + 1], roots):
            yield start + at


def _inodes(paths: Iterable[str]) -> Iterator[str]:
    """Return the inodes of the paths that exist."""
    for path in paths:
        with suppress(OSError):
            yield inode_key(os.lstat(path))


def _depth(path: str) -> tuple[int, str]:
    return path.rstrip("/").count("/"), path


def _shown(path: str) -> _Mount:
    real = real_path(path)
    return _Mount(_MountKind.SHOWN, path) if real == path else _Mount(_MountKind.LINK, real)


def _hiding_mount(path: str) -> _Mount:
    if os.path.isdir(path):  # noqa: PTH112 - called for every hidden path of every command
        return _Mount(_MountKind.EMPTY_READ_ONLY)
    return _Mount(_MountKind.NULL_DEVICE, os.devnull)


def _alias_links(shared_mounts: SharedMounts, mounts: _Mounts) -> _Mounts:
    """Return links for the alias paths of roots where no mount provides the path."""
    shown = [path for path, mount in mounts.items() if mount.how is _MountKind.SHOWN]
    links: _Mounts = {}
    for alias, root in shared_mounts.aliases:
        if is_inside_any(alias, (*shown, *shared_mounts.roots)):
            continue
        if alias.rpartition("/")[0] == "/tmp":  # noqa: S108 - the private one
            # The directory outlives the program, so the link may exist.
            with suppress(FileExistsError):
                os.symlink(root, f"{shared_mounts.temporary}/{alias.rpartition('/')[2]}")  # noqa: PTH211
        else:
            links[alias] = _Mount(_MountKind.LINK, root)
    return links


def _can_be_empty(home: str, mounts: _Mounts) -> bool:
    """Return whether an empty private home can be mounted there."""
    return bool(home) and home not in mounts and (_exists(home) or not is_inside_any(home, mounts))


def _readable(wanted: Confinement, shown: Sequence[str]) -> list[str]:
    """Return the additional readable paths; a link only where no mount provides the path."""
    there = [path for path in wanted.readable if _exists(path) and not is_inside_any(path, shown)]
    real = [path for path in there if real_path(path) == path]
    return [path for path in there if path in real or not is_inside_any(path, real)]


def _read_only(wanted: Confinement, writable: Sequence[str]) -> list[str]:
    return sorted(_writable_paths(wanted.read_only, writable), key=_depth)[:_MAX_READ_ONLY]


def _writable_paths(paths: Iterable[str], writable: Iterable[str]) -> Iterator[str]:
    """Return the resolved paths that lie in writable trees; other paths are not visible at all."""
    tops = list(writable)
    for path in paths:
        # Nothing can be mounted on a link, so its target is used.
        real = real_path(path)
        if is_inside_any(real, tops) and _exists(real):
            yield real


def _pinned_directories(read_only: Collection[str], writable: Sequence[str]) -> Iterator[str]:
    """Return each `.git` of which parts are read-only: a mount point cannot be renamed."""
    for path in read_only:
        top, found, _ = path.rpartition("/.git/")
        # A whole read-only tree must not become writable again.
        if found and is_inside_any(top, writable) and not is_inside_any(f"{top}/.git", read_only):
            yield f"{top}/.git"


def _visible_hidden_paths(paths: Iterable[str], mounts: _Mounts) -> Iterator[str]:
    shown = [
        path
        for path, mount in mounts.items()
        if mount.how in (_MountKind.SHOWN, _MountKind.WRITABLE)
    ]
    for path in {real_path(one) for one in paths}:
        if path != "/" and is_inside_any(path, shown) and _exists(path):
            yield path


def _is_in_empty(path: str, empty: Collection[str]) -> bool:
    above = path.rpartition("/")[0]
    while above:
        if above in empty:
            return True
        above = above.rpartition("/")[0]
    return False


def _parents_of_hidden(hidden: str, mounts: _Mounts) -> _Mounts:
    """Return the parents of hidden paths as mount points: renaming one would reveal the path."""
    holders: _Mounts = {}
    folder = hidden.rpartition("/")[0]
    while folder and folder not in mounts:
        holders[folder] = _Mount(_MountKind.WRITABLE, folder)
        folder = folder.rpartition("/")[0]
    above = mounts.get(folder or "/")
    return holders if above is not None and above.how is _MountKind.WRITABLE else {}


def _tmp_parents(mounts: _Mounts) -> _Mounts:
    """Return the directories that lead to a mount below /tmp. The private /tmp outlives this
    program, so a link that it leaves there would redirect the mounts of the next program.
    """
    top = "/tmp"  # noqa: S108 - the private one
    if mounts.get(top, _Mount(_MountKind.EMPTY)).source == top:
        return {}
    below = [path for path in mounts if is_inside(path, top) and path != top]
    firsts = {"/".join(path.split("/")[:3]) for path in below}
    return {first: _Mount(_MountKind.EMPTY) for first in firsts if first not in mounts}


def _exists(path: str) -> bool:
    return os.path.lexists(path)


def _is_inert(name: str) -> bool:
    return name in _INERT or name.startswith("LC_")


def _hidden_variables(env: Mapping[str, str]) -> Iterator[str]:
    for name, value in env.items():
        if not _is_inert(name) and name != "TMPDIR":
            yield from ("--setenv", name, value)
