"""How a subagent and its report are shown to a model.

The text of a subagent is quoted line by line, so that no line of it looks like part of the report;
each command is quoted on a separate line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.core.agent_results import AgentReport
from handrail.core.ports.subagents import SubagentState
from handrail.core.text.safe_text import safe_text

_QUOTE: Final = "> "
_MOST: Final = 10
_MAX_LINE: Final = 200


def describe_agent(state: SubagentState) -> str:
    """Return the state of a subagent, its answer quoted, and the report."""
    lines = [f"Agent {state.id} ({state.agent}): {_status(state)}"]
    if state.text.strip():
        lines += ["Its answer, in its own words:", *quote_lines(state.text)]
    elif not state.running:
        lines.append("It gave no answer.")
    lines += ["Report, from the record of its calls:", *report_lines(state.report)]
    lines.append(f"- used: {state.usage.tokens:,} tokens, {state.usage.calls:,} calls")
    return "\n".join(lines)


def quote_lines(text: str) -> list[str]:
    """Return the lines of a text, each marked as a quotation."""
    return [f"{_QUOTE}{line}" for line in safe_text(text.strip()).splitlines()]


def report_lines(report: AgentReport) -> Iterator[str]:
    """Yield what an agent did, one fact per line."""
    yield f"- files changed: {_format_list(report.changes)}"
    for command in report.commands[:_MOST]:
        code = "no exit code" if command.exit_code is None else f"exit {command.exit_code}"
        yield f"- command ({code}): {_quote_on_one_line(command.command)}"
    if len(report.commands) > _MOST:
        yield f"- and {len(report.commands) - _MOST} more commands"
    for check in report.verified:
        yield f"- verified ({_line(check.state)}): {_quote_on_one_line(check.command)}"
    if report.refused:
        refused = [f"{command.call_id} ({command.code})" for command in report.refused]
        yield f"- refused: {_format_list(refused)}"
    if report.unfinished:
        yield f"- not known to be complete: {_format_list(report.unfinished)}"
    if report.children:
        yield f"- agents below it: {len(report.children)}"


def _status(state: SubagentState) -> str:
    if state.running:
        return "still running; its output can be read later by its id"
    if state.problem is None:
        return state.status
    problem = state.problem
    hint = f" (hint: {_line(problem.hint)})" if problem.hint else ""
    return f"{state.status}; {_line(problem.message)}{hint}"


def _format_list(texts: Sequence[str]) -> str:
    if not texts:
        return "none"
    shown = ", ".join(
        _quote_on_one_line(text) if "," in text else _line(text) for text in texts[:_MOST]
    )
    return f"{shown} and {len(texts) - _MOST} more" if len(texts) > _MOST else shown


def _quote_on_one_line(text: str) -> str:
    """Return a text on one line that does not look like several entries."""
    return json.dumps(_line(text), ensure_ascii=False)


def _line(text: str) -> str:
    line = safe_text(text, one_line=True)
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…"
