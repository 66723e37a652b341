"""Slash commands of a conversation: the help, what runs, and the calls that plan mode has queued."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from handrail.cli.commands.agent.agents import agent_lines
from handrail.cli.commands.agent.tasks import todo_lines
from handrail.cli.commands.calls.plan import plan_lines
from handrail.cli.render.screen import TextStyle, count_noun, one_line, terminal_width, truncate

if TYPE_CHECKING:
    from handrail.cli.commands.agent.view import RunView
    from handrail.core.results import ToolResult
    from handrail.engine.runtime import Runtime

_HELP: Final[Mapping[str, str]] = {
    "/help": "show this list",
    "/diff": "what the last task changed; /diff all: the session",
    "/mode": "show the permission mode; /mode NAME: switch to it",
    "/plan": "review, approve or reject the calls queued by plan mode",
    "/model": "show the model; /model NAME: use another one",
    "/undo": "revert the last task: files and conversation",
    "/compact": "make the conversation shorter for the model",
    "/tasks": "show the to-do list, background jobs and subagents",
    "/agents": "list the subagents of the session; /agents ID: what one did",
    "/skills": "list the skills; /NAME starts one",
    "/sessions": "list the sessions of this workspace",
    "/exit": "end the conversation (also Ctrl-D)",
}
_HELP_TEXT: Final = (
    "Anything else is a task; @path adds a file to it. A line that you type while the model works "
    "reaches it before its next step. Ctrl-C stops the task; twice within two seconds it ends the "
    "program."
)
_ANSWERS: Final = (
    "approve: run them all; approve 1 2: only these; reject: discard them; Enter: keep them queued"
)
_QUESTION: Final = "approve or reject? "


def show_help(view: RunView) -> None:
    """Show `/help`: the commands, and what else can be typed."""
    for command, meaning in _HELP.items():
        view.labelled(f"{command:<10}", meaning)
    view.text(_HELP_TEXT)


async def show_tasks(rt: Runtime, view: RunView) -> None:
    """Show `/tasks`: the to-do list, the background jobs of the session and its subagents."""
    for text in todo_lines(await rt.todos.items()):
        view.line(text)
    if jobs := [job for job in await rt.jobs.list() if job.session == rt.session.id]:
        view.line("\nbackground jobs:")
        for job in jobs:
            about = f"{job.id}  {job.state}  {one_line(job.description or job.command)}"
            view.line(truncate(f"  {about}", terminal_width()))
    agents = rt.agent_services.subagents.value
    await agents.load()
    if agents.states():
        view.line("\nsubagents:")
        view.line("\n".join(await agent_lines(rt, "")))


async def review_queue(rt: Runtime, view: RunView, ask: Callable[[str], Awaitable[str]]) -> None:
    """Show the queued calls, ask what to do with them, and do it. Input that was typed before the
    calls were shown is not an answer.
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
        chosen = [
            item for item in waiting if not ids or {item.id, str(item.order)}.intersection(ids)
        ]
        results = await rt.plan_queue.approve(ids or None)
        for item, result in zip(chosen, results, strict=False):
            view.text(f"• {one_line(f'{item.tool}: {item.reason}')}", TextStyle.PLACE)
            _show_result(view, result)
    elif action == "reject":
        rejected = await rt.plan_queue.reject(ids or None)
        view.line(f"discarded {count_noun(len(rejected), 'call')}")
    else:
        view.line(f"{count_noun(len(rt.plan_queue.pending), 'call')} still queued")


def _show_result(view: RunView, result: ToolResult) -> None:
    view.output_text(result.text)
    if result.problem is not None:
        view.text(f"{result.status}, {result.problem.code}", TextStyle.BAD, "  ")
