"""The services that built-in tools are constructed with."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from handrail.core.call import ToolCall
from handrail.core.context import WorkingDirectory
from handrail.core.lazy import Lazy
from handrail.core.outputs import Outputs
from handrail.core.ports.leases import PathReserver
from handrail.core.ports.machine import Files, Search
from handrail.core.ports.plan_mode import PlanModeControl
from handrail.core.ports.todos import TodoList
from handrail.core.ports.undo import UndoService
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalyzer
    from handrail.core.ports.language_servers import LanguageServers
    from handrail.core.ports.media import MediaReader
    from handrail.core.ports.processes import Processes, Sandbox
    from handrail.core.ports.questions import QuestionAsker
    from handrail.core.ports.remote_tools import RemoteTools
    from handrail.core.ports.skills import SkillLibrary
    from handrail.core.ports.subagents import Subagents
    from handrail.core.ports.web import WebServices


# Makes a call inside another call, for the same agent in the same turn.
CallTool = Callable[[ToolCall, str, Mapping[str, Any]], Awaitable[ToolResult]]


async def _no_calls(outer: ToolCall, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    del outer, arguments
    raise ProblemRaised("unavailable", f"{name} cannot be called from here")


class Shell(NamedTuple):
    """The services for running commands; a command inherits `environment` and nothing else.

    `program` is the shell, `small` a faster one for commands that mean the same in both; `find`
    returns the path of another program, None if there is none. `tame` is added to the environment
    of commands that only read.
    """

    analyzer: CommandAnalyzer
    processes: Processes
    sandbox: Sandbox
    working_directory: WorkingDirectory
    environment: Mapping[str, str]
    tame: Mapping[str, str]
    program: str
    find: Callable[[str], str | None]
    max_output_lines: int = 200
    # The time limit of a command without one; None: that of its tool.
    timeout_s: float | None = None
    keep_jobs: bool = False
    small: str | None = None
    # The setting `network`.
    network: bool | tuple[str, ...] = False


class Services(NamedTuple):
    """The services of the runtime for tools; `allow_delete` is the user's setting.

    None for a service: it is not available, and tools that need it are disabled. Without `media`,
    only text can be read.
    """

    files: Files
    search: Search
    undo: Lazy[UndoService]
    allow_delete: bool = False
    shell: Lazy[Shell] | None = None
    plan_mode: PlanModeControl | None = None
    locks: PathReserver | None = None
    outputs: Outputs | None = None
    todos: TodoList | None = None
    questions: QuestionAsker | None = None
    web: Lazy[WebServices] | None = None
    media: Lazy[MediaReader] | None = None
    skills: Lazy[SkillLibrary] | None = None
    language_servers: Lazy[LanguageServers] | None = None
    remote_tools: RemoteTools | None = None
    # Returns whether a rule denies calls the content of an absolute path.
    withheld: Callable[[str], bool] = lambda path: False
    subagents: Lazy[Subagents] | None = None
    call_tool: CallTool = _no_calls
    # The user's limit on the text of a result; pages are made to fit.
    max_chars: int = sys.maxsize
