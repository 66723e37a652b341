"""One program under supervision: how its end is told apart from a timeout and a cancellation."""

import signal
import time
from types import SimpleNamespace

import pytest

from handrail.host.supervisor.runner import process_tree, program
from handrail.host.supervisor.runner.program import ExitReason, RunningProgram


class Tree:
    """Stands for the processes: what ends at which turn, and the signals that are sent."""

    def __init__(self, monkeypatch, ends=(), others=(), deaf=False):
        self.ends = list(ends)
        self.others = set(others)
        self.deaf = deaf
        self.signals = []
        self.turns = 0
        self.alive = {1, *self.others}
        monkeypatch.setattr(process_tree, "reap", self.reap)
        monkeypatch.setattr(process_tree, "members", self.members)
        monkeypatch.setattr(process_tree, "ask_to_end", self.ask)
        monkeypatch.setattr(process_tree, "kill", self.kill)
        monkeypatch.setattr(program, "GRACE_S", 0.01)
        monkeypatch.setattr(program, "_KILLING_S", 0.05)

    def turn(self, until):
        self.turns += 1
        if until is None:
            assert self.turns < 100
        else:
            time.sleep(max(0, min(until - time.monotonic(), 0.01)))

    def reap(self, ended):
        while self.ends and self.turns >= self.ends[0][0]:
            _, pid, code = self.ends.pop(0)
            self.alive.discard(pid)
            ended(pid, code)
        return not self.alive

    def members(self, spare=(), at_most=1 << 60):
        return [SimpleNamespace(pid=pid) for pid in sorted(self.alive)][:at_most]

    def ask(self, *, omit=()):
        self.signals.append(("ask", tuple(omit)))
        if not self.deaf:
            self.ends += [(self.turns, pid, -signal.SIGTERM) for pid in sorted(self.alive)]

    def kill(self, until, spare=()):
        self.signals.append(("kill", ()))
        if self.deaf != "wholly":
            self.ends += [(self.turns, pid, -signal.SIGKILL) for pid in sorted(self.alive)]


def running(tree, *, own_pids=False, begun=None):
    released = []
    process = SimpleNamespace(pid=1, returncode=None)
    refused = SimpleNamespace(host="h", port=443, refused="no")
    started = SimpleNamespace(
        process=process, connections=lambda: [refused], release=lambda: released.append(True)
    )
    made = RunningProgram(
        started, tree, begun=time.monotonic() if begun is None else begun, own_pids=own_pids
    )
    return made, process, released


def test_a_program_that_ends_by_itself(monkeypatch):
    tree = Tree(monkeypatch, [(2, 1, 3)])
    made, process, released = running(tree, begun=time.monotonic() - 5)

    found = made.watch(None, lambda: None)

    assert found[:2] == (ExitReason.ENDED, 3)
    assert found[3:] == (0, ())
    assert 5 <= found.duration_s < 15
    assert (tree.signals, process.returncode, released) == ([], 3, [True])
    assert (made.pid, made.connections()) == (1, [("h", 443, "no")])


def test_what_a_program_leaves_is_ended_and_counted(monkeypatch):
    tree = Tree(monkeypatch, [(1, 1, 0)], others={2, 3})
    made, _, _ = running(tree)

    found = made.watch(None, lambda: None)

    assert (found.why, found.exit_code) == (ExitReason.ENDED, 0)
    assert (found.ended_children, found.survivors) == (2, ())
    assert tree.signals == [("ask", ())]


def test_in_a_pid_namespace_the_kernel_ends_the_rest(monkeypatch):
    tree = Tree(monkeypatch, [(1, 1, 0), (2, 2, -9)], others={2})
    made, _, _ = running(tree, own_pids=True)

    found = made.watch(None, lambda: None)

    assert (found.ended_children, tree.signals) == (0, [])


@pytest.mark.parametrize(("own_pids", "omitted"), [(False, ()), (True, (1,))])
def test_a_program_that_is_too_late_is_asked_to_end(monkeypatch, own_pids, omitted):
    tree = Tree(monkeypatch, others={2})
    made, _, _ = running(tree, own_pids=own_pids, begun=time.monotonic() - 5)

    found = made.watch(4.0, lambda: None)

    assert (found.why, found.exit_code) == (ExitReason.TIMED_OUT, -signal.SIGTERM)
    assert tree.signals == [("ask", omitted)]
    assert found.ended_children == 1


def test_the_first_process_is_asked_if_it_is_alone_in_its_namespace(monkeypatch):
    tree = Tree(monkeypatch)
    made, _, _ = running(tree, own_pids=True, begun=time.monotonic() - 5)

    made.watch(4.0, lambda: None)

    assert tree.signals == [("ask", ())]


def test_a_cancelled_program_ends_before_its_deadline(monkeypatch):
    tree = Tree(monkeypatch)
    made, _, _ = running(tree)
    made.cancel()

    found = made.watch(1_000.0, lambda: None)

    assert (found.why, found.exit_code) == (ExitReason.CANCELLED, -signal.SIGTERM)


def test_what_does_not_listen_is_killed(monkeypatch):
    tree = Tree(monkeypatch, deaf=True)
    made, _, _ = running(tree)
    made.cancel()

    found = made.watch(None, lambda: None)

    assert (found.exit_code, found.survivors) == (-signal.SIGKILL, ())
    assert [what for what, _ in tree.signals] == ["ask", "kill"]


def test_what_cannot_be_killed_is_reported(monkeypatch):
    tree = Tree(monkeypatch, others={2}, deaf="wholly")
    made, process, released = running(tree)
    made.cancel()

    found = made.watch(None, lambda: None)

    assert (found.exit_code, found.survivors) == (-signal.SIGKILL, (1, 2))
    assert (process.returncode, released) == (None, [True])


@pytest.mark.parametrize(("count", "asked"), [(998, True), (999, False)])
def test_very_many_processes_are_not_asked_first(monkeypatch, count, asked):
    tree = Tree(monkeypatch, others=range(2, count + 2))
    made, _, _ = running(tree)
    made.cancel()

    found = made.watch(None, lambda: None)

    assert [what for what, _ in tree.signals] == (["ask"] if asked else ["kill"])
    assert found.survivors == ()


def test_the_loop_is_called_again_when_a_step_asks_for_it(monkeypatch):
    tree, until = Tree(monkeypatch, [(1, 1, 0)]), []
    made, _, _ = running(tree, begun=100.0)
    turn = tree.turn
    tree.turn = lambda given: (until.append(given), turn(None))
    monkeypatch.setattr(program.time, "monotonic", lambda: 100.0)

    made.watch(50.0, lambda: 120.0)

    assert until == [120.0]
