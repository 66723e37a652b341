"""What was judged before is said again only where everything it rests on is the same."""

import pytest
from tests.support.verdicts import ROOT, WHERE, parser

from handrail.core.commands import CommandClass
from handrail.shell import analyzer as judging
from handrail.shell.analyzer import Judge

SAFE, DEV, DANGEROUS, BLOCKED = CommandClass


class Counted(Judge):
    """Counts how often it really judges."""

    def __init__(self, **changes):
        tame = changes.pop("tame", None)
        where = WHERE._replace(**changes)
        super().__init__(parser(), lambda cwd: where._replace(cwd=cwd), tame=tame)
        self.count = 0

    def _judgement(self, *given):
        self.count += 1
        return super()._judgement(*given)

    def said(self, command, *, cwd=ROOT, env=None):
        return self.judge(command, cwd=cwd, env=env or {})


def test_a_command_is_judged_once():
    judge = Counted()

    first = judge.said("grep -rn x src | head -5")

    assert judge.said("grep -rn x src | head -5") == first
    assert judge.count == 1


@pytest.mark.parametrize(
    "other",
    [
        {"command": "cat b"},
        {"command": "cat a", "cwd": f"{ROOT}/src"},
        {"command": "cat a", "env": {"LC_ALL": "C"}},
    ],
)
def test_another_text_place_or_variable_is_judged_for_itself(other):
    judge = Counted()
    judge.said("cat a")

    said = judge.said(**other)

    assert judge.count == 2
    assert said == Counted().said(**other)


def test_a_program_that_moved_into_the_workspace_is_judged_anew():
    found = {}
    judge = Counted(find_program=lambda name: found.get(name, f"/usr/bin/{name}"))
    assert judge.said("ls").klass is SAFE

    found["ls"] = f"{ROOT}/.venv/bin/ls"
    assert judge.said("ls").klass is DEV

    found["ls"] = None
    assert judge.said("ls").klass is SAFE
    assert judge.count == 3


def test_a_program_that_became_handrail_is_judged_anew():
    found = {}
    judge = Counted(find_program=lambda name: found.get(name, f"/usr/bin/{name}"))
    assert judge.said("true").klass is SAFE

    found["handrail"] = "/usr/bin/true"

    assert judge.said("true").klass is BLOCKED


def test_a_repository_that_is_no_longer_tame_is_judged_anew():
    tame = [True]
    judge = Counted(tame=lambda cwd: tame[0])
    assert judge.said("git status").klass is SAFE

    tame[0] = False

    assert judge.said("git status").klass is DEV


def test_a_command_that_could_not_be_read_is_read_again():
    judge = Counted()
    broken = judge._parser
    judge._parser = type(broken)(None)
    assert judge.said("if true; then ls; fi").klass is DANGEROUS

    judge._parser = broken

    assert judge.said("if true; then ls; fi").klass is SAFE


def test_long_texts_are_not_kept():
    judge = Counted()
    text = "cat " + "a" * judging._MAX_KEPT_TEXT

    judge.said(text)
    judge.said(text)

    assert judge.count == 2
