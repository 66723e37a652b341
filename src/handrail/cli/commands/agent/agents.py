"""The subagents of a session, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handrail.cli import messages
from handrail.cli.render.screen import count_noun, one_line, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.core.ports.subagents import SubagentState
    from handrail.engine.runtime import Runtime


async def agent_lines(rt: Runtime, id: str = "") -> list[str]:
    """Return the subagents as a table, or the report of one of them; raises `not_found`."""
    agents = rt.agent_services.subagents.value
    await agents.load()
    known = agents.states()
    if id:
        return await _details(rt, id, known)
    if not known:
        return ["no subagents"]
    rows = [
        (
            "  " * (state.depth - 1) + state.id,
            state.status,
            str(state.turns),
            f"{state.usage.tokens:,}",
            one_line(state.task.partition("\n")[0]),
        )
        for state in known
    ]
    return list(table(rows, ("agent", "status", "turns", "tokens", "task")))


async def _details(rt: Runtime, id: str, known: Sequence[SubagentState]) -> list[str]:
    from handrail.tools._lib.agent_text import quote_lines, report_lines

    agent = next((state for state in known if state.id == id), None)
    if agent is None:
        raise messages.NO_SUCH_SUBAGENT.error(agent=id, field="agent")
    state = await rt.agent_services.subagents.value.current(agent.id)
    chain = " → ".join(state.chain)
    return [
        f"{chain}: {state.status}, {count_noun(state.turns, 'turn')}",
        *quote_lines(state.task),
        *report_lines(state.report),
        f"- undo: handrail undo --agent {state.id} --session {rt.session.id}",
    ]
