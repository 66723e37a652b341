"""Allow rules that are too broad to be written, or to be granted with "always"."""

import pytest

from handrail.policy.rules.overbroad_rules import (
    has_subcommands,
    is_interpreter,
    overbroad_reason,
    runs_other_program,
    ungrantable_reason,
)

# A pattern of `run_command`: whether it may be written, and whether "always" may grant it.
COMMANDS = [
    (None, False, False),
    ("*", False, False),
    ("*sh x", False, False),
    ("ls:*", True, True),
    ("ls", True, True),
    ("sudo:*", False, False),
    ("sudo", False, False),
    ("sudo ls", True, True),
    ("sudo ls:*", False, False),
    ("/usr/bin/sudo ls:*", False, False),
    ("xargs:*", False, False),
    ("bash:*", False, False),
    ("bash", False, False),
    ("bash x.sh", True, True),
    ("bash x.sh:*", True, True),
    ("bash -c:*", False, False),
    ("bash *", False, False),
    ("python3.12 x.py:*", True, True),
    ("python:*", False, False),
    ("python -m pytest:*", True, True),
    ("python -m:*", False, False),
    ("python -m *", False, False),
    ("python -c x", False, False),
    ("deno run:*", False, False),
    ("node eval", False, False),
    ("npm exec:*", False, False),
    ("npm exec eslint:*", True, True),
    ("npm test", True, True),
    ("npm test:*", True, True),
    ("npm:*", True, False),
    ("npm --silent:*", True, False),
    ("npm *:*", False, False),
    ("npm -*:*", False, False),
    ("docker run:*", False, False),
    ("docker run image:*", True, True),
    ("git config:*", False, False),
    ("git status:*", True, True),
    ("git:*", True, False),
    ("git -C:*", True, False),
    ("rm:*", True, False),
    ("rm x", True, True),
    ("rm x:*", True, False),
    ("find -exec:*", False, False),
    ("find .:*", True, False),
    ("cat:*", True, False),
    ("make:*", True, False),
    ("make test", True, True),
]


@pytest.mark.parametrize(("pattern", "writable", "grantable"), COMMANDS)
def test_a_rule_about_commands(pattern, writable, grantable):
    assert (overbroad_reason("run_command", pattern) is None) is writable
    assert (ungrantable_reason("run_command", pattern) is None) is grantable


@pytest.mark.parametrize(
    ("tool", "pattern", "writable", "grantable"),
    [
        ("*", None, False, False),
        ("execute_code", None, False, False),
        ("read_file", None, True, True),
        ("read_file", "src/**", True, True),
        ("read_file", "//**", False, False),
        ("write_file", None, True, False),
        ("write_file", "**", True, False),
        ("write_file", "./**", True, False),
        ("write_file", "src/**", True, True),
        ("write_file", "//etc/**", True, True),
        ("write_file", "//**", False, False),
        ("web_fetch", None, True, False),
        ("web_fetch", "domain:example.org", True, True),
        ("mcp__*", None, False, False),
        ("mcp__*__read", None, False, False),
        ("mcp__server__*", None, True, False),
        ("mcp__server__read", None, True, True),
    ],
)
def test_a_rule_about_other_tools(tool, pattern, writable, grantable):
    assert (overbroad_reason(tool, pattern) is None) is writable
    assert (ungrantable_reason(tool, pattern) is None) is grantable


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("sudo ls", True),
        ("/usr/bin/SUDO ls", True),
        ("env", True),
        ("ls -l", False),
        ("npm exec x", True),
        ("npm test", False),
        ("npm --silent exec x", True),
        ("npm ?", True),
        ("npm -s ?", True),
        ("ls ?", False),
        ("find . -exec rm", True),
        ("find . -name x", False),
        ("?", False),
    ],
)
def test_words_that_may_start_another_program(command, runs):
    words = [None if word == "?" else word for word in command.split()]

    assert runs_other_program(words) is runs


def test_interpreters_and_programs_with_subcommands():
    assert all(map(is_interpreter, ("bash", "python", "python3.12", "node", "gawk")))
    assert not any(map(is_interpreter, ("pythonic", "ls", "npm", "")))
    assert has_subcommands("git")
    assert not has_subcommands("ls")
