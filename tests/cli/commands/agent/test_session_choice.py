"""Which session a run works in, and how sessions are listed."""

import sys
from argparse import Namespace

import pytest

from handrail.cli.commands.agent import session_choice
from handrail.cli.commands.agent.session_choice import choose_session, session_lines
from handrail.core.problems import ProblemRaised
from handrail.store.records.conversations import ConversationSummary

ONE = ConversationSummary("s1", "fix it", 1, "m" * 30, 3, False, 4, began_ns=1_700_000_000 * 10**9)
TWO = ONE._replace(session="s2", title="", model="m2", state="new")


@pytest.fixture
def known(monkeypatch):
    """The sessions of the workspace."""
    found = [ONE, TWO]

    def list_sessions(options, search=None, *, with_files=True):
        return list(found)

    monkeypatch.setattr(session_choice, "list_sessions", list_sessions)
    return found


def options(resume=None, go_on=False, session=None):
    return Namespace(resume=resume, go_on=go_on, session=session)


def code(given):
    with pytest.raises(ProblemRaised) as raised:
        choose_session(given)
    return raised.value.problem.code


def test_a_session_is_named_continued_or_new(known):
    assert choose_session(options("s2")) == "s2"
    assert choose_session(options(go_on=True)) == "s1"
    assert choose_session(options(session="own")) == "own"
    assert choose_session(options()) != choose_session(options())
    assert code(options("missing")) == "invalid_arguments"
    known.clear()
    assert code(options(go_on=True)) == "not_found"
    assert code(options("")) == "not_found"


@pytest.fixture
def terminal(monkeypatch):
    def answer(*answers, stdin=True, stdout=True):
        given = list(answers)

        def read(prompt):
            if not given:
                raise EOFError
            return given.pop(0)

        monkeypatch.setattr(sys.stdin, "isatty", lambda: stdin, raising=False)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: stdout, raising=False)
        monkeypatch.setattr("builtins.input", read)

    return answer


@pytest.mark.parametrize(
    ("answers", "session"),
    [
        ([""], "s1"),
        (["1"], "s1"),
        ([" 2 "], "s2"),
        (["s2"], "s2"),
        (["0", "3", "x", "2"], "s2"),
    ],
)
def test_the_user_picks_one(known, terminal, answers, session):
    terminal(*answers)

    assert choose_session(options("")) == session


def test_without_a_terminal_or_an_answer_nothing_is_picked(known, terminal):
    for streams in ({"stdin": False}, {"stdout": False}):
        terminal("1", **streams)
        assert code(options("")) == "invalid_arguments"
    terminal()
    assert code(options("")) == "invalid_arguments"


def test_a_wide_terminal_shows_more_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    heads, one, two = session_lines([ONE, TWO])

    assert heads.lower().split() == [
        "session",
        "started",
        "state",
        "files",
        "turns",
        "model",
        "task",
    ]
    assert "m" * 19 + "…" in one
    assert "m" * 20 not in one
    assert one.rstrip().endswith("fix it")
    assert two.rstrip().endswith("(no task yet)")
    assert "new" in two


def test_a_narrow_terminal_has_the_model_before_the_task(monkeypatch):
    monkeypatch.setenv("COLUMNS", "99")
    heads, one, two = session_lines([ONE, TWO], numbered=True)

    assert heads.split()[0] == "#"
    assert (one.split()[0], two.split()[0]) == ("1", "2")
    assert two.rstrip().endswith("m2: (no task yet)")
    assert "turns" not in heads.lower()
