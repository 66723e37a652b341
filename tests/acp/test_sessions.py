"""What a user of an editor sees: prompts, cards, questions, plans, modes, sessions."""

import asyncio
import base64

import anyio
import pytest
from acp import RequestError
from acp.schema import (
    DeniedOutcome,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    RequestPermissionResponse,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)
from tests.acp.conftest import EDIT, LIMIT_S, call, choose
from tests.support.waiting import wait_until_async

from handrail.core.approval import Answer
from handrail.host.terminal.approval_queue import (
    answer_pending,
    pending_approvals,
    queue_directory,
)

HOSTILE = "\x1b[31mred\u202e\x07"
SLEEP = call("run_command", command="touch begun; sleep 60")


async def test_an_edit_is_asked_about_and_shown_with_its_diff(open_editor, script, root):
    model = script(
        {"thinking": "Let me see.", "text": "I look.", "calls": [call("read_file", path="a.txt")]},
        {"calls": [EDIT]},
        {"text": "Done."},
    )
    async with open_editor(model) as editor:
        assert await editor.prompt() == "end_turn"

        read, (read_end,) = editor.card(0)
        edit, (allowed, edit_end) = editor.card(1)
        (question, options), *others = editor.questions

    file = str(root / "a.txt")
    assert (root / "a.txt").read_text() == "uno\ntwo\n"
    assert (editor.text("agent_thought_chunk"), editor.text()) == ("Let me see.", "I look.Done.")
    assert (read.kind, read.status, [one.path for one in read.locations]) == (
        "read",
        "pending",
        [file],
    )
    assert read_end.status == "completed"
    assert "one\ntwo" in read_end.content[0].content.text
    assert (edit.kind, [one.path for one in edit.locations]) == ("edit", [file])
    assert (allowed.status, edit_end.status) == ("in_progress", "completed")
    (diff,) = edit_end.content
    assert (diff.type, diff.path, diff.old_text, diff.new_text) == (
        "diff",
        file,
        "one\ntwo\n",
        "uno\ntwo\n",
    )
    assert others == []
    assert question.tool_call_id == edit.tool_call_id
    assert [one.kind for one in options.values()] == ["allow_once", "allow_always", "reject_once"]
    assert question.content[-1] == diff


async def test_allow_for_the_session_covers_the_next_prompt_by_the_narrowest_rule(
    open_editor, script, root
):
    (root / "b.txt").write_text("one\n")
    model = script(
        {"calls": [EDIT]},
        {"text": "Done."},
        {"calls": [call("edit_file", path="a.txt", old="uno", new="one")]},
        {"calls": [call("edit_file", path="b.txt", old="one", new="two")]},
        {"text": "Done again."},
    )
    async with open_editor(model) as editor:
        editor.answer = lambda question: choose("always")
        await editor.prompt()
        await editor.prompt()

    assert [question.title.partition(",")[0] for question, _ in editor.questions] == [
        "edit_file(path='a.txt'",
        "edit_file(path='b.txt'",
    ]
    assert "edit_file(/a.txt)" in editor.questions[0][1]["always"].name
    assert (root / "a.txt").read_text() == "one\ntwo\n"


async def test_why_the_user_refuses_reaches_the_model(open_editor, script, root):
    model = script({"calls": [EDIT]}, {"expect": "keep it English"}, {"text": "I leave it."})
    async with open_editor(model) as editor:
        editor.answer = lambda question: choose("no", **{"handrail/reason": "keep it English"})
        assert await editor.prompt() == "end_turn"
        _, changes = editor.card()

    assert editor.text() == "I leave it."
    assert changes[-1].status == "failed"
    assert (root / "a.txt").read_text() == "one\ntwo\n"


async def answer_never(question):
    with anyio.fail_after(LIMIT_S):
        await anyio.sleep_forever()


async def refuse_to_ask(question):
    raise RequestError.internal_error()


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda _: choose("allow everything"), id="unknown option"),
        pytest.param(lambda _: choose(""), id="no option"),
        pytest.param(
            lambda _: RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled")),
            id="cancelled",
        ),
        pytest.param(refuse_to_ask, id="error"),
    ],
)
async def test_what_is_not_one_of_the_offered_answers_refuses(open_editor, script, root, answer):
    model = script({"calls": [EDIT]}, {"text": "I leave it."})
    async with open_editor(model) as editor:
        editor.answer = answer
        assert await editor.prompt() == "end_turn"

    assert len(editor.questions) == 1
    assert (root / "a.txt").read_text() == "one\ntwo\n"


async def test_always_is_refused_where_it_was_not_offered(open_editor, script, root):
    model = script(
        {"calls": [call("write_file", path=".git/hooks/x", content="x")]}, {"text": "No."}
    )
    async with open_editor(model, "--mode", "bypass") as editor:
        editor.answer = lambda question: choose("always")
        await editor.prompt()

    assert all("always" not in options for _, options in editor.questions)
    assert not (root / ".git/hooks/x").exists()


async def test_another_surface_can_answer_first(open_editor, script, root):
    """`handrail approvals` and the page use the same queue; a late answer of the editor is void."""
    model = script({"calls": [EDIT]}, {"text": "Done."})
    late = asyncio.Event()

    async def answer_late(question):
        await late.wait()
        return choose("no")

    async with open_editor(model) as editor:
        editor.answer = answer_late
        running = asyncio.ensure_future(editor.prompt())
        (waiting,) = await wait_until_async(lambda: pending_approvals(queue_directory(root)))
        await wait_until_async(lambda: editor.questions)
        answer_pending(waiting, Answer.YES, None, "approvals")
        assert await running == "end_turn"
        late.set()

    assert (root / "a.txt").read_text() == "uno\ntwo\n"


async def test_a_question_of_the_model_is_answered_in_the_editor(open_editor, script):
    asked = {
        "question": "Which colour?",
        "header": "Colour",
        "options": [{"label": "red", "description": "warm"}, {"label": "blue"}],
    }
    model = script(
        {"calls": [call("ask_user", questions=[asked])]}, {"expect": "blue"}, {"text": "Blue."}
    )
    async with open_editor(model) as editor:
        editor.answer = lambda question: choose("answer-1")
        assert await editor.prompt() == "end_turn"

    question, options = editor.questions[0]
    assert "Which colour?" in question.title
    assert [one.name for one in options.values()] == ["red", "blue", "Do not answer"]
    assert editor.text() == "Blue."


async def test_cancel_ends_a_prompt_in_the_middle(open_editor, script, root):
    model = script({"text": "I wait.", "calls": [SLEEP]}, {"text": "Here I am."})
    async with open_editor(model, "--allow-commands") as editor:
        running = asyncio.ensure_future(editor.prompt())
        await wait_until_async((root / "begun").exists)
        for _ in range(3):
            await editor.agent.cancel(session_id=editor.session)
        assert await running == "cancelled"
        _, changes = editor.card()
        assert changes[-1].status == "failed"

        assert await editor.prompt() == "end_turn"
    assert editor.text() == "I wait.Here I am."


async def test_cancel_ends_a_prompt_that_waits_for_an_answer(open_editor, script, root):
    model = script({"calls": [EDIT]}, {"text": "Here I am."})
    async with open_editor(model) as editor:
        editor.answer = answer_never
        running = asyncio.ensure_future(editor.prompt())
        await wait_until_async(lambda: editor.questions)
        await editor.agent.cancel(session_id=editor.session)
        assert await running == "cancelled"
        assert pending_approvals(queue_directory(root)) == []

        assert await editor.prompt() == "end_turn"
    assert (root / "a.txt").read_text() == "one\ntwo\n"


async def test_cancel_without_a_prompt_does_nothing_and_right_after_it_ends_it(
    open_editor, script, root
):
    model = script({"calls": [EDIT]}, {"text": "Done."})
    async with open_editor(model) as editor:
        await editor.agent.cancel(session_id=editor.session)
        await editor.agent.cancel(session_id="nobody")
        running = asyncio.ensure_future(editor.prompt())
        await asyncio.sleep(0)
        await editor.agent.cancel(session_id=editor.session)
        assert await running == "cancelled"
        assert (root / "a.txt").read_text() == "one\ntwo\n"

        assert await editor.prompt() == "end_turn"


async def test_a_second_prompt_and_another_mode_wait_for_the_first_prompt(open_editor, script):
    model = script({"calls": [EDIT]}, {"text": "Done."})
    answered = asyncio.Event()

    async def answer(question):
        await answered.wait()
        return choose("yes")

    async with open_editor(model) as editor:
        editor.answer = answer
        running = asyncio.ensure_future(editor.prompt())
        await wait_until_async(lambda: editor.questions)
        with pytest.raises(RequestError) as second:
            await editor.prompt("Me too.")
        with pytest.raises(RequestError) as mode:
            await editor.agent.set_session_mode(session_id=editor.session, mode_id="bypass")
        answered.set()
        assert await running == "end_turn"

    assert second.value.data["code"] == mode.value.data["code"] == "conflict"


async def test_modes_are_those_of_handrail(open_editor, script, root):
    model = script({"calls": [EDIT]}, {"text": "Done."}, {"text": "Again."})
    async with open_editor(model, begin=False) as editor:
        opened = await editor.open()
        with pytest.raises(RequestError) as unknown:
            await editor.agent.set_session_mode(session_id=editor.session, mode_id="yolo")
        await editor.agent.set_session_mode(session_id=editor.session, mode_id="accept-edits")
        assert await editor.prompt() == "end_turn"
        await editor.agent.set_session_mode(session_id=editor.session, mode_id="default")
        assert await editor.prompt() == "end_turn"

    assert opened.modes.current_mode_id == "default"
    assert {"plan", "accept-edits", "sandboxed"} <= {one.id for one in opened.modes.available_modes}
    assert unknown.value.data["field"] == "modeId"
    assert editor.questions == []
    assert editor.of("current_mode_update") == []
    assert (root / "a.txt").read_text() == "uno\ntwo\n"


async def test_plans_and_modes_of_the_model_are_shown(open_editor, script):
    todos = [
        {"content": f"Look {HOSTILE}", "status": "completed"},
        {"content": "Repair", "status": "in_progress"},
    ]
    model = script(
        {"calls": [call("todo_write", todos=todos)]},
        {"calls": [call("enter_plan_mode")]},
        {"text": "I plan."},
        {"text": "I do not plan."},
    )
    async with open_editor(model) as editor:
        assert await editor.prompt() == "end_turn"
        (mode,) = editor.of("current_mode_update")
        await editor.agent.set_session_mode(session_id=editor.session, mode_id="default")
        await editor.prompt()
        again = await editor.agent.resume_session(session_id=editor.session, cwd=str(editor.root))

    (plan,) = editor.of("plan")
    assert [(one.content, one.status) for one in plan.entries] == [
        ("Look \\x1b[31mred\\u{202e}\\x07", "completed"),
        ("Repair", "in_progress"),
    ]
    assert mode.current_mode_id == "plan"
    assert again.modes.current_mode_id == "default"


def leaves(value):
    """The texts inside a value."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)
    elif isinstance(value, str):
        yield value


async def test_hostile_text_is_shown_escaped(open_editor, script, root):
    (root / "a.txt").write_text(f"{HOSTILE}\n````\n")
    name = f"b{HOSTILE}.txt"
    model = script(
        {"text": HOSTILE, "calls": [call("read_file", path="a.txt")]},
        {"calls": [call("write_file", path=name, content=HOSTILE)]},
        {"text": "Done."},
    )
    async with open_editor(model) as editor:
        await editor.prompt(HOSTILE)
        _, read = editor.card(0)
        await editor.agent.load_session(session_id=editor.session, cwd=str(root), mcp_servers=[])

    shown = [*editor.updates, *(question for question, _ in editor.questions)]
    texts = [text for one in shown for text in leaves(one.model_dump())]
    assert not {"\x1b", "\x07", "\u202e"} & set("".join(texts))
    assert any("\\x1b[31mred\\u{202e}" in text for text in texts)
    # The fence is longer than what the file contains.
    assert read[-1].content[0].content.text.startswith("`````\n")
    assert (root / name).read_text() == HOSTILE


async def test_a_session_is_loaded_by_another_process(open_editor, script, root):
    model = script({"text": "I edit.", "calls": [EDIT]}, {"text": "Done."})
    async with open_editor(model) as editor:
        await editor.prompt("Please edit.")
        session = editor.session
    async with open_editor(script({"text": "Welcome back."}), begin=False) as again:
        loaded = await again.agent.load_session(session_id=session, cwd=str(root), mcp_servers=[])
        replayed = list(again.updates)
        again.session = session
        assert await again.prompt() == "end_turn"

    assert loaded.modes.current_mode_id == "default"
    assert [one.session_update for one in replayed] == [
        "user_message_chunk",
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "agent_message_chunk",
    ]
    start, end = editor.card()[0], again.card()[1][-1]
    assert start.tool_call_id == end.tool_call_id
    assert end.status == "completed"
    assert again.text("user_message_chunk") == "Please edit."
    assert again.text() == "I edit.Done.Welcome back."


async def test_sessions_are_listed_forked_resumed_and_closed(open_editor, script, root, tmp_path):
    model = script({"text": "First."}, {"text": "Second."})
    async with open_editor(model) as editor:
        await editor.prompt("Remember me.")
        at = {"session_id": editor.session, "cwd": str(root)}
        fork = await editor.agent.fork_session(**at)
        listed = await editor.agent.list_sessions(cwd=str(root))
        everywhere = await editor.agent.list_sessions()
        elsewhere = await editor.agent.list_sessions(cwd=str(tmp_path))
        await editor.agent.close_session(session_id=editor.session)
        with pytest.raises(RequestError) as closed:
            await editor.prompt()
        resumed = await editor.agent.resume_session(**at)
        with pytest.raises(RequestError) as moved:
            await editor.agent.resume_session(session_id=editor.session, cwd=str(tmp_path))
        await editor.prompt()

    assert {one.session_id for one in listed.sessions} == {editor.session, fork.session_id}
    assert {one.title for one in listed.sessions} == {"Remember me."}
    assert everywhere.sessions == listed.sessions
    assert elsewhere.sessions == []
    assert closed.value.code == -32002
    assert moved.value.code == -32602
    assert resumed.modes.current_mode_id == "default"


async def test_a_prompt_links_and_embeds_files(open_editor, script, root):
    model = script({"text": "Read."})
    link = {"type": "resource_link", "name": "a.txt"}
    resource = TextResourceContents(uri="untitled:1", text="not saved yet")
    blocks = [
        TextContentBlock(type="text", text="Compare"),
        ResourceContentBlock(uri=(root / "a.txt").as_uri(), **link),
        ResourceContentBlock(uri="file:///etc/passwd", **link),
        EmbeddedResourceContentBlock(type="resource", resource=resource),
    ]
    picture = ImageContentBlock(
        type="image", mime_type="image/png", data=base64.b64encode(b"x").decode()
    )
    async with open_editor(model) as editor:
        for refused in ([picture], [], [TextContentBlock(type="text", text=" ")]):
            with pytest.raises(RequestError) as error:
                await editor.agent.prompt(session_id=editor.session, prompt=refused)
            assert error.value.code == -32602
        await editor.agent.prompt(session_id=editor.session, prompt=blocks)
        await editor.agent.load_session(session_id=editor.session, cwd=str(root), mcp_servers=[])

    sent = editor.text("user_message_chunk")
    assert "one\ntwo" in sent
    assert "a.txt (file:///etc/passwd)" in sent
    assert "root:" not in sent
    assert "not saved yet" in sent


async def test_a_prompt_that_reaches_a_limit_says_which(open_editor, script):
    read = {"calls": [call("read_file", path="a.txt")]}
    async with open_editor(script(read, read, read), "--max-steps", "2") as editor:
        assert await editor.prompt() == "max_turn_requests"

    assert "Handrail: " in editor.text("agent_thought_chunk")


async def test_a_failed_prompt_is_an_error_with_its_reason(open_editor, script):
    model = script({"text": "Fine."}, {"expect": "something else"}, {"text": "never"})
    async with open_editor(model) as editor:
        assert await editor.prompt() == "end_turn"
        with pytest.raises(RequestError) as failed:
            await editor.prompt()
        # The session can still be used, and the server too.
        assert (await editor.agent.list_sessions(cwd=str(editor.root))).sessions

    assert "something else" in str(failed.value)


@pytest.mark.parametrize(
    "cwd",
    [".", "work", "../work", "{root}/../missing", "{root}/a.txt", "{root}/\0", "", "~"],
)
async def test_a_session_needs_an_absolute_directory(open_editor, script, root, cwd):
    async with open_editor(script({"text": "never"}), begin=False) as editor:
        with pytest.raises(RequestError) as error:
            await editor.agent.new_session(cwd=cwd.format(root=root), mcp_servers=[])

    assert (error.value.code, error.value.data["field"]) == (-32602, "cwd")


async def test_a_session_stays_inside_the_directory_that_a_link_leads_to(
    open_editor, script, root, tmp_path
):
    (tmp_path / "link").symlink_to(root)
    (tmp_path / "secret.txt").write_text("secret")
    model = script({"calls": [call("read_file", path="../secret.txt")]}, {"text": "No."})
    async with open_editor(model, begin=False) as editor:
        editor.root = tmp_path / "link" / ".." / "link"
        await editor.open()
        editor.answer = lambda question: choose("no")
        await editor.prompt()
        _, changes = editor.card()

    assert changes[-1].status == "failed"
    assert "secret\n" not in "".join(one.model_dump_json() for one in editor.updates)


async def test_an_editor_that_disconnects_in_a_question_ends_the_server(open_editor, script, root):
    model = script({"calls": [EDIT]}, {"text": "never"})
    async with open_editor(model) as editor:
        editor.answer = answer_never
        running = asyncio.ensure_future(editor.prompt())
        await wait_until_async(lambda: editor.questions)
        editor.served.writer.close()
        with anyio.fail_after(30):
            await editor.served.task
        with pytest.raises(ConnectionError):
            await running

    assert (root / "a.txt").read_text() == "one\ntwo\n"
    assert pending_approvals(queue_directory(root)) == []


async def test_idle_sessions_beyond_a_limit_have_no_runtime(open_editor, script, monkeypatch):
    monkeypatch.setattr("handrail.acp.session_methods._MAX_OPEN", 1)
    async with open_editor(script({"text": "One."}, {"text": "Two."})) as editor:
        sessions = editor.served.server._methods._sessions
        first = editor.session
        await editor.prompt()
        await editor.open()
        await editor.prompt()
        assert {id: one.is_open for id, one in sessions.items()} == {
            first: False,
            editor.session: True,
        }
        editor.session = first
        assert await editor.prompt() == "end_turn"
    assert editor.text() == "One.One.Two."
