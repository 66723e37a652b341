"""What a provider may send that must not become an effect, a mix-up or the end of a session."""

import json

import pytest
from tests.models.speaking import WIRES, model_on

import handrail
from handrail.models.wires.formats import FORMATS
from handrail.testing import FakeProvider, ScriptedCall, ScriptedMessage, says

MODE = {"mode": "accept-edits", "config": {"freshness": "off"}}


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    root.joinpath("a.txt").write_text("one\n")
    return root


def append(line, call_id):
    arguments = {"path": "out.txt", "content": f"{line}\n", "mode": "append"}
    return ScriptedCall("write_file", arguments, call_id)


async def converse(workspace, wire, replies, tasks=1):
    """Run tasks; returns their results. Every request must have been valid."""
    async with FakeProvider(replies) as provider:
        model = model_on(provider, wire)
        async with handrail.open(workspace, model=model, **MODE) as rt:
            agent = rt.agent()
            results = [await agent.run(f"task {number}") for number in range(tasks)]
        await model.aclose()
    for request in provider.requests:
        FORMATS[wire].check(request.body)
    return results, provider


@pytest.mark.finding("F16")
@pytest.mark.threat("A01")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("finish", ["length", "refused", "a new word"])
async def test_a_message_with_another_finish_has_no_effect_and_the_session_goes_on(
    workspace, wire, finish
):
    cut = ScriptedMessage("I write.", (append("cut", "c1"),), finish=finish)
    whole = ScriptedMessage("", (append("whole", "c1"),))
    results, provider = await converse(
        workspace, wire, [cut, *([whole] * 2), says("done"), says("done")], tasks=2
    )

    assert results[-1].status == "done"
    assert "cut" not in workspace.joinpath("out.txt").read_text()
    assert len(provider.requests) >= 3


@pytest.mark.finding("F18", "F64")
@pytest.mark.threat("A02")
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "call_id",
    ["call_0", "../../etc", "\x1b[2J", "y" * 200_000, "a b"],
    ids=["plain", "path", "escape", "long", "space"],
)
async def test_odd_and_repeated_ids_are_calls_of_their_own(workspace, wire, call_id):
    """Providers number the calls of each response anew."""
    replies = [ScriptedMessage("", (append(number, call_id),)) for number in range(3)]
    results, _ = await converse(workspace, wire, [*replies, says("done")])

    assert results[0].status == "done"
    assert workspace.joinpath("out.txt").read_text() == "0\n1\n2\n"


@pytest.mark.finding("F18")
@pytest.mark.threat("A02")
@pytest.mark.parametrize("wire", WIRES)
async def test_a_message_of_three_thousand_calls_runs_none_of_them(workspace, wire):
    many = ScriptedMessage("", tuple(append(number, f"c{number}") for number in range(3000)))
    results, provider = await converse(workspace, wire, [many, says("done")], tasks=2)

    assert [one.status for one in results] == ["refused", "done"]
    assert results[0].problem.code == "blocked"
    assert not workspace.joinpath("out.txt").exists()
    assert len(json.dumps(provider.requests[-1].body)) < 100_000


async def test_arguments_that_are_nested_too_deeply_stop_neither_a_compaction_nor_a_rewind(
    workspace,
):
    nested = ScriptedCall("read_file", '{"path": ' + "[" * 5_000 + "]" * 5_000 + "}")
    replies = [ScriptedMessage("", (nested,)), says("done"), says("a summary"), says("again")]
    async with FakeProvider(replies) as provider:
        model = model_on(provider, "openai-chat")
        async with handrail.open(workspace, model=model) as rt:
            agent = rt.agent(allowed=["read_file"])
            await agent.run("read")
            shorter = await agent.compact()
            rewound = await agent.rewind(0)
            result = await agent.run("again")
        await model.aclose()

    assert shorter.summarised
    assert (rewound.turn, result.text) == (0, "again")
