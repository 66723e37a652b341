"""Builds the policy that checks every call, from the settings."""

from __future__ import annotations

import os
from functools import cache, partial
from typing import TYPE_CHECKING

from handrail.assembly.deferred_commands import snapshot_limits
from handrail.assembly.guardrails import open_guardrails
from handrail.assembly.machine import Machine
from handrail.assembly.resolved_settings import ResolvedSettings
from handrail.assembly.rules import enforcement_probe, install_denials, open_grants, path_base
from handrail.config.model import Settings
from handrail.core.context import Session
from handrail.core.ports.machine import Approver
from handrail.engine.approval import Approval
from handrail.engine.batch.loop_guard import LoopGuard
from handrail.engine.call_policy import AgentPolicy, CallQuotas, PolicyServices
from handrail.engine.timing import DeadlineTimer
from handrail.host.clock import SystemClock
from handrail.host.files.local_files import TopLinks
from handrail.policy.approval.grants import GrantObstacle
from handrail.policy.clearance import Clearance, DeferredGuards
from handrail.policy.modes import Mode
from handrail.policy.protected_names import LINK_NAMES, Guard, ProtectedNames
from handrail.policy.rules.rule_set import RuleSet
from handrail.policy.undo_guard import UndoForecast, UndoGuard

if TYPE_CHECKING:
    from handrail.assembly.calls import SessionParts
    from handrail.engine.events import EventBus
    from handrail.host.snapshots.deletion_forecast import DeletionForecast
    from handrail.policy.rules.parse import CanonicalName


async def open_policy(
    checked: ResolvedSettings,
    approver: Approver | None,
    machine: Machine,
    begun: SessionParts,
    names: CanonicalName,
    obstacle: GrantObstacle,
    calls_together_s: float,
    bus: EventBus,
    timers: DeadlineTimer,
) -> AgentPolicy:
    """The policy for the calls of agents: guards, rules, mode, quotas and the user's approval. With the
    setting `telemetry`, also reports the events of the runtime and open questions.
    """
    services = await open_clearance(checked, machine, begun.session, names, obstacle)
    begun.plans.mode.attach_policy(services.clearance, services.grants)
    settings, clock = checked.loaded.settings, SystemClock()
    approval = Approval(approver, services.grants, timers)
    if settings.telemetry:
        from handrail.assembly.extras.telemetry import add_telemetry

        add_telemetry(bus, approval, machine.ends)
    return AgentPolicy(
        services,
        approval,
        LoopGuard(settings.loop_guard, clock.monotonic, calls_together_s),
        begun.reserved,
        CallQuotas(services.guardrails, services.grants),
        settings.dry_run,
        begun.letters if settings.dead_letters else None,
    )


async def open_clearance(
    checked: ResolvedSettings,
    machine: Machine,
    session: Session,
    names: CanonicalName,
    obstacle: GrantObstacle = lambda rule: None,
) -> PolicyServices:
    """The part of the policy without hooks and approval: guards, rules, grants and mode. `obstacle`
    returns why a grant could never cover a call.
    """
    loaded, mode = checked.loaded, checked.mode
    commands, roots = machine.commands, machine.files.roots
    enforcement = enforcement_probe(machine.search, commands)
    base = path_base(roots, machine.files.aliases)
    unenforced = commands.unenforced if commands is not None else tuple
    grants = open_grants(
        checked.rules,
        names,
        base,
        SystemClock(),
        enforcement,
        obstacle,
        confines=lambda: not unenforced(),
    )
    rules = partial(RuleSet, enforcement=enforcement)
    guardrails = await open_guardrails(checked.guardrails, session, machine.store, rules)
    closed = guardrails.denied_writes
    denials = install_denials(machine, grants.rules, guardrails.denied_reads, closed)
    protected = ProtectedNames(
        roots,
        own=machine.places.own,
        allowed=loaded.settings.allow_protected,
        memories=mode is not Mode.BYPASS,
        links=TopLinks(machine.files, LINK_NAMES),
        exists=os.path.lexists,
    )
    guards: list[Guard] = [protected, guardrails]
    if commands is not None:
        guards.append(DeferredGuards(lambda: commands.parts.guards))
    if loaded.settings.journal and mode is not Mode.BYPASS:
        guards.append(UndoGuard(_deletion_forecast(machine, loaded.settings)))
    clearance = Clearance(mode, guards, unenforced, grants)
    return PolicyServices(clearance, grants, guardrails, denials)


def _deletion_forecast(machine: Machine, settings: Settings) -> UndoForecast:
    """The forecast of files that undo could not restore; loaded when it is first needed."""

    @cache
    def forecast() -> DeletionForecast:
        from handrail.host.snapshots.deletion_forecast import DeletionForecast

        limits = snapshot_limits(settings)
        return DeletionForecast(machine.files.roots, limits, machine.places.hidden)

    return lambda removals: forecast().unkept(removals)
