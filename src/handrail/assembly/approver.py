"""Who is asked, by name: the person at this terminal, or whoever answers from another one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from handrail.core.ports.machine import Approver
from handrail.core.problems import ProblemRaised
from handrail.host.clock import SystemClock
from handrail.policy.approval.approvers import Callback, make_approver

ApproverChoice = Approver | Callback | Literal["terminal", "approvals"] | None


def approver_for(given: ApproverChoice, root: str | Path) -> Approver | None:
    """The approver that `handrail.open` was given: one, a function, a name, or nobody. Raises
    `invalid_arguments` for anything else.
    """
    if given == "terminal":
        from handrail.host.terminal.prompt import TerminalApprover

        return TerminalApprover()
    if given == "approvals":
        from handrail.host.terminal.approval_queue import QueueApprover

        return QueueApprover(root, SystemClock().now_ns)
    if isinstance(given, str):
        raise ProblemRaised(
            "invalid_arguments",
            f"there is no approver named {given!r}",
            hint='use "terminal" or "approvals", or give a function that takes the request and '
            "returns True or False",
            field="approver",
        )
    return make_approver(given)
