"""Questions of subagents: one approver, the chain of agents, answers that hold for one call."""

import asyncio

from tests.subagents.conftest import call, main_agent
from tests.support.waiting import wait_until_async

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.host.terminal.question_text import render_heading

LINES = [
    call("subagent", task="Write", agent="general"),
    {"text": "end"},
    {"agent": "general"},
    call("write_file", path="a.txt", content="x"),
    call("ask_user", questions=[{
        "question": "Which?", "header": "h", "options": [{"label": "a"}, {"label": "b"}]
    }]),
    {"text": "asked"},
]  # fmt: skip


async def test_a_question_of_a_subagent_shows_the_chain_from_the_main_agent(scripted):
    asked = []

    class User:
        via = "test"

        async def ask(self, request):
            asked.append(request)
            return Reply(Answer.YES, "test")

        async def ask_questions(self, request):
            asked.append(request)
            return {"Which?": "a"}

    async with scripted.open(*LINES, mode="default", approver=User()) as rt:
        agent = rt.agent(allowed=["write_file", "ask_user", "subagent"])
        result = await agent.run("Write")

    approval, question = asked
    (child,) = result.report.children
    assert approval.chain == question.chain == ("main", child.agent)
    assert approval.to_dict()["chain"] == ["main", child.agent]
    assert ApprovalRequest.from_dict(approval.to_dict()) == approval
    assert f"main > {child.agent}" in render_heading(approval)
    assert scripted.files() == {"a.txt": "x"}


async def test_questions_of_parallel_subagents_wait_in_one_queue_and_each_answer_is_for_one(
    scripted,
):
    lines = [
        {
            "calls": [
                {"name": "subagent", "arguments": {"task": f"Write {n}", "agent": "general"}}
                for n in range(3)
            ]
        },
        {"text": "end"},
    ]
    for n in range(3):
        lines += [
            {"agent": "general"},
            call("write_file", path=f"{n}.txt", content="x"),
            {"text": "Yes. [approved by user]"},
        ]
    async with scripted.open(*lines, mode="default", approver="events") as rt:
        work = asyncio.ensure_future(main_agent(rt).run("Write"))
        await wait_until_async(lambda: len(rt.questions) == 3)
        for number, question in enumerate(rt.questions):
            await rt.reply(question.id, "yes" if number == 1 else "no")
        result = await work

    assert len(scripted.files()) == 1
    assert sum(len(one.refused) for one in result.report.children) == 2
