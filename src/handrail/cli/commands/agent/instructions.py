"""Asks once whether instruction files of the workspace may become part of the system prompt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from handrail.cli.render.screen import count_noun, one_line

if TYPE_CHECKING:
    from handrail.cli.commands.agent.line_reader import LineReader
    from handrail.cli.commands.agent.view import RunView
    from handrail.engine.runtime import Runtime


async def offer_instructions(rt: Runtime, agent: str, view: RunView, reader: LineReader) -> None:
    """Show the files with their sizes and hashes, and record the user's yes."""
    from handrail.agent.prompt import read_instructions
    from handrail.assembly.agent_services import trust_instructions

    files = await read_instructions(rt, agent)
    if not files or await rt.agent_services.trusts(files):
        return
    view.line("This workspace has files that instruct agents:")
    for file in files:
        size = count_noun(len(file.text), "character")
        view.line(f"  {one_line(file.path)}  {size}  sha256 {file.digest[:16]}…")
    reader.show("Use them as instructions, now and until they change? [yes/no] ")
    answer = await reader.next_line()
    if answer is not None and answer.strip().lower() in ("y", "yes"):
        trust_instructions(Path(rt.session.roots[0]), files)
    else:
        view.line("left out")
