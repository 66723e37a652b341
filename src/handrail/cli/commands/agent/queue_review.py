"""`/plan` at the prompt of `handrail run`: the calls that plan mode has queued, and the user's answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from handrail.cli.commands.calls.plan import plan_lines
from handrail.cli.render.screen import TextStyle, count_noun, one_line

if TYPE_CHECKING:
    from handrail.cli.commands.agent.view import RunView
    from handrail.core.results import ToolResult
    from handrail.engine.runtime import Runtime

_ANSWERS: Final = (
    "approve: run them all; approve 1 2: only these; reject: discard them; Enter: keep them queued"
)
_QUESTION: Final = "approve or reject? "


async def review_queue(rt: Runtime, view: RunView, ask: Callable[[str], Awaitable[str]]) -> None:
    """Show the queued calls, ask what to do with them, and do it. Only what was typed after the calls
    were shown is an answer.
    """
    await rt.plan_queue.refresh()
    for line in plan_lines(rt):
        view.line(line)
    waiting = rt.plan_queue.pending
    if not waiting:
        return
    view.text(_ANSWERS)
    action, *ids = (await ask(_QUESTION)).split() or [""]
    if action == "approve":
        chosen = [one for one in waiting if not ids or {one.id, str(one.order)}.intersection(ids)]
        results = await rt.plan_queue.approve(ids or None)
        for item, result in zip(chosen, results, strict=False):
            view.text(f"• {one_line(f'{item.tool}: {item.reason}')}", TextStyle.PLACE)
            _show_result(view, result)
    elif action == "reject":
        gone = await rt.plan_queue.reject(ids or None)
        view.line(f"discarded {count_noun(len(gone), 'call')}")
    else:
        view.line(f"{count_noun(len(rt.plan_queue.pending), 'call')} still queued")


def _show_result(view: RunView, result: ToolResult) -> None:
    view.output_text(result.text)
    if result.problem is not None:
        view.text(f"{result.status}, {result.problem.code}", TextStyle.BAD, "  ")
