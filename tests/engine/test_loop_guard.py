"""Going in circles: told first, then stopped, and never for what is progress."""

import pytest

from handrail.engine.batch.loop_guard import (
    STOP_AT,
    STOPPED_S,
    WARN_AT,
    CallRepeat,
    LoopGuard,
    call_key,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def made(agent, tool, arguments, outcome, *, changed=False, at=0.0):
    return CallRepeat(agent, tool, call_key(tool, arguments), hash(outcome), changed, at)


def repeat(guard, times, *, outcome="same", agent="main", path="a"):
    said = None
    for _ in range(times):
        said = guard.count(made(agent, "read_file", {"path": path}, outcome))
    return said


def stopped(guard, path="a", agent="main"):
    return guard.refusal(agent, "read_file", {"path": path})


def test_the_same_outcome_is_told_before_it_is_refused():
    guard = LoopGuard("stop", Clock())

    assert repeat(guard, WARN_AT - 1) is None
    assert f"call number {WARN_AT}" in repeat(guard, 1)
    assert stopped(guard) is None
    repeat(guard, STOP_AT - 1 - WARN_AT)

    assert f"{STOP_AT - 1} times" in stopped(guard)
    assert stopped(guard, path="b") is None


def test_two_calls_that_take_turns_are_a_circle_too():
    guard = LoopGuard("stop", Clock())
    for _ in range(STOP_AT - 1):
        repeat(guard, 1, path="a")
        repeat(guard, 1, path="b")

    assert stopped(guard, "a")
    assert stopped(guard, "b")


def test_another_outcome_begins_a_new_count():
    guard = LoopGuard("stop", Clock())
    for number in range(50):
        assert repeat(guard, 1, outcome=f"still running: {number}") is None

    assert stopped(guard) is None


def test_a_change_begins_a_new_count_for_the_agent_that_made_it():
    guard = LoopGuard("stop", Clock())
    repeat(guard, STOP_AT)
    repeat(guard, STOP_AT, agent="other")
    guard.count(made("main", "write_file", {"path": "x"}, "done", changed=True))

    assert stopped(guard) is None
    assert stopped(guard, agent="other")


def test_it_may_be_tried_again_after_a_while_and_is_stopped_anew():
    clock = Clock()
    guard = LoopGuard("stop", clock)
    repeat(guard, STOP_AT)
    clock.now = STOPPED_S

    assert stopped(guard) is None
    repeat(guard, 1)
    assert stopped(guard)


def test_what_is_refused_does_not_prolong_the_refusal():
    clock = Clock()
    guard = LoopGuard("stop", clock)
    repeat(guard, STOP_AT - 1)
    clock.now = STOPPED_S / 2
    said = repeat(guard, STOP_AT * 2, outcome="blocked")
    refused = stopped(guard)
    clock.now = STOPPED_S

    assert (said, refused is None) == (None, False)
    assert stopped(guard) is None


@pytest.mark.parametrize("strictness", ["off", "warn"])
def test_what_only_warns_never_stops(strictness):
    guard = LoopGuard(strictness, Clock())
    said = repeat(guard, 100)

    assert (said is None) is (strictness == "off")
    assert stopped(guard) is None


def test_arguments_that_are_lists_count_like_any():
    guard = LoopGuard("stop", Clock())
    for _ in range(STOP_AT):
        guard.count(made("main", "lock_paths", {"globs": ["a", "b"]}, "no"))

    assert guard.refusal("main", "lock_paths", {"globs": ["a", "b"]})
    assert guard.refusal("main", "lock_paths", {"globs": ["a"]}) is None


def test_a_preview_is_the_warning_of_the_next_count_and_counts_nothing():
    guard = LoopGuard("stop", Clock())
    call = made("main", "read_file", {"path": "a"}, "same")
    repeat(guard, WARN_AT - 2)

    assert [guard.preview(call) for _ in range(3)] == [None] * 3
    repeat(guard, 1)
    assert guard.preview(call) == guard.count(call) != guard.preview(call)
    assert guard.preview(call._replace(outcome=hash("other"))) is None
    assert guard.preview(call._replace(changed=True)) is None
