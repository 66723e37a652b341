"""The section is taken at its word, or refused with its place."""

import pytest
from tests.policy.guardrails.rails import settings

from handrail.core.problems import ProblemRaised
from handrail.policy.guardrails.section import parse_guardrails
from handrail.policy.guardrails.settings import OFF, GuardrailSettings, Limits, QualityGate


@pytest.mark.feature("R-05", "J07")
def test_every_key_of_the_section_is_understood():
    read = settings(
        enabled=True,
        protected_files=["*.lock"],
        sensitive_files=[".env"],
        blocked_commands=["rm -rf"],
        max_files_modified=3,
        max_lines_changed=0,
        max_commands_executed=9,
        require_test_after_edit=True,
        git_safety=True,
        omissions="warn",
        quality_gates=[
            {"name": "lint", "command": "make lint"},
            {"name": "types", "command": "mypy .", "required": False, "timeout": 600},
        ],
        code_rules=[
            {"pattern": "eval", "message": "no"},
            {"pattern": "exec", "message": "no", "severity": "block", "files": ["*.py"]},
        ],
    )

    assert [one.text for one in read.protected] == ["*.lock"]
    assert [one.text for one in read.sensitive] == [".env"]
    assert read.limits == Limits(files=3, lines=0, commands=9)
    assert read.commands.git_safety
    assert read.commands.tested
    assert read.gates == (
        QualityGate("lint", "make lint"),
        QualityGate("types", "mypy .", False, 600.0),
    )
    assert [(one.blocks, one.files) for one in read.code] == [(False, ()), (True, ("*.py",))]
    assert read.omissions == "warn"


def test_without_a_section_only_placeholders_are_refused():
    assert settings() == GuardrailSettings(omissions="block")
    assert settings(max_files_modified=None).limits == Limits()


def test_a_rule_switches_guardrails_on_and_the_person_off():
    assert settings(protected_files=["a"]).protected
    assert settings(protected_files=["a"], enabled=False) == OFF


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"protect_files": ["a"]}, "protect_files"),
        ({"enabled": "no"}, "enabled"),
        ({"protected_files": "a"}, "protected_files"),
        ({"protected_files": ["a", 3]}, "protected_files[1]"),
        ({"protected_files": [""]}, "protected_files[0]"),
        ({"protected_files": ["!a"]}, "protected_files[0]"),
        ({"sensitive_files": ["../a"]}, "sensitive_files[0]"),
        ({"sensitive_files": ["a**"]}, "sensitive_files[0]"),
        ({"blocked_commands": ["("]}, "blocked_commands[0]"),
        ({"blocked_commands": [r"(?=a)b"]}, "blocked_commands[0]"),
        ({"blocked_commands": [r"(a)\1"]}, "blocked_commands[0]"),
        ({"max_files_modified": -1}, "max_files_modified"),
        ({"max_lines_changed": True}, "max_lines_changed"),
        ({"max_commands_executed": 1.5}, "max_commands_executed"),
        ({"max_commands_executed": "3"}, "max_commands_executed"),
        ({"require_test_after_edit": 1}, "require_test_after_edit"),
        ({"omissions": False}, "omissions"),
        ({"code_rules": ["eval"]}, "code_rules[0]"),
        ({"code_rules": [{"pattern": "a"}]}, "code_rules[0].message"),
        ({"code_rules": [{"message": "a"}]}, "code_rules[0].pattern"),
        ({"code_rules": [{"pattern": "[", "message": "a"}]}, "code_rules[0].pattern"),
        ({"code_rules": [{"pattern": "a", "message": "a", "severity": "error"}]}, ".severity"),
        ({"code_rules": [{"pattern": "a", "message": "a", "files": ["!x"]}]}, ".files[0]"),
        ({"code_rules": [{"pattern": "a", "message": "a", "path": "x"}]}, "code_rules[0].path"),
        ({"quality_gates": [{"name": "a", "command": "x", "timeout": 0}]}, ".timeout"),
        ({"quality_gates": [{"name": "a", "command": "x", "timeout": 601}]}, ".timeout"),
        ({"quality_gates": [{"name": "a"}]}, "quality_gates[0].command"),
        ({"quality_gates": [{"name": "a", "command": "x"}] * 2}, "quality_gates[1].name"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_key_and_place(table, key):
    with pytest.raises(ProblemRaised) as caught:
        parse_guardrails(table, lambda name: f"config.toml:7<{name}>")

    problem = caught.value.problem
    assert problem.code == "invalid_arguments"
    assert key in problem.message
    assert problem.message.startswith("config.toml:7<")
