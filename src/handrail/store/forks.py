"""Tells a process from its forked children without a system call, which every row would make."""

from __future__ import annotations

import os
from typing import Final


class ForkCounter:
    """`forks` is how often this process and those above it were forked since the import."""

    __slots__ = ("forks",)

    def __init__(self) -> None:
        self.forks = 0

    def count(self) -> None:
        """Count a fork; called in the child."""
        self.forks += 1


FORK_COUNTER: Final = ForkCounter()
os.register_at_fork(after_in_child=FORK_COUNTER.count)
