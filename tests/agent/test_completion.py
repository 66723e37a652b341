"""When a task counts as done: gates, steering, evidence."""

import pytest
from tests.models.speaking import model_on

import handrail
from handrail.agent.report import CommandFacts, ReportBuilder
from handrail.core.results import ChangeRecord, Status, ToolResult
from handrail.testing import FakeProvider, calls, says


def ran(exit_code):
    status = Status.OK if exit_code == 0 else Status.FAILED
    return ToolResult("c", status, "", meta={"exit_code": exit_code})


def changed(path):
    return ToolResult("c", Status.OK, "", changes=(ChangeRecord(path, "modify", "a", "b"),))


TESTS = CommandFacts("pytest", runs_tests=True)


@pytest.mark.parametrize(
    ("steps", "state"),
    [
        ([(ran(0), TESTS)], ["current"]),
        ([(ran(1), TESTS)], []),
        ([(ran(0), TESTS), (changed("a.py"), None)], ["1 file changed since"]),
        ([(ran(0), TESTS), (ran(1), TESTS)], []),
        ([(changed("a.py"), None), (ran(0), TESTS)], ["current"]),
        ([(ran(0), CommandFacts("ls", runs_tests=False))], []),
    ],
)
def test_evidence_is_a_test_run_that_nothing_followed(steps, state):
    builder = ReportBuilder()
    for result, command in steps:
        builder.add(result, command, 1)

    assert [one.state for one in builder.build().verified] == state


async def run_agent(root, replies, settings, **options):
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(root, mode="accept-edits", model=model, config=settings) as rt:
            agent = rt.agent(**options)
            result = await agent.run("a task")
        await model.aclose()
    return result, provider


@pytest.mark.needs_sandbox
async def test_a_failed_gate_goes_back_to_the_model_and_steps_stay_limited(tmp_path):
    gate = {"name": "file", "command": "test -e done.txt", "required": True}
    settings = {"guardrails": {"quality_gates": [gate]}}
    write = calls("write_file", path="done.txt", content="x\n")

    result, provider = await run_agent(tmp_path, [says("I am done"), write, says("now")], settings)
    stuck, _ = await run_agent(
        tmp_path / "..", [says("no")] * 9, {"guardrails": {"quality_gates": [gate]}}, max_steps=2
    )

    assert (result.status, result.text) == ("done", "now")
    assert "quality gate" in str(provider.requests[1].body["messages"][-1])
    assert (stuck.status, stuck.turns) == ("max_steps", 2)


async def test_a_message_of_the_user_enters_before_the_next_step(tmp_path):
    tmp_path.joinpath("a.txt").write_text("one\n")
    replies = [calls("read_file", path="a.txt"), says("fine")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(tmp_path, model=model) as rt:
            agent = rt.agent()
            async for event in agent.stream("a task"):
                if event.type == "tool_call_end":
                    agent.steer("and be brief")
        await model.aclose()

    texts = [str(message["content"]) for message in provider.requests[1].body["messages"]]
    assert "and be brief" in texts[-1]
    assert agent.take_steering() == []
