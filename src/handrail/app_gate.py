"""What stands before every call, put together from the settings."""

from __future__ import annotations

from functools import partial

from handrail.app_guardrails import guardrails_from
from handrail.app_machine import Machine
from handrail.app_plan import Plans
from handrail.app_policy import grants_from, keep_away, kept_by
from handrail.config.layers import Loaded
from handrail.core.context import Session
from handrail.core.ports import Approver
from handrail.engine.approval import Approval
from handrail.engine.gate import Gate
from handrail.engine.prepare import Preparer
from handrail.host.clock import SystemClock
from handrail.host.files.links import TopLinks
from handrail.policy.clearance import Clearance
from handrail.policy.modes import Mode
from handrail.policy.protected import LINKED, Guard, ProtectedNames
from handrail.policy.rule_set import RuleSet
from handrail.policy.rule_text import Canonical


async def open_gate(
    loaded: Loaded,
    approver: Approver | None,
    mode: Mode,
    machine: Machine,
    session: Session,
    preparer: Preparer,
    names: Canonical,
    plans: Plans,
) -> Gate:
    """What every call passes: guards, rules, mode, hooks, and the person."""
    commands, roots = machine.commands, machine.files.roots
    runner = None if commands is None else commands.runner
    kept = kept_by(machine.search, runner)
    grants = grants_from(loaded, names, roots, machine.judge, SystemClock(), kept)
    rules = partial(RuleSet, kept=kept)
    guardrails = await guardrails_from(loaded, session, machine.store, rules)
    keep_away(machine.search, runner, grants.rules, guardrails.denied_reads)
    protected = ProtectedNames(
        roots,
        own=machine.own,
        allowed=loaded.settings.allow_protected,
        memories=mode is not Mode.BYPASS,
        links=TopLinks(machine.files, LINKED),
    )
    guards: list[Guard] = [protected, guardrails]
    guards += commands.guards if commands is not None else ()
    held = commands.hold if commands is not None else bool
    clearance = Clearance(mode, guards, held, grants)
    approval = Approval(approver, grants)
    plans.mode.govern(clearance, grants)
    return Gate(clearance, approval, preparer, grants, guardrails)
