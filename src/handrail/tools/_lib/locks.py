"""What lock_paths and unlock_paths have in common."""

from __future__ import annotations

from handrail.core.context import Session
from handrail.core.footprint import Footprint, writing
from handrail.core.ports.leases import PathReserver
from handrail.core.problems import ProblemRaised
from handrail.core.tool import Group, P
from handrail.core.verdicts import Risk
from handrail.tools._lib.tool_base import Builtin


class LockTool(Builtin[P]):
    """A tool about reserved paths: it changes who may write, and no file."""

    group = Group.TASK

    def __init__(self, locks: PathReserver | None) -> None:
        self._locks = locks

    def enabled(self, session: Session) -> bool:
        """Whether reservations can be kept."""
        del session
        return self._locks is not None

    def footprint(self, args: P) -> Footprint:
        """One call at a time, of any agent."""
        del args
        return writing("session:locks")

    def risk(self, args: P) -> Risk:
        """Locks run out by themselves, and only one's own can be given back."""
        del args
        return Risk.SAFE

    @property
    def keeper(self) -> PathReserver:
        """The keeper of reservations; raises `unavailable` if there is none."""
        if self._locks is None:
            raise ProblemRaised("unavailable", "paths cannot be reserved here")
        return self._locks
