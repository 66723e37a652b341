"""The published corpus, with the numbers that the classifier has to reach on it."""

import pytest
from tests.support.commands import ROOT, WHERE, parser, rows, understood

from handrail.assembly.commands import command_analyzer
from handrail.config.model import Settings
from handrail.core.commands import CommandClass
from handrail.shell.analyzer import ShellCommandAnalyzer
from handrail.shell.parse.syntax import SimpleCommand

CORE = ("exec", "write", "net")


@pytest.fixture(scope="module")
def analysis():
    """The class of a command in surroundings where every program is the system's own."""
    analyzer = ShellCommandAnalyzer(parser(), lambda cwd: WHERE._replace(cwd=cwd))

    def of(command, env=None):
        return analyzer.analyze(command, cwd=ROOT, env=env or {}).safety_class

    return of


@pytest.mark.feature("H04", "H13", "H14")
def test_nothing_dangerous_of_the_core_tiers_is_safe(analysis):
    core = [row for row in rows("commands_dangerous") if row["tier"] in CORE]

    assert len(core) > 300
    assert [r["command"] for r in core if analysis(r["command"]) is CommandClass.SAFE] == []


def test_of_all_tiers_next_to_nothing_is_safe(analysis):
    dangerous = rows("commands_dangerous")
    safe = [row for row in dangerous if analysis(row["command"]) is CommandClass.SAFE]

    assert len(safe) <= 0.005 * len(dangerous), safe


@pytest.mark.feature("H02", "H13")
def test_commands_that_only_look_are_seldom_refused(analysis):
    looking = rows("commands_safe")
    refused = [row for row in looking if analysis(row["command"]) is not CommandClass.SAFE]

    assert len(refused) <= 0.15 * len(looking), refused


@pytest.mark.feature("H01")
def test_catastrophes_are_blocked(analysis):
    must = [row for row in rows("blocked") if row["strength"] == "must"]
    missed = [r["command"] for r in must if analysis(r["command"]) is not CommandClass.BLOCKED]

    assert len(missed) <= 0.01 * len(must), missed


def test_catastrophes_inside_another_language_are_mostly_blocked(analysis):
    should = [row for row in rows("blocked") if row["strength"] == "should"]
    missed = [r["command"] for r in should if analysis(r["command"]) is not CommandClass.BLOCKED]

    assert len(missed) <= 0.4 * len(should), missed


@pytest.mark.feature("H03")
@pytest.mark.parametrize("name", ["commands_dev", "commands_safe"])
def test_no_ordinary_command_is_blocked(analysis, name):
    assert [r for r in rows(name) if analysis(r["command"]) is CommandClass.BLOCKED] == []


@pytest.mark.feature("H03")
def test_most_development_commands_are_known_as_such(analysis):
    dev = rows("commands_dev")
    strange = [r for r in dev if analysis(r["command"]) is CommandClass.DANGEROUS]

    assert len(strange) <= 0.15 * len(dev), strange


def test_variables_count_the_same_as_an_argument(analysis):
    given = [found for row in rows("commands_dangerous") if (found := divided(row["command"]))]

    assert len(given) >= 15
    assert [one for one in given if analysis(*one) is CommandClass.SAFE] == []


def divided(command):
    """`A=1 ls` as `ls` and its variables; None for any other shape."""
    script, _ = understood(command)
    simple = script.statements[0].command if script and len(script.statements) == 1 else None
    if not isinstance(simple, SimpleCommand) or not simple.assignments or not simple.words:
        return None
    env = {one.name: one.value.value or "" for one in simple.assignments if one.value}
    return " ".join(word.source for word in simple.words), env


def test_the_composed_judge_reaches_the_same_on_this_machine(tmp_path):
    root = str(tmp_path.resolve())
    analyzer = command_analyzer([root], Settings())

    def safety_class(row):
        return analyzer.analyze(row["command"], cwd=root, env={}).safety_class

    dangerous = [r for r in rows("commands_dangerous") if r["tier"] in CORE]
    assert [r["command"] for r in dangerous if safety_class(r) is CommandClass.SAFE] == []
    assert [r for r in rows("commands_dev") if safety_class(r) is CommandClass.BLOCKED] == []
    assert [r for r in rows("commands_safe") if safety_class(r) is CommandClass.BLOCKED] == []
    must = [r for r in rows("blocked") if r["strength"] == "must"]
    assert [r["command"] for r in must if safety_class(r) is not CommandClass.BLOCKED] == []
