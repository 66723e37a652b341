"""What an agent did, computed from the results of its calls.

A test run that succeeded verifies the work; it is current until a file changes after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from handrail.core.agent_results import (
    CURRENT,
    AgentReport,
    RefusedCall,
    ReportedCommand,
    Verification,
)
from handrail.core.results import FileRead, Status, ToolResult


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
    """Collects the results of one task in the order in which they came."""

    def __init__(self) -> None:
        self._changes: dict[str, None] = {}
        self._reads: dict[str, None] = {}
        self._commands: list[ReportedCommand] = []
        self._verified: list[_Success] = []
        self._refused: list[RefusedCall] = []
        self._unfinished: dict[str, None] = {}

    def add(self, result: ToolResult, command: CommandFacts | None, at_ns: int) -> None:
        """Add the result of one call; `command` if it was to run one."""
        for change in result.changes:
            self._changes[change.path] = None
            for success in self._verified:
                success.changed_since.add(change.path)
        for modifier in result.modifiers:
            if isinstance(modifier, FileRead):
                self._reads[modifier.path] = None
        if result.status is Status.REFUSED:
            code = result.problem.code if result.problem else "denied"
            self._refused.append(RefusedCall(result.call_id, code))
        elif result.status in (Status.UNKNOWN, Status.INTERRUPTED):
            self._unfinished[result.call_id] = None
        if command is not None:
            self._add_command(result, command, at_ns)

    def build(self) -> AgentReport:
        """The report of everything that was added."""
        return AgentReport(
            changes=tuple(self._changes),
            commands=tuple(self._commands),
            reads=tuple(self._reads),
            verified=tuple(
                Verification(one.command, one.at_ns, _state(one)) for one in self._verified
            ),
            unfinished=tuple(self._unfinished),
            refused=tuple(self._refused),
        )

    def _add_command(self, result: ToolResult, facts: CommandFacts, at_ns: int) -> None:
        exit_code = result.meta.get("exit_code")
        self._commands.append(ReportedCommand(facts.command, exit_code, result.call_id))
        # A later run of the same command decides, also if it failed.
        self._verified = [one for one in self._verified if one.command != facts.command]
        if result.ok and exit_code == 0 and facts.runs_tests:
            self._verified.append(_Success(facts.command, at_ns))


def _state(success: _Success) -> str:
    number = len(success.changed_since)
    if number == 0:
        return CURRENT
    return "1 file changed since" if number == 1 else f"{number} files changed since"
