"""Gives up, on the calling thread, what a recipe says a program must not have.

It binds the THREAD for ever: only on a throw-away one. Imports nothing heavy, because the
process that starts programs is a fresh one.
"""

from __future__ import annotations

import errno

from handrail.host.processes import landlock, seccomp
from handrail.host.sandbox.backends import capabilities, rulesets
from handrail.host.sandbox.backends.landlock_grants import OpenTree
from handrail.host.sandbox.recipe import Recipe


def restrict_thread(recipe: Recipe, open_top: OpenTree | None = None) -> None:
    """Landlock, capabilities and filter as the recipe demands; what this thread starts has
    them too. Landlock's trees are opened by `open_top`. Raises OSError if one cannot be had: then nothing may be started.
    """
    rules = recipe.landlock
    # First, while the thread may still look at every place that is granted.
    if rules is not None and not rulesets.enter_ruleset(rules, open_top):
        raise OSError(errno.ENOSYS, "the kernel refused the Landlock rules")
    if recipe.drop_capabilities:
        capabilities.drop_capabilities()
        if not landlock.no_new_privileges():
            raise OSError(errno.EPERM, "the kernel refused no_new_privs")
    # Bubblewrap applies its own, once it needs no forbidden call any more.
    by_thread = recipe.filter and not recipe.hands_filter_over
    if by_thread and not seccomp.apply(recipe.filter):
        raise OSError(errno.EINVAL, "the kernel refused the system-call filter")
