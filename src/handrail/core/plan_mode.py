"""Plan mode as tools see it: going in, what the plan says, and coming out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

ENTER: Final = "enter_plan_mode"
LEAVE: Final = "exit_plan_mode"
# What a session's mode is called while it only plans.
PLAN_MODE: Final = "plan"


class PlannedPermission(NamedTuple):
    """What a plan says will be done with a tool, in the model's own words."""

    tool: str
    prompt: str


class PlanModeExit(NamedTuple):
    """Plan mode is over: the mode that holds now, the plan, and how many calls still wait."""

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
        """What it says; None if it was not written."""


class PlanModeControl(Protocol):
    """Whether the session only plans."""

    @property
    def active(self) -> bool:
        """Whether plan mode is on."""

    def enter(self) -> str:
        """Only look from now on; returns the path of the plan file."""

    def check(self) -> None:
        """Raise `unavailable` outside plan mode, `not_found` if there is no plan to show."""

    def show(self, announced: Sequence[PlannedPermission]) -> str:
        """The plan as the person is shown it before they let the model go on."""

    def leave(self, announced: Sequence[PlannedPermission]) -> PlanModeExit:
        """The person said yes to what was shown. Raises `stale` if the plan changed since."""
