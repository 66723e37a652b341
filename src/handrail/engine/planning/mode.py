"""Plan mode of a session: entering it, the plan file, and leaving it with the user's approval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from handrail.core.context import Session
from handrail.core.names.caller_words import tool_name
from handrail.core.ports.plan_mode import PlanFile, PlanModeExit, PlannedPermission
from handrail.engine.planning.queue import PlanQueue
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.planmode import messages
from handrail.policy.approval.grants import SessionGrants
from handrail.policy.clearance import Clearance
from handrail.policy.modes import Mode

if TYPE_CHECKING:
    from handrail.planmode.item import PlanItem

_QUOTE_PREFIX: Final = "  │ "


class PlanMode:
    """The plan mode of a session, its queued calls, and the planned actions of a dry run. `save`
    persists the mode of a named session.
    """

    def __init__(
        self,
        session: Session,
        file: PlanFile,
        queue: PlanQueue,
        save: Callable[[bool], None],
    ) -> None:
        self._session = session
        self._file = file
        self._save = save
        self._shown: str | None = None
        self.queue = queue

    def attach_policy(self, clearance: Clearance, grants: SessionGrants) -> None:
        """Set the clearance and the grants that follow the mode."""
        self._clearance = clearance
        self._grants = grants
        self._session.mode = clearance.mode.value

    @property
    def active(self) -> bool:
        """Whether plan mode is on."""
        return self._clearance.mode is Mode.PLAN

    @property
    def text(self) -> str:
        """The content of the plan file; empty if it was not written."""
        return self._file.read() or ""

    def depends_on_queued(self, prepared: PreparedCall) -> bool:
        """Return whether a call can only be planned after a queued call was carried out."""
        return self.active and self.queue.depends_on_queued(prepared)

    def enter(self) -> str:
        """Enter plan mode; return the path of the plan file. Running calls keep their clearance."""
        path = self._file.open()
        if not self.active:
            self._save(True)
        self._clearance.start_planning(path)
        self._session.mode = self._clearance.mode.value
        return path

    def _plan_text(self, given: str) -> str:
        """The plan file's content, or the text that a caller gave instead of writing the file."""
        text = self.text
        return text if text.strip() else given

    def check(self, given: str = "") -> None:
        """Raise `unavailable` outside plan mode, `not_found` if there is no plan to show."""
        if not self.active:
            raise messages.NOT_IN_PLAN_MODE.error()
        if not self._plan_text(given).strip():
            raise messages.NO_PLAN.error(path=self._file.open())

    def show(self, announced: Sequence[PlannedPermission], given: str = "") -> str:
        """Return the plan for the user: the model's text, with a mark on every line."""
        self._shown = self._plan_text(given)
        lines = ["The plan, in the model's own words:", *_quote_lines(self._shown)]
        if announced:
            lines += ["It says that it will need (this allows nothing by itself):"]
            lines += _quote_lines("\n".join(f"{one.tool}: {one.prompt}" for one in announced))
        waiting = self.queue.pending
        if waiting:
            lines += [f"Queued calls, which wait for a word of their own ({len(waiting)}):"]
            lines += _quote_lines("\n".join(map(_item_line, waiting)))
        return "\n".join(lines)

    def leave(self, announced: Sequence[PlannedPermission], given: str = "") -> PlanModeExit:
        """Leave plan mode after the user approved the plan; raises `stale` if it changed."""
        self.check(given)
        text = self._plan_text(given)
        if text != self._shown:
            raise messages.PLAN_CHANGED.error()
        self._grants.remember_plan(announced)
        return PlanModeExit(self.end(), text, len(self.queue.pending))

    def end(self) -> str:
        """End plan mode at the user's request; return the mode that applies now."""
        self._clearance.stop_planning()
        self._session.mode = self._clearance.mode.value
        self._shown = None
        self._save(False)
        return self._session.mode


def _quote_lines(text: str) -> list[str]:
    # A mark on every line, so that no line of the model looks like text of Handrail.
    return [f"{_QUOTE_PREFIX}{line}" for line in text.splitlines()]


def _item_line(item: PlanItem) -> str:
    return f"{item.id} {tool_name(item.tool)}: {item.reason}"
