"""What agents of a runtime share; the agent package is imported when the first agent is made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from handrail.assembly.machine import Machine
from handrail.assembly.models import ModelSource
from handrail.config.trust import TrustBook
from handrail.core.places import Kind
from handrail.core.ports.agents import AgentServices, InstructionFile
from handrail.core.ports.machine import Clock, Files
from handrail.core.problems import ProblemRaised
from handrail.host.state.directories import private_directory, state_home
from handrail.host.state.process_identity import may_still_run, this_process

_INSTRUCTION_TRUST: Final = "instructions"


def open_agent_services(machine: Machine, clock: Clock, models: ModelSource) -> AgentServices:
    """The services for agents in a workspace; the models are closed with the machine."""
    root = Path(machine.files.roots[0])
    machine.ends.push_async_callback(models.aclose)

    async def trusts(files: Sequence[InstructionFile]) -> bool:
        return instruction_trust().trusts(root, instructions_digest(files))

    def existing(paths: Sequence[str]) -> list[str]:
        return [path for path in paths if _is_file(machine.files, path)]

    return AgentServices(
        clock, models.resolve, this_process(), may_still_run, trusts, existing, _create
    )


def _is_file(files: Files, path: str) -> bool:
    try:
        return files.locate(path).kind is Kind.FILE
    except ProblemRaised:
        return False


def instruction_trust() -> TrustBook:
    """The user's record of which instruction files are trusted."""
    return TrustBook(state_home() / _INSTRUCTION_TRUST)


def trust_instructions(root: Path, files: Sequence[InstructionFile]) -> None:
    """Record that the user trusts these files in their present form."""
    private_directory(state_home())
    private_directory(state_home() / _INSTRUCTION_TRUST)
    instruction_trust().add(root, instructions_digest(files))


def instructions_digest(files: Sequence[InstructionFile]) -> str:
    """One hash over the names and contents of instruction files."""
    listed = sorted([file.path, file.digest] for file in files)
    return sha256(json.dumps(listed).encode()).hexdigest()


def _create(runtime: Any, **options: Any) -> Any:
    from handrail.agent.agent import Agent

    return Agent(runtime, **options)
