"""Every setting has been thought about, and the table of modes agrees with the modes."""

from itertools import product

import pytest

from handrail.config.layers.project_policy import (
    MODE_NAMES,
    MODES,
    SETTING_RULES,
    UNKNOWN_RULE,
    ProjectSettingPolicy,
    mode_name,
)
from handrail.config.model import SETTING_NAMES, Settings
from handrail.core.commands import CommandAnalysis, CommandClass, CommandEffects
from handrail.core.footprint import Footprint
from handrail.core.verdicts import Effect, Risk
from handrail.policy.clearance import mode_verdict
from handrail.policy.modes import ALIASES, Mode
from handrail.policy.policy_input import PolicyInput


def test_every_setting_says_what_a_workspace_may_do_to_it():
    assert set(SETTING_RULES) == set(SETTING_NAMES)


def test_a_setting_without_a_row_cannot_be_set_by_a_workspace():
    assert UNKNOWN_RULE.policy is ProjectSettingPolicy.NEVER
    assert not UNKNOWN_RULE.applies_untrusted(1, 1)
    assert not UNKNOWN_RULE.can_be_trusted(1)


@pytest.mark.parametrize("key", SETTING_RULES)
def test_the_default_is_no_widening_of_the_default(key):
    row = SETTING_RULES[key]
    default = getattr(Settings(), key)

    assert row.applies_untrusted(default, default) is (row.policy is not ProjectSettingPolicy.NEVER)


def subjects():
    classes = [None, CommandClass.SAFE, CommandClass.DEV, CommandClass.DANGEROUS]
    for risk, reads, edits, confined, safety_class in product(
        Risk, (True, False), (True, False), (True, False), classes
    ):
        command = (
            None if safety_class is None else CommandAnalysis(safety_class, (), CommandEffects())
        )
        footprint = Footprint(command=command)
        yield PolicyInput("t", risk, footprint, reads, None, edits, (), confined)


def strictness(mode, subject):
    return list(Effect).index(mode_verdict(mode, subject).effect)


@pytest.mark.parametrize("base", MODES)
def test_a_narrower_mode_is_at_least_as_strict_for_every_call(base):
    known = [Mode(name) for name in MODES[base].split()]

    looser = [
        (mode, subject)
        for mode in known
        for subject in subjects()
        if strictness(mode, subject) < strictness(Mode(base), subject)
    ]

    assert looser == []


def test_names_of_modes_mean_the_same_as_where_they_are_parsed():
    assert {name: ALIASES[name].value for name in MODE_NAMES} == dict(MODE_NAMES)
    assert mode_name(" Accept_Edits ") == "accept-edits"
    assert mode_name("bypassPermissions") == "bypass"
