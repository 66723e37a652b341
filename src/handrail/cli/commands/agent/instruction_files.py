"""Instruction files of the workspace: `handrail run` asks once whether to use them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from handrail.agent.prompt import read_instructions
from handrail.assembly.agent_services import trust_instructions
from handrail.cli.commands.agent.terminal_conversation import Interruption, TerminalConversation
from handrail.cli.render.screen import count_noun, one_line

if TYPE_CHECKING:
    from handrail.cli.commands.agent.view import RunView
    from handrail.engine.runtime import Runtime


async def offer_instructions(
    rt: Runtime, agent: str, view: RunView, talk: TerminalConversation
) -> bool:
    """Ask once whether instruction files of the workspace may be added to the system prompt; return
    False if the user pressed Ctrl-C.
    """
    files = await read_instructions(rt, agent)
    if not files or await rt.agent_services.trusts(files):
        return True
    view.line("This workspace has files that instruct agents:")
    for file in files:
        size = count_noun(len(file.text), "character")
        view.line(f"  {one_line(file.path)}  {size}  sha256 {file.digest[:16]}…")
    view.text("Use them as instructions, now and until they change?")
    try:
        answer = await talk.ask("[yes/no] ")
    except Interruption:
        view.line("left out; no task was started")
        return False
    if answer.strip().lower() in ("y", "yes"):
        trust_instructions(Path(rt.session.roots[0]), files)
    else:
        view.line("left out")
    return True
