"""Patterns of commands by their words: narrow for allow rules, broad for deny and ask rules."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.policy.rules.command_pattern import (
    CommandPattern,
    MatchCertainty,
    covers_words,
    match_words,
    parse_command_pattern,
)

NO, MAYBE, SURE = MatchCertainty.NO, MatchCertainty.MAYBE, MatchCertainty.SURE
# A word that is known only when the command runs.
COMPUTED = "?"


def words_of(command):
    return [None if word == COMPUTED else word for word in command.split()]


@pytest.mark.parametrize(
    ("text", "words", "prefix"),
    [
        ("git", ("git",), False),
        ("git:*", ("git",), True),
        ("git status:*", ("git", "status"), True),
        ("git *", ("git",), True),
        ("git push * main", ("git", "push", "*", "main"), False),
        ("*", ("*",), False),
        ("* *", ("*",), True),
        ("*:*", ("*",), True),
        ("git 'a b'", ("git", "a b"), False),
        ('git "a;b"', ("git", "a;b"), False),
        ("git a#b", ("git", "a#b"), False),
        ("git #b", ("git", "#b"), False),
        ("  git   status ", ("git", "status"), False),
    ],
)
def test_a_pattern_has_words_and_may_be_a_prefix(text, words, prefix):
    assert parse_command_pattern(text) == CommandPattern(words, prefix)


@pytest.mark.parametrize(
    "text", ["", ":*", "  ", "ls $x", "ls `x`", "ls 'a", "a; b", "a && b", "a | b", "a > b", "(a)"]
)
def test_what_is_no_pattern_is_a_problem(text):
    with pytest.raises(ProblemRaised) as raised:
        parse_command_pattern(text)

    assert raised.value.problem.code == "invalid_arguments"


@pytest.mark.parametrize(
    ("text", "program"), [("git x", "git"), ("/usr/bin/Git x", "git"), ("*sh", "*sh")]
)
def test_the_program_of_a_pattern(text, program):
    assert parse_command_pattern(text).program == program


@pytest.mark.parametrize(
    ("pattern", "command", "covered"),
    [
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("git status", "git", False),
        ("git status:*", "git status", True),
        ("git status:*", "git status -s a", True),
        ("git status:*", "git -s status", False),
        ("git status:*", "git statuses", False),
        ("git status", "GIT status", False),
        ("git status", "/usr/bin/git status", False),
        ("git status", "git ?", False),
        ("git status:*", "git status ?", True),
        ("npm run test*", "npm run test", True),
        ("npm run test*", "npm run test-all", True),
        ("npm run test*", "npm run tes", False),
        ("npm run *test", "npm run unit-test", True),
        ("npm run a*b*c", "npm run axbxc", True),
        ("npm run a*b*c", "npm run axc", False),
        ("python *.py", "python x.py", True),
        ("python *.py", "python --output=x.py", False),
        ("python --x=*", "python --x=1", True),
        ("git push * main", "git push origin main", True),
        ("git push * main", "git push main", False),
        ("git push * main", "git push a b main", False),
    ],
)
def test_an_allow_covers_exactly_its_words(pattern, command, covered):
    assert covers_words(parse_command_pattern(pattern), words_of(command)) is covered


@pytest.mark.parametrize(
    ("pattern", "command", "fit"),
    [
        ("git push", "", NO),
        ("git push", "?", MAYBE),
        ("git push", "? x", MAYBE),
        ("git push", "git push", SURE),
        ("git push", "GIT push", SURE),
        ("git push", "/usr/bin/git push", SURE),
        ("/opt/git push", "/usr/bin/git push", SURE),
        ("git push", "git pull", NO),
        ("git push", "hg push", NO),
        ("git push", "git", NO),
        ("git push", "git push origin", NO),
        ("git push:*", "git push origin", SURE),
        ("git push:*", "git push", SURE),
        ("git push", "git ?", MAYBE),
        ("git push", "git push ?", MAYBE),
        ("git push:*", "git push ?", SURE),
        ("git push", "git ? pull", NO),
        # Options may be anywhere, and others are ignored.
        ("git push", "git -q push", SURE),
        ("git push", "git push -q", SURE),
        ("git push", "git -C dir push", SURE),
        ("git push", "git --git-dir=x push", SURE),
        ("git push", "git dir push", NO),
        ("git push", "git --git-dir=x dir push", NO),
        ("git push", "git -- push", SURE),
        ("git push", "git -- -C push", NO),
        ("git push -f", "git push -f", SURE),
        ("git push -f", "git -f push", SURE),
        ("git push -f", "git push", NO),
        ("git push -f", "git push -qf", SURE),
        ("git push -f", "git push --f", NO),
        ("git push -f", "git push ?", MAYBE),
        ("rm -rf", "rm -fr", SURE),
        ("rm -rf", "rm -r -f", SURE),
        ("rm -rf", "rm -r", NO),
        ("rm -rf", "rm -rvf", SURE),
        ("git push --force", "git push --force", SURE),
        ("git push --force", "git push --force=x", SURE),
        ("git push --force", "git push --forc", SURE),
        ("git push --force", "git push --fo", SURE),
        ("git push --force", "git push --f", NO),
        ("git push --force", "git push --forced", NO),
        ("git push --force", "git push -- --force", NO),
        ("git push --force*", "git push --force-with-lease", SURE),
        ("git push --force*", "git push --no-force", NO),
        # The word `*` stands for any number of words.
        ("git push * main", "git push main", SURE),
        ("git push * main", "git push origin main", SURE),
        ("git push * main", "git push a b main", SURE),
        ("git push * main", "git push main x", NO),
        ("git push * main", "git push x", NO),
        ("git * main", "git x y main main", SURE),
        ("git push *", "git push", SURE),
        ("git push ma*", "git push main", SURE),
        ("git push ma*", "git push x", NO),
        ("*sh -c", "bash -c", SURE),
        ("*sh -c", "/bin/dash -c", SURE),
        ("*sh -c", "ls -c", NO),
        ("/bin/*", "/bin/ls", SURE),
        ("cat -", "cat -", SURE),
        ("cat -", "cat", NO),
    ],
)
def test_a_deny_binds_however_the_command_is_spelled(pattern, command, fit):
    assert match_words(parse_command_pattern(pattern), words_of(command)) is fit
