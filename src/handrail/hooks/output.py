"""The decision of a hook, from its program's exit code and output.

0 succeeds, 2 blocks, any other exit code is a failure. Output that cannot be parsed is a failure
too; `on_failure` decides what follows from a failure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.core.text.nesting import MAX_JSON_DEPTH, nested_deeper
from handrail.core.verdicts import Effect
from handrail.hooks.spec import BLOCKING_EVENTS, HookEvent, HookSpec, HookStyle

MAX_STDOUT_BYTES: Final = 100_000
MAX_MESSAGE_CHARS: Final = 4000
BLOCK_EXIT_CODE: Final = 2
_DECISIONS: Final = {
    "allow": Effect.ALLOW,
    "approve": Effect.ALLOW,
    "ask": Effect.ASK,
    "deny": Effect.DENY,
    "block": Effect.DENY,
}
_STRICTNESS: Final = [None, Effect.ALLOW, Effect.ASK, Effect.DENY]
_SPECIFIC: Final = "hookSpecificOutput"
_TEXT_FIELDS: Final = (
    *("reason", "additionalContext", "stopReason", "systemMessage", "permissionDecisionReason"),
    "hookEventName",
)
_KNOWN_FIELDS: Final = frozenset(
    {*_TEXT_FIELDS, _SPECIFIC, "decision", "updatedInput", "permissionDecision", "continue"}
    | {"suppressOutput"}
)

ReadJson = Callable[[str], Any]


class HookProcessResult(NamedTuple):
    """How a hook's program ended."""

    exit_code: int = 0
    # The beginning of the output; all of it up to a limit.
    stdout: bytes = b""
    stderr: bytes = b""
    # The size of the whole output.
    stdout_bytes: int = 0
    timed_out: bool = False
    duration_s: float = 0.0
    # Why the program could not be run, or which of its changes had to be reverted.
    error: str | None = None
    # Whether the program could not be run.
    not_run: bool = False
    # What in the sandbox probably made the program fail, None if nothing did.
    hindered: str | None = None
    # Whether the program ran in a sandbox, which may have refused it an access.
    confined: bool = False


class HookDecision(NamedTuple):
    """What a hook decided about a call."""

    # None: no opinion.
    effect: Effect | None = None
    # The reason for the effect.
    reason: str = ""
    # Text for the model.
    message: str = ""
    # Text for the user.
    user_notice: str = ""
    # Other arguments for the call.
    updated_input: Mapping[str, Any] | None = None
    # Why the hook failed, None if it did not.
    failure: str | None = None
    # Whether it failed in the sandbox, which may have been the cause.
    hindered: bool = False
    # Whether the output exceeds a limit, so that a refusal in it may have been missed.
    unread: bool = False


class _InvalidOutput(Exception):
    """The output cannot be parsed."""


class _UnreadOutput(_InvalidOutput):
    """The output may be valid in the hook's format, but exceeds a limit of Handrail's."""


def parse_hook_output(
    spec: HookSpec, process: HookProcessResult, read_json: ReadJson
) -> HookDecision:
    """The decision; never raises."""
    if process.not_run:
        return HookDecision(failure=process.error, message=printed_text(process))
    if process.exit_code == BLOCK_EXIT_CODE and not process.timed_out:
        # A refusal counts, whatever else the program did.
        return HookDecision(Effect.DENY, printed_text(process) or "it gave no reason")
    if process.timed_out:
        return _failure(
            spec, process, f"it did not finish within {spec.timeout_s:g} s and was ended"
        )
    if process.exit_code != 0:
        failure_text = f"it ended with exit code {process.exit_code}"
        if process.error is not None:
            failure_text = f"{failure_text}; {process.error}"
        return _failure(spec, process, failure_text)
    try:
        answer = _parse_stdout(spec, process, read_json)
    except _InvalidOutput as misfit:
        answer = HookDecision(failure=str(misfit), unread=isinstance(misfit, _UnreadOutput))
    if process.error is None or answer.effect is Effect.DENY:
        return answer
    return HookDecision(failure=process.error, message=printed_text(process), unread=answer.unread)


def _failure(spec: HookSpec, process: HookProcessResult, failure_text: str) -> HookDecision:
    """The decision of a hook that failed, with the part of the sandbox in the failure, if known."""
    if process.hindered is not None:
        failure_text = f"{failure_text}; {process.hindered}"
    elif process.confined and spec.on_failure is not spec.on_sandbox_failure:
        failure_text = (
            f"{failure_text} in the sandbox, and whether the sandbox caused it is not known"
        )
    return HookDecision(
        failure=failure_text, message=printed_text(process), hindered=process.confined
    )


def printed_text(process: HookProcessResult) -> str:
    """The output of the program, stderr first, truncated."""
    output = [part.decode("utf-8", "replace").strip() for part in (process.stderr, process.stdout)]
    return truncate_message("\n".join(part for part in output if part))


def truncate_message(text: str) -> str:
    """The text, or its beginning and the number of characters left out."""
    left = len(text) - MAX_MESSAGE_CHARS
    if left <= 0:
        return text
    return f"{text[:MAX_MESSAGE_CHARS]}\n[… {left:,} more characters]"


def _parse_stdout(spec: HookSpec, process: HookProcessResult, read_json: ReadJson) -> HookDecision:
    if process.stdout_bytes > MAX_STDOUT_BYTES:
        raise _UnreadOutput(
            f"it printed {process.stdout_bytes:,} bytes; {MAX_STDOUT_BYTES:,} are the most"
        )
    try:
        # Claude Code replaces bytes that are not UTF-8, and skips a byte order mark.
        errors = "replace" if spec.style is HookStyle.CLAUDE else "strict"
        text = process.stdout.decode("utf-8", errors).strip().removeprefix("\ufeff").lstrip()
    except UnicodeDecodeError:
        raise _InvalidOutput("what it printed is no text") from None
    if not text:
        return HookDecision()
    if text.startswith("{"):
        return _parse_object(spec, _load_object(text, read_json))
    if "\0" in text:
        raise _InvalidOutput("what it printed is no text")
    # In Claude Code, plain text reaches the model only from hooks of the start of a session.
    heeded = spec.style is not HookStyle.CLAUDE or spec.event is HookEvent.SESSION_START
    return HookDecision(message=truncate_message(text)) if heeded else HookDecision()


def _load_object(text: str, read_json: ReadJson) -> Mapping[str, Any]:
    try:
        value = read_json(text)
    except ProblemRaised as raised:
        kind = _UnreadOutput if _is_json(text) else _InvalidOutput
        raise kind(f"it printed JSON that cannot be read: {raised.problem.message}") from None
    if not isinstance(value, dict):
        raise _InvalidOutput("it printed JSON that is no object")
    return value


def _is_json(text: str) -> bool:
    """Whether a less strict parser may read the text."""
    if nested_deeper(text, MAX_JSON_DEPTH):
        return True
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _parse_object(spec: HookSpec, output: Mapping[str, Any]) -> HookDecision:
    inner = output.get(_SPECIFIC, {})
    if not isinstance(inner, dict):
        raise _InvalidOutput(f"{_SPECIFIC!r} is no object")
    _check_fields(spec, output, inner)
    effect = _effect(output, inner)
    updated = inner.get("updatedInput", output.get("updatedInput"))
    if updated is not None:
        if not isinstance(updated, dict):
            raise _InvalidOutput("'updatedInput' is no object")
        if spec.event is not HookEvent.PRE_TOOL_USE:
            raise _InvalidOutput(
                "'updatedInput' comes too late: only a hook before a call may change it"
            )
    context = [part.get("additionalContext") for part in (output, inner)]
    return HookDecision(
        effect,
        truncate_message(_reason(output, inner)),
        truncate_message("\n".join(one for one in context if one)),
        output.get("systemMessage") or "",
        updated,
    )


def _check_fields(spec: HookSpec, output: Mapping[str, Any], inner: Mapping[str, Any]) -> None:
    for part in (output, inner):
        for name in _TEXT_FIELDS:
            if not isinstance(part.get(name), str | None):
                raise _InvalidOutput(f"{name!r} is no text")
        unknown = sorted(set(part) - _KNOWN_FIELDS)
        # A misspelled field of a guard must not count as no decision.
        if unknown and spec.style is not HookStyle.CLAUDE and spec.event in BLOCKING_EVENTS:
            raise _InvalidOutput(f"{unknown[0]!r:.80} is nothing that a hook can say")


def _effect(output: Mapping[str, Any], inner: Mapping[str, Any]) -> Effect | None:
    effects: list[Effect | None] = [None]
    for part in (output, inner):
        for name in ("decision", "permissionDecision"):
            word = part.get(name)
            if word is None:
                continue
            if not isinstance(word, str) or word not in _DECISIONS:
                raise _InvalidOutput(f"{word!r:.80} is no decision")
            effects.append(_DECISIONS[word])
    continues = output.get("continue", True)
    if not isinstance(continues, bool):
        raise _InvalidOutput("'continue' is neither true nor false")
    if not continues:
        effects.append(Effect.DENY)
    return max(effects, key=_STRICTNESS.index)


def _reason(output: Mapping[str, Any], inner: Mapping[str, Any]) -> str:
    found = (
        inner.get("permissionDecisionReason"),
        output.get("permissionDecisionReason"),
        output.get("reason"),
        inner.get("reason"),
        output.get("stopReason"),
    )
    return next((text for text in found if text), "it gave no reason")
