"""One call, all the way through: from a name to bytes on disk and a record."""

import asyncio
import json
import os

import anyio
import pytest

import handrail
from handrail import Output, ProblemRaised, Status, ToolContext


@pytest.mark.feature("E01", "F01", "F14", "F23", "B01", "B03")
async def test_a_read_answers_the_text_of_the_file(workspace, open_runtime):
    workspace.write("a.py", "print(1)\n")

    async with open_runtime() as rt:
        result = await rt.call("read_file", {"path": "a.py"}, id="c1")

    assert (result.call_id, result.status, result.text) == ("c1", Status.OK, "print(1)")
    assert result.ok
    assert not result.is_error
    assert result.problem is None
    assert result.meta["tool"] == "read_file"
    assert result.meta["duration_s"] >= 0


@pytest.mark.feature("E08", "E10", "F14")
async def test_a_write_is_a_plan_that_the_engine_commits(workspace, open_runtime):
    async with open_runtime() as rt:
        result = await rt.call("write_file", {"path": "new/deep/a.txt", "content": "hello\n"})

    assert result.ok, result.text
    assert workspace.read("new/deep/a.txt") == b"hello\n"
    (change,) = result.changes
    assert (change.path, change.operation, change.before_hash) == ("new/deep/a.txt", "create", None)


@pytest.mark.feature("F02", "C03", "A17", "B07")
@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("raed_file", {"path": "a.py"}, "unknown_tool"),
        ("read_file", {}, "invalid_arguments"),
        ("read_file", {"path": ["x"], "offset": {}}, "invalid_arguments"),
        ("read_file", {"path": "a.py", "colour": "red"}, "invalid_arguments"),
        ("read_file", {"path": "a.py", "file_path": "b.py"}, "invalid_arguments"),
        ("read_file", '{"path": "a.py", "path": "b.py"}', "invalid_arguments"),
        ("read_file", '{"path": ', "invalid_arguments"),
        ("read_file", '["a.py"]', "invalid_arguments"),
        ("read_file", '{"path": "a.py", "limit": NaN}', "invalid_arguments"),
        ("read_file", {"path": "a\0.py"}, "invalid_arguments"),
        ("read_file", {"path": "\ud800"}, "invalid_arguments"),
        ("read_file", {"path": ""}, "invalid_arguments"),
        ("read_file", {"path": "missing.py"}, "not_found"),
        ("read_file", {"path": "folder"}, "not_text"),
        ("read_file", {"path": "pipe"}, "not_text"),
        ("read_file", {"path": "binary"}, "not_text"),
        ("read_file", {"path": "../../etc/passwd"}, "outside_workspace"),
        ("write_file", {"path": "folder", "content": "x"}, None),
        ("write_file", {"path": "pipe", "content": "x"}, None),
        ("edit_file", {"path": "a.py", "old_string": "nowhere", "new_string": "z"}, "no_match"),
        ("edit_file", {"path": "a.py", "old_string": "1", "new_string": "1"}, "invalid_arguments"),
        ("delete_file", {"path": "a.py"}, "denied"),
        ("grep", {"pattern": "("}, "invalid_arguments"),
        ("grep", {"pattern": "x", "path": "../"}, "outside_workspace"),
        ("list_files", {"pattern": "../*"}, None),
    ],
)
async def test_bad_input_is_a_clear_problem_and_changes_nothing(
    workspace, open_runtime, name, arguments, code
):
    workspace.write("a.py", "x = 1\n")
    workspace.write("folder/b.py", "y = 1\n")
    workspace.write("binary", b"\x00\x01\x02" * 50)
    os.mkfifo(workspace.root / "pipe")
    before = workspace.tree()

    async with open_runtime() as rt:
        with anyio.fail_after(10):
            result = await rt.call(name, arguments)

    assert not result.ok
    assert result.problem is not None
    assert code is None or result.problem.code == code, result.problem
    assert result.problem.message
    assert "Traceback" not in result.text
    assert workspace.tree() == before


async def test_ten_megabytes_of_arguments_are_handled(workspace, open_runtime):
    content = "line\n" * 2_000_000

    async with open_runtime() as rt:
        good = await rt.call("write_file", json.dumps({"path": "big", "content": content}))
        bad = await rt.call("read_file", {"path": "x" * 10_000_000})

    assert good.ok
    assert workspace.read("big") == content.encode()
    assert bad.problem.code == "invalid_arguments"
    assert len(bad.text) < 2000


@pytest.mark.feature("F04")
async def test_all_wrong_arguments_are_told_at_once_in_the_callers_words(open_runtime):
    async with open_runtime(dialect="claude") as rt:
        result = await rt.call("Read", {"file_path": {}, "offset": "soon", "limit": []})

    assert result.problem.code == "invalid_arguments"
    assert result.text.startswith("Invalid arguments: ")
    assert all(name in result.text for name in ("file_path", "offset", "limit"))


@pytest.mark.feature("F03", "A13")
async def test_a_disabled_tool_is_refused(open_runtime):
    class Sleeping(handrail.Tool):
        name = "sleeping"
        summary = "Never awake."
        effects = handrail.Effects.PURE

        class params(handrail.Params):
            pass

        def enabled(self, session):
            return False

    async with open_runtime() as rt:
        rt.register(Sleeping())
        result = await rt.call("sleeping")

    assert result.problem.code == "unavailable"
    assert "disabled in current context" in result.text
    assert "sleeping" not in json.dumps(rt.declare("openai"))


@pytest.mark.feature("A12", "A15")
async def test_preflight_stops_a_call_before_anybody_is_asked(open_runtime):
    asked = []

    class Picky(handrail.Tool):
        name = "picky"
        summary = "Needs a lucky number."
        effects = handrail.Effects.OPEN_ENDED

        class params(handrail.Params):
            number: int

        def footprint(self, args):
            return handrail.Footprint(open_ended=True)

        async def preflight(self, args, ctx):
            if args.number != 7:
                raise ProblemRaised("invalid_arguments", "not lucky", field="number")

        async def run(self, args, ctx):
            return Output("lucky")

    async with open_runtime(approver=lambda request: asked.append(request) or True) as rt:
        rt.register(Picky())
        unlucky = await rt.call("picky", {"number": 3})
        asked_before = list(asked)
        lucky = await rt.call("picky", {"number": 7})

    assert unlucky.problem.message == "not lucky"
    assert asked_before == []
    assert lucky.text == "lucky"
    assert len(asked) == 1


@pytest.mark.feature("A17", "F01")
async def test_a_tool_that_raises_is_a_result_and_the_next_call_works(workspace, open_runtime):
    workspace.write("a.txt", "a\n")

    @handrail.tool(reads_only=True)
    async def broken() -> str:
        """Always fails."""
        raise ValueError("boom")

    async with open_runtime() as rt:
        rt.register(broken)
        failed = await rt.call("broken")
        fine = await rt.call("read_file", {"path": "a.txt"})

    assert failed.status is Status.FAILED
    assert failed.problem.code == "internal"
    assert "ValueError" in failed.text
    assert fine.ok


async def test_a_repeated_id_returns_the_recorded_result_and_runs_nothing(workspace, open_runtime):
    workspace.write("a.txt", "start\n")
    arguments = {"path": "a.txt", "content": "more\n", "mode": "append"}

    async with open_runtime() as rt:
        first = await rt.call("write_file", arguments, id="w1")
        second = await rt.call("write_file", arguments, id="w1")
        other = await rt.call("write_file", {**arguments, "content": "else\n"}, id="w1")
        records = await rt.store.calls(limit=10)

    assert first.ok
    assert (second.status, second.text) == (first.status, first.text)
    assert second.meta["replayed"] is True
    assert other.problem.code == "duplicate_id"
    assert other.call_id == "w1"
    assert workspace.read("a.txt") == b"start\nmore\n"
    assert [one.requested.get("repeats") for one in records] == [None, "w1", None]
    assert [one.completed["status"] for one in records] == ["refused", "ok", "ok"]


@pytest.mark.feature("F07")
async def test_nobody_to_ask_refuses_and_names_the_mode(workspace, open_runtime):
    async with open_runtime(mode="default") as rt:
        result = await rt.call("write_file", {"path": "a", "content": "x"})

    assert result.status is Status.REFUSED
    assert result.problem.code == "needs_approval"
    assert "accept-edits" in result.problem.hint
    assert workspace.tree() == {}


@pytest.mark.feature("F07")
async def test_the_person_sees_the_diff_and_decides(workspace, open_runtime):
    workspace.write("a.txt", "old\n")
    requests = []

    async def approver(request):
        requests.append(request)
        return "+new1" in request.preview

    async with open_runtime(mode="default", approver=approver) as rt:
        edit = {"path": "a.txt", "old_string": "old", "new_string": "new1"}
        yes = await rt.call("edit_file", edit)
        no = await rt.call("edit_file", {**edit, "old_string": "new1", "new_string": "new2"})

    assert yes.ok
    assert no.problem.code == "denied"
    assert "User denied permission" in no.text
    assert workspace.read("a.txt") == b"new1\n"
    assert "-old\n+new1" in requests[0].preview
    assert requests[0].binding != requests[1].binding


async def test_a_plan_that_changed_while_the_person_thought_is_shown_again(workspace, open_runtime):
    workspace.write("a.txt", "one\ntwo\n")
    previews = []

    async def approver(request):
        previews.append(request.preview)
        if len(previews) == 1:
            workspace.write("a.txt", "zero\none\ntwo\n")
        return True

    async with open_runtime(mode="default", approver=approver) as rt:
        edit = {"path": "a.txt", "old_string": "two", "new_string": "2"}
        result = await rt.call("edit_file", edit)

    assert result.ok
    assert len(previews) == 2
    assert workspace.read("a.txt") == b"zero\none\n2\n"


async def test_a_file_that_changes_after_every_approval_ends_the_call(workspace, open_runtime):
    workspace.write("a.txt", "0\ntwo\n")
    previews = []

    async def approver(request):
        previews.append(request.preview)
        workspace.write("a.txt", f"{len(previews)}\ntwo\n")
        return True

    async with open_runtime(mode="default", approver=approver) as rt:
        edit = {"path": "a.txt", "old_string": "two", "new_string": "2"}
        result = await rt.call("edit_file", edit)

    assert result.problem.code == "conflict"
    assert len(previews) == 20
    assert workspace.read("a.txt") == b"20\ntwo\n"


@pytest.mark.feature("Y08")
async def test_cancel_ends_a_running_call_and_says_so(open_runtime, endless):
    slow, started = endless
    async with open_runtime() as rt:
        rt.register(slow)
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                results = []

                async def run():
                    results.append(await rt.call("slow", id="s1"))

                tasks.start_soon(run)
                await started.wait()
                assert await rt.cancel("s1") is True
        assert await rt.cancel("s1") is False
        (record,) = await rt.store.calls(limit=5)

    assert results[0].status is Status.INTERRUPTED
    assert results[0].problem.code == "cancelled"
    assert record.completed["status"] == "interrupted"


@pytest.mark.feature("Y08")
async def test_cancelling_the_caller_is_recorded_and_raised(open_runtime, endless):
    slow, started = endless
    async with open_runtime() as rt:
        rt.register(slow)
        task = asyncio.create_task(rt.call("slow", id="s1"))
        await asyncio.wait_for(started.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (record,) = await rt.store.calls(limit=5)

    assert record.completed["status"] == "interrupted"


@pytest.mark.feature("F14")
async def test_a_deadline_ends_a_tool_that_takes_too_long(open_runtime):
    class Slow(handrail.Tool):
        name = "slow"
        summary = "Too slow."
        effects = handrail.Effects.PURE
        timeout_s = 0.05

        class params(handrail.Params):
            pass

        async def run(self, args, ctx: ToolContext):
            await asyncio.Event().wait()

    async with open_runtime() as rt:
        rt.register(Slow())
        with anyio.fail_after(5):
            result = await rt.call("slow")

    assert result.problem.code == "timeout"
    assert result.status is Status.FAILED


async def test_a_closed_runtime_says_so(open_runtime):
    async with open_runtime() as rt:
        pass

    with pytest.raises(ProblemRaised) as caught:
        await rt.call("list_files")

    assert caught.value.problem.code == "unavailable"


async def test_unwrap_returns_a_good_result_and_raises_the_problem_of_a_bad_one(
    workspace, open_runtime
):
    workspace.write("a", "x\n")

    async with open_runtime() as rt:
        good = (await rt.call("read_file", {"path": "a"})).unwrap()
        bad = await rt.call("read_file", {"path": "b"})

    assert good.text == "x"
    with pytest.raises(ProblemRaised) as caught:
        bad.unwrap()
    assert caught.value.problem == bad.problem


async def test_ids_that_a_server_counts_anew_are_told_apart_by_the_response(
    workspace, open_runtime
):
    def response(name, path):
        call = {"id": "call_0", "function": {"name": "read_file", "arguments": {"path": path}}}
        message = {"role": "assistant", "tool_calls": [call]}
        return {"id": name, "choices": [{"message": message}]}

    workspace.write("a.txt", "a1\n")
    workspace.write("b.txt", "b\n")

    async with open_runtime(session="s") as rt:
        first = await rt.answer(response("r1", "a.txt"))
        workspace.write("a.txt", "a2\n")
        other = await rt.answer(response("r2", "b.txt"))
        same = await rt.answer(response("r3", "a.txt"))
        repeated = await rt.answer(response("r1", "a.txt"))

    told = [one[0]["content"] for one in (first, other, same, repeated)]
    assert told == ["a1", "b", "a2", "a1"]
    assert {one[0]["tool_call_id"] for one in (first, other, same)} == {"call_0"}


async def test_an_id_that_comes_again_where_responses_have_none_is_said_to_be_an_old_one(
    workspace, open_runtime
):
    call = {"id": "call_0", "function": {"name": "read_file", "arguments": {"path": "a.txt"}}}
    workspace.write("a.txt", "one\n")

    async with open_runtime() as rt:
        [first] = await rt.answer({"role": "assistant", "tool_calls": [call]})
        workspace.write("a.txt", "two\n")
        [again] = await rt.answer([call])

    assert first["content"] == "one"
    assert again["content"].startswith("one\n[handrail: a call")


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ("rubbish", "call 2 of this one is a str"),
        ({"name": "read_file", "args": {"path": "a"}}, "has no arguments, but 'args'"),
    ],
)
async def test_what_is_no_call_is_named_by_its_place_in_the_batch(open_runtime, call, wrong):
    async with open_runtime() as rt:
        with pytest.raises(TypeError, match=wrong):
            await rt.batch([{"name": "list_files"}, call])


@pytest.mark.parametrize(
    ("path", "code"), [("missing.txt", "not_found"), ("folder", "not_text"), ("a.txt", "internal")]
)
async def test_a_tool_of_ones_own_may_leave_its_paths_errors_to_us(
    workspace, open_runtime, path, code
):
    workspace.write("a.txt", "x")
    workspace.write("folder/b.txt", "x")

    @handrail.tool
    def count_words(path: handrail.ReadPath) -> str:
        """Counts."""
        text = (workspace.root / path).read_text()
        return f"{len(text)} {(workspace.root / 'the tool.toml').read_text()}"

    async with open_runtime(mode="bypass") as rt:
        rt.register(count_words)
        result = await rt.call("count_words", {"path": path})

    assert result.problem.code == code


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda rt: rt.register(lambda: None), "@handrail.tool"),
        (lambda rt: rt.plan({"name": "grep"}), "list of calls"),
        (lambda rt: rt.plan(["grep"]), "list of calls"),
    ],
)
async def test_misuse_says_what_to_write_instead(open_runtime, mistake, words):
    async with open_runtime() as rt:
        with pytest.raises(TypeError, match=words):
            mistake(rt)


async def test_opening_without_await_says_so(workspace):
    opening = handrail.open(workspace.root, store=":memory:")

    with pytest.raises(AttributeError, match="async with"):
        opening.call("list_files")


async def test_a_call_without_a_name_is_told_so(open_runtime):
    async with open_runtime() as rt:
        (result,) = await rt.batch([{"arguments": {}}])

    assert result.problem.code == "invalid_arguments"
    assert "names no tool" in result.text


async def test_one_directory_or_glob_may_be_given_as_a_plain_string(workspace, tmp_path):
    other = tmp_path / "other"
    other.mkdir()

    async with handrail.open(
        workspace.root,
        store=":memory:",
        mode="accept-edits",
        directories=str(other),
        allow_protected=".envrc",
    ) as rt:
        result = await rt.call("write_file", {"path": ".envrc", "content": "x"})

    assert result.ok
    assert rt.session.roots == (str(workspace.root), str(other))


def test_a_hint_is_shown_below_a_traceback():
    import traceback

    error = ProblemRaised("denied", "no", hint="ask first")

    assert "Hint: ask first" in "".join(traceback.format_exception(error))


@pytest.mark.feature("F21")
async def test_the_first_step_that_fails_is_the_one_that_is_told(workspace, open_runtime):
    """Lookup, enabled, validation, clearance, execution, in this order."""

    class Off(handrail.Tool):
        name = "off"
        summary = "Switched off."
        effects = handrail.Effects.PURE

        class params(handrail.Params):
            number: int

        def enabled(self, session):
            return False

    async with open_runtime(mode="plan") as rt:
        rt.register(Off())
        told = [
            (await rt.call(name, arguments)).problem.code
            for name, arguments in [
                ("nowhere", {"number": "x"}),
                ("off", {"number": "x"}),
                ("delete_file", {"paht": 1}),
                ("delete_file", {"path": "missing"}),
            ]
        ]
    async with open_runtime(mode="bypass", allow_delete=True) as rt:
        told.append((await rt.call("delete_file", {"path": "missing"})).problem.code)

    assert told == ["unknown_tool", "unavailable", "invalid_arguments", "denied", "not_found"]


@pytest.mark.parametrize("session", [None, "named"])
async def test_a_repeated_id_says_that_its_change_was_undone_since(
    workspace, open_runtime, session
):
    write = {"path": "b.txt", "content": "b\n"}
    async with open_runtime(session=session) as rt:
        first = await rt.call("write_file", write, id="w")
        await rt.undo("w")
        undone = await rt.call("write_file", write, id="w")
        gone = not (workspace.root / "b.txt").exists()
        await rt.redo("w")
        redone = await rt.call("write_file", write, id="w")

    assert (undone.ok, undone.meta["replayed"], undone.meta["undone"]) == (True, True, ["b.txt"])
    assert undone.text.startswith(f"{first.text}\n[handrail: ")
    assert gone
    assert (redone.text, "undone" in redone.meta) == (first.text, False)
