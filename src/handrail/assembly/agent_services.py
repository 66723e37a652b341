"""The services of a runtime's agents; the agent package is imported when the first agent is created."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.assembly.machine import Machine
from handrail.assembly.models import ModelSource
from handrail.assembly.settings_files import add_trust, trust_book
from handrail.config.trust import TrustBook
from handrail.core.lazy import Lazy
from handrail.core.places import Kind
from handrail.core.ports.agents import (
    AgentProcess,
    AgentServices,
    InstructionFile,
    LifecycleOutcome,
    OpenFork,
)
from handrail.core.ports.machine import Clock, Files
from handrail.core.ports.remote_tools import RemoteTools
from handrail.core.ports.skills import SkillLibrary
from handrail.core.ports.subagents import Subagents
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Effect
from handrail.host.state.identities import may_still_run, this_process

if TYPE_CHECKING:
    from handrail.engine.hooking.dispatcher import SessionHooks

_INSTRUCTION_TRUST: Final = "instructions"


def open_agent_services(
    machine: Machine,
    clock: Clock,
    models: ModelSource,
    hooks: SessionHooks | None,
    skills: Lazy[SkillLibrary],
    subagents: Lazy[Subagents],
    remote_tools: RemoteTools | None,
    open_fork: OpenFork,
) -> AgentServices:
    """The services for agents in a workspace; the models are closed with the machine."""
    root = Path(machine.files.roots[0])
    machine.ends.push_async_callback(models.aclose)

    async def trusts(files: Sequence[InstructionFile]) -> bool:
        return instruction_trust().trusts(root, instructions_digest(files))

    def existing(paths: Sequence[str]) -> list[str]:
        return [path for path in paths if _is_file(machine.files, path)]

    async def run_hooks(event: str, facts: Mapping[str, str]) -> LifecycleOutcome:
        return LifecycleOutcome() if hooks is None else await _run_hooks(hooks, event, facts)

    async def end_hooks(agent: str) -> None:
        if hooks is not None:
            await hooks.end_background(agent)

    process = AgentProcess(this_process(), may_still_run)
    return AgentServices(
        clock,
        models.resolve,
        process,
        trusts,
        run_hooks,
        end_hooks,
        existing,
        _create,
        open_fork,
        models.defaults,
        skills,
        subagents,
        remote_tools,
    )


async def _run_hooks(hooks: SessionHooks, event: str, facts: Mapping[str, str]) -> LifecycleOutcome:
    from handrail.hooks.spec import HookEvent

    decision = await hooks.run(HookEvent(event), facts)
    blocked = decision.reason if decision.effect is Effect.DENY else None
    return LifecycleOutcome(blocked, decision.message)


def _is_file(files: Files, path: str) -> bool:
    try:
        return files.locate(path).kind is Kind.FILE
    except ProblemRaised:
        return False


def instruction_trust() -> TrustBook:
    """The user's record of which instruction files are trusted."""
    return trust_book(_INSTRUCTION_TRUST)


def trust_instructions(root: Path, files: Sequence[InstructionFile]) -> None:
    """Record that the user trusts these files with their current content."""
    add_trust(_INSTRUCTION_TRUST, root, instructions_digest(files))


def instructions_digest(files: Sequence[InstructionFile]) -> str:
    """A hash of the names and contents of instruction files."""
    listed = sorted([file.path, file.digest] for file in files)
    return sha256(json.dumps(listed).encode()).hexdigest()


def _create(runtime: Any, **options: Any) -> Any:
    from handrail.agent.agent import Agent

    return Agent(runtime, **options)
