"""The report of a subagent, computed from the record of its calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from handrail.agent.report import ReportBuilder
from handrail.core.agent_results import AgentReport
from handrail.core.ports.records import Store

_MOST_CALLS: Final = 10_000


async def report_agent(store: Store, agent: str, children: Iterable[AgentReport]) -> AgentReport:
    """What the calls of an agent and its children did, in whichever session, also if its process
    ended: a call without a result is listed as not known to be complete.
    """
    builder = ReportBuilder()
    for record in reversed(await store.calls(agent=agent, limit=_MOST_CALLS)):
        builder.add_recorded(record)
    for child in children:
        builder.add_child(child)
    return builder.build()
