"""Confinement by Landlock: a program keeps the view of the machine and loses rights on it.

Landlock only grants, down a whole tree. So what lies inside a writable tree cannot be held
read-only, and a hidden part costs the right to make new names in the folders above it. That
is too much for withheld paths: they are hidden where a program may only read, and not else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from handrail.core.processes import Confinement, Launch
from handrail.host.files.paths.real_path import real_path
from handrail.host.sandbox.backends.landlock_grants import inode_chain
from handrail.host.sandbox.backends.syscall_filter import command_filter
from handrail.host.sandbox.messages import HIDDEN_PATH_MOVED
from handrail.host.sandbox.recipe import LandlockRules, Recipe
from handrail.host.sandbox.visible_paths import SharedMounts, is_inside_any, list_except

# Not the terminals: their screens are the person's.
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# Semaphores of several processes live there; shared with all programs of the same user.
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - there is no private one without a mount

# Each grant costs some microseconds when a program starts.
_MOST_GRANTS: Final = 4000


class LandlockBackend:
    """Recipes that start a program on a thread which gave up its rights."""

    name = "landlock"

    def recipe(self, launch: Launch, scene: SharedMounts) -> Recipe:
        """How to start it, confined as far as Landlock can. Raises `stale` if what must be
        hidden from it was moved a moment ago.
        """
        wanted = launch.confinement
        hidden = _hidden(wanted, scene)
        writable = _writable(wanted)
        readable = _readable(wanted, scene, writable)
        withheld = [path for path in wanted.withheld if not is_inside_any(path, writable)]
        if withheld and len(_granted(readable, (*hidden, *withheld))) > _MOST_GRANTS:
            withheld = []
        return Recipe(
            argv=launch.argv,
            env={**launch.env, **_elsewhere(launch, scene.temporary)},
            cwd=launch.cwd,
            landlock=_rules(
                readable,
                (*_DEVICES, _SHARED_MEMORY, scene.temporary, *writable),
                hidden,
                withheld,
                network=wanted.network,
            ),
            filter=command_filter(inet=wanted.network, ipc=False),
            drop_capabilities=True,
        )

    def unhidden(self, confinement: Confinement, scene: SharedMounts) -> str | None:
        """Why its withheld paths are not all hidden; None if they are."""
        writable = _writable(confinement)
        if any(is_inside_any(path, writable) for path in confinement.withheld):
            return "Landlock cannot hide a part of what a command may write"
        hidden = (*_hidden(confinement, scene), *confinement.withheld)
        if len(_granted(_readable(confinement, scene, writable), hidden)) > _MOST_GRANTS:
            return "too many files lie beside the withheld ones for Landlock to hide them"
        return None


def _rules(
    read: Sequence[str],
    write: Sequence[str],
    hidden: Sequence[str],
    withheld: Sequence[str],
    *,
    network: bool,
) -> LandlockRules:
    """The rules, with what must stay closed known by its inodes."""
    tops = [*read, *write]
    closed: dict[str, None] = {}
    above_hidden: dict[str, None] = {}
    above_withheld: dict[str, None] = {}
    for paths, above in ((hidden, above_hidden), (withheld, above_withheld)):
        for path in paths:
            chain = _chain(path, needed=paths is withheld) if is_inside_any(path, tops) else []
            if chain:
                closed[chain[-1]] = None
                above.update(dict.fromkeys(chain[:-1]))
    return LandlockRules(
        tuple(read),
        tuple(write),
        network,
        closed=tuple(closed),
        ways=tuple(above_hidden | above_withheld),
        # Not the folders above what is not even seen.
        listed=tuple(one for one in above_withheld if one not in above_hidden),
    )


def _chain(path: str, *, needed: bool) -> list[str]:
    try:
        return inode_chain(path)
    except OSError as error:
        if not needed:
            return []
        raise HIDDEN_PATH_MOVED.error(path=path) from error


def _hidden(wanted: Confinement, scene: SharedMounts) -> list[str]:
    return [real_path(path) for path in (*wanted.hidden, *scene.hidden)]


def _writable(wanted: Confinement) -> list[str]:
    return [real_path(path) for path in wanted.writable]


def _readable(wanted: Confinement, scene: SharedMounts, writable: Sequence[str]) -> list[str]:
    roots = [root for root in scene.roots if not is_inside_any(root, writable)]
    # Links are not followed when rules are made: what they lead to is named as well.
    further = dict.fromkeys((*wanted.readable, *map(real_path, wanted.readable)))
    return ["/proc", *scene.places.read, *further, *roots]


def _granted(paths: Iterable[str], hidden: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for path in paths for part in list_except(path, hidden))


def _elsewhere(launch: Launch, temporary: str) -> dict[str, str]:
    """The places that a program writes to unasked, since /tmp and home are closed."""
    caches = {} if "XDG_CACHE_HOME" in launch.env else {"XDG_CACHE_HOME": f"{temporary}/cache"}
    return {"TMPDIR": temporary, **caches}
