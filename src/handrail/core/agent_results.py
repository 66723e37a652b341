"""What a run of an agent returns: text, status, usage, and a report computed from the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from handrail.core.ports.models import UsageReported
from handrail.core.problems import Problem

AgentStatus = Literal["done", "failed", "refused", "needs_person", "budget", "max_steps", "aborted"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What an agent has used: tokens as the provider counts them, requests, calls and money.

    `estimated` is True if a provider reported nothing for some request. `usd` is None where
    no price is configured.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    requests: int = 0
    calls: int = 0
    usd: float | None = None
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    def add_request(self, used: UsageReported, usd: float | None) -> Usage:
        """The usage with one more request."""
        return self + Usage(
            used.input,
            used.output,
            used.cache_read,
            used.cache_write,
            requests=1,
            usd=usd,
            estimated=used.estimated,
        )

    def __add__(self, other: Usage) -> Usage:
        """The sum of two usages; the cost is None only if neither has one."""
        usd = None if self.usd is None and other.usd is None else (self.usd or 0) + (other.usd or 0)
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.requests + other.requests,
            self.calls + other.calls,
            usd,
            self.estimated or other.estimated,
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Usage:
        """Parse the JSON form."""
        return cls(**given)


class ReportedCommand(NamedTuple):
    """A command that the agent ran; `exit_code` is None if it was ended or refused."""

    command: str
    exit_code: int | None
    call_id: str


class Verification(NamedTuple):
    """A command that succeeded, and whether files have changed since: `state` is "current", or
    how many files have changed.
    """

    command: str
    at_ns: int
    state: str

    @property
    def is_current(self) -> bool:
        """Whether nothing has changed since the command succeeded."""
        return self.state == CURRENT


CURRENT = "current"


class RefusedCall(NamedTuple):
    """A call that was not run, with its problem code."""

    call_id: str
    code: str


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What an agent did, computed from the results of its calls, never from its text. The report of a
    subagent has its id, its status and its answer.
    """

    changes: tuple[str, ...] = ()
    commands: tuple[ReportedCommand, ...] = ()
    reads: tuple[str, ...] = ()
    verified: tuple[Verification, ...] = ()
    unfinished: tuple[str, ...] = ()
    refused: tuple[RefusedCall, ...] = ()
    children: tuple[AgentReport, ...] = ()
    # The tools of MCP servers that ran, as `SERVER/TOOL`; their changes are unknown.
    mcp_tools: tuple[str, ...] = ()
    agent: str = ""
    status: str = ""
    answer: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        named = {"agent": self.agent, "status": self.status, "answer": self.answer}
        return {
            **(named if self.agent else {}),
            "changes": list(self.changes),
            "commands": [one._asdict() for one in self.commands],
            "reads": list(self.reads),
            "verified": [one._asdict() for one in self.verified],
            "unfinished": list(self.unfinished),
            "refused": [one._asdict() for one in self.refused],
            "children": [child.to_dict() for child in self.children],
            "mcp_tools": list(self.mcp_tools),
        }


@dataclass(frozen=True, slots=True)
class AgentResult:
    """The result of a task.

    `text` is the model's last message. `output` is the validated value if an output type was requested.
    `problem` says why a task that is not `done` ended. `foreign_links` are links in the text to hosts
    that the user has not named; do not load them without asking the user.
    """

    text: str
    status: AgentStatus
    session: str
    turns: int
    usage: Usage
    report: AgentReport = field(default_factory=AgentReport)
    output: Any = None
    problem: Problem | None = None
    foreign_links: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the task was done."""
        return self.status == "done"

    @property
    def verified(self) -> bool:
        """Whether a command that verifies the work has succeeded since the last change."""
        return any(one.is_current for one in self.report.verified)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, as `handrail run --json` prints it in its last line."""
        return {
            "type": "agent_result",
            "text": self.text,
            "status": self.status,
            "session": self.session,
            "turns": self.turns,
            "usage": self.usage.to_dict(),
            "report": self.report.to_dict(),
            "verified": self.verified,
            "output": _plain(self.output),
            "problem": self.problem.to_dict() if self.problem else None,
            "foreign_links": list(self.foreign_links),
        }


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else value
