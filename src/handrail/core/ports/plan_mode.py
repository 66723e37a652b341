"""Plan mode as tools see it: going in, what the plan says, and coming out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

ENTER: Final = "enter_plan_mode"
LEAVE: Final = "exit_plan_mode"
# What a session's mode is called while it only plans.
PLAN_MODE: Final = "plan"


class PlannedPermission(NamedTuple):
    """A use of a tool that a plan announces, in the model's words."""

    tool: str
    prompt: str


class PlanModeExit(NamedTuple):
    """The end of plan mode: the mode that applies now, the plan, and how many calls are pending."""

    mode: str
    plan: str
    waiting: int


class PlanFile(Protocol):
    """The one file of a session in which a model writes its plan; outside every workspace."""

    def open(self) -> str:
        """Let tools reach it; returns its absolute path. Raises `unavailable` if it has no
        place.
        """

    def read(self) -> str | None:
        """The content; None if the file was not written."""


class PlanModeControl(Protocol):
    """Whether the session only plans."""

    @property
    def active(self) -> bool:
        """Whether plan mode is on."""

    def enter(self) -> str:
        """Enter plan mode; returns the path of the plan file."""

    def check(self, given: str = "") -> None:
        """Raise `unavailable` outside plan mode, `not_found` if there is no plan to show: neither in
        the plan file nor `given` with the call.
        """

    def show(self, announced: Sequence[PlannedPermission], given: str = "") -> str:
        """The plan as it is shown to the user for approval."""

    def leave(self, announced: Sequence[PlannedPermission], given: str = "") -> PlanModeExit:
        """Leave plan mode after the user approved. Raises `stale` if the plan changed since."""
