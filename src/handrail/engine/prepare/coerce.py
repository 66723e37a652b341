"""Arguments of the wrong type: repaired if there is one harmless interpretation, else explained.

Driven by the tool's schema, so it works for any tool. It never changes a value that already fits,
never uses truthiness as a boolean, and never guesses a name.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ValidationError

from handrail.core.arguments.numbers import read_number
from handrail.core.arguments.path_arguments import read_path_arguments
from handrail.core.arguments.schema import Schema, full_schema
from handrail.core.problems import ProblemRaised
from handrail.engine.prepare.arguments import check_plain, load_json
from handrail.engine.registry import ArgumentSpec

_UNREPAIRED: Final = object()
_WORDS: Final = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_MAX_REASONS: Final = 10
_NO_UNITS: Final[Mapping[str, Callable[[Any], Any]]] = MappingProxyType({})
_NO_NAMES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({})
# The names under which pydantic reports the limit that a number exceeds.
_LIMITS: Final = frozenset({"ge", "gt", "le", "lt"})
_TAGS: Final = re.compile(r"(str|int|float|bool|none|any|nullable)|.*[\[(].*")


class CoercedArguments(NamedTuple):
    """The arguments after repair, and one note per repair for the record."""

    arguments: dict[str, Any]
    notes: tuple[str, ...]


def validate_coerced(
    spec: ArgumentSpec, arguments: Mapping[str, Any]
) -> tuple[CoercedArguments, BaseModel]:
    """Return the arguments with harmless mistakes repaired, and the tool's model of them; raises
    pydantic's ValidationError for any other mistake.
    """
    repaired = coerce(spec.model, arguments)
    try:
        return repaired, spec.validate(repaired.arguments)
    except ValidationError:
        try:
            # Types that JSON lacks (a tuple, a date) are accepted in their JSON form.
            return repaired, spec.model.model_validate_json(json.dumps(repaired.arguments))
        except ValidationError:
            pass
        raise


def coerce(model: type[BaseModel], arguments: Mapping[str, Any]) -> CoercedArguments:
    """Repair what strict validation refused; what cannot be repaired stays as it is."""
    schema = _schema(model)
    paths = {attribute for attribute, _ in read_path_arguments(model).direct}
    repaired: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in arguments.items():
        part = schema.get("properties", {}).get(name)
        if part is None or _fits(value, part):
            repaired[name] = value
        elif name not in schema.get("required", ()) and _means_absent(value, part):
            notes.append(f"{name}: {_brief(value)} taken as not given")
        elif name in paths and isinstance(value, list) and len(value) != 1:
            repaired[name] = value  # several paths joined by line breaks are no path
        else:
            result = _repair(value, part)
            repaired[name] = value if result is _UNREPAIRED else result
            if result is not _UNREPAIRED:
                notes.append(f"{name}: {_brief(value)} taken as {_brief(result)}")
    return CoercedArguments(repaired, tuple(notes))


@lru_cache(maxsize=256)
def _schema(model: type[BaseModel]) -> Schema:
    return full_schema(model)


# --- does it fit ------------------------------------------------------------------------


def _fits(value: Any, schema: Any) -> bool:
    if not isinstance(schema, dict):
        return True
    if "enum" in schema or "const" in schema:
        values = schema["enum"] if "enum" in schema else [schema["const"]]
        return any(value == one and type(value) is type(one) for one in values)
    if "anyOf" in schema:
        return any(_fits(value, one) for one in schema["anyOf"])
    check = _CHECKS.get(schema.get("type", ""))
    return check is None or check(value, schema)


def _fits_array(value: Any, schema: Schema) -> bool:
    return isinstance(value, list) and all(_fits(one, schema.get("items")) for one in value)


def _fits_object(value: Any, schema: Schema) -> bool:
    properties = schema.get("properties", {})
    extras = schema.get("additionalProperties")
    return isinstance(value, dict) and all(
        _fits(inner, properties.get(name, extras)) for name, inner in value.items()
    )


_CHECKS: Final[Mapping[str, Callable[[Any, Schema], bool]]] = {
    "string": lambda value, _schema: isinstance(value, str),
    "integer": lambda value, _schema: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value, _schema: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value, _schema: isinstance(value, bool),
    "null": lambda value, _schema: value is None,
    "array": _fits_array,
    "object": _fits_object,
}


# --- repair -----------------------------------------------------------------------------


def _means_absent(value: Any, schema: Schema) -> bool:
    return value is None or (
        isinstance(value, str)
        and value.strip().lower() in ("", "null", "none")
        and not _fits("", {key: schema[key] for key in schema if key not in ("enum", "const")})
    )


def _repair(value: Any, schema: Any) -> Any:
    if not isinstance(schema, dict):
        return _UNREPAIRED
    for choice in schema.get("anyOf", ()):
        result = _repair(value, choice)
        if result is not _UNREPAIRED:
            return result
    repair = _REPAIRS.get(schema.get("type", ""))
    result = repair(value, schema) if repair else _UNREPAIRED
    return result if result is not _UNREPAIRED and _fits(result, schema) else _UNREPAIRED


def _to_boolean(value: Any, _schema: Schema) -> Any:
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower(), _UNREPAIRED)
    return bool(value) if type(value) is int and value in (0, 1) else _UNREPAIRED


def _to_string(value: Any, _schema: Schema) -> Any:
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return "\n".join(value)
    return _UNREPAIRED


def _to_integer(value: Any, _schema: Schema) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    number = read_number(value) if isinstance(value, str) else None
    return number if isinstance(number, int) else _UNREPAIRED


def _to_number(value: Any, _schema: Schema) -> Any:
    number = read_number(value) if isinstance(value, str) else None
    return _UNREPAIRED if number is None else number


def _to_array(value: Any, schema: Schema) -> Any:
    items = schema.get("items")
    if isinstance(value, list):
        return _all_repaired(value, items)
    if isinstance(value, str) and value.lstrip().startswith("["):
        inside = _json_text(value)
        # "[1]" may be JSON or a glob: as a list of strings it is accepted only if it is one.
        strings = isinstance(items, dict) and items.get("type") == "string"
        if isinstance(inside, list) and (not strings or _fits(inside, schema)):
            return _all_repaired(inside, items)
    return _all_repaired([value], items)


def _all_repaired(values: Sequence[Any], items: Any) -> Any:
    result = [one if _fits(one, items) else _repair(one, items) for one in values]
    return _UNREPAIRED if any(one is _UNREPAIRED for one in result) else result


def _to_object(value: Any, schema: Schema) -> Any:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _json_text(value)
    if not isinstance(value, dict):
        return _UNREPAIRED
    properties = schema.get("properties", {})
    extras = schema.get("additionalProperties")
    result = dict(value)
    for name, inner in value.items():
        part = properties.get(name, extras)
        if not _fits(inner, part):
            result[name] = _repair(inner, part)
    return _UNREPAIRED if any(one is _UNREPAIRED for one in result.values()) else result


def _json_text(text: str) -> Any:
    try:
        inside = load_json(text)
        check_plain({"": inside})
        return inside
    except ProblemRaised:
        return _UNREPAIRED


_REPAIRS: Final[Mapping[str, Callable[[Any, Schema], Any]]] = {
    "boolean": _to_boolean,
    "string": _to_string,
    "integer": _to_integer,
    "number": _to_number,
    "array": _to_array,
    "object": _to_object,
}


# --- explain ----------------------------------------------------------------------------


def explain_errors(
    error: ValidationError,
    spelled: Mapping[str, str],
    accepted: Sequence[str] = (),
    units: Mapping[str, Callable[[Any], Any]] = _NO_UNITS,
    inner: Mapping[str, Mapping[str, str]] = _NO_NAMES,
) -> ProblemRaised:
    """Return everything that is wrong with the arguments, in the caller's own names.

    `spelled` maps canonical names to the caller's; `accepted` are the names that the model was
    shown, to list and to suggest from. `units` turns values of canonical arguments into the
    caller's units; `inner` has the caller's names for those inside an argument.
    """
    reasons: dict[str, list[str]] = {}
    first: str | None = None
    for one in error.errors(include_url=False):
        top = str(one["loc"][0]) if one["loc"] else ""
        name = spelled.get(top, top)
        first = first or name
        names = inner.get(top, {})
        place = _place(name, [names.get(str(step), step) for step in one["loc"][1:]])
        said, value = one["msg"], one["input"]
        if top in units:
            said, value = _in_units(said, value, one.get("ctx", {}), units[top])
        reasons.setdefault(place, []).append(_reason(one["type"], said, value))
        if one["type"] == "extra_forbidden":
            # Inside an argument, the names of the other arguments are not suggested.
            known = (accepted or [*spelled.values()]) if len(one["loc"]) == 1 else ()
            reasons[place] = [_not_an_argument(name, known)]
    sentences = [_sentence(place, found) for place, found in reasons.items()]
    if len(sentences) > _MAX_REASONS:
        sentences[_MAX_REASONS:] = [f"and {len(sentences) - _MAX_REASONS} more"]
    return ProblemRaised(
        "invalid_arguments",
        f"Invalid arguments: {'; '.join(sentences)}",
        hint=f"accepted arguments: {', '.join(accepted)}" if accepted else None,
        field=first or None,
    )


def _in_units(
    said: str, value: Any, limits: Mapping[str, Any], convert: Callable[[Any], Any]
) -> tuple[str, Any]:
    """Return the sentence about a limit and the value beyond it, both in the caller's unit."""
    for name in _LIMITS & limits.keys():
        head, _, _ = said.rpartition(" ")
        return f"{head} {convert(limits[name])}", convert(value)
    return said, value


def _place(name: str, rest: Sequence[int | str]) -> str:
    steps = [f"[{one}]" if isinstance(one, int) else f".{one}" for one in rest if not _is_tag(one)]
    return name + "".join(steps)


def _is_tag(step: int | str) -> bool:
    # For a union pydantic adds the alternative that it tried ("list[str]") to the location.
    return isinstance(step, str) and _TAGS.fullmatch(step) is not None


def _reason(kind: str, message: str, value: Any) -> str:
    if kind == "missing":
        return "is required"
    plain = message.removeprefix("Input ").removeprefix("String ").removeprefix("Value error, ")
    if kind in ("too_short", "too_long"):
        # The value itself shows how many items there are "after validation".
        plain = plain.partition(" after validation")[0].removeprefix("List ")
    plain = plain.replace("a valid tuple", "a valid list")
    # The message of a check of all arguments names the value itself.
    if ", got " in plain or (kind == "value_error" and isinstance(value, dict)):
        return plain
    return f"{plain}, not {_brief(value)}"


def _not_an_argument(name: str, accepted: Sequence[str]) -> str:
    close = get_close_matches(name, accepted, n=1, cutoff=0.5)
    return "is not an argument" + (f" (did you mean {close[0]!r}?)" if close else "")


def _sentence(place: str, reasons: Sequence[str]) -> str:
    # The alternatives of a union end in the same ", not <value>": it is written once.
    endings = {reason.rpartition(", not ")[2] for reason in reasons}
    if len(reasons) > 1 and len(endings) == 1:
        heads = [reason.rpartition(", not ")[0].removeprefix("should be ") for reason in reasons]
        reason = f"should be {' or '.join(dict.fromkeys(heads))}, not {endings.pop()}"
    else:
        reason = ", ".join(dict.fromkeys(reasons))
    return f"{place!r} {reason}" if place else reason


def _brief(value: Any) -> str:
    return _SHORT.repr(value)


class _Short(reprlib.Repr):
    """Shortens while it writes, so that mentioning an argument of megabytes is cheap."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 40
        self.maxlevel = self.maxlist = self.maxdict = 3


_SHORT: Final = _Short()
