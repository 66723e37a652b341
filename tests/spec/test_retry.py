"""Failures that may pass: tried again where the tool says that this is harmless."""

import errno

import pytest

import handrail
from handrail.engine.executors import retry


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(retry, "BASE_S", 0.0)


def flaky(failures, error, **settings):
    made = []

    @handrail.tool(reads_only=True, **settings)
    async def fetch() -> str:
        """Fetches something."""
        made.append(1)
        if len(made) <= failures:
            raise error
        return "here"

    return fetch, made


PASSING = [
    OSError(errno.ECONNRESET, "reset"),
    OSError(errno.EBUSY, "busy"),
    # As libraries raise them: the class says it all, there is no number.
    ConnectionResetError("reset"),
    ConnectionError("x"),
    BrokenPipeError(),
    TimeoutError("t"),
    InterruptedError(),
    BlockingIOError("full"),
    OSError("temporarily unavailable"),
    handrail.ProblemRaised("unavailable", "busy", retryable=True),
]


@pytest.mark.feature("C10", "R-03")
@pytest.mark.parametrize("error", PASSING, ids=lambda one: type(one).__name__)
async def test_a_failure_that_passes_is_tried_again_and_said(open_runtime, error):
    fetch, made = flaky(2, error, idempotent=True, max_attempts=3)
    events = []
    async with open_runtime() as rt:
        rt.register(fetch)
        result = await rt.call("fetch", on_event=events.append)

    assert (result.text, len(made), result.meta["attempts"]) == ("here", 3, 3)
    told = [one.text for one in events if one.type == "tool_call_progress"]
    assert [one.split(" failed")[0] for one in told] == ["attempt 1 of 3", "attempt 2 of 3"]


@pytest.mark.feature("C10", "R-03")
async def test_the_last_failure_is_told(open_runtime):
    fetch, made = flaky(9, TimeoutError("timed out"), idempotent=True, max_attempts=3)
    async with open_runtime() as rt:
        rt.register(fetch)
        result = await rt.call("fetch")

    assert (result.ok, len(made), result.meta["attempts"]) == (False, 3, 3)
    assert "TimeoutError" in result.text


@pytest.mark.feature("R-03")
@pytest.mark.parametrize("error", [ValueError("wrong"), OSError(errno.ENOENT, "no such file")])
async def test_a_failure_that_stays_is_not_repeated(open_runtime, error):
    fetch, made = flaky(9, error, idempotent=True, max_attempts=3)
    async with open_runtime() as rt:
        rt.register(fetch)
        result = await rt.call("fetch")

    assert len(made) == 1
    assert "attempts" not in result.meta


@pytest.mark.feature("C10", "R-03")
async def test_nothing_is_repeated_unless_somebody_says_so(open_runtime):
    fetch, made = flaky(9, TimeoutError("timed out"), idempotent=True)
    async with open_runtime() as rt:
        rt.register(fetch)
        await rt.call("fetch")
        once = len(made)
        rt.registry.with_retry("fetch", 4)
        await rt.call("fetch")

    assert (once, len(made)) == (1, 5)


async def test_only_what_is_idempotent_can_be_tried_again(open_runtime):
    careless, _ = flaky(0, None, max_attempts=2)
    fetch, _ = flaky(0, None)
    async with open_runtime() as rt:
        with pytest.raises(ValueError, match="idempotent"):
            rt.register(careless)
        rt.register(fetch)
        with pytest.raises(ValueError, match="idempotent"):
            rt.registry.with_retry("fetch", 2)
        with pytest.raises(KeyError):
            rt.registry.with_retry("nothing", 2)


@pytest.mark.feature("R-03")
def test_pauses_grow_to_a_cap_and_are_never_in_step(monkeypatch):
    monkeypatch.setattr(retry, "BASE_S", 0.5)
    middle = [retry.backoff_s(number, lambda: 0.5) for number in range(1, 7)]

    assert middle == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    assert (
        retry.backoff_s(1, lambda: 0.0),
        retry.backoff_s(1, lambda: 1.0),
    ) == (0.375, 0.625)
