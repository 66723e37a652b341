"""Commands of a conversation at the terminal that show something: the help, and what runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from handrail.cli.commands.agent.agents import agent_lines
from handrail.cli.commands.agent.tasks import todo_lines
from handrail.cli.render.screen import one_line, terminal_width, truncate

if TYPE_CHECKING:
    from handrail.cli.commands.agent.view import RunView
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


def show_help(view: RunView) -> None:
    """`/help`: the commands, and what else can be typed."""
    for command, meaning in _HELP.items():
        view.labelled(command, meaning)
    view.text(_HELP_TEXT)


async def show_tasks(rt: Runtime, view: RunView) -> None:
    """`/tasks`: the to-do list, the background jobs of the session and its subagents."""
    for text in todo_lines(await rt.todos.items()):
        view.line(text)
    if jobs := [one for one in await rt.jobs.list() if one.session == rt.session.id]:
        view.line("\nbackground jobs:")
        for job in jobs:
            about = f"{job.id}  {job.state}  {one_line(job.description or job.command)}"
            view.line(truncate(f"  {about}", terminal_width()))
    agents = rt.agent_services.subagents.value
    await agents.load()
    if agents.states():
        view.line("\nsubagents:")
        view.line("\n".join(await agent_lines(rt, "")))
