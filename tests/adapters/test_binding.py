"""How adapters call a runtime, without any framework."""

import asyncio
import subprocess
import sys
from contextlib import suppress

import pytest
from tests.support.waiting import wait_until

import handrail
import handrail.sync
from handrail import ProblemRaised
from handrail.adapters.approvals import FrameworkAnswer, FrameworkApprover, fingerprint
from handrail.adapters.binding import RuntimeBinding

WRITE = ("write_file", {"path": "a.txt", "content": "new\n"})


@pytest.fixture
async def rt(tmp_path):
    async with handrail.open(tmp_path, store=":memory:", approver=FrameworkApprover()) as rt:
        yield rt


@pytest.mark.parametrize("given", [None, "rt", handrail])
async def test_only_an_opened_runtime_is_bound(given):
    with pytest.raises(ProblemRaised) as raised:
        RuntimeBinding(given)

    assert raised.value.problem.code == "invalid_arguments"


async def test_a_runtime_of_another_loop_is_not_bound(rt):
    with pytest.raises(ProblemRaised) as raised:
        await asyncio.to_thread(RuntimeBinding, rt)

    assert raised.value.problem.code == "invalid_arguments"


async def test_a_question_comes_back_and_its_answer_counts_once(rt, tmp_path):
    binding = RuntimeBinding(rt)

    first = await binding.call(*WRITE)
    shown = fingerprint(first.question)
    second = await binding.call(*WRITE, FrameworkAnswer(approved=True, shown=shown))
    third = await binding.call("write_file", {"path": "b.txt", "content": "new\n"})

    assert first.result.problem.code == "needs_approval"
    assert first.question.preview and "a.txt" in first.question.action
    assert second.result.ok and second.question is None
    assert third.question is not None
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


async def test_a_refusal_is_recorded_with_its_reason(rt, tmp_path):
    answer = FrameworkAnswer(approved=False, reason="not this file")

    made = await RuntimeBinding(rt).call(*WRITE, answer)

    assert made.result.problem.code == "denied" and "not this file" in made.result.text
    (call,) = await rt.store.calls(session=rt.session.id, call_id=made.result.call_id, limit=1)
    assert call.completed["status"] == "refused"
    assert list(tmp_path.iterdir()) == []


async def test_an_answer_counts_only_for_what_was_shown(rt, tmp_path):
    binding = RuntimeBinding(rt)
    tmp_path.joinpath("a.txt").write_text("old\n")
    shown = fingerprint((await binding.call(*WRITE)).question)
    tmp_path.joinpath("a.txt").write_text("changed since\n")

    made = await binding.call(*WRITE, FrameworkAnswer(approved=True, shown=shown))

    assert made.question is not None and fingerprint(made.question) != shown
    assert tmp_path.joinpath("a.txt").read_text() == "changed since\n"


async def test_an_answer_without_what_was_shown_counts_only_for_its_own_tool(rt, tmp_path):
    made = []

    async def look() -> str:
        """Looks harmless."""
        made.append(await rt.call(*WRITE))
        return "done"

    rt.register(handrail.tool(look, effects=handrail.Effects.PURE))
    binding = RuntimeBinding(rt)
    outer = await binding.call("look", {}, FrameworkAnswer(approved=True))
    own = await binding.call(*WRITE, FrameworkAnswer(approved=True))

    assert outer.result.ok
    assert made[0].problem.code == "needs_approval"
    assert own.result.ok


async def test_a_call_that_no_adapter_makes_is_refused(rt):
    assert (await rt.call(*WRITE)).problem.code == "needs_approval"


async def test_a_blocking_call_in_the_loop_is_refused(rt):
    with pytest.raises(ProblemRaised) as raised:
        RuntimeBinding(rt).call_blocking("read_file", {"path": "a.txt"})

    assert raised.value.problem.code == "unavailable"


async def test_threads_and_other_loops_reach_an_async_runtime(rt, tmp_path):
    tmp_path.joinpath("a.txt").write_text("one\n")
    binding = RuntimeBinding(rt)
    read = ("read_file", {"path": "a.txt"})

    blocking = await asyncio.to_thread(binding.call_blocking, *read)
    elsewhere = await asyncio.to_thread(lambda: asyncio.run(binding.call(*read)))

    assert blocking.result.text.startswith("one") and elsewhere.result.text.startswith("one")


def test_a_synchronous_runtime_is_reached_from_a_loop(tmp_path):
    tmp_path.joinpath("a.txt").write_text("one\n")
    with handrail.sync.open(tmp_path, store=":memory:") as rt:
        binding = RuntimeBinding(rt)
        made = asyncio.run(binding.call("read_file", {"path": "a.txt"}))
        assert made.result.text.startswith("one")
        assert binding.call_blocking("read_file", {"path": "a.txt"}).result.ok

    with pytest.raises(ProblemRaised) as raised:
        binding.call_blocking("read_file", {"path": "a.txt"})
    assert raised.value.problem.code == "unavailable"


async def test_a_cancelled_caller_ends_the_call_of_another_loop(tmp_path):
    with handrail.sync.open(tmp_path, store=":memory:", mode="bypass") as rt:
        binding = RuntimeBinding(rt)
        started = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()

        def listen(event):
            if event.type == "tool_call_output" and not started.done():
                loop.call_soon_threadsafe(started.set_result, event.call_id)

        rt.subscribe(listen)
        task = asyncio.create_task(binding.call("run_command", {"command": "echo on; sleep 60"}))
        call_id = await asyncio.wait_for(started, 30)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(task, 30)

        def status():
            (call,) = rt.store.calls(session=rt.session.id, call_id=call_id, limit=1)
            return None if call.completed is None else call.completed["status"]

        # The call ends in its own loop.
        assert await asyncio.to_thread(wait_until, status) == "interrupted"


@pytest.mark.parametrize("given", ["{", "[]", '"x"', "{}", {"path": {}}, {"path": "a\0b"}, None])
async def test_garbage_is_answered_with_a_problem(rt, given):
    made = await RuntimeBinding(rt).call("read_file", given)

    assert made.result.problem.code == "invalid_arguments"


FRAMEWORKS = {
    "pydantic_ai": "handrail.adapters.pydantic_ai",
    "langgraph": "handrail.adapters.langchain",
    "deepagents": "handrail.adapters.deepagents",
    "agents": "handrail.adapters.openai_agents",
    "smolagents": "handrail.adapters.smolagents",
}


def run_python(code):
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("package", FRAMEWORKS)
def test_a_missing_framework_is_named_with_what_to_install(package):
    module = FRAMEWORKS[package]
    code = f"import sys; sys.modules[{package!r}] = None; import {module}"

    done = run_python(code)

    assert done.returncode == 1 and 'install "handrail[' in done.stderr


def test_importing_handrail_loads_no_framework():
    names = {*FRAMEWORKS, "langchain_core", "handrail.adapters"}
    code = f"import handrail, handrail.sync, sys; print({names!r} & set(sys.modules))"

    done = run_python(code)

    assert done.stdout == "set()\n"
