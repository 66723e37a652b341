"""Forecasts the verdict on a command with the same analyzer, rules and guards as a call of it.
Nothing is run, no hook is called, and nothing is recorded: the store is in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from handrail.assembly.commands import command_analyzer
from handrail.assembly.hooks import blocking_hooks
from handrail.assembly.machine import Machine, open_machine
from handrail.assembly.policy_services import open_clearance
from handrail.assembly.resolved_settings import ResolvedSettings
from handrail.assembly.session import begin_session
from handrail.core.commands import CommandAnalysis
from handrail.core.context import Session
from handrail.core.verdicts import Effect, Verdict
from handrail.hooks.spec import HookSpec
from handrail.policy.modes import Mode
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.rule import Rule
from handrail.tools._lib.running_commands import command_footprint, command_risk

_TOOL: Final = "run_command"
_OFF: Final = Verdict(Effect.DENY, "commands are switched off here", "commands", "unavailable")


class CommandForecast(NamedTuple):
    """The verdict on a command; `rule` is the rule that decides, `hooks` are the hooks that would also be
    called.
    """

    mode: Mode
    verdict: Verdict
    rule: Rule | None
    hooks: list[HookSpec]


async def explain_command(
    checked: ResolvedSettings, config: Path, command: str, cwd: str, env: Mapping[str, str]
) -> tuple[CommandAnalysis, CommandForecast]:
    """The analysis of a command and the forecast of its verdict; `config` is the user's settings file."""
    settings = checked.loaded.settings
    machine = await open_machine(checked.roots, settings, config, ":memory:")
    try:
        analyzer = (
            command_analyzer(machine.files.roots, settings)
            if machine.commands is None
            else machine.commands.analyzer
        )
        analysis = analyzer.analyze(command, cwd=cwd, env=env)
        session, _ = await begin_session(None, settings, checked.mode, machine)
        analysis = analysis._replace(network=settings.network)
        verdict = await _verdict(checked, machine, session, analysis)
    finally:
        await machine.ends.aclose()
    rule = next((one for one in checked.rules if one.name == verdict.rule), None)
    hooks = [] if checked.hooks is None else blocking_hooks(checked.hooks, _TOOL)
    return analysis, CommandForecast(checked.mode, verdict, rule, hooks)


async def _verdict(
    checked: ResolvedSettings, machine: Machine, session: Session, analysis: CommandAnalysis
) -> Verdict:
    if machine.commands is None or not checked.loaded.settings.commands:
        return _OFF
    cleared = await open_clearance(checked, machine, session, checked.canonical)
    footprint = command_footprint(
        analysis, machine.commands.parts.shell_in(session.working_directory), job=False
    )
    return cleared.clearance.judge(
        PolicyInput(_TOOL, command_risk(analysis), footprint, footprint.reads_only, None, False)
    )
