"""Conversations and questions of other programs on the page."""

import re

import anyio
from tests.support.waiting import wait_until_async

import handrail
from handrail.host.terminal.approval_queue import pending_approvals, queue_directory


async def test_the_conversation_of_a_program_has_a_page_with_its_calls_and_questions(
    open_page, script, root
):
    hook = {"name": "write_file", "arguments": {"path": ".git/hooks/x", "content": "x"}}
    model = script(
        {"calls": [{"name": "read_file", "arguments": {"path": "calc.py"}}]},
        {"calls": [hook]},
        {"text": "As you wish."},
    )
    async with open_page() as client, handrail.open(root, approver="approvals") as rt:
        agent, other = rt.agent(model=model), rt.agent(model="script:unused.jsonl")
        assert agent.session != rt.session.id
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.run, "Add a hook")
            await wait_until_async(lambda: pending_approvals(queue_directory(root)))
            path = f"/session?name={agent.session}"
            text = await client.wait_for(path, "May write_file run?")
            elsewhere = await client.get(f"/session?name={other.session}")
            question = re.search(r'action="/questions/([^"]+)"', text)[1]
            await client.submit(f"/questions/{question}", answer="no", session=agent.session)
        text = await client.wait_for(path, "As you wish.")
        overview = (await client.page("/")).text
        cards = re.findall(r'href="(/call[^"]+)" class="tool">(\w+)', text)
        call = await client.page(cards[0][0].replace("&amp;", "&"))

    assert f'href="{path}"' in overview
    assert [name for _, name in cards] == ["read_file", "write_file"]
    assert call.status_code == 200
    assert elsewhere.status_code == 404


async def test_a_question_belongs_to_the_session_of_its_call_whatever_its_id(open_page, root):
    arguments = {"path": ".git/hooks/x", "content": "x"}
    async with (
        open_page() as client,
        handrail.open(root, session="one", approver="approvals") as rt,
        handrail.open(root, session="two") as bystander,
    ):
        await bystander.call("read_file", {"path": "calc.py"}, id="one.1.1")
        async with anyio.create_task_group() as tasks:

            async def ask():
                await rt.call("write_file", arguments, id="two.1.1")

            tasks.start_soon(ask)
            await wait_until_async(lambda: pending_approvals(queue_directory(root)))
            mine = await client.wait_for("/session?name=one", "May write_file run?")
            other = (await client.page("/session?name=two")).text
            question = re.search(r'action="/questions/([^"]+)"', mine)[1]
            await client.submit(f"/questions/{question}", answer="no", session="one")

    assert "May write_file run?" not in other


async def test_the_conversation_of_a_subagent_has_no_page_of_its_own(open_page, script, root):
    read = {"name": "read_file", "arguments": {"path": "calc.py"}}
    model = script({"text": "Thanks."}, {"agent": "explore"}, {"calls": [read]}, {"text": "a - b"})
    async with handrail.open(root, session="program", model=model) as rt:
        result = await rt.agent().spawn("explore", "Read calc.py")
    async with open_page() as client:
        whole = (await client.page("/session?name=program")).text
        child = await client.get(f"/session?name={result.session}")

    assert 'class="tool">read_file' in whole
    assert child.status_code == 404
