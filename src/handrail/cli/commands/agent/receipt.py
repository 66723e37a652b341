"""The receipt of a task: what it changed, verified and used, and how to undo it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from handrail.cli.render.screen import count_noun, one_line
from handrail.core.call import is_under
from handrail.core.names.caches import is_cache
from handrail.history.undo.recorded_changes import file_changes

if TYPE_CHECKING:
    from handrail.agent.conversation import Conversation
    from handrail.core.agent_results import AgentResult
    from handrail.engine.runtime import Runtime

_MOST_CHANGES: Final = 6
_MOST_TOOLS: Final = 3


async def find_first_change(
    rt: Runtime, conversation: Conversation, changing: Collection[str]
) -> str | None:
    """Return the first call of the last task that changed files: one of these calls, or of those
    that the task made before it was resumed. Calls of one message run in parallel and end in any
    order, so the record decides.
    """
    turn = conversation.task_turns[-1] if conversation.task_turns else 0
    # A turn that a rewind cut off may have had the same number.
    last = [entry for entry in conversation.entries if entry.turn > turn]
    ids = {call_id for entry in last for _, call_id in entry.call_ids}
    changes = [
        trace
        for trace in await rt.store.traces(session=rt.session.id)
        if trace.call_id in changing or (is_under(trace.call_id, ids) and file_changes(trace))
    ]
    return min(changes, key=lambda trace: trace.row).call_id if changes else None


def undo_command(since: str, session: str) -> str:
    """Return the command that undoes a task."""
    return f"handrail undo --since {since} --session {shlex.quote(session)}"


def receipt_lines(result: AgentResult, undo: str, context: str = "") -> list[str]:
    """Return the receipt of a task, in at most four lines."""
    report, usage = result.report, result.usage
    lines = []
    lines.append(f"changed   {_changed(report.changes)}{_untracked(report.mcp_tools)}")
    lines.append(f"verified  {_verified(result)}")
    money = "" if usage.usd is None else f", {usage.usd:.4f} USD"
    about = "about " if usage.estimated else ""
    lines.append(
        f"used      {about}{usage.tokens:,} tokens{context}, {count_noun(usage.requests, 'request')}, "
        f"{count_noun(usage.calls, 'call')}{money}"
    )
    if report.changes:
        lines.append(f"undo      {undo}")
    return lines


def _changed(paths: Sequence[str]) -> str:
    """Return the changed files; of those in caches only the number."""
    files = [path for path in paths if not is_cache(path)]
    parts = [one_line(path) for path in files[:_MOST_CHANGES]]
    parts += [f"{len(files) - len(parts)} more"] if len(files) > len(parts) else []
    caches = len(paths) - len(files)
    parts += [f"{count_noun(caches, 'file')} in caches"] if caches else []
    if len(files) <= _MOST_CHANGES and not caches:
        return ", ".join(parts) or "nothing"
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if parts[1:] else parts[0]


def _untracked(tools: Sequence[str]) -> str:
    """Return the MCP tools that ran: their changes are unknown, and not undone."""
    if not tools:
        return ""
    named = [one_line(tool) for tool in tools[:_MOST_TOOLS]]
    named += [f"{len(tools) - len(named)} more"] if len(tools) > len(named) else []
    return f"; not tracked: {', '.join(named)}"


def _verified(result: AgentResult) -> str:
    runs = result.report.verified
    if not runs:
        return "no test run is known to have passed"
    last = runs[-1]
    command = one_line(last.command)
    if last.is_current:
        return f"{command} passed"
    return f"not since the last change: {command} passed, {last.state}"
