"""The approver of a runtime by name: this terminal, `handrail approvals`, or events."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from handrail.core.names.store_location import is_store_url
from handrail.core.ports.machine import Approver
from handrail.core.problems import ProblemRaised
from handrail.host.clock import SystemClock
from handrail.policy.approval.approvers import Callback, make_approver

ApproverName = Literal["terminal", "approvals", "events"]
ApproverChoice = (
    Approver | Callback | ApproverName | Sequence[Approver | Callback | ApproverName] | None
)


def approver_for(
    given: ApproverChoice, root: str | Path, store: str | Path | None = None
) -> Approver | None:
    """Turn the argument `approver` of `handrail.open` (an approver, a function, a name, a list of these,
    or None) into an approver. `store` is the store that was given. Raises `invalid_arguments` for
    anything else.
    """
    if isinstance(given, Sequence) and not isinstance(given, str):
        from handrail.policy.approval.shared_approver import SharedApprover

        found = [approver_for(one, root, store) for one in given]
        return SharedApprover([one for one in found if one is not None])
    if given == "terminal":
        from handrail.host.terminal.prompt import TerminalApprover

        return TerminalApprover()
    if given == "approvals":
        return queue_approver(root, store)
    if given == "events":
        from handrail.engine.questions import EventApprover

        return EventApprover()
    if isinstance(given, str):
        raise ProblemRaised(
            "invalid_arguments",
            f"there is no approver named {given!r}",
            hint='use "terminal", "approvals" or "events", or give a function that takes the request and '
            "returns True or False",
            field="approver",
        )
    return make_approver(given)


def queue_approver(
    root: str | Path,
    store: str | Path | None,
    on_ask: Callable[[str], None] = lambda name: None,
) -> Approver:
    """The approver that asks through `handrail approvals`: on this machine and, if the store is in a
    database, on every machine that uses it. `on_ask` is called with the id of each question.
    """
    from handrail.host.terminal.approval_queue import VIA, QueueApprover

    here = QueueApprover(root, SystemClock().now_ns, on_ask)
    if store is None or not is_store_url(store):
        return here
    from handrail.host.state.identities import this_process
    from handrail.policy.approval.shared_approver import SharedApprover
    from handrail.store.postgres.questions import ServerApprover, ServerAsker

    asker = ServerAsker(os.path.realpath(root), this_process(), VIA)
    return SharedApprover([here, ServerApprover(str(store), asker, SystemClock().now_ns)])
