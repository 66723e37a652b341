"""Hooks of the events of an agent's loop run from their real places."""

import json

import pytest
from tests.models.speaking import model_on

import handrail
from handrail.testing import FakeProvider, calls, says

READ = calls("read_file", path="a.txt")


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    root.joinpath("a.txt").write_text("content of the file\n")
    return root


def noting(log, event):
    return {event: [{"command": f"cat >> {log}", "unconfined": True}]}


async def run_with(workspace, hooks, replies, **options):
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, config={"hooks": hooks}, model=model) as rt:
            result = await rt.agent(**options).run("look at the file")
        await model.aclose()
    return result, provider


@pytest.mark.feature("K01")
@pytest.mark.threat("A23")
async def test_each_event_runs_its_hooks_with_sizes_and_the_last_text(workspace, tmp_path):
    log = tmp_path / "log"
    hooks = {}
    for event in ("pre_llm_call", "post_llm_call", "budget_warning", "agent_complete"):
        hooks |= noting(log, event)

    result, _ = await run_with(
        workspace, hooks, [READ, says("fine")], budget=handrail.Budget(calls=1)
    )

    assert result.status == "done"
    noted = [json.loads(line) for line in log.read_text().splitlines()]
    events = [one["event"] for one in noted]
    assert events == [
        "pre_llm_call",
        "post_llm_call",
        "budget_warning",
        "pre_llm_call",
        "post_llm_call",
        "agent_complete",
    ]
    assert noted[0]["user_text"] == "look at the file"
    assert noted[3]["messages"] == "3"
    assert "content of the file" not in json.dumps(noted)
    assert noted[-1]["status"] == "done"


@pytest.mark.threat("A23")
@pytest.mark.parametrize("command", ["exit 2", 'echo \'{"decision": "block"}\'', "exit 7"])
async def test_a_hook_before_a_request_can_stop_it(workspace, command):
    hooks = {"pre_llm_call": [{"command": command, "unconfined": True}]}

    result, provider = await run_with(workspace, hooks, [says("never")])

    assert (result.status, result.problem.code) == ("refused", "blocked")
    assert provider.requests == []


async def test_a_hook_cannot_change_the_request(workspace):
    said = json.dumps({"hookSpecificOutput": {"updatedInput": {"messages": []}}})
    hooks = {
        "pre_llm_call": [{"command": f"echo '{said}'", "unconfined": True, "on_failure": "allow"}]
    }

    result, provider = await run_with(workspace, hooks, [says("fine")])

    assert result.status == "done"
    assert len(provider.requests[0].body["messages"]) == 1
