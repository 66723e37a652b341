"""What is sent to an editor: names, empty fields, and invisible characters."""

from acp.schema import AgentMessageChunk, PermissionOption, ToolCallUpdate

from handrail.acp.client import EditorClient, text_block
from handrail.acp.tool_cards import verbatim_content
from handrail.acp.update_stream import _progress


class Sent:
    def __init__(self):
        self.messages = []

    async def send_notification(self, method, params):
        self.messages.append((method, params))

    async def send_request(self, method, params):
        self.messages.append((method, params))
        return {"outcome": {"outcome": "selected", "optionId": "yes"}}


async def test_an_update_has_the_names_of_the_protocol_and_no_empty_fields():
    sent = Sent()
    chunk = AgentMessageChunk(session_update="agent_message_chunk", content=text_block("hi"))
    await EditorClient(sent, "s1").update(chunk)
    assert sent.messages == [
        (
            "session/update",
            {
                "sessionId": "s1",
                "update": {
                    "sessionUpdate": "agent_message_chunk",
                    "content": {"type": "text", "text": "hi"},
                },
            },
        )
    ]


async def test_a_question_offers_the_options_in_order():
    sent = Sent()
    options = [
        PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
        PermissionOption(option_id="no", name="No", kind="reject_once"),
    ]
    call = ToolCallUpdate(tool_call_id="c", title=None)
    answer = await EditorClient(sent, "s1").ask(call, options)
    assert answer.outcome.option_id == "yes"
    ((method, params),) = sent.messages
    assert method == "session/request_permission"
    assert params["sessionId"] == "s1"
    assert params["toolCall"] == {"toolCallId": "c"}
    assert [one["optionId"] for one in params["options"]] == ["yes", "no"]


def test_every_character_of_a_text_is_visible():
    assert "\x1b" not in text_block("a\x1b[2Jb").text
    assert text_block("a\nb").text == "a\nb"


def test_the_progress_of_a_call_has_only_what_is_known():
    empty = _progress("c").model_dump(exclude_none=True, exclude_unset=True)
    assert empty == {
        "session_update": "tool_call_update",
        "tool_call_id": "c",
        "status": "in_progress",
    }
    content = [verbatim_content("x")]
    full = _progress("c", content, "completed", ("write file:/w/a", "read file:/w/b"))
    assert full.status == "completed"
    assert full.content == content
    assert [one.path for one in full.locations] == ["/w/a", "/w/b"]
    assert _progress("c", [], footprint=("net host",)).model_dump(exclude_none=True) == empty
