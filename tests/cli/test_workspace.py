import os
import sys
import time
from argparse import Namespace
from types import SimpleNamespace

import pytest

from handrail.cli.commands.record import gc
from handrail.cli.workspace import (
    _is_due,
    check_turn,
    choose_approver,
    collect_if_due,
    config_path,
    find_workspace,
    new_call_id,
    refuse_session,
    workspace_as_given,
    workspace_directory,
)
from handrail.core.problems import ProblemRaised
from handrail.store.records import conversations


def test_ids_are_short_and_differ():
    ids = [new_call_id() for _ in range(3)]

    assert all(len(one) == 10 and one.isalnum() for one in ids)
    assert sorted(ids, key=lambda one: one[:8]) == ids


def options(**values):
    return Namespace(
        **{"workspace": ".", "store": None, "config": None, "ask": None, "session": None, **values}
    )


@pytest.mark.parametrize(
    ("age_s", "due"), [(None, False), (0, False), (86_300, False), (86_500, True)]
)
def test_a_collection_is_due_after_a_day(tmp_path, age_s, due):
    stamp = tmp_path / "gc-time"
    if age_s is not None:
        stamp.touch()
        os.utime(stamp, (time.time() - age_s,) * 2)

    assert _is_due(tmp_path) is due
    # It is recorded, so the next one is not due.
    assert _is_due(tmp_path) is False
    if age_s is None:
        assert stamp.stat().st_mode & 0o777 == 0o600


def test_a_collection_runs_only_where_something_is_recorded_and_due(workspace, monkeypatch):
    collected = []
    monkeypatch.setattr(gc, "collect_automatically", collected.append)
    given = options()
    collect_if_due(given)
    assert collected == []

    directory = find_workspace(given).home.directory
    os.utime(directory / "gc-time", (0, 0))
    collect_if_due(given)
    collect_if_due(given)
    assert collected == [given]


@pytest.mark.parametrize(
    ("turn", "called", "known"),
    [(1, [1], True), (2, [1, 3], True), (3, [1, 3], True), (4, [1, 3], False), (0, [1], False)],
)
def test_a_turn_is_one_up_to_the_last(monkeypatch, turn, called, known):
    monkeypatch.setattr(conversations, "list_conversations", lambda db: [])

    if known:
        check_turn(None, "s", turn, called)
        return
    with pytest.raises(ProblemRaised) as raised:
        check_turn(None, "s", turn, called)
    assert raised.value.problem.code == "not_found"


def test_a_turn_without_calls_counts_by_its_conversation(monkeypatch):
    known = [SimpleNamespace(session="s", last_turn=5), SimpleNamespace(session="t", last_turn=9)]
    monkeypatch.setattr(conversations, "list_conversations", lambda db: known)

    check_turn(None, "s", 5, [1])
    with pytest.raises(ProblemRaised):
        check_turn(None, "s", 6, [1])


def test_the_workspace_is_a_directory(workspace):
    assert workspace_directory(options()) == workspace
    (workspace / "link").symlink_to(workspace)
    assert workspace_directory(options(workspace="link")) == workspace
    assert str(workspace_as_given(options(workspace="link"))) == "link"
    for wrong in ("a.txt", "nope"):
        for find in (workspace_directory, workspace_as_given):
            with pytest.raises(ProblemRaised) as raised:
                find(options(workspace=wrong))
            assert raised.value.problem.code == "invalid_arguments"


def test_a_configuration_file_must_be_there(workspace):
    assert config_path(options()) is None
    assert config_path(options(config="a.txt")) == "a.txt"
    with pytest.raises(ProblemRaised):
        config_path(options(config="nope"))


def test_a_session_is_refused_where_it_means_nothing():
    refuse_session(options(command="fleet"), "why")
    with pytest.raises(ProblemRaised):
        refuse_session(options(command="fleet", session="s"), "why")


@pytest.mark.parametrize(
    ("ask", "terminal", "opens", "chosen"),
    [
        ("nobody", True, True, "NoneType"),
        (None, False, True, "NoneType"),
        (None, True, True, "TerminalApprover"),
        (None, True, False, "NoneType"),
        ("terminal", False, True, "TerminalApprover"),
        ("both", False, True, "SharedApprover"),
    ],
)
def test_where_approvals_are_asked(workspace, monkeypatch, ask, terminal, opens, chosen):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    real = os.open

    def open_terminal(path, *more, **named):
        if path != "/dev/tty":
            return real(path, *more, **named)
        if not opens:
            raise OSError(6, "No such device")
        return real("/dev/null", os.O_RDWR)

    monkeypatch.setattr(os, "open", open_terminal)

    assert type(choose_approver(options(ask=ask))).__name__ == chosen


def test_a_terminal_that_is_not_there_cannot_be_asked(workspace, monkeypatch):
    def no_terminal(*_):
        raise OSError(6, "No such device")

    monkeypatch.setattr(os, "open", no_terminal)
    with pytest.raises(ProblemRaised) as raised:
        choose_approver(options(ask="terminal"))
    assert raised.value.problem.code == "needs_approval"
