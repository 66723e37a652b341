"""Plan mode as tools see it: entering it, the plan, and leaving it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

ENTER: Final = "enter_plan_mode"
LEAVE: Final = "exit_plan_mode"
# The mode of a session that only plans.
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
        """Make the file accessible to tools and return its absolute path. Raises `unavailable` if the
        session has no plan file.
        """

    def read(self) -> str | None:
        """The content; None if the file was not written."""


class PlanModeControl(Protocol):
    """Enters and leaves plan mode."""

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
