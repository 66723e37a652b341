"""The result of a call, for the model, the user and the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from handrail.core.problems import Problem, ProblemRaised


class Status(StrEnum):
    """How a call ended."""

    OK = "ok"
    FAILED = "failed"
    REFUSED = "refused"
    PLANNED = "planned"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class FileRead(NamedTuple):
    """Context modifier: the model has seen this content of the file."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class PermissionGranted:
    """Context modifier: calls of this tool that match the pattern need no approval."""

    tool: str
    pattern: str


@dataclass(frozen=True, slots=True)
class QueueCommand:
    """Context modifier: the agent loop should run this command next."""

    command: str


Modifier = FileRead | PermissionGranted | QueueCommand


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for a model that can see."""

    media_type: str
    data: bytes


# The default of `Output.meta`.
NO_META: Final[Mapping[str, Any]] = MappingProxyType({})


class Output(NamedTuple):
    """What a tool's `run` returns: `text` for the model, `display` for the user (None: `text`), `data`
    for the program (JSON-compatible).
    """

    text: str
    display: str | None = None
    data: Any = None
    modifiers: tuple[Modifier, ...] = ()
    images: tuple[Image, ...] = ()
    meta: Mapping[str, Any] = NO_META
    # Set if the tool failed and nevertheless has output.
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A committed change, with the hashes of the contents."""

    path: str
    operation: str
    before_hash: str | None
    after_hash: str | None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one call. A tool's failure is a result, never an exception."""

    call_id: str
    status: Status
    text: str
    display: str | None = None
    data: Any = None
    problem: Problem | None = None
    changes: tuple[ChangeRecord, ...] = ()
    modifiers: tuple[Modifier, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[Image, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the call succeeded or, in a dry run, would be carried out."""
        return self.status is Status.OK or self.status is Status.PLANNED

    @property
    def is_error(self) -> bool:
        """The opposite of `ok`, under the name that providers use."""
        return not self.ok

    def unwrap(self) -> ToolResult:
        """This result if `ok`; raises `ProblemRaised` otherwise."""
        if self.ok:
            return self
        raise ProblemRaised.of(self.problem or Problem("internal", self.text))

    def with_modifier(self, modifier: Modifier) -> ToolResult:
        """A copy with another context modifier."""
        return replace(self, modifiers=(*self.modifiers, modifier))

    def to_dict(self) -> dict[str, Any]:
        """The JSON shape of `--json` output."""
        return {
            "call_id": self.call_id,
            "status": self.status.value,
            "text": self.text,
            "display": self.display,
            "data": self.data,
            "problem": self.problem.to_dict() if self.problem else None,
            "changes": [
                {
                    "path": change.path,
                    "operation": change.operation,
                    "before_hash": change.before_hash,
                    "after_hash": change.after_hash,
                }
                for change in self.changes
            ],
            "modifiers": [modifier_dict(modifier, self.text) for modifier in self.modifiers],
            "meta": dict(self.meta),
        }


def modifier_dict(modifier: Modifier, text: str | None = None) -> dict[str, Any]:
    """The JSON form of a context modifier; content that is part of `text` is left out."""
    match modifier:
        case FileRead(path, content) if text is not None and content in text:
            # The content is already in the text of the result.
            return {"type": "file_read", "path": path}
        case FileRead(path, content):
            return {"type": "file_read", "path": path, "content": content}
        case PermissionGranted(tool, pattern):
            return {"type": "permission_granted", "tool": tool, "pattern": pattern}
        case QueueCommand(command):
            return {"type": "queue_command", "command": command}
