"""Turns a provider's argument text, or a caller's mapping, into one plain JSON object, or refuses
it.

Two readers of the same arguments must never disagree, so ambiguous input is refused: duplicate
keys, NaN, lone surrogates, a depth that another parser would refuse.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from handrail.core.problems import Problem, ProblemRaised
from handrail.core.text.nesting import MAX_JSON_DEPTH, nested_deeper
from handrail.engine import messages

MAX_CHARS: Final = 32 * 1024 * 1024
# The limit for a model or a client; the host program may send more.
MAX_BYTES: Final = 8 * 1024 * 1024
MAX_DEPTH: Final = 64
# By default Python cannot write longer integers as decimal text, and other parsers cannot read
# them.
MAX_INTEGER_BITS: Final = 1024

_CONSTANTS: Final = frozenset({bool, type(None)})


def parse_arguments(text: str) -> dict[str, Any]:
    """Return the arguments in a provider's JSON text; raises `invalid_arguments`."""
    if not text or text.isspace():
        return {}
    value = load_json(text)
    if value is None:
        # What some servers send for a call without arguments.
        return {}
    if not isinstance(value, dict):
        raise _refused(
            f"the arguments are {_kind(value)}, not a JSON object",
            hint='send one object, such as {"path": "README.md"}',
        )
    check_plain(value)
    return value


def load_json(text: str) -> Any:
    """Parse one JSON value of any kind, strictly; raises `invalid_arguments`."""
    if len(text) > MAX_CHARS:
        raise _refused(
            f"the arguments are {len(text):,} characters long, the limit is {MAX_CHARS:,}",
            hint="send large content in several calls",
        )
    if nested_deeper(text, MAX_JSON_DEPTH):
        raise _too_deep()
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _not_json(text, error) from error
    except ValueError as error:
        raise _refused("the arguments hold a number with too many digits") from error


def exceeds_limit(arguments: Any) -> bool:
    """Return whether arguments are larger than `MAX_BYTES`: as JSON text, or as the texts in a
    parsed value.
    """
    if isinstance(arguments, str):
        return _size(arguments) > MAX_BYTES
    total, waiting = 0, [arguments]
    while waiting:
        value = waiting.pop()
        # Each value counts a little, so that a million empty ones count too.
        total += 2
        if isinstance(value, str):
            total += _size(value)
        elif isinstance(value, Mapping):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value
        if total > MAX_BYTES:
            return True
    return False


def too_large() -> Problem:
    """Return the refusal of arguments that exceed the limit."""
    return messages.ARGUMENTS_TOO_LARGE.fill(limit=MAX_BYTES)


def _size(text: str) -> int:
    """Return the length in bytes, counted no further than needed."""
    if len(text) > MAX_BYTES or text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))


def check_plain(arguments: Mapping[str, Any]) -> None:
    """Refuse values that JSON text cannot contain; raises `invalid_arguments`."""
    for key, value in arguments.items():
        _check_key(key)
        _check(value, key, 2)


def _check(value: Any, argument: str, depth: int) -> None:
    if isinstance(value, str):
        _check_text(value, argument)
    elif isinstance(value, dict):
        _check_depth(argument, depth)
        for key, inner in value.items():
            _check_key(key)
            _check(inner, argument, depth + 1)
    elif isinstance(value, list):
        _check_depth(argument, depth)
        for inner in value:
            _check(inner, argument, depth + 1)
    else:
        _check_number(value, argument)


def _check_number(value: Any, argument: str) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _refused(f"{argument!r} holds {value}, which is not JSON", field=argument)
    elif isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_BITS:
            raise _refused(f"{argument!r} holds a number with too many digits", field=argument)
    elif value is not None:
        raise _refused(
            f"{argument!r} holds a {type(value).__name__}, which is not a JSON value",
            hint="use str, int, float, bool, None, list and dict only",
            field=argument,
        )


def _check_depth(argument: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _too_deep(argument)


def _check_key(key: Any) -> None:
    if not isinstance(key, str):
        raise _refused(f"the argument name {key!r} is not a string")
    _check_text(key, key)


def _check_text(text: str, argument: str) -> None:
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refused(
            f"{_visible(argument)} holds half of a surrogate pair (\\u{ord(text[error.start]):04x})"
            f" at character {error.start}, which is not text",
            hint="send the whole character",
            field=_visible(argument).strip("'"),
        ) from error


def _visible(text: str) -> str:
    return repr(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            break
        seen.add(name)
    raise _refused(
        f"{_visible(name)} is given more than once in one object", hint="give every name once"
    )


def _no_constant(name: str) -> NoReturn:
    raise _refused(f"the arguments hold {name}, which is not JSON")


def _not_json(text: str, error: json.JSONDecodeError) -> ProblemRaised:
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return _refused(
            "the arguments are JSON that ends too early, as if it had been cut off",
            hint="send the call again, complete; send large content in several calls",
        )
    near = text[max(0, error.pos - 20) : error.pos + 20]
    return _refused(
        f"the arguments are not JSON: {error.msg} at character {error.pos}, near {_visible(near)}",
        hint="send one JSON object with double-quoted names",
    )


def _too_deep(argument: str | None = None) -> ProblemRaised:
    what = "the arguments are" if argument is None else f"{argument!r} is"
    return _refused(f"{what} nested more than {MAX_DEPTH} levels deep", field=argument)


def _refused(reason: str, *, hint: str | None = None, field: str | None = None) -> ProblemRaised:
    return ProblemRaised(
        "invalid_arguments", f"Invalid arguments: {reason}", hint=hint, field=field
    )


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {list: "an array", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a number")


# Raw line breaks inside strings are common in models' output and not ambiguous.
_DECODER: Final = json.JSONDecoder(
    strict=False, object_pairs_hook=_unique, parse_constant=_no_constant
)
