"""The tiny reader gives the parser's tree, sources included, or nothing."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.shell import parser

from handrail.core.commands import UnreadableCommand
from handrail.shell.parse import trivial
from handrail.shell.parse.reader import parse_command

ANY = st.text("ab1=:,.+@%^-_/|&; \t~!#{}[]*?$'\"\\<>()\n`", max_size=12)
WORD = st.text("ab1_./:=,+@%^-", min_size=1, max_size=4)
KEYWORD = st.sampled_from(
    ["if", "then", "fi", "for", "do", "done", "case", "esac", "in", "while", "time", "coproc",
     "function", "select", "export", "declare", "let", "local", "readonly", "typeset", "test",
     "a=1", "a+=1", "=", "-", "--", "2", "eval", "nameref", "until", "elif", "else", "@test"]
)  # fmt: skip
TRIVIAL = st.lists(
    st.lists(st.one_of(WORD, KEYWORD), min_size=1, max_size=4).map(" ".join), min_size=1, max_size=3
)


class Refusing:
    """A parser that must not be needed."""

    def parse(self, command):
        raise AssertionError(command)


class Nothing:
    """The tiny reader switched off."""

    @staticmethod
    def read_trivial(command):
        return None


def parsed(command, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("handrail.shell.parse.reader.trivial", Nothing)
        try:
            return parse_command(command, parser())
        except UnreadableCommand:
            return "unreadable"


@settings(max_examples=150, deadline=None, database=None)
@given(st.one_of(ANY, TRIVIAL.map(" | ".join), TRIVIAL.map("|".join), TRIVIAL.map("  ".join)))
@example("time ls")
@example("ls | time ls")
@example("a=b ls")
@example("ls =x")
@example("a |b| c  d")
def test_the_tiny_reader_agrees_with_the_parser_or_stays_silent(command):
    found = trivial.read_trivial(command)

    if found is not None:
        with pytest.MonkeyPatch.context() as patch:
            assert parsed(command, patch) == found


@pytest.mark.parametrize(
    "command",
    ["ls", "git status -s", "git log --oneline -n5 | head -3", "a/b.sh x=1 -y", "rg -n foo src/"],
)
def test_an_everyday_command_needs_no_parser(command):
    assert parse_command(command, Refusing()) == trivial.read_trivial(command)


@pytest.mark.parametrize(
    "command",
    ["ls $x", "ls;rm x", "ls&", "ls\nrm x", "ls>x", "A=1 ls", "~/x", "ls *", "if x", "{ ls", "! ls",
     "time ls", "export A", "ls 'x'", "", " ", "ls |", "| ls", "ls || rm", "ls |& rm", "\\ls", "a\u00a0b"],
)  # fmt: skip
def test_anything_with_a_meaning_of_its_own_is_left_to_the_parser(command):
    assert trivial.read_trivial(command) is None
