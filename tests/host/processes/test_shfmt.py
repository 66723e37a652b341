"""shfmt behind the port: its tree, its limits, and what happens without it."""

import threading
from pathlib import Path

import pytest
from tests.support.handles import open_handles
from tests.support.waiting import join_threads

from handrail.core.commands import UnreadableCommand
from handrail.host.processes import spawn
from handrail.host.processes.binaries import find_binary
from handrail.host.processes.shfmt import Shfmt


@pytest.fixture
def shfmt():
    return Shfmt(find_binary("shfmt", []))


def test_a_command_becomes_a_tree(shfmt):
    tree = shfmt.parse("ls $x")

    (statement,) = tree["Stmts"]
    assert statement["Cmd"]["Type"] == "CallExpr"
    assert tree["Type"] == "File"


@pytest.mark.parametrize("command", ["", " ", "#x", "\n"])
def test_nothing_is_a_tree_without_statements(shfmt, command):
    assert "Stmts" not in shfmt.parse(command)


def test_a_command_that_is_none_says_why(shfmt):
    with pytest.raises(UnreadableCommand, match=r"no valid command: .*1:4"):
        shfmt.parse("ls )")


def test_half_a_character_is_refused(shfmt):
    with pytest.raises(UnreadableCommand, match="could not read"):
        shfmt.parse("ls \ud800")


def test_without_the_program_nothing_is_readable():
    with pytest.raises(UnreadableCommand, match="install shfmt-py"):
        Shfmt(None).parse("ls")


def test_a_program_that_cannot_start_makes_text_unreadable(tmp_path):
    with pytest.raises(UnreadableCommand, match="could not read"):
        Shfmt(str(tmp_path / "none")).parse("ls")


def test_a_program_that_answers_nonsense_makes_text_unreadable():
    # `cat` takes the options for files and fails; `true` answers nothing.
    for name, reason in (("cat", "no valid command"), ("true", "too deep")):
        with pytest.raises(UnreadableCommand, match=reason):
            Shfmt(find_binary(name, [])).parse("ls")


def test_the_same_text_is_parsed_once(shfmt):
    assert shfmt.parse("ls $x") is shfmt.parse("ls $x")


def test_what_was_not_asked_for_lately_is_forgotten(shfmt):
    first = shfmt.parse("ls $x")
    large = shfmt.parse("echo '" + "a" * 32_000 + "'")

    shfmt.parse("ls $y")
    again = shfmt.parse("echo '" + "b" * 800 + "'")

    assert shfmt.parse("ls $x") is not first
    assert shfmt.parse("echo '" + "b" * 800 + "'") is again
    assert shfmt.parse("echo '" + "a" * 32_000 + "'") is not large


def test_many_threads_may_ask_at_once(shfmt):
    answers = {}

    def ask(number):
        answers[number] = shfmt.parse(f"echo $x {number % 3}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join_threads(thread)

    assert len(answers) == 9
    assert answers[0] == answers[3] == answers[6] != answers[1]


def test_input_that_takes_too_long_is_refused_in_bounded_time(shfmt):
    # By our deadline, or by shfmt's own limit where the machine is quick enough to reach it.
    with pytest.raises(UnreadableCommand, match=r"too deep|max depth"):
        shfmt.parse("[[ " + "! " * 20_000 + "a ]]")


def test_a_program_that_is_run_now_reads_nothing_but_its_input(tmp_path):
    (tmp_path / "secret").write_text("SECRET")
    cat = find_binary("cat", [])

    fed = spawn.run_now([cat], feed=b"hello", deadline_s=5, max_bytes=100)
    denied = spawn.run_now([cat, str(tmp_path / "secret")], feed=b"", deadline_s=5, max_bytes=100)

    assert (fed.stdout, fed.exit_code, fed.confined) == (b"hello", 0, True)
    assert (denied.stdout, denied.exit_code) == (b"", 1)
    assert b"Permission denied" in denied.stderr


def test_a_program_that_is_run_now_ends_on_time_and_in_size():
    late = spawn.run_now([find_binary("sleep", []), "60"], feed=b"", deadline_s=0.2, max_bytes=100)
    long = spawn.run_now([find_binary("yes", [])], feed=b"", deadline_s=10, max_bytes=1000)

    assert (late.timed_out, late.exit_code) == (True, -9)
    assert (long.cut, len(long.stdout)) == (True, 1000)


def test_a_program_that_is_run_now_leaves_no_handle_and_no_thread():
    echo = find_binary("echo", [])
    spawn.run_now([echo], feed=b"", deadline_s=5, max_bytes=10)
    before, threads = open_handles(), threading.active_count()

    for _ in range(5):
        spawn.run_now([echo], feed=b"x", deadline_s=5, max_bytes=10)
    with pytest.raises(OSError, match="No such file"):
        spawn.run_now([str(Path(echo).with_name("nowhere"))], feed=b"", deadline_s=5, max_bytes=10)

    assert open_handles() - before == set()
    assert threading.active_count() <= threads


def test_without_a_thread_to_spare_a_program_cannot_start(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)

    with pytest.raises(OSError, match="can't start new thread"):
        spawn.run_now([find_binary("echo", [])], feed=b"", deadline_s=5, max_bytes=10)
