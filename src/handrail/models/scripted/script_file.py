"""Reads the script of a model: JSON lines, each of exactly one kind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from handrail.core.problems import ProblemRaised
from handrail.models.scripted.replies import FaultKind, ProviderFault
from handrail.models.scripted.streams import ScriptedCall, ScriptedMessage

_MESSAGE_KEYS: Final = frozenset(
    {"text", "calls", "thinking", "usage", "delay_s", "stream_s", "finish"}
)
_USAGE_KEYS: Final = frozenset({"input", "output", "cache_read", "cache_write"})
_FAULTS: Final = get_args(FaultKind)
_PERSON_WORDS: Final = ("yes", "no", "always", "abort")
_MAX_DELAY_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Expectation:
    """A pattern that the tool results since the last message must match."""

    pattern: re.Pattern[str]
    line: int


Entry = ScriptedMessage | ProviderFault | Expectation


@dataclass(slots=True)
class ScriptBlock:
    """The script of one agent: "main", or the n-th child of a type."""

    agent: str
    label: str | None = None
    entries: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class ModelScript:
    """A whole script: a block per agent, and the user's answers to questions, in order."""

    blocks: list[ScriptBlock]
    answers: list[Any]


def read_script(text: str, name: str) -> ModelScript:
    """Parse a script; raises `invalid_arguments` with the line of the error."""
    script = ModelScript([ScriptBlock("main")], [])
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            _read_line(json.loads(line), number, script)
        except (ValueError, TypeError, re.error) as error:
            raise ProblemRaised(
                "invalid_arguments",
                f"the script {name} is wrong in line {number}: {error}",
                hint="each line is one JSON object: a message, expect, person, fault or agent",
            ) from error
    return script


def _read_line(line: Any, number: int, script: ModelScript) -> None:
    if not isinstance(line, dict):
        raise TypeError("it is no JSON object")
    kinds = [kind for kind in _READERS if kind in line]
    if len(kinds) > 1 or (kinds and _MESSAGE_KEYS & set(line)):
        raise ValueError(f"it is of more than one kind: {', '.join(line)}")
    kind = kinds[0] if kinds else "message"
    allowed_keys, read = _READERS.get(kind, (_MESSAGE_KEYS, _add_message))
    unknown = sorted(set(line) - allowed_keys)
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}")
    if not line:
        raise ValueError("it is empty")
    read(line, number, script)


def _add_message(line: Mapping[str, Any], number: int, script: ModelScript) -> None:
    usage = line.get("usage")
    if usage is not None and not (isinstance(usage, dict) and set(usage) <= _USAGE_KEYS):
        raise ValueError(f"usage has other keys than {', '.join(sorted(_USAGE_KEYS))}")
    calls = line.get("calls", [])
    if not isinstance(calls, list):
        raise TypeError("calls is no list")
    message = ScriptedMessage(
        text=_text(line, "text"),
        calls=tuple(_read_call(call) for call in calls),
        thinking=_text(line, "thinking"),
        usage=usage,
        delay_s=_seconds(line, "delay_s") or 0.0,
        stream_s=_seconds(line, "stream_s") or 0.0,
        finish=_text(line, "finish") or None,
    )
    script.blocks[-1].entries.append(message)


def _read_call(call: Any) -> ScriptedCall:
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        raise TypeError("a call needs a name")
    unknown = sorted(set(call) - {"name", "arguments", "id"})
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r} in a call")
    arguments = call.get("arguments", {})
    if not isinstance(arguments, dict | str):
        raise TypeError("the arguments of a call are an object or text")
    return ScriptedCall(call["name"], arguments, _text(call, "id") or None)


def _add_expectation(line: Mapping[str, Any], number: int, script: ModelScript) -> None:
    script.blocks[-1].entries.append(Expectation(re.compile(_text(line, "expect")), number))


def _add_answer(line: Mapping[str, Any], number: int, script: ModelScript) -> None:
    answer = line["person"]
    if isinstance(answer, dict):
        if set(answer) != {"answers"}:
            raise ValueError('an answer to questions is {"answers": {…}}')
    elif not isinstance(answer, str) or not (answer in _PERSON_WORDS or answer.startswith("no: ")):
        raise ValueError(f"person is {', '.join(_PERSON_WORDS)} or 'no: REASON'")
    script.answers.append(answer)


def _add_fault(line: Mapping[str, Any], number: int, script: ModelScript) -> None:
    kind = line["fault"]
    if kind not in _FAULTS:
        raise ValueError(f"fault is one of {', '.join(_FAULTS)}")
    after = line.get("after", 0)
    if isinstance(after, bool) or not isinstance(after, int) or after < 0:
        raise ValueError("after is a number of bytes")
    fault = ProviderFault(kind, after, _seconds(line, "retry_after_s"))
    script.blocks[-1].entries.append(fault)


def _add_agent(line: Mapping[str, Any], number: int, script: ModelScript) -> None:
    agent = _text(line, "agent")
    if not agent:
        raise ValueError("agent is the type of a child")
    script.blocks.append(ScriptBlock(agent, _text(line, "as") or None))


def _text(line: Mapping[str, Any], name: str) -> str:
    value = line.get(name, "")
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value


def _seconds(line: Mapping[str, Any], name: str) -> float | None:
    value = line.get(name)
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value <= _MAX_DELAY_S
    ):
        raise ValueError(f"{name} is a number of seconds up to {_MAX_DELAY_S:g}")
    return float(value)


_Reader = Callable[[Mapping[str, Any], int, ModelScript], None]
_READERS: Final[Mapping[str, tuple[frozenset[str], _Reader]]] = {
    "expect": (frozenset({"expect"}), _add_expectation),
    "person": (frozenset({"person"}), _add_answer),
    "fault": (frozenset({"fault", "after", "retry_after_s"}), _add_fault),
    "agent": (frozenset({"agent", "as"}), _add_agent),
}
