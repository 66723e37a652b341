"""Calls that failed by a defect: which they are, and what the person can do about them."""

import asyncio

import anyio
import pytest

import handrail
from handrail import ProblemRaised, Status
from handrail.cli.main import main


def broken(error, **settings):
    """A tool that fails until `mended` is set."""

    @handrail.tool(**{"reads_only": True, **settings})
    async def fetch(page: str) -> str:
        """Fetch a page."""
        if not fetch.mended:
            raise error
        return f"the page {page}"

    fetch.mended = False
    return fetch


async def letters_after(rt, name="fetch", **arguments):
    if name == "fetch":
        arguments.setdefault("page", "home")
    await rt.call(name, arguments)
    return await rt.dead_letters.items()


@pytest.mark.feature("C11", "R-04")
async def test_a_defect_is_kept_and_resolved_by_a_retry_that_works(open_runtime):
    fetch = broken(RuntimeError("no route"))
    async with open_runtime() as rt:
        rt.register(fetch)
        failed = await rt.call("fetch", {"page": "home"}, agent="scout")
        (letter,) = await rt.dead_letters.items()
        again = await rt.dead_letters.retry(letter.id)
        (waiting,) = await rt.dead_letters.items("pending")
        fetch.mended = True
        done = await rt.dead_letters.retry(letter.id)
        (over,) = await rt.dead_letters.items()
        records = await rt.store.calls()

    assert failed.problem.code == again.problem.code == "internal"
    assert (letter.operation, letter.arguments, letter.agent, letter.session, letter.call_id) == (
        "tool:fetch", {"page": "home"}, "scout", rt.session.id, failed.call_id,
    )  # fmt: skip
    assert letter.error["message"].endswith("RuntimeError: no route")
    assert (waiting.id, waiting.attempts, waiting.state) == (letter.id, 2, "pending")
    assert (done.text, over.state, over.attempts) == ("the page home", "resolved", 2)
    # Each try is a call of its own on record.
    assert [one.requested["agent"] for one in records] == ["scout"] * 3
    assert len({one.call_id for one in records}) == 3


@pytest.mark.feature("R-04")
async def test_mistakes_and_refusals_are_not_recorded(workspace, open_runtime):
    workspace.write("a.txt", "one\n")
    async with open_runtime(mode="default") as rt:
        for name, arguments in (
            ("read_file", {"path": "missing.txt"}),
            ("edit_file", {"path": "a.txt", "old_string": "two", "new_string": "x"}),
            ("read_file", {"file": 3}),
            ("read_file", {"path": "/etc/shadow"}),
            ("write_file", {"path": "b.txt", "content": "x"}),
            ("no_such_tool", {}),
            ("run_command", {"command": "false"}),
        ):
            assert not (await rt.call(name, arguments)).ok
        letters = await rt.dead_letters.items()

    assert letters == []


@pytest.mark.feature("R-04")
@pytest.mark.parametrize(
    ("error", "settings", "dead"),
    [
        (ProblemRaised("unavailable", "busy", retryable=True), {}, False),
        (ProblemRaised("unavailable", "gone"), {"idempotent": True, "max_attempts": 2}, False),
        (
            ProblemRaised("unavailable", "busy", retryable=True),
            {"idempotent": True, "max_attempts": 2},
            True,
        ),
    ],
    ids=["never tried again", "would not pass", "tries used up"],
)
async def test_a_failure_that_may_pass_is_dead_when_its_tries_are_used_up(
    open_runtime, monkeypatch, error, settings, dead
):
    monkeypatch.setattr("handrail.engine.executors.retry.BASE_S", 0.0)
    async with open_runtime() as rt:
        rt.register(broken(error, **settings))

        assert len(await letters_after(rt)) == dead


@pytest.mark.parametrize(
    ("settings", "dead"),
    [
        ({}, True),
        ({"idempotent": True}, False),
        ({"reads_only": True}, False),
        ({"idempotent": True, "max_attempts": 3}, True),
    ],
    ids=["may have done half", "idempotent", "reads only", "with tries"],
)
async def test_a_call_cut_off_by_its_limit_is_dead_if_it_may_have_done_something(
    open_runtime, settings, dead
):
    @handrail.tool(timeout_s=0.01, **settings)
    async def slow() -> str:
        """Takes for ever."""
        await asyncio.Event().wait()
        return ""

    async with open_runtime(mode="bypass", config={"accept_no_sandbox": True}) as rt:
        rt.register(slow)
        result = await rt.call("slow")
        letters = await rt.dead_letters.items()

    assert result.problem.code == "timeout"
    assert len(letters) == dead


async def test_a_command_that_passes_its_own_limit_is_a_result_and_is_not_recorded(
    workspace, open_runtime
):
    async with open_runtime(mode="bypass", config={"accept_no_sandbox": True}) as rt:
        ended = await rt.call("run_command", {"command": "sleep 30", "timeout_s": 0.3})
        half = await rt.call(
            "run_command", {"command": "echo half > a.txt; sleep 30", "timeout_s": 2}
        )
        written = workspace.read("a.txt")
        letters = await rt.dead_letters.items()
        undone = await rt.undo(half.call_id)

    assert (ended.problem.code, half.problem.code) == ("timeout", "timeout")
    assert (written, letters) == (b"half\n", [])
    assert undone.ok
    assert not (workspace.root / "a.txt").exists()


async def test_a_retry_is_checked_like_any_call(workspace, open_runtime):
    answers = [True, False]
    asked = []

    async def person(request):
        asked.append(request.tool)
        return answers.pop(0)

    async with open_runtime(mode="default", approver=person) as rt:
        rt.register(broken(RuntimeError("half deployed"), reads_only=False))
        await rt.call("fetch", {"page": "home"})
        (letter,) = await rt.dead_letters.items()
        refused = await rt.dead_letters.retry(letter.id)
        (waiting,) = await rt.dead_letters.items()

    assert asked == ["fetch", "fetch"]
    assert refused.status is Status.REFUSED
    assert (waiting.state, waiting.error["code"]) == ("pending", "denied")


async def test_a_dry_run_resolves_nothing(workspace, open_runtime, tmp_path):
    store = tmp_path / "store.db"
    fetch = broken(RuntimeError("no"), reads_only=False)
    async with open_runtime(store=store, mode="bypass", config={"accept_no_sandbox": True}) as rt:
        rt.register(fetch)
        (letter,) = await letters_after(rt)
    async with open_runtime(store=store, dry_run=True) as rt:
        rt.register(fetch)
        planned = await rt.dead_letters.retry(letter.id)
        (waiting,) = await rt.dead_letters.items()

    assert (planned.status, waiting.state) == (Status.PLANNED, "pending")


async def test_what_is_over_or_in_other_hands_cannot_be_taken(open_runtime):
    fetch = broken(RuntimeError("no route"))
    inside, go_on = asyncio.Event(), asyncio.Event()

    @handrail.tool(reads_only=True)
    async def wait() -> str:
        """Fails once, then waits."""
        if not inside.is_set():
            inside.set()
            raise RuntimeError("not yet")
        await go_on.wait()
        return "now"

    async with open_runtime() as rt:
        rt.register(fetch)
        rt.register(wait)
        (first,) = await letters_after(rt)
        given_up = await rt.dead_letters.abandon(first.id)
        for act in (rt.dead_letters.retry, rt.dead_letters.abandon):
            with pytest.raises(ProblemRaised, match="it is abandoned"):
                await act(first.id)
        with pytest.raises(ProblemRaised, match="there is no failed call 99"):
            await rt.dead_letters.retry(99)
        _, second = await letters_after(rt, "wait")
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(rt.dead_letters.retry, second.id)
                while (await rt.dead_letters.get(second.id)).state != "retrying":
                    await anyio.lowlevel.checkpoint()
                with pytest.raises(ProblemRaised, match="being retried"):
                    await rt.dead_letters.abandon(second.id)
                go_on.set()
        states = [one.state for one in await rt.dead_letters.items()]

    assert given_up.state == "abandoned"
    assert states == ["abandoned", "resolved"]


async def test_a_retry_that_is_cancelled_waits_again(open_runtime):
    fails, entered = [True], asyncio.Event()

    @handrail.tool(reads_only=True)
    async def hang() -> str:
        """Fails once, then hangs."""
        if fails.pop():
            fails.append(False)
            raise RuntimeError("no")
        entered.set()
        await asyncio.Event().wait()
        return ""

    async with open_runtime() as rt:
        rt.register(hang)
        (letter,) = await letters_after(rt, "hang")
        task = asyncio.create_task(rt.dead_letters.retry(letter.id))
        await asyncio.wait_for(entered.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (waiting,) = await rt.dead_letters.items()

    assert (waiting.state, waiting.attempts) == ("pending", 1)


async def test_a_letter_of_another_workspace_or_with_a_secret_is_not_retried(
    workspace, open_runtime, tmp_path
):
    fetch, store = broken(RuntimeError("no route")), tmp_path / "store.db"
    other = tmp_path / "other"
    other.mkdir()
    async with handrail.open(other, store=store) as rt:
        rt.register(fetch)
        await letters_after(rt)
    async with open_runtime(store=store) as rt:
        rt.register(fetch)
        await rt.call("fetch", {"page": "ghp_" + "a1B2" * 9})
        elsewhere, secret = await rt.dead_letters.items()
        with pytest.raises(ProblemRaised, match=f"made in '{other}'"):
            await rt.dead_letters.retry(elsewhere.id)
        with pytest.raises(ProblemRaised, match="contained a secret"):
            await rt.dead_letters.retry(secret.id)
        assert (await rt.dead_letters.abandon(secret.id)).state == "abandoned"


@pytest.mark.feature("R-04")
async def test_a_task_of_ones_own_tries_again_until_it_works_or_is_hopeless(open_runtime):
    fetch, hopeless = broken(RuntimeError("no route")), []

    @handrail.tool(reads_only=True)
    async def never() -> str:
        """Never works."""
        hopeless.append(1)
        raise RuntimeError("never")

    async with open_runtime(config={"loop_guard": "off"}) as rt:
        rt.register(fetch)
        rt.register(never)
        await letters_after(rt, "never")
        await letters_after(rt)
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(rt.dead_letters.keep_retrying, 0.0)
                while len(hopeless) < 5 or (await rt.dead_letters.get(2)).attempts < 3:
                    await anyio.lowlevel.checkpoint()
                fetch.mended = True
                while (await rt.dead_letters.get(2)).state != "resolved":
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
        left = await rt.dead_letters.items("pending")

    assert [(one.operation, one.attempts) for one in left] == [("tool:never", 5)]
    assert len(hopeless) == 5


async def test_switched_off_nothing_is_kept_and_what_was_kept_is_shown(open_runtime, tmp_path):
    fetch, store = broken(RuntimeError("no route")), tmp_path / "store.db"
    async with open_runtime(store=store) as rt:
        rt.register(fetch)
        await letters_after(rt)
    async with open_runtime(store=store, config={"dead_letters": False}) as rt:
        rt.register(fetch)
        letters = await letters_after(rt, page="other")

    assert [one.arguments for one in letters] == [{"page": "home"}]


async def test_a_failed_store_changes_no_result(open_runtime, monkeypatch, caplog):
    fetch = broken(RuntimeError("no route"))
    async with open_runtime() as rt:
        rt.register(fetch)

        async def refuse(letter):
            raise ProblemRaised("store_unavailable", "the store is gone")

        monkeypatch.setattr(rt.store, "record_failed_call", refuse)
        result = await rt.call("fetch", {"page": "home"})

    assert result.problem.code == "internal"
    assert "fetch was not recorded" in caplog.text


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["text", "json"])
def test_a_letter_of_a_tool_that_is_not_here_is_left_as_it_is(workspace, capsys, words):
    async def fail():
        async with handrail.open(workspace.root) as rt:
            rt.register(broken(RuntimeError("no route")))
            return await letters_after(rt)

    async def look():
        async with handrail.open(workspace.root) as rt:
            return await rt.dead_letters.items(), await rt.store.calls()

    (kept,) = asyncio.run(fail())
    code = main(["-w", str(workspace.root), *words, "letters", "retry", "1"])
    said = capsys.readouterr()
    letters, calls = asyncio.run(look())

    assert code == 1
    assert "'fetch' is not registered here" in said.out + said.err
    assert "`rt.dead_letters.retry(1)` in the program" in said.out + said.err
    assert letters == [kept]
    assert len(calls) == 1


def test_what_is_over_is_told_with_what_to_do(workspace, capsys, monkeypatch):
    from handrail.tools.files.list_files import ListFiles

    async def fail(self, args, context):
        raise RuntimeError("a defect")

    monkeypatch.setattr(ListFiles, "run", fail)
    here = ["-w", str(workspace.root)]
    main([*here, "call", "list_files"])
    main([*here, "letters", "show", "1"])
    once = capsys.readouterr().out
    main([*here, "letters", "retry", "1"])
    main([*here, "letters", "show", "1"])
    twice = capsys.readouterr().out
    main([*here, "letters", "abandon", "1"])
    code = main([*here, "letters", "retry", "1"])
    said = capsys.readouterr().err

    assert "id         1, pending, failed once\n" in once
    assert "1, pending, failed 2 times" in twice
    assert code == 1
    assert "discarded: it is abandoned" in said
    assert "hint: " in said


def test_the_command_line_lists_shows_retries_and_abandons(workspace, capsys, monkeypatch):
    from handrail.tools.files.list_files import ListFiles

    listing = ListFiles.run

    async def fail(self, args, context):
        raise RuntimeError("a defect")

    def handrail_says(*words):
        code = main(["-w", str(workspace.root), *words])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    monkeypatch.setattr(ListFiles, "run", fail)
    assert handrail_says("letters") == (0, "no failed calls\n")
    assert handrail_says("call", "list_files")[0] == 1
    assert handrail_says("call", "list_files", "path=sub")[0] == 1
    code, listed = handrail_says("failed-calls")
    assert (code, listed.split()[:5]) == (0, ["id", "state", "attempts", "tool", "error"])
    assert "list_files  list_files failed: RuntimeError" in listed
    code, shown = handrail_says("failed-calls", "show", "1")
    assert "operation  tool:list_files" in shown
    assert "internal: list_files failed: RuntimeError" in shown
    code, tried = handrail_says("failed-calls", "retry", "1")
    assert (code, "failed call 1 is now pending" in tried) == (1, True)
    monkeypatch.setattr(ListFiles, "run", listing)
    code, tried = handrail_says("failed-calls", "retry", "1")
    assert (code, tried.splitlines()[-1]) == (0, "failed call 1 is now resolved")
    assert handrail_says("failed-calls", "abandon", "2")[0] == 0
    assert handrail_says("failed-calls") == (0, "no failed calls\n")
    assert handrail_says("--json", "letters", "--all")[1].count('"state"') == 2
    for wrong in (["letters", "retry"], ["letters", "show", "x"], ["letters", "list", "1"]):
        assert handrail_says(*wrong)[0] == 2
    assert handrail_says("failed-calls", "retry", "77")[0] == 1
    assert handrail_says("failed-calls", "show", "1", "--all")[0] == 2
