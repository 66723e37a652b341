"""Every mode, risk, rule, source and enforcement, against the rules stated once more by hand.

Nothing here is taken from the code under test: the table and the sentences are D2 and D3 of
the design and row G04 of the acceptance list, written down a second time.
"""

from itertools import product

import pytest
from tests.policy.rule_support import ROOT, CommandClass, call, command, missing_properties, rule

from handrail.core.verdicts import Effect, Risk
from handrail.policy.clearance import Clearance
from handrail.policy.command_guard import CommandGuard
from handrail.policy.modes import Mode, parse_mode
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule import RuleSource
from handrail.policy.rules.rule_set import RuleSet, admit_rules

# What happens where no rule speaks. A look: safe, and nothing can change. "!": dangerous or
# worse. "held": a command inside a sandbox that was measured to hold; "loose": it does not.
UNRULED = """
mode          look   read   read!  edit   edit!  held   held!  loose
default       allow  ask    ask    ask    ask    ask    ask    ask
confirm-all   ask    ask    ask    ask    ask    ask    ask    ask
accept-edits  allow  ask    ask    allow  allow  ask    ask    ask
sandboxed     allow  ask    ask    allow  allow  allow  allow  ask
auto-safe     allow  allow  ask    allow  ask    allow  ask    ask
strict        allow  allow  deny   allow  deny   allow  deny   deny
plan          allow  ask    ask    deny   deny   deny   deny   deny
dont-ask      allow  deny   deny   deny   deny   deny   deny   deny
bypass        allow  allow  allow  allow  allow  allow  allow  ask
"""
_HEAD, *_ROWS = [line.split() for line in UNRULED.strip().splitlines()]
TABLE = {row[0]: dict(zip(_HEAD[1:], row[1:], strict=True)) for row in _ROWS}

KINDS = ("read", "edit", "command")
RULES = [(None, None), *product(("allow", "ask", "deny"), RuleSource)]
TEXTS = {
    "read": "read_file(src/**)",
    "edit": "edit_file(src/**)",
    "command": "run_command(tool work:*)",
}


def stated(mode, kind, risk, effect, source, *, confined):
    """The decision, in plain sentences."""
    unruled = TABLE[mode][column(kind, risk, confined=confined)]
    if kind == "command" and risk == "critical":
        return "deny"  # the blocklist stands above everything
    if effect == "allow" and source in ("project", "local"):
        effect = None  # what comes with a workspace cannot allow
    if effect is None:
        return unruled
    if effect == "deny":
        return "deny"
    if mode == "plan" and kind != "read":
        # Only looking is done now; a rule can make that stricter, and not wider.
        return "ask" if effect == "ask" and unruled == "allow" else unruled
    if effect == "ask":
        return "deny" if mode in ("dont-ask", "strict") else "ask"
    return "allow"


def column(kind, risk, *, confined):
    if risk == "safe" and kind != "edit":
        return "look"
    bad = "!" if risk in ("dangerous", "critical") else ""
    if kind == "command":
        return f"held{bad}" if confined else "loose"
    return f"{kind}{bad}"


def subject_of(kind, risk):
    if kind == "command":
        return command("tool work", safety_class=CommandClass(risk))
    tool = "read_file" if kind == "read" else "edit_file"
    return call(tool, "src/a")._replace(risk=risk)


@pytest.mark.feature("G01", "G04", "G05", "G06", "G07", "G08", "G09", "G12", "R-19")
@pytest.mark.parametrize("mode", Mode)
def test_every_decision_is_as_stated(mode):
    wrong = []
    count = 0
    for kind, risk, (effect, source), confined in product(KINDS, Risk, RULES, (True, False)):
        written = [] if effect is None else [rule(f"{effect} {TEXTS[kind]}", source)]
        rules = RuleSet(admit_rules(written).rules, PathBase((ROOT,)))
        clearance = Clearance(
            mode, [CommandGuard()], lambda held=confined: missing_properties(held), rules
        )

        decided = clearance.judge(subject_of(kind, risk)).effect.value

        place = None if source is None else source.word
        wanted = stated(mode.value, kind, risk.word, effect, place, confined=confined)
        count += 1
        if decided != wanted:
            wrong.append((kind, risk.word, effect, place, confined, decided, wanted))
    assert wrong == []
    assert count == 3 * 4 * 16 * 2


@pytest.mark.parametrize("mode", Mode)
def test_a_rule_that_speaks_of_something_else_decides_nothing(mode):
    others = [
        "deny edit_file(docs/**)",
        "deny read_file(docs/**)",
        "deny run_command(other:*)",
        "allow edit_file(docs/**)",
        "allow run_command(other:*)",
    ]
    ruled = RuleSet([rule(text) for text in others], PathBase((ROOT,)))
    for kind, risk, confined in product(KINDS, Risk, (True, False)):
        if kind == "command" and risk >= Risk.DANGEROUS:
            continue  # its effects are unknown, so a deny about paths has something to say
        subject = subject_of(kind, risk)
        with_rules = Clearance(
            mode, [], lambda held=confined: missing_properties(held), ruled
        ).judge(subject)
        without = Clearance(mode, [], lambda held=confined: missing_properties(held)).judge(subject)

        assert with_rules == without


@pytest.mark.parametrize("mode", Mode)
def test_the_guards_stand_above_an_allow(mode):
    allowed = RuleSet([rule("allow run_command(tool work:*)")], PathBase((ROOT,)))
    clearance = Clearance(mode, [CommandGuard()], tuple, allowed)

    blocked = clearance.judge(subject_of("command", Risk.CRITICAL))

    assert (blocked.effect, blocked.code) == (Effect.DENY, "blocked")


@pytest.mark.feature("G01", "G04")
@pytest.mark.parametrize(
    ("risk", "asked"),
    [
        (Risk.SAFE, {"yolo": False, "confirm-sensitive": False, "confirm-all": True}),
        (Risk.MODERATE, {"yolo": False, "confirm-sensitive": True, "confirm-all": True}),
        (Risk.DANGEROUS, {"yolo": False, "confirm-sensitive": True, "confirm-all": True}),
    ],
)
def test_the_confirmation_table_for_commands(risk, asked):
    for name, expected in asked.items():
        clearance = Clearance(parse_mode(name), [CommandGuard()], tuple)

        verdict = clearance.judge(subject_of("command", risk))

        assert (verdict.effect is Effect.ASK) is expected
