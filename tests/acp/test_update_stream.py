"""Events of a session as updates for an editor, without an editor behind them."""

import pytest

from handrail.acp.tool_cards import (
    card_title,
    diff_content,
    fence,
    find_locations,
    tool_kind,
    truncate,
    verbatim_content,
)
from handrail.acp.update_stream import SessionFacts, UpdateStream
from handrail.agent.events import ModelText, ModelThinking
from handrail.core.events import CallEnded, CallOutput, CallProgress, CallStarted, TodosChanged
from handrail.core.text.content import Content


class Editor:
    def __init__(self):
        self.updates = []
        self.gone = False

    async def update(self, update):
        if self.gone:
            raise BrokenPipeError
        self.updates.append(update.model_dump(exclude_none=True))


class Scene:
    """A stream to an editor; `mode` and `content` are what the session says."""

    def __init__(self):
        self.editor = Editor()
        self.mode = "ask"
        self.content = []
        facts = SessionFacts(self._load, lambda: self.mode, lambda: 100)
        self.stream = UpdateStream(self.editor, facts)

    async def _load(self, call_id):
        return self.content

    async def show(self, *events):
        for event in events:
            self.stream.publish(event)
        await self.stream.drain()
        return self.editor.updates


@pytest.fixture
async def scene():
    return Scene()


def text(agent, words):
    return ModelText(agent, 1, words)


def started(call="c", **fields):
    return CallStarted(call, "read_file", 1, fields.pop("agent", "main"), "summary", **fields)


def ended(call="c", status="ok", **fields):
    return CallEnded(call, "read_file", status, None, 0.1, **fields)


async def test_pieces_of_one_text_that_wait_are_one_update(scene):
    updates = await scene.show(text("main", "a"), text("main", "b"), ModelThinking("main", 1, "c"))

    assert [(one["session_update"], one["content"]["text"]) for one in updates] == [
        ("agent_message_chunk", "ab"),
        ("agent_thought_chunk", "c"),
    ]


async def test_what_other_agents_say_and_empty_text_are_not_shown(scene):
    assert await scene.show(text("sub", "a"), text("main", ""), ModelThinking("sub", 1, "b")) == []


async def test_texts_of_different_agents_are_not_joined(scene):
    updates = await scene.show(text("main", "a"), text("sub", "b"), text("main", "c"))

    assert [one["content"]["text"] for one in updates] == ["a", "c"]


async def test_a_call_has_a_card_from_its_start_to_its_end(scene):
    footprint = ("read file:/w/a", "read file:/w/a", "write tree:/w")
    updates = await scene.show(started(display="Read a", footprint=footprint), ended())

    first, last = updates
    assert first["title"] == "Read a"
    assert first["kind"] == "read"
    assert first["status"] == "pending"
    assert [one["path"] for one in first["locations"]] == ["/w/a"]
    assert (last["tool_call_id"], last["status"]) == ("c", "completed")
    assert "locations" not in last


async def test_a_card_names_the_agent_unless_it_is_the_main_one(scene):
    updates = await scene.show(started("a"), started("b", agent="helper"))

    assert [one["title"] for one in updates] == ["summary", "helper: summary"]


@pytest.mark.parametrize(
    ("status", "shown"),
    [("ok", "completed"), ("planned", "completed"), ("failed", "failed"), ("denied", "failed")],
)
async def test_how_a_call_ended(scene, status, shown):
    [update] = await scene.show(ended(status=status))

    assert update["status"] == shown


async def test_the_reason_stands_where_there_is_no_content(scene):
    [without] = await scene.show(ended(status="failed", reason="why"))
    scene.content = [verbatim_content("text")]
    *_, with_content = await scene.show(ended(status="failed", reason="why"))

    assert "why" in without["content"][0]["content"]["text"]
    assert "text" in with_content["content"][0]["content"]["text"]


async def test_output_that_comes_in_pieces_is_shown_from_its_beginning(scene):
    def output(words):
        return CallOutput("c", "run_command", "stdout", words)

    await scene.show(output("one\n"))
    await scene.show(output("two\n"))
    updates = await scene.show(ended(), output("new\n"))

    shown = [one["content"][0]["content"]["text"] for one in updates if "content" in one]
    assert [one.strip("`\n") for one in shown] == ["one", "one\ntwo", "new"]


async def test_of_long_output_the_end_is_shown(scene):
    [update] = await scene.show(
        CallOutput("c", "run_command", "stdout", "a" * 8_000),
        CallOutput("c", "run_command", "stdout", "b"),
    )

    assert update["content"][0]["content"]["text"].strip("`\n") == "a" * 7_999 + "b"


async def test_progress_is_shown_on_the_card(scene):
    [update] = await scene.show(CallProgress("c", "run_command", "half"))

    assert (update["tool_call_id"], update["status"]) == ("c", "in_progress")
    assert "half" in update["content"][0]["content"]["text"]


async def test_cards_without_an_end_fail_when_the_prompt_ends(scene):
    await scene.show(started("a"), started("b"), ended("a"))
    before = len(scene.editor.updates)

    await scene.stream.finish()
    await scene.stream.finish()

    rest = scene.editor.updates[before:]
    assert [(one["tool_call_id"], one["status"]) for one in rest] == [("b", "failed")]


async def test_a_mode_is_reported_once_and_only_if_the_editor_did_not_choose_it(scene):
    await scene.stream.report_mode()
    scene.mode = "plan"
    await scene.stream.report_mode()
    await scene.stream.report_mode()
    scene.mode = "edits"
    scene.stream.set_mode("edits")
    await scene.stream.report_mode()

    assert [one["current_mode_id"] for one in scene.editor.updates] == ["plan"]


async def test_a_mode_that_a_call_changes_is_reported_with_its_end(scene):
    scene.mode = "plan"

    updates = await scene.show(ended())

    assert updates[-1]["current_mode_id"] == "plan"


async def test_tasks_are_a_plan(scene):
    todos = (
        {"content": "a\nb", "status": "pending"},
        {"content": "c", "status": "in_progress"},
        {"content": "d", "status": "completed"},
        {"content": "e", "status": "cancelled"},
    )
    [update] = await scene.show(TodosChanged("main", todos))

    assert [one["status"] for one in update["entries"]] == ["pending", "in_progress", "completed"]
    assert "\n" not in update["entries"][0]["content"]


async def test_an_event_that_cannot_be_shown_hides_no_other(scene):
    class Broken(ModelText):
        def to_dict(self):
            raise ValueError

    updates = await scene.show(Broken("sub", 1, "x"), text("main", "a"))

    assert [one["content"]["text"] for one in updates] == ["a"]


async def test_nothing_waits_for_an_editor_that_is_gone(scene):
    scene.editor.gone = True

    assert await scene.show(text("main", "a"), started(), ended()) == []


def test_a_card_has_a_title_of_one_line_and_a_kind():
    assert card_title("a" * 300) == "a" * 300
    assert card_title("a" * 301) == "a" * 300 + "…"
    assert "\n" not in card_title("a\nb")
    assert tool_kind("grep") == "search"
    assert tool_kind("own_tool") == "other"
    assert find_locations(["read session:x", "open-ended"]) == []


@pytest.mark.parametrize(("inside", "marks"), [("a", 3), ("```", 4), ("`````", 6), ("``", 3)])
def test_a_fence_is_longer_than_what_it_contains(inside, marks):
    assert fence(inside, "py") == f"{'`' * marks}py\n{inside}\n{'`' * marks}"


def test_of_a_long_text_the_beginning_and_the_end_are_shown():
    assert truncate("x" * 20_000) == "x" * 20_000
    shown = truncate("a" * 10_001 + "b" * 10_000)
    assert shown.startswith("a" * 10_000 + "\n")
    assert shown.endswith("\n" + "b" * 10_000)
    assert "a" * 10_001 not in shown


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, b"new", (None, "new")),
        (b"old", b"new", ("old", "new")),
        (b"old", None, ("old", "")),
        (b"\xff", b"new", None),
        (b"a" * 1_000_000, b"", ("a" * 1_000_000, "")),
        (b"a" * 1_000_001, b"", None),
    ],
)
def test_a_diff_is_shown_if_both_sides_are_text_of_some_size(tmp_path, before, after, shown):
    contents = [None if one is None else Content(one) for one in (before, after)]

    found = diff_content("a/b", *contents, tmp_path)

    assert (None if found is None else (found.old_text, found.new_text)) == shown
    assert found is None or found.path == f"{tmp_path}/a/b"
