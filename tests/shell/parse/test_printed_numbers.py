"""What a substitution surely prints: only that may be evaluated, or stand where options may."""

import pytest
from tests.support.commands import parser

from handrail.shell.parse.printed_numbers import printed_number, prints_commit
from handrail.shell.parse.reader import parse_command


def read(command):
    return parse_command(command, parser())


@pytest.mark.parametrize(
    "command",
    [
        "date +%s",
        "date -u -d yesterday +%Y%m%d",
        "wc -l < a",
        "ls | wc -l",
        "wc -l < a 2>/dev/null | tr -d ' '",
        "grep -c x a",
        "grep -c x < a",
        "grep -ic x -- a",
        "od -An -v -tu1 -N 16 a",
        "stat -c %s a",
        "nproc",
        "seq 1 9",
        "git rev-list --count HEAD",
    ],
)
def test_numbers(command):
    assert printed_number(read(command)) is not None


@pytest.mark.parametrize(
    "command",
    [
        "cat a",
        "date +%Z",
        "date",
        "date +%s; cat a",
        "date +%s | cat a",
        "date +%s --help",
        "wc -l a",
        "wc -l < a 2>&1",
        "wc -l --files0-from=a",
        "grep -c x a b",
        "grep -c x a*",
        "grep -cr x a",
        "grep -cH x a",
        "grep -c x $f",
        "grep -c -f a b",
        "od -An -tu1 a",
        "od -v -tu1 a",
        "od -An -v -c a",
        "stat -c %n a",
        "seq -f %s 3",
        "A=1 date +%s",
        "date +%s &",
        "git rev-list HEAD",
    ],
)
def test_anything_else_may_be_text(command):
    assert printed_number(read(command)) is None


def test_a_file_that_a_variable_names_is_part_of_the_answer():
    assert printed_number(read('grep -c x "$f"')).places == {"f"}


def test_the_name_of_a_commit():
    assert prints_commit(read("git rev-parse HEAD"))
    assert prints_commit(read("git merge-base main HEAD"))
    assert not prints_commit(read("git rev-parse --abbrev-ref HEAD"))
    assert not prints_commit(read('git rev-parse "$x"'))
    assert not prints_commit(read("git describe --tags"))
