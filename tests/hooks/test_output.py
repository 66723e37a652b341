"""What an exit code and a print mean."""

import json

import pytest

from handrail.core.verdicts import Effect
from handrail.engine.hooking.dispatcher import read_json
from handrail.hooks.output import MAX_STDOUT_BYTES, HookProcessResult, parse_hook_output
from handrail.hooks.spec import HookEvent, HookSpec, HookStyle, tool_matcher


def said(stdout="", *, exit_code=0, stderr="", style=HookStyle.OWN, event="pre_tool_use", **more):
    spec = HookSpec("h", HookEvent(event), "x", "here", tool_matcher("*"), style=style)
    out = stdout if isinstance(stdout, bytes) else stdout.encode()
    heard = HookProcessResult(
        exit_code, out, stderr.encode(), more.pop("stdout_bytes", len(out)), **more
    )
    return parse_hook_output(spec, heard, read_json)


@pytest.mark.feature("K04", "K10")
@pytest.mark.parametrize(
    ("stdout_bytes", "effect", "words", "updated"),
    [
        ("", None, "", None),
        ("mind the gap\n", None, "mind the gap", None),
        ("[1, 2]", None, "[1, 2]", None),
        ('{"additionalContext": "so"}', None, "so", None),
        ('{"updatedInput": {"path": "b"}}', None, "", {"path": "b"}),
        ('{"decision": "block", "reason": "no"}', Effect.DENY, "", None),
        ('{"decision": "approve"}', Effect.ALLOW, "", None),
        ('{"continue": false, "stopReason": "enough"}', Effect.DENY, "", None),
        ('{"hookSpecificOutput": {"permissionDecision": "ask"}}', Effect.ASK, "", None),
        (
            '{"decision": "approve", "hookSpecificOutput": {"permissionDecision": "deny"}}',
            Effect.DENY,
            "",
            None,
        ),
        (
            '{"hookSpecificOutput": {"updatedInput": {"a": 1}, "additionalContext": "so"}}',
            None,
            "so",
            {"a": 1},
        ),
    ],
)
def test_exit_0_says_what_it_prints(stdout_bytes, effect, words, updated):
    answer = said(stdout_bytes)

    assert (answer.effect, answer.message, answer.updated_input) == (effect, words, updated)
    assert answer.failure is None


@pytest.mark.feature("K05")
def test_exit_2_blocks_and_gives_its_reason_on_stderr():
    answer = said("ignored", exit_code=2, stderr="not on my watch\n")

    assert answer.effect is Effect.DENY
    assert answer.reason.startswith("not on my watch")
    assert said(exit_code=2).reason == "it gave no reason"


@pytest.mark.feature("K06")
@pytest.mark.parametrize("code", [1, 3, 126, 127, 255, -9])
def test_any_other_exit_has_failed(code):
    answer = said(exit_code=code, stderr="Traceback")

    assert answer.failure == f"it ended with exit code {code}"
    assert answer.message == "Traceback"


@pytest.mark.parametrize(
    ("on_failure", "confined", "is_mentioned"),
    [(Effect.ALLOW, True, True), (Effect.DENY, True, False), (Effect.ALLOW, False, False)],
)
def test_the_sandbox_is_mentioned_where_it_decides_what_a_failure_means(
    on_failure, confined, is_mentioned
):
    spec = HookSpec(
        "h", HookEvent.PRE_TOOL_USE, "x", "here", tool_matcher("*"), on_failure=on_failure
    )
    process = HookProcessResult(1, b"", b"", 0, confined=confined)

    answer = parse_hook_output(spec, process, read_json)

    assert ("in the sandbox" in answer.failure) is is_mentioned
    assert answer.hindered is confined


@pytest.mark.parametrize(
    "garbage",
    [
        "{",
        '{"decision": "blcok"}',
        '{"decison": "block"}',
        '{"decision": "block", "decision": "approve"}',
        '{"updatedInput": 3}',
        '{"updatedInput": {"a": NaN}}',
        '{"hookSpecificOutput": "x"}',
        '{"hookSpecificOutput": {"permisionDecision": "deny"}}',
        '{"reason": 3}',
        '{"continue": "no"}',
        '{"a":' * 500 + "1" + "}" * 500,
        b"\xff\xfe{}",
        b"text\0text",
    ],
)
def test_what_cannot_be_understood_of_a_guard_has_failed(garbage):
    assert said(garbage).failure


def test_what_is_too_long_or_too_late_has_failed():
    assert "bytes" in said("x", stdout_bytes=MAX_STDOUT_BYTES + 1).failure
    assert "did not finish" in said("x", timed_out=True).failure
    assert "too late" in said('{"updatedInput": {}}', event="post_tool_use").failure


def test_words_are_not_endless():
    assert len(said("x" * 50_000).message) < 5000
    assert len(said(exit_code=1, stderr="x" * 50_000).message) < 5000


def test_claude_code_s_form_keeps_its_meaning():
    def theirs(stdout, **more):
        return said(stdout, style=HookStyle.CLAUDE, **more)

    assert theirs("just a log line").message == ""
    assert theirs("hello", event="session_start").message == "hello"
    assert theirs(json.dumps({"someFutureKey": 1})).failure is None


@pytest.mark.parametrize(
    ("stdout_bytes", "unread"),
    [
        ('{"decision": "approve", "decision": "block"}', True),
        ('{"decision": "block", "x": ' + "[" * 2000 + "]" * 2000 + "}", True),
        ("{" + "x" * MAX_STDOUT_BYTES, True),
        ('{"decision": ', False),
        ('{"decision": "maybe"}', False),
    ],
)
@pytest.mark.parametrize("style", HookStyle)
def test_output_beyond_a_limit_of_ours_is_told_apart_from_invalid_output(
    stdout_bytes, unread, style
):
    answer = said(stdout_bytes, style=style)

    assert answer.failure is not None
    assert answer.unread is unread
