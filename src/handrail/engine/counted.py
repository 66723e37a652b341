"""How a call ended, for the limits on what a session may do: what happened counts, and what was
only tried does not.
"""

from __future__ import annotations

from typing import Final

from handrail.core.results import Status
from handrail.engine.running import Outcome, Running
from handrail.policy.guardrails.limits import Ended

# After these nothing was started.
_NEVER_STARTED: Final = frozenset({"unavailable", "store_unavailable"})


def key_of(running: Running) -> str:
    """What a call is known by while it is under way; ids alone may be used twice."""
    return f"{running.prepared.call.id} {id(running)}"


def how_it_ended(running: Running, outcome: Outcome | None) -> Ended:
    """`outcome` None: the caller cancelled it, and nobody knows how far it came."""
    if running.changes:
        return Ended.DONE
    if running.prepared.entry is None or running.prepared.tool.plans:
        done = outcome is not None and outcome.status is Status.OK
        return Ended.DONE if done else Ended.NOTHING
    if outcome is None:
        return Ended.FAILED
    if outcome.status is Status.OK:
        return Ended.DONE
    code = outcome.problem.code if outcome.problem is not None else ""
    return Ended.NOTHING if code in _NEVER_STARTED else Ended.FAILED
