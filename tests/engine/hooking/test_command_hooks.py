"""For which files a configured hook runs, and what its runs together say about a call."""

from types import SimpleNamespace

import pytest

from handrail.core.results import ChangeRecord, Status, ToolResult
from handrail.core.verdicts import Effect, Verdict
from handrail.engine.hooking.callbacks import HookCall, Opinion, Rewrite, normalize_opinion
from handrail.engine.hooking.command_hooks import MAX_HOOK_FILES, CommandHook
from handrail.engine.hooking.dispatcher import HookRun
from handrail.hooks.output import HookDecision, HookProcessResult
from handrail.hooks.spec import HookEvent, HookSpec, HookStyle, file_patterns, tool_matcher

PRE, POST = HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE
FAILURE, ERROR = HookEvent.POST_TOOL_USE_FAILURE, HookEvent.ON_ERROR


class Desk:
    """Answers every run with the next decision, and remembers the files."""

    def __init__(self, *runs):
        self.session = SimpleNamespace(roots=("/w",))
        self.files = []
        self._runs = list(runs)

    def aliases(self, tool):
        return frozenset({tool, f"{tool}_alias"})

    async def run_hook(self, spec, hook_input, file, claude_call):
        self.files.append(file)
        answer = self._runs.pop(0) if self._runs else HookDecision()
        return answer if isinstance(answer, HookRun) else HookRun(HookProcessResult(), answer)


def spec(event=PRE, matcher="*", files=None, **fields):
    patterns = None if files is None else file_patterns(files, ["/w"])
    return HookSpec("h", event, "x", "here", tool_matcher(matcher), files=patterns, **fields)


def call(*files, **fields):
    return HookCall("c", "write_file", {}, 1, "main", files=files, **fields)


def result(*changes, status=Status.OK):
    made = [ChangeRecord(path, operation, None, None) for operation, path in changes]
    return ToolResult("c", status, "", changes=tuple(made))


async def asked(made, *runs, **fields):
    desk = Desk(*runs)
    opinion = await CommandHook(spec(**fields), desk).before(made)
    return opinion, desk.files


async def told(made, finished, *runs, event=POST, **fields):
    desk = Desk(*runs)
    words = await CommandHook(spec(event, **fields), desk).after(made, finished)
    return words, desk.files


@pytest.mark.parametrize(
    ("made", "fields", "files"),
    [
        (call("/w/a", "/w/b"), {}, ["/w/a", "/w/b"]),
        (call(), {}, [None]),
        (call(), {"needs_file": True}, []),
        (call("/w/a.py", "/w/b.c"), {"files": ["*.py"]}, ["/w/a.py"]),
        (call("/w/b.c"), {"files": ["*.py"]}, []),
        (call("/w/a", ways={"/w/a": ("/w/l", "/w/m")}), {}, ["/w/a", "/w/l", "/w/m"]),
        # A command is one run, unless the hook is about files.
        (call("/w/a", "/w/b", runs_command=True), {}, [None]),
        (call("/w/a", "/w/b", runs_command=True), {"needs_file": True}, ["/w/a", "/w/b"]),
        (call("/w/a.py", "/w/b", runs_command=True), {"files": ["*.py"]}, ["/w/a.py"]),
        (call("/w/a"), {"matcher": "write_file"}, ["/w/a"]),
        (call("/w/a"), {"matcher": "write_file_alias"}, ["/w/a"]),
        (call("/w/a"), {"matcher": "read_file"}, []),
        (call("/w/a"), {"event": POST}, []),
    ],
)
async def test_a_guard_runs_for_the_files_that_concern_it(made, fields, files):
    assert await asked(made, **fields) == (None, files)


@pytest.mark.parametrize(
    ("count", "effect", "runs"), [(50, None, 50), (51, Effect.DENY, 0), (51, Effect.ALLOW, 0)]
)
async def test_a_guard_does_not_run_for_more_than_fifty_files(count, effect, runs):
    made = call(*[f"/w/{number}" for number in range(count)])

    opinion, files = await asked(made, on_unavailable=effect or Effect.DENY)

    assert len(files) == runs
    if effect is Effect.DENY:
        assert opinion.verdict.effect is Effect.DENY
        assert "50" in opinion.verdict.reason
    else:
        assert opinion is None


ALLOWS, ASKS = HookDecision(Effect.ALLOW), HookDecision(Effect.ASK, "sure?")
DENIES, SAYS = HookDecision(Effect.DENY, "no"), HookDecision(message="mind")


@pytest.mark.parametrize(
    ("runs", "may_allow", "effect", "ran"),
    [
        ([ALLOWS, ALLOWS], True, Effect.ALLOW, 2),
        ([ALLOWS, ALLOWS], False, None, 2),
        ([ALLOWS, HookDecision()], True, None, 2),
        ([HookDecision(), ALLOWS], True, None, 2),
        ([ASKS, ALLOWS], True, Effect.ASK, 2),
        ([ALLOWS, ASKS], True, Effect.ASK, 2),
        # The first refusal ends it.
        ([DENIES, ALLOWS], True, Effect.DENY, 1),
        ([ALLOWS, DENIES], True, Effect.DENY, 2),
        ([ASKS, DENIES], True, Effect.DENY, 2),
    ],
)
async def test_an_approval_counts_only_if_every_run_gives_it(runs, may_allow, effect, ran):
    opinion, files = await asked(call("/w/a", "/w/b"), *runs, may_allow=may_allow)

    assert len(files) == ran
    if effect is None:
        assert opinion is None
        return
    assert opinion.verdict.effect is effect
    assert opinion.verdict.rule == "hook:h"
    assert opinion.may_allow is (effect is Effect.ALLOW)
    if effect is Effect.DENY:
        assert opinion.verdict.reason == "no"


async def test_words_are_given_once_and_arguments_replaced():
    updated = HookDecision(updated_input={"path": "b"})

    said, _ = await asked(call("/w/a", "/w/b", "/w/c"), SAYS, SAYS, HookDecision(message="x"))
    changed, _ = await asked(call("/w/a"), updated)

    assert said == Opinion(words="[Hook h]\nmind\n[Hook h]\nx")
    assert changed == Opinion(rewrite=Rewrite({"path": "b"}))


NOT_RUN = HookRun(HookProcessResult(not_run=True), HookDecision(failure="gone"))


@pytest.mark.parametrize(
    ("run", "fields", "effect", "hints"),
    [
        (HookDecision(failure="broke"), {}, None, ()),
        (HookDecision(failure="broke"), {"on_failure": Effect.ASK}, Effect.ASK, ()),
        (HookDecision(failure="broke"), {"on_failure": Effect.DENY}, Effect.DENY, ()),
        (NOT_RUN, {}, Effect.DENY, ("on_failure",)),
        (NOT_RUN, {"on_unavailable": Effect.ALLOW}, None, ()),
        (HookDecision(failure="broke", unread=True), {}, Effect.DENY, ("on_failure",)),
        (
            HookDecision(failure="broke", hindered=True),
            {},
            Effect.DENY,
            ("on_failure", "unconfined"),
        ),
        (
            HookDecision(failure="broke", hindered=True),
            {"on_failure": Effect.DENY},
            Effect.DENY,
            (),
        ),
        (
            HookDecision(failure="broke", hindered=True),
            {"on_sandbox_failure": Effect.ALLOW},
            None,
            (),
        ),
    ],
)
async def test_a_failed_guard_counts_as_its_settings_say(run, fields, effect, hints):
    opinion, _ = await asked(call("/w/a"), run, **fields)

    if effect is None:
        assert opinion is None
        return
    verdict = opinion.verdict
    assert verdict.effect is effect
    assert "'h'" in verdict.reason
    shown = [word for word in ("on_failure", "unconfined") if word in (verdict.hint or "")]
    assert shown == list(hints)


async def test_a_failed_run_passes_over_to_the_next_file_only_if_it_may():
    broken = HookDecision(failure="broke")

    assert (await asked(call("/w/a", "/w/b"), broken))[1] == ["/w/a", "/w/b"]
    assert (await asked(call("/w/a", "/w/b"), broken, on_failure=Effect.DENY))[1] == ["/w/a"]


@pytest.mark.parametrize(
    ("event", "status", "runs"),
    [
        (PRE, Status.OK, False),
        (POST, Status.OK, True),
        (POST, Status.FAILED, False),
        (FAILURE, Status.OK, False),
        (FAILURE, Status.FAILED, True),
        (FAILURE, Status.UNKNOWN, True),
        (ERROR, Status.FAILED, True),
        (ERROR, Status.UNKNOWN, True),
        (ERROR, Status.REFUSED, False),
        (POST, Status.REFUSED, False),
    ],
)
async def test_which_event_follows_from_how_a_call_ended(event, status, runs):
    words, files = await told(call("/w/a"), result(status=status), SAYS, event=event)

    assert (words, files) == (("[Hook h]\nmind", ["/w/a"]) if runs else (None, []))


@pytest.mark.parametrize(
    ("made", "changes", "fields", "files"),
    [
        (call("/w/a"), [], {}, ["/w/a"]),
        (call("/w/a"), [("update", "b")], {}, ["/w/a"]),
        # The other names of a file matter only before a call.
        (call("/w/a", ways={"/w/a": ("/w/l",)}), [], {}, ["/w/a"]),
        # A call that names no files is about those that it changed.
        (call(), [("update", "b"), ("create", "d/c")], {}, ["/w/b", "/w/d/c"]),
        (call(runs_command=True), [("update", "b")], {}, ["/w/b"]),
        (call(runs_command=True), [], {}, [None]),
        (call(), [], {"needs_file": True}, []),
        # A hook that needs a file has none of a deleted one.
        (call("/w/a", "/w/b"), [("delete", "a")], {"needs_file": True}, ["/w/b"]),
        (call("/w/a", "/w/b"), [("update", "a")], {"needs_file": True}, ["/w/a", "/w/b"]),
        (call("/w/xa"), [("delete", "a")], {"needs_file": True}, ["/w/xa"]),
        (call("/x/a"), [("delete", "/x/a")], {"needs_file": True}, []),
        (call("/w/a", "/w/b"), [("delete", "a")], {}, ["/w/a", "/w/b"]),
        (call(), [("delete", "a")], {}, ["/w/a"]),
    ],
)
async def test_a_hook_after_a_call_runs_for_its_files(made, changes, fields, files):
    assert await told(made, result(*changes), **fields) == (None, files)


@pytest.mark.parametrize(("count", "noted"), [(50, False), (51, True)])
async def test_a_hook_after_a_call_runs_for_fifty_files_and_says_so(count, noted):
    made = call(*[f"/w/{number}" for number in range(count)])

    words, files = await told(made, result())

    assert files == list(made.files[:MAX_HOOK_FILES])
    assert len(files) == 50
    assert words == ("[Hook h: run for 50 of 51 files]" if noted else None)


def ended(decision, **process):
    return HookRun(HookProcessResult(**process), decision)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (SAYS, "[Hook h]\nmind"),
        (HookDecision(), None),
        (HookDecision(Effect.DENY, "no"), "[Hook h]\nno"),
        (HookDecision(Effect.DENY, "no", "why"), "[Hook h]\nno\nwhy"),
        (ended(DENIES, exit_code=2), "[Hook h: FAILED (exit 2)]\nno"),
        (
            ended(HookDecision(failure="f", message="m"), exit_code=3),
            "[Hook h: FAILED (exit 3)]\nm",
        ),
        (ended(HookDecision(failure="f")), "[Hook h: FAILED (f)]"),
        (
            ended(HookDecision(failure="f"), exit_code=3, timed_out=True, hindered="net"),
            "[Hook h: FAILED (f)]",
        ),
        (
            ended(HookDecision(failure="f"), exit_code=3, error="e"),
            "[Hook h: FAILED (f)]",
        ),
        (
            ended(HookDecision(failure="f"), exit_code=3, hindered="net"),
            "[Hook h: FAILED (exit 3)]\n[net]",
        ),
    ],
)
async def test_what_the_model_reads_of_a_hook_after_a_call(run, words):
    assert (await told(call("/w/a"), result(), run))[0] == words


async def test_a_failed_hook_in_the_style_of_claude_says_nothing():
    broken = ended(HookDecision(failure="f"), exit_code=3)
    claude = CommandHook(spec(POST, style=HookStyle.CLAUDE), Desk())

    assert claude._message_lines(broken) == []


async def test_equal_words_about_several_files_are_read_once():
    other = HookDecision(message="other")

    words, _ = await told(call("/w/a", "/w/b", "/w/c"), result(), SAYS, other, SAYS)

    assert words == "[Hook h]\nmind\n[Hook h]\nother"


def test_whatever_a_hook_returns_is_an_opinion():
    verdict, rewrite = Verdict(Effect.DENY, "no", "r"), Rewrite({})
    opinion = Opinion(words="x")

    assert normalize_opinion(None) == Opinion()
    assert normalize_opinion(verdict) == Opinion(verdict)
    assert normalize_opinion(rewrite) == Opinion(rewrite=rewrite)
    assert normalize_opinion(opinion) is opinion
