"""Confinement by Landlock: a program sees the whole machine but loses rights on it.

Landlock only grants rights, on whole trees. So a path inside a writable tree cannot be read-only,
and hiding a path removes the right to create names in the directories above it. That is too much
for denied paths: they are hidden only where a program may not write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from handrail.core.ports.processes import Confinement, Launch
from handrail.host.files.roots import real_path
from handrail.host.messages import HIDDEN_PATH_MOVED
from handrail.host.processes import landlock
from handrail.host.sandbox.backends.landlock_grants import inode_chain
from handrail.host.sandbox.backends.syscall_filter import command_filter
from handrail.host.sandbox.recipe import LandlockRules, Recipe
from handrail.host.sandbox.visible_paths import SharedMounts, is_inside_any, list_except

# Without the terminals, whose screens belong to the user.
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_ABI_WITH_TCP: Final = 4
# Each grant costs microseconds at every program start.
_MOST_GRANTS: Final = 4000


class LandlockBackend:
    """Makes recipes that start a program on a restricted thread."""

    name = "landlock"

    def recipe(self, launch: Launch, shared_mounts: SharedMounts) -> Recipe:
        """Return the recipe for a launch. Raises `stale` if a path to hide was moved meanwhile."""
        wanted = launch.confinement
        hidden = _hidden(wanted, shared_mounts)
        writable = _writable(wanted)
        readable = _readable(wanted, shared_mounts, writable)
        withheld = [path for path in wanted.denied_reads if not is_inside_any(path, writable)]
        if withheld and len(_granted(readable, (*hidden, *withheld))) > _MOST_GRANTS:
            withheld = []
        return Recipe(
            argv=launch.argv,
            env={**launch.env, **_redirect_variables(launch, shared_mounts.temporary)},
            cwd=launch.cwd,
            landlock=_rules(
                readable,
                (*_DEVICES, shared_mounts.temporary, *writable),
                hidden,
                withheld,
                network=wanted.network,
            )._replace(attributes=(shared_mounts.temporary, *writable) if writable else ()),
            filter=command_filter(
                inet=wanted.network, ipc=False, attributes=False, tcp=_has_proxy(wanted)
            ),
            drop_capabilities=True,
        )

    def hiding_gap(self, confinement: Confinement, shared_mounts: SharedMounts) -> str | None:
        """Return why some denied paths are not hidden; None if all are."""
        writable = _writable(confinement)
        if any(is_inside_any(path, writable) for path in confinement.denied_reads):
            return "Landlock cannot hide a part of what a command may write"
        hidden = (*_hidden(confinement, shared_mounts), *confinement.denied_reads)
        if len(_granted(_readable(confinement, shared_mounts, writable), hidden)) > _MOST_GRANTS:
            return "there are too many files next to the denied ones for Landlock to hide them"
        return None


def _has_proxy(wanted: Confinement) -> bool:
    """Return whether TCP sockets are allowed but cannot connect; needs Landlock ABI 4."""
    return bool(wanted.hosts) and not wanted.network and landlock.abi() >= _ABI_WITH_TCP


def _rules(
    read: Sequence[str],
    write: Sequence[str],
    hidden: Sequence[str],
    withheld: Sequence[str],
    *,
    network: bool,
) -> LandlockRules:
    """Return the rules, with denied paths given as inodes."""
    tops = [*read, *write]
    closed: dict[str, None] = {}
    above_hidden: dict[str, None] = {}
    above_withheld: dict[str, None] = {}
    for paths, above in ((hidden, above_hidden), (withheld, above_withheld)):
        for path in paths:
            chain = (
                _inode_chain(path, needed=paths is withheld) if is_inside_any(path, tops) else []
            )
            if chain:
                closed[chain[-1]] = None
                above.update(dict.fromkeys(chain[:-1]))
    return LandlockRules(
        tuple(read),
        tuple(write),
        network,
        denied=tuple(closed),
        denied_parents=tuple(above_hidden | above_withheld),
        # The directories above paths that are invisible anyway are left out.
        listable=tuple(one for one in above_withheld if one not in above_hidden),
    )


def _inode_chain(path: str, *, needed: bool) -> list[str]:
    try:
        return inode_chain(path)
    except OSError as error:
        if not needed:
            return []
        raise HIDDEN_PATH_MOVED.error(path=path) from error


def _hidden(wanted: Confinement, shared_mounts: SharedMounts) -> list[str]:
    return [real_path(path) for path in (*wanted.hidden, *shared_mounts.hidden)]


def _writable(wanted: Confinement) -> list[str]:
    return [real_path(path) for path in wanted.writable]


def _readable(
    wanted: Confinement, shared_mounts: SharedMounts, writable: Sequence[str]
) -> list[str]:
    roots = [root for root in shared_mounts.roots if not is_inside_any(root, writable)]
    # Rules do not follow links, so their targets are listed as well.
    further = dict.fromkeys((*wanted.readable, *map(real_path, wanted.readable)))
    return ["/proc", *shared_mounts.places.read, *further, *roots]


def _granted(paths: Iterable[str], hidden: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for path in paths for part in list_except(path, hidden))


def _redirect_variables(launch: Launch, temporary: str) -> dict[str, str]:
    """Return environment variables that direct caches and temporary files to writable paths."""
    caches = {} if "XDG_CACHE_HOME" in launch.env else {"XDG_CACHE_HOME": f"{temporary}/cache"}
    return {"TMPDIR": temporary, **caches}
