"""What the built-in tools are given when they are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from handrail.core.commands import CommandAnalyzer
from handrail.core.context import Whereabouts
from handrail.core.lazy import Lazy
from handrail.core.outputs import Outputs
from handrail.core.ports.leases import PathReserver
from handrail.core.ports.machine import Files, Search
from handrail.core.ports.plan_mode import PlanModeControl
from handrail.core.ports.processes import Processes, Sandbox
from handrail.core.ports.undo import UndoService


@dataclass(frozen=True, slots=True)
class Shell:
    """What running commands takes; `environment` is all that a command inherits.

    `program` is the shell itself, `small` a quicker one for what means the same to both; `find` answers the path of another program, None if there
    is none. `tame` is added to the environment of commands that only look.
    """

    analyzer: CommandAnalyzer
    processes: Processes
    sandbox: Sandbox
    whereabouts: Whereabouts
    environment: Mapping[str, str]
    tame: Mapping[str, str]
    program: str
    find: Callable[[str], str | None]
    max_output_lines: int = 200
    # For a command that names none; None: as its tool says.
    timeout_s: float | None = None
    keep_jobs: bool = False
    small: str | None = None


@dataclass(frozen=True, slots=True)
class Services:
    """The machine as tools see it; `allow_delete` is the user's setting.

    `shell` None: no command can be run here. `plan_mode` None: there is no plan mode.
    `locks` None: paths cannot be reserved. `outputs` None: no earlier result can be read again.
    """

    files: Files
    search: Search
    undo: Lazy[UndoService]
    allow_delete: bool = False
    shell: Lazy[Shell] | None = None
    plan_mode: PlanModeControl | None = None
    locks: PathReserver | None = None
    outputs: Outputs | None = None
