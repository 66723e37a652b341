"""The report of what an agent did, computed from the results of its calls.

A test run that succeeded verifies the work; it is current until a file changes after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from handrail.core.agent_results import (
    CURRENT,
    AgentReport,
    RefusedCall,
    ReportedCommand,
    Verification,
)
from handrail.core.names.caches import is_cache
from handrail.core.ports.records import CallRecord
from handrail.core.problems import Problem
from handrail.core.results import ChangeRecord, FileRead, Status, ToolResult

_READING: Final = "read_file"
_MCP_PREFIX: Final = "mcp__"


class CommandFacts(NamedTuple):
    """The command of a call, and whether it runs tests."""

    command: str
    runs_tests: bool


@dataclass(slots=True)
class _Success:
    """A verifying command that succeeded, and the files that have changed since."""

    command: str
    at_ns: int
    changed_since: set[str] = field(default_factory=set)


class ReportBuilder:
    """Collects the results of one task in order."""

    def __init__(self) -> None:
        self._changes: dict[str, None] = {}
        self._reads: dict[str, None] = {}
        self._commands: list[ReportedCommand] = []
        self._verified: list[_Success] = []
        self._refused: list[RefusedCall] = []
        self._unfinished: dict[str, None] = {}
        self._children: list[AgentReport] = []
        self._mcp_tools: dict[str, None] = {}
        self._calls: set[str] = set()

    def has_call(self, call_id: str) -> bool:
        """Return whether the result of a call was added."""
        return call_id in self._calls

    def add(self, result: ToolResult, command: CommandFacts | None, at_ns: int) -> None:
        """Add the result of one call; `command` if it ran one."""
        self._calls.add(result.call_id)
        self._add_changes([change.path for change in result.changes])
        for modifier in result.modifiers:
            if isinstance(modifier, FileRead):
                self._reads[modifier.path] = None
        if result.status is Status.REFUSED:
            code = result.problem.code if result.problem else "denied"
            self._refused.append(RefusedCall(result.call_id, code))
        elif result.status in (Status.UNKNOWN, Status.INTERRUPTED):
            # A repeated request has the id of the call and a part of its own.
            original = result.call_id.partition("#")[0]
            self._unfinished[original if original in self._calls else result.call_id] = None
        else:
            # Only a call that changed nothing runs again under its own id.
            self._unfinished.pop(result.call_id, None)
        if (remote := _mcp_tool(result.data)) is not None:
            self._mcp_tools[remote] = None
        if command is not None:
            self._add_command(result, command, at_ns)

    def add_recorded(self, record: CallRecord) -> None:
        """Add a call from the record; without a result, it counts as unfinished."""
        result = _recorded_result(record)
        self.add(result, _recorded_command(record), record.requested_ns)
        tool = str(record.requested.get("tool"))
        if result.ok and tool == _READING:
            self._reads[str(_argument(record, "path"))] = None
        if tool.startswith(_MCP_PREFIX) and result.status is not Status.REFUSED:
            self._mcp_tools["/".join(tool.removeprefix(_MCP_PREFIX).split("__", 1))] = None

    def add_child(self, report: AgentReport) -> None:
        """Add the report of a subagent that has ended; its changes are changes of the task. The
        report of a continued subagent replaces the earlier one.
        """
        self._children = [child for child in self._children if child.agent != report.agent]
        self._children.append(report)
        self._add_changes(report.changes)
        self._mcp_tools |= dict.fromkeys(report.mcp_tools)
        for verified in report.verified:
            if verified.is_current:
                self._verified = [
                    success for success in self._verified if success.command != verified.command
                ]
                self._verified.append(_Success(verified.command, verified.at_ns))

    def build(self) -> AgentReport:
        """Return the report of everything that was added."""
        return AgentReport(
            changes=tuple(self._changes),
            commands=tuple(self._commands),
            reads=tuple(self._reads),
            verified=tuple(
                Verification(success.command, success.at_ns, _state(success))
                for success in self._verified
            ),
            unfinished=tuple(self._unfinished),
            refused=tuple(self._refused),
            children=tuple(self._children),
            mcp_tools=tuple(self._mcp_tools),
        )

    def _add_changes(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._changes[path] = None
            # Running programs also write caches.
            for success in self._verified if not is_cache(path) else ():
                success.changed_since.add(path)

    def _add_command(self, result: ToolResult, facts: CommandFacts, at_ns: int) -> None:
        exit_code = result.meta.get("exit_code")
        self._commands.append(ReportedCommand(facts.command, exit_code, result.call_id))
        # A later run of the same command counts, even if it failed.
        self._verified = [success for success in self._verified if success.command != facts.command]
        if result.ok and exit_code == 0 and facts.runs_tests:
            self._verified.append(_Success(facts.command, at_ns))


def _mcp_tool(data: Any) -> str | None:
    """Return the MCP tool whose result this is; None for other results."""
    if not isinstance(data, Mapping) or data.keys() != {"server", "tool", "structured"}:
        return None
    return f"{data['server']}/{data['tool']}"


def _state(success: _Success) -> str:
    number = len(success.changed_since)
    if number == 0:
        return CURRENT
    return "1 file changed since" if number == 1 else f"{number} files changed since"


def _recorded_result(record: CallRecord) -> ToolResult:
    """Return the result of a recorded call, as far as the report needs it."""
    completed = record.completed or {}
    problem, meta = completed.get("problem"), completed.get("meta")
    changes = [row for row in completed.get("changes", ()) if isinstance(row, list | tuple)]
    return ToolResult(
        record.call_id,
        Status(completed.get("status", Status.UNKNOWN.value)),
        "",
        problem=Problem(**problem) if problem else None,
        changes=tuple(ChangeRecord(*row) for row in changes),
        meta=meta if isinstance(meta, Mapping) else {},
    )


def _recorded_command(record: CallRecord) -> CommandFacts | None:
    command = _argument(record, "command")
    # Only the analysis of a command shows whether it runs tests.
    return CommandFacts(command, runs_tests=False) if isinstance(command, str) else None


def _argument(record: CallRecord, name: str) -> object:
    arguments = record.requested.get("arguments")
    return arguments.get(name) if isinstance(arguments, Mapping) else None
