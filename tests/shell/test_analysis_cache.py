"""What was judged before is said again only where everything it rests on is the same."""

import pytest
from tests.support.verdicts import ROOT, WHERE, parser

from handrail.core.commands import CommandClass
from handrail.shell import analyzer as analyzer_module
from handrail.shell.analyzer import ShellCommandAnalyzer

SAFE, DEV, DANGEROUS, BLOCKED = CommandClass


class Counted(ShellCommandAnalyzer):
    """Counts how often it really judges."""

    def __init__(self, **changes):
        tame = changes.pop("git_is_safe", None)
        where = WHERE._replace(**changes)
        super().__init__(parser(), lambda cwd: where._replace(cwd=cwd), git_is_safe=tame)
        self.count = 0

    def _analyze_parsed(self, *given):
        self.count += 1
        return super()._analyze_parsed(*given)

    def said(self, command, *, cwd=ROOT, env=None):
        return self.analyze(command, cwd=cwd, env=env or {})


def test_a_command_is_judged_once():
    analyzer = Counted()

    first = analyzer.said("grep -rn x src | head -5")

    assert analyzer.said("grep -rn x src | head -5") == first
    assert analyzer.count == 1


@pytest.mark.parametrize(
    "other",
    [
        {"command": "cat b"},
        {"command": "cat a", "cwd": f"{ROOT}/src"},
        {"command": "cat a", "env": {"LC_ALL": "C"}},
    ],
)
def test_another_text_place_or_variable_is_judged_for_itself(other):
    analyzer = Counted()
    analyzer.said("cat a")

    said = analyzer.said(**other)

    assert analyzer.count == 2
    assert said == Counted().said(**other)


def test_a_program_that_moved_into_the_workspace_is_judged_anew():
    found = {}
    analyzer = Counted(find_program=lambda name: found.get(name, f"/usr/bin/{name}"))
    assert analyzer.said("ls").safety_class is SAFE

    found["ls"] = f"{ROOT}/.venv/bin/ls"
    assert analyzer.said("ls").safety_class is DEV

    found["ls"] = None
    assert analyzer.said("ls").safety_class is SAFE
    assert analyzer.count == 3


def test_a_program_that_became_handrail_is_judged_anew():
    found = {}
    analyzer = Counted(find_program=lambda name: found.get(name, f"/usr/bin/{name}"))
    assert analyzer.said("true").safety_class is SAFE

    found["handrail"] = "/usr/bin/true"

    assert analyzer.said("true").safety_class is BLOCKED


def test_a_repository_that_is_no_longer_tame_is_judged_anew():
    tame = [True]
    analyzer = Counted(git_is_safe=lambda cwd: tame[0])
    assert analyzer.said("git status").safety_class is SAFE

    tame[0] = False

    assert analyzer.said("git status").safety_class is DEV


def test_a_command_that_could_not_be_read_is_read_again():
    analyzer = Counted()
    broken = analyzer._parser
    analyzer._parser = type(broken)(None)
    assert analyzer.said("if true; then ls; fi").safety_class is DANGEROUS

    analyzer._parser = broken

    assert analyzer.said("if true; then ls; fi").safety_class is SAFE


def test_long_texts_are_not_kept():
    analyzer = Counted()
    text = "cat " + "a" * analyzer_module._MAX_CACHED_TEXT

    analyzer.said(text)
    analyzer.said(text)

    assert analyzer.count == 2
