"""What tools, listeners and models learn about a call: structured, filled, and without secrets."""

import json
import logging

import pytest

import handrail
from handrail.core.results import FileRead, Output


@pytest.mark.finding("F56")
async def test_events_carry_modifiers_with_their_type_and_calls_as_the_tool_shows_them(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    events = []
    async with handrail.open(tmp_path, store=":memory:") as rt:
        rt.subscribe(events.append)
        await rt.call("read_file", {"path": "a.txt"})
        await rt.call("run_command", {"command": "ls  -l"})

    sent = json.loads(json.dumps([event.to_dict() for event in events]))
    (modified,) = [one for one in sent if one["type"] == "context_modified"]
    read, command = [one for one in sent if one["type"] == "tool_call_start"]
    assert modified["modifier"] == {"type": "file_read", "path": "a.txt", "content": "one"}
    assert modified["v"] == 2
    assert (read["display"], command["display"]) == (None, "ls  -l")


@pytest.mark.finding("F56")
@pytest.mark.parametrize(("content", "ok"), [("one\n", True), ("one", True), ("on", False)])
async def test_a_file_that_an_own_tool_shows_counts_as_read(tmp_path, content, ok):
    (tmp_path / "a.txt").write_text("one\n")

    @handrail.tool(reads_only=True)
    def show(path: handrail.ReadPath) -> Output:
        return Output(content, modifiers=(FileRead(path, content),))

    edit = {"file_path": "a.txt", "old_string": "one", "new_string": "two"}
    async with handrail.open(
        tmp_path, dialect="claude", mode="accept-edits", store=":memory:"
    ) as rt:
        rt.register(show)
        unread = await rt.call("Edit", edit)
        await rt.call("show", {"path": "a.txt"})
        edited = await rt.call("Edit", edit)

    assert unread.problem.code == "stale"
    assert edited.ok is ok


@pytest.mark.finding("F56")
async def test_a_tool_sees_the_declared_tools_and_the_conversation(tmp_path):
    seen = []

    @handrail.tool(reads_only=True)
    def look(ctx: handrail.ToolContext) -> str:
        seen.append((tuple(ctx.options.tools), list(ctx.messages)))
        return "seen"

    async with handrail.open(tmp_path, dialect="claude", store=":memory:") as rt:
        rt.register(look)
        rt.declare("anthropic", allowed=["Read", "look"])
        history = [{"role": "user", "content": "look"}]
        rt.session.conversations[""] = lambda: history
        await rt.call("look")

    ((tools, messages),) = seen
    assert sorted(tools) == ["Read", "look"]
    assert messages == history


@pytest.mark.finding("F62")
async def test_the_text_of_an_exception_goes_to_the_log_and_not_to_the_model(tmp_path, caplog):
    @handrail.tool(reads_only=True)
    def connect() -> str:
        raise RuntimeError("postgres://me:hunter2@db/x refused")

    @handrail.tool(reads_only=True, risk=lambda args: 1 / 0)
    def rate() -> str:
        return ""

    async with handrail.open(tmp_path, store=":memory:") as rt:
        rt.register(connect)
        rt.register(rate)
        with caplog.at_level(logging.ERROR, "handrail"):
            failed = await rt.call("connect", id="c1")
            unrated = await rt.call("rate", id="c2")

    assert "hunter2" not in json.dumps(failed.to_dict())
    assert "RuntimeError" in failed.text
    assert "c1" in failed.text
    assert "division" not in unrated.text
    assert "hunter2" in caplog.text
    assert "c1" in caplog.text


@pytest.mark.finding("F62")
async def test_refusals_do_not_tell_where_the_folders_of_the_user_are(tmp_path, monkeypatch):
    home, root = tmp_path / "home", tmp_path / "workspace"
    (home / "handrail").mkdir(parents=True)
    root.mkdir()
    (home / "handrail" / "config.toml").write_text(
        '[guardrails]\nprotected_files = ["a.txt"]\nblocked_commands = ["make"]\n'
        '[[guardrails.code_rules]]\npattern = "eval"\nmessage = "no"\nseverity = "block"\n'
        '[permissions]\ndeny = ["write_file(b.txt)"]\n'
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    async with handrail.open(root, mode="accept-edits", store=":memory:") as rt:
        results = [
            await rt.call("write_file", {"path": "a.txt", "content": ""}),
            await rt.call("write_file", {"path": "b.txt", "content": ""}),
            await rt.call("write_file", {"path": "c.py", "content": "eval(x)\n"}),
            await rt.call("run_command", {"command": "make"}),
        ]

    assert [result.ok for result in results] == [False] * 4
    assert [result.text for result in results if str(home) in result.text] == []
    assert all("handrail/config.toml" in result.text for result in results[:3])
