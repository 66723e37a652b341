"""Who wrote a rule: what is reported, who may widen, and what examples must show."""

import pytest
from tests.policy.rule_support import (
    ALLOW,
    DENY,
    GROUNDS,
    call,
    canonical,
    command,
    effect,
    part,
    rule,
    rules,
)

from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Effect
from handrail.policy.clearance import Clearance
from handrail.policy.modes import Mode
from handrail.policy.rules.examples import check_examples
from handrail.policy.rules.parse import parse_rule
from handrail.policy.rules.rule import RuleOrigin, RuleSource
from handrail.policy.rules.rule_set import RuleSet, admit_rules


@pytest.mark.parametrize("strict", ["deny", "ask"])
def test_the_stricter_rule_wins_whoever_wrote_it(strict):
    for allowing in RuleSource:
        for forbidding in RuleSource:
            both = RuleSet(
                [
                    rule("allow edit_file(src/**)", allowing),
                    rule(f"{strict} edit_file(src/gen/**)", forbidding),
                ],
                GROUNDS,
            )

            assert effect(both, call("edit_file", "src/gen/a")) == strict
            assert effect(both, call("edit_file", "src/a")) == ALLOW


def test_the_stricter_of_two_rules_about_a_whole_tool_wins():
    both = RuleSet(
        [rule("ask write_file", RuleSource.SESSION), rule("deny write_file", RuleSource.USER)],
        GROUNDS,
    )

    assert effect(both, call("write_file", "a")) == DENY


def test_among_equal_rules_the_nearest_is_reported():
    both = RuleSet(
        [rule("deny edit_file(a)", RuleSource.USER), rule("deny edit_file(*)", RuleSource.SESSION)],
        GROUNDS,
    )

    assert both.judge(call("edit_file", "a")).rule == "rule:session:deny edit_file(*)"


def test_a_verdict_names_the_rule_its_place_and_what_to_do():
    origin = RuleOrigin(RuleSource.PROJECT, "conf.toml", 3)
    denied = RuleSet([parse_rule("deny Edit(src/**)", canonical, origin)], GROUNDS)

    verdict = denied.judge(call("write_file", "src/a"))

    assert verdict.rule == "rule:project:deny Edit(src/**)"
    assert "'/ws/src/a'" in verdict.reason
    assert '"deny Edit(src/**)"' in verdict.reason
    assert "conf.toml:3" in verdict.hint


def test_what_comes_with_a_workspace_can_forbid_and_not_allow():
    given = [
        rule("allow edit_file(src/**)", RuleSource.PROJECT),
        rule("deny edit_file(a)", RuleSource.PROJECT),
        rule("allow edit_file(b)", RuleSource.LOCAL),
        rule("allow edit_file(c)", RuleSource.USER),
    ]

    admitted = admit_rules(given)

    assert [one.text for one in admitted.rules] == ["deny edit_file(a)", "allow edit_file(c)"]
    assert len(admitted.notices) == 2
    assert "'allow edit_file(src/**)'" in admitted.notices[0]
    assert admit_rules(given, trusted=True) == (tuple(given), ())


# --- the way of safe reads ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("deny write_file(x)", True),
        ("deny Bash(rm:*)", True),
        ("allow read_file(x)", True),
        ("deny read_file(x)", False),
        ("ask grep(x)", False),
        ("deny file_info", False),
        ("ask *", False),
        ("deny mcp__s__t", False),
    ],
)
def test_any_rule_that_could_stop_a_read_closes_the_short_way(text, free):
    clearance = Clearance(Mode.DEFAULT, [], rules=rules(text))

    assert (clearance.safe_read_verdict is not None) is free


def test_a_read_that_a_rule_denies_is_denied_in_every_mode():
    for mode in Mode:
        clearance = Clearance(mode, [], rules=rules("deny read_file(secrets/**)"))

        assert clearance.judge(call("read_file", "secrets/x")).effect is Effect.DENY
        assert clearance.safe_read_verdict is None


# --- tools by name -------------------------------------------------------------------------


def test_a_rule_without_a_pattern_is_about_the_tool_alone():
    denied = rules("deny write_file", "ask mcp__github", "allow mcp__other__read")

    assert effect(denied, call("write_file", "a")) == DENY
    assert effect(denied, call("edit_file", "a")) is None
    assert effect(denied, call("mcp__github__push")) == "ask"
    assert effect(denied, call("mcp__githubx__push")) is None
    assert effect(denied, call("mcp__other__read")) == ALLOW
    assert effect(denied, call("mcp__other__write")) is None
    assert effect(rules("deny *"), call("read_file", "a")) == DENY


# --- examples ------------------------------------------------------------------------------


def judge(text):
    return command(part(*text.split())).command


@pytest.mark.parametrize(
    ("text", "example"),
    [
        ("deny edit_file(secrets/**)", "edit_file(secrets/a)"),
        ("deny edit_file(secrets/**)", "Write(./secrets/a)"),
        ("deny edit_file(secrets/**)", "secrets/a"),
        ("deny edit_file(secrets/**)", "not edit_file(src/a)"),
        ("deny edit_file(secrets/**)", "not read_file(secrets/a)"),
        ("deny Read(~/.ssh/**)", "Read(~/.ssh/id)"),
        ("allow Bash(git status:*)", "git status -s"),
        ("allow Bash(git status:*)", "not Bash(git statusx)"),
        ("deny Bash(git push:*)", "run_command(git -C x push)"),
        ("deny mcp__s", "mcp__s__t"),
    ],
)
def test_an_example_that_holds_is_silent(text, example):
    check_examples(rule(text, examples=[example]), GROUNDS, canonical, judge)


@pytest.mark.parametrize(
    ("text", "example", "why"),
    [
        ("deny edit_file(secrets/*.key)", "edit_file(secrets/a.pem)", "does not match its example"),
        ("deny edit_file(secrets/**)", "not edit_file(secrets/a)", "matches its example"),
        ("allow Bash(git status)", "git status -s", "does not match its example"),
        ("allow edit_file(src/*)", "src/a/b", "does not match"),
    ],
)
def test_an_example_that_does_not_hold_is_an_error_that_names_the_rule(text, example, why):
    with pytest.raises(ProblemRaised) as raised:
        check_examples(rule(text, examples=[example]), GROUNDS, canonical, judge)

    assert text in raised.value.problem.message
    assert why in raised.value.problem.message
    assert repr(example) in raised.value.problem.message


def test_an_example_that_nobody_can_read_is_an_error():
    with pytest.raises(ProblemRaised):
        check_examples(rule("deny Bash(rm:*)", examples=["rm x"]), GROUNDS, canonical, None)
