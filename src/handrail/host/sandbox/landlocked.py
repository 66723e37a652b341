"""Confinement by Landlock: a program keeps the view of the machine and loses rights on it.

Landlock only grants, down a whole tree. So what lies inside a writable tree cannot be held
read-only, and a hidden part costs the right to make new names in the folders above it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Final

from handrail.core.processes import Launch
from handrail.host.sandbox.calls import command_filter
from handrail.host.sandbox.places import inside_any, remainder
from handrail.host.sandbox.recipe import LandlockRules, Recipe
from handrail.host.sandbox.scene import Scene

# Not the terminals: their screens are the person's.
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# Semaphores of several processes live there; shared with all programs of the same user.
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - there is no private one without a mount


class Landlocked:
    """Recipes that start a program on a thread which gave up its rights."""

    name = "landlock"

    def recipe(self, launch: Launch, scene: Scene) -> Recipe:
        """How to start it, confined as far as Landlock can."""
        wanted = launch.confinement
        hidden = [os.path.realpath(path) for path in (*wanted.hidden, *scene.hidden)]
        writable = [os.path.realpath(path) for path in wanted.writable]
        roots = [root for root in scene.roots if not inside_any(root, writable)]
        return Recipe(
            argv=launch.argv,
            env={**launch.env, **_elsewhere(launch, scene.temporary)},
            cwd=launch.cwd,
            landlock=LandlockRules(
                read=_granted(("/proc", *scene.places.read, *wanted.readable, *roots), hidden),
                write=_granted((*_DEVICES, _SHARED_MEMORY, scene.temporary, *writable), hidden),
                network=wanted.network,
            ),
            filter=command_filter(inet=wanted.network, ipc=False),
            drop_capabilities=True,
        )


def _granted(paths: Iterable[str], hidden: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for path in paths for part in remainder(path, hidden))


def _elsewhere(launch: Launch, temporary: str) -> dict[str, str]:
    """The places that a program writes to unasked, since /tmp and home are closed."""
    caches = {} if "XDG_CACHE_HOME" in launch.env else {"XDG_CACHE_HOME": f"{temporary}/cache"}
    return {"TMPDIR": temporary, **caches}
