"""What a client sees and gets: tools, results, progress, cancellation, order, repeats."""

import asyncio

import anyio
import pytest
from mcp import Client, MCPError
from mcp.client.stdio import stdio_client
from tests.mcp.server.conftest import ERAS, stdio_parameters

import handrail
from handrail.core.results import Image, Output
from handrail.engine.batch.loop_guard import STOP_AT

both_eras = pytest.mark.parametrize("era", ERAS)


def text_of(result):
    return result.content[0].text


@both_eras
async def test_tools_come_with_schemas_and_annotations_of_what_they_do(connect, era):
    async with connect(era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}

    read, write = tools["read_file"], tools["write_file"]
    assert read.input_schema["required"] == ["path"]
    assert read.output_schema["type"] == "object"
    assert (read.annotations.read_only_hint, read.annotations.destructive_hint) == (True, False)
    assert (write.annotations.read_only_hint, write.annotations.destructive_hint) == (False, True)
    assert write.annotations.open_world_hint is False


@pytest.mark.finding("F50")
async def test_the_instructions_name_no_tool_so_that_they_hold_for_every_dialect(connect):
    async with connect(dialect="attocode") as client:
        words = set(client.instructions.replace("`", " ").split())
        shown = {tool.name for tool in (await client.list_tools()).tools}

    assert "undo_file" in shown
    assert words.isdisjoint({"undo", "run_command", *shown})


@both_eras
async def test_a_result_is_text_with_the_same_as_data_beside_it(connect, era):
    async with connect(era) as client:
        result = await client.call_tool("read_file", {"path": "a.txt"})

    assert (text_of(result), result.is_error) == ("hello", False)
    assert result.structured_content["path"] == "a.txt"
    assert result.meta["handrail/result"]["status"] == "ok"


@both_eras
@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("read_file", {"path": "a.txt"}, "hello"),
        ("list_files", {}, "a.txt"),
        ("write_file", {"path": "a.txt", "content": "new\n"}, "without having been read"),
        ("grep", {"pattern": "hel", "output_mode": "content"}, "hello"),
        ("run_command", {"command": "cat a.txt"}, "hello"),
    ],
)
async def test_a_model_that_is_shown_only_the_data_misses_nothing_of_the_text(
    connect, era, tool, arguments, said
):
    async with connect(era, **EDITS) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool(tool, arguments)

    schema = tools[tool].output_schema
    assert said in text_of(result)
    assert result.structured_content["text"] == text_of(result)
    assert schema is None or schema["properties"]["text"] == {"type": "string"}


async def test_data_that_the_text_already_is_or_that_has_a_text_of_its_own_stays_as_it_is(connect):
    @handrail.tool
    def numbers() -> dict[str, int]:
        """Data alone."""
        return {"a": 1}

    @handrail.tool
    def letter() -> Output:
        """Its own text."""
        return Output("a letter came", data={"text": "dear all"})

    def register(runtime):
        runtime.register(numbers)
        runtime.register(letter)

    async with connect(offer={"ready": register}, **OWN) as client:
        results = [await client.call_tool(name, {}) for name in ("numbers", "letter")]

    assert [one.structured_content for one in results] == [{"a": 1}, {"text": "dear all"}]


@both_eras
async def test_text_alone_is_served_to_clients_that_would_show_the_data_instead(connect, era):
    async with connect(era, offer={"structured": False}) as client:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("read_file", {"path": "a.txt"})

    assert [tool.name for tool in tools if tool.output_schema is not None] == []
    assert (text_of(result), result.structured_content) == ("hello", None)


@both_eras
async def test_a_refusal_is_a_result_with_its_problem(connect, era):
    async with connect(era) as client:
        result = await client.call_tool("read_file", {"path": "../secret"})

    assert result.is_error
    assert result.meta["handrail/result"]["problem"]["code"] == "outside_workspace"


@pytest.mark.finding("F01")
async def test_a_tool_of_ones_own_is_contained_and_asked_about(connect):
    ran = []

    @handrail.tool
    def gather(paths: list[handrail.ReadPath]) -> str:
        """Reads."""
        ran.append(paths)
        return "read"

    @handrail.tool
    def anything(path: str) -> str:
        """May do anything."""
        ran.append(path)
        return "done"

    def register(runtime):
        runtime.register(gather)
        runtime.register(anything)

    async with connect(offer={"ready": register}, config={"mode": "plan"}) as client:
        outside = await client.call_tool("gather", {"paths": [".", "../../etc/passwd"]})
        queued = await client.call_tool("anything", {"path": "a"})
        hints = {one.name: one.annotations for one in (await client.list_tools()).tools}

    assert outside.is_error
    assert not queued.is_error
    assert ran == []
    assert hints["gather"].read_only_hint
    assert not hints["anything"].read_only_hint


async def test_an_image_comes_as_an_image(connect):
    @handrail.tool
    def picture() -> Output:
        """A picture."""
        return Output("a dot", images=(Image("image/png", b"\x89PNG"),))

    async with connect(offer={"ready": lambda rt: rt.register(picture)}, **OWN) as client:
        result = await client.call_tool("picture", {})

    assert [(one.type, getattr(one, "mime_type", None)) for one in result.content] == [
        ("text", None),
        ("image", "image/png"),
    ]


async def test_text_that_utf8_cannot_hold_arrives_all_the_same(connect):
    @handrail.tool
    def odd() -> str:
        """Half a character."""
        return "a\ud800b"

    async with connect(offer={"ready": lambda rt: rt.register(odd)}, **OWN) as client:
        result = await client.call_tool("odd", {})

    assert text_of(result).startswith("a")


@both_eras
async def test_the_dialect_decides_what_tools_are_called(connect, era):
    async with connect(era, dialect="claude") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool("Read", {"file_path": "a.txt"})

    assert {"Read", "Write", "Edit", "Bash"} <= names
    assert "hello" in text_of(result)


async def test_read_only_tools_are_all_that_is_shown_and_all_that_can_be_called(connect, root):
    async with connect(offer={"read_only": True}) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("write_file", {"path": "b.txt", "content": "x"})

    assert "read_file" in names
    assert not names & {"write_file", "edit_file", "run_command", "apply_patch", "undo"}
    assert refused.is_error
    assert not (root / "b.txt").exists()


async def test_only_named_tools_are_shown_and_callable(connect):
    async with connect(offer={"tools": ["read_file"]}) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        refused = await client.call_tool("grep", {"pattern": "x"})

    assert names == ["read_file"]
    assert refused.meta["handrail/result"]["problem"]["code"] == "unknown_tool"


async def test_a_tool_that_does_not_exist_cannot_be_offered(connect):
    async with connect(offer={"tools": ["raed_file"]}) as client:
        with pytest.raises(MCPError, match="raed_file"):
            await client.list_tools()


@both_eras
async def test_a_running_command_reports_progress(connect, era):
    heard = []

    async def progress(done, total, message):
        heard.append((done, message))

    async with connect(era, client={"elicitation_callback": _never}, **SANDBOXED) as client:
        await client.call_tool(
            "run_command", {"command": "echo one; sleep 0.3; echo two"}, progress_callback=progress
        )

    assert "one" in [message for _, message in heard]
    assert [done for done, _ in heard] == sorted({done for done, _ in heard})


@pytest.mark.needs_bubblewrap
async def test_a_command_tells_what_it_changed_and_whether_that_can_be_undone(connect):
    async with connect(**SANDBOXED) as client:
        result = await client.call_tool("run_command", {"command": "echo 1 > new.txt"})

    told = result.meta["handrail/result"]
    assert told["changes"] == [{"path": "new.txt", "operation": "create"}]
    assert told["undo"] == "full"
    assert "changed:" not in text_of(result)


@both_eras
async def test_what_is_reported_last_is_heard_before_the_result(connect, era):
    heard = []

    @handrail.tool
    async def hasty(ctx: handrail.ToolContext) -> str:
        """Reports and is done."""
        for text in ("one", "two", "three"):
            ctx.report(text)
        return "done"

    async def progress(done, total, message):
        heard.append(message)

    async with connect(era, offer={"ready": lambda rt: rt.register(hasty)}, **OWN) as client:
        await client.call_tool("hasty", {}, progress_callback=progress)

    assert heard == ["one", "two", "three"]


@pytest.mark.needs_bubblewrap
@both_eras
async def test_cancelling_a_call_kills_the_command(connect, root, era):
    async with connect(era, **SANDBOXED) as client:
        begun = anyio.Event()

        async def progress(done, total, message):
            begun.set()

        async def run():
            await client.call_tool(
                "run_command",
                {"command": "echo begun; sleep 600; echo over > over.txt"},
                progress_callback=progress,
            )

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            with anyio.fail_after(20):
                await begun.wait()
            group.cancel_scope.cancel()
        with anyio.fail_after(20):
            jobs = await client.call_tool("run_command", {"command": "pgrep -fx 'sleep 600'"})

    assert jobs.structured_content["exit_code"] == 1
    assert not (root / "over.txt").exists()


@both_eras
async def test_more_calls_at_once_than_the_limit_are_refused(connect, era, monkeypatch):
    monkeypatch.setattr("handrail.mcp.server.session.MAX_CALLS", 1)
    begun, go = asyncio.Event(), asyncio.Event()

    @handrail.tool
    async def hold() -> str:
        """Waits."""
        begun.set()
        await go.wait()
        return "held"

    results = []
    async with connect(era, offer={"ready": lambda rt: rt.register(hold)}, **OWN) as client:

        async def run():
            results.append(await client.call_tool("hold", {}))

        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(run)
                await begun.wait()
                with pytest.raises(MCPError, match="too many calls"):
                    await client.call_tool("read_file", {"path": "a.txt"})
                go.set()
            again = await client.call_tool("read_file", {"path": "a.txt"})

    assert not results[0].is_error
    assert not again.is_error


@both_eras
async def test_a_client_is_told_when_tools_come(connect, era):
    @handrail.tool
    def newcomer() -> str:
        """New."""
        return "hello"

    runtimes, heard = [], anyio.Event()

    async def on_message(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            heard.set()

    async with connect(
        era, offer={"ready": runtimes.append}, client={"message_handler": on_message}
    ) as client:
        await client.list_tools()
        if era == "auto":
            async with client.listen(tools_list_changed=True) as news:
                await anyio.to_thread.run_sync(runtimes[0].register, newcomer)
                with anyio.fail_after(10):
                    await anext(aiter(news))
        else:
            runtimes[0].register(newcomer)
            with anyio.fail_after(10):
                await heard.wait()
        names = {tool.name for tool in (await client.list_tools()).tools}

    assert "newcomer" in names


@both_eras
async def test_two_hundred_calls_in_flight_keep_their_order_and_lose_none(connect, root, era):
    results = {}

    async with connect(era, **EDITS) as client:

        async def append(number):
            results[number] = await client.call_tool(
                "write_file", {"path": "log.txt", "content": f"{number}\n", "mode": "append"}
            )

        async def read(number):
            results[number] = await client.call_tool("read_file", {"path": "log.txt"})

        async with anyio.create_task_group() as group:
            for number in range(0, 200, 2):
                group.start_soon(append, number)
                group.start_soon(read, number + 1)

    assert [results[number].is_error for number in range(200)] == [False] * 200
    written = [str(number) for number in range(0, 200, 2)]
    assert (root / "log.txt").read_text().split() == written
    seen = [text_of(results[number]).split() for number in range(1, 200, 2)]
    assert seen == [written[: index + 1] for index in range(100)]


@both_eras
@pytest.mark.finding("F78")
async def test_equal_calls_in_flight_are_not_a_loop_and_repeated_ones_are(connect, era):
    failed = []

    async def read(client):
        result = await client.call_tool("read_file", {"path": "a.txt"})
        if result.is_error:
            failed.append(result.content[0].text)

    with anyio.fail_after(100):
        async with connect(era) as client:
            async with anyio.create_task_group() as group:
                for _ in range(500):
                    group.start_soon(read, client)
            together = list(failed)
            for _ in range(STOP_AT):
                # A model takes at least as long between a result and its next call.
                await anyio.sleep(0.55)
                await read(client)

    assert together == []
    assert "loop guard" in failed[-1]


async def test_a_repeated_key_returns_the_recorded_result_and_runs_nothing(connect, root):
    async with connect(**EDITS) as client:
        given = {"path": "log.txt", "content": "once\n", "mode": "append"}
        first = await client.call_tool("write_file", given, meta={"handrail/call-id": "k1"})
        again = await client.call_tool("write_file", given, meta={"handrail/call-id": "k1"})
        other = await client.call_tool(
            "write_file", {**given, "content": "twice\n"}, meta={"handrail/call-id": "k1"}
        )

    assert again.content == first.content
    assert other.meta["handrail/result"]["problem"]["code"] == "duplicate_id"
    assert (root / "log.txt").read_text() == "once\n"


async def test_a_key_that_is_no_key_is_refused(connect):
    async with connect() as client:
        with pytest.raises(MCPError, match="handrail/call-id"):
            await client.call_tool("list_files", {}, meta={"handrail/call-id": "x" * 500})


async def test_a_dry_run_promises_no_structure(connect):
    async with connect(offer={"dry_run": True}, dry_run=True, **EDITS) as client:
        tools = (await client.list_tools()).tools
        result = await client.call_tool("write_file", {"path": "b.txt", "content": "x"})

    assert [tool.name for tool in tools if tool.output_schema is not None] == []
    assert text_of(result).startswith("[DRY-RUN]")


async def test_undo_takes_back_what_this_client_changed(connect, root):
    async with connect(**EDITS) as client:
        await client.call_tool("write_file", {"path": "a.txt", "content": "new\n"})
        await client.call_tool("undo", {})

    assert (root / "a.txt").read_text() == "hello\n"


async def test_progress_names_the_tool_that_is_still_running(connect):
    reported = anyio.Event()
    seen = []

    @handrail.tool(reads_only=True)
    async def patient() -> str:
        """Waits until its client was told that it runs."""
        await reported.wait()
        return "done"

    async def progress(done, total, message):
        seen.append(message)
        reported.set()

    with anyio.fail_after(30):
        offer = {"ready": lambda rt: rt.register(patient)}
        async with connect(
            offer=offer, config={"mode": "auto-safe", "heartbeat_s": 0.02}
        ) as client:
            done = await client.call_tool("patient", {}, progress_callback=progress)

    assert not done.is_error
    assert seen[0] == "patient is still running (0 s)"


async def _never(context, params):
    raise AssertionError("nobody should be asked")


# The keyword `mode` of `connect` is the era of the protocol; this one is the runtime's.
EDITS = {"config": {"mode": "accept-edits"}}
OWN = {"config": {"mode": "auto-safe"}}
SANDBOXED = {"config": {"mode": "sandboxed", "heartbeat_s": 0.2}}


@pytest.mark.finding("F38")
async def test_tools_of_ones_own_are_served_from_a_file(root, tmp_path):
    file = tmp_path / "my_tools.py"
    file.write_text(
        "from __future__ import annotations\n"
        "import handrail\n"
        "from handrail import ReadPath\n"
        "@handrail.tool\n"
        "def count_bytes(path: ReadPath) -> str:\n"
        '    """Count the bytes of a file."""\n'
        "    return str(len(open(path, 'rb').read()))\n"
    )

    async with Client(
        stdio_client(stdio_parameters(root, "--tools-from", str(file))), read_timeout_seconds=60
    ) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        counted = await client.call_tool("count_bytes", {"path": "a.txt"})
        outside = await client.call_tool("count_bytes", {"path": "/etc/passwd"})

    assert {"count_bytes", "read_file"} <= set(names)
    assert text_of(counted) == "6"
    assert outside.meta["handrail/result"]["problem"]["code"] == "outside_workspace"
