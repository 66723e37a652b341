"""Validates arguments with a server's JSON Schema: reports all errors at once, fetches nothing, and takes
a limited number of steps. Regular expressions are not evaluated, because they could run forever; the
server checks them itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from json import dumps
from typing import Any, Final
from urllib.parse import unquote

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema import ValidationError as Mismatch
from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]
from jsonschema.validators import extend  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, create_model, model_validator
from referencing import Registry

_MOST_ERRORS: Final = 20
_REMARKS: Final = frozenset({"$schema", "title", "description", "default", "examples"})
# bool is not listed for numbers: the types are compared exactly.
_PLAIN_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
# The depth and the number of parts of a schema up to which types are read.
_MOST_LEVELS: Final = 5
_MOST_PARTS: Final = 2_000
# The most steps of a check, and the additional steps for each value of the arguments. Without a limit,
# references could double the work again and again.
_MOST_STEPS: Final = 5_000
_STEPS_PER_VALUE: Final = 100
# Keywords whose schemas apply to the same value as the schema that contains them.
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_NAMED: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
# Keywords whose values are data, not schemas.
_VALUES: Final = frozenset({"const", "enum", "default", "examples", "required"})
# The remaining steps of the current check.
_steps_left: Final[ContextVar[int]] = ContextVar("_steps_left")


class _TooManyStepsError(Exception):
    """A check takes too many steps."""


def _count_step() -> None:
    remaining = _steps_left.get()
    if remaining <= 0:
        raise _TooManyStepsError("it takes too many steps")
    _steps_left.set(remaining - 1)


def _counted(check: Callable[..., Any]) -> Callable[..., Any]:
    """Return the check of a keyword that also counts a step."""

    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _count_step()
        return check(validator, value, instance, schema)

    return apply


def _check_unique(validator: Any, unique: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Check `uniqueItems` in one pass over the items."""
    del schema
    if unique and validator.is_type(instance, "array"):
        items = {dumps(item, sort_keys=True) for item in instance}
        if len(items) < len(instance):
            yield Mismatch("has items that are equal")


def _is_boolean(checker: Any, instance: Any) -> bool:
    """Return whether a value is a boolean; also counts a step, because the validator calls it for
    every part while it collects unevaluated items.
    """
    del checker
    _count_step()
    return isinstance(instance, bool)


_KEYWORDS: Final = {**Draft202012Validator.VALIDATORS, "uniqueItems": _check_unique}
_CountingValidator: Final = extend(
    Draft202012Validator,
    {name: _counted(check) for name, check in _KEYWORDS.items()},
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("boolean", _is_boolean),
)


def argument_model(name: str, schema: dict[str, Any]) -> type[BaseModel]:
    """Return a model that accepts what a schema accepts and leaves the arguments unchanged. Raises
    TypeError for an invalid schema.
    """
    validator = _validator(schema)
    endless = _is_endless(schema)
    plain_types = _find_plain_types(schema)
    required = frozenset(schema.get("required", ()))

    def check(arguments: Any) -> Any:
        # A fast path for simple schemas: the validator would take most of the time of a call.
        if plain_types is not None and _is_plain(arguments, plain_types, required):
            return arguments
        if endless:
            raise ValueError(
                "the server's schema cannot be applied: it refers to itself without end"
            )
        errors = _find_errors(validator, arguments)
        if errors and (present := _without_absent(arguments, errors, required)) != arguments:
            arguments, errors = present, _find_errors(validator, present)
        if errors:
            raise ValueError("; ".join(map(_describe, errors[:_MOST_ERRORS])))
        return arguments

    before: Any = model_validator(mode="before")(staticmethod(check))
    # The types with which arguments such as numbers given as text are converted.
    types = _TypeReader(schema).read(schema, _MOST_LEVELS)
    return create_model(
        f"{name}_arguments",
        __config__=ConfigDict(
            extra="allow",
            protected_namespaces=(),
            json_schema_extra={**types, "additionalProperties": True},
        ),
        __validators__={"check_schema": before},
    )


def _validator(schema: dict[str, Any]) -> Any:
    try:
        checked = _without_patterns(schema)
        Draft202012Validator.check_schema(checked)
    except (SchemaError, RecursionError) as error:
        raise TypeError(f"has a schema that cannot be used: {str(error)[:200]}") from None
    # An empty registry resolves only references inside the schema.
    return _CountingValidator(checked, registry=Registry())


def _find_errors(validator: Any, arguments: Any) -> list[Any]:
    """Return the errors of arguments; raises ValueError if the schema cannot be applied."""
    _steps_left.set(_MOST_STEPS + _STEPS_PER_VALUE * _count_values(arguments))
    try:
        return sorted(validator.iter_errors(arguments), key=lambda one: list(map(str, one.path)))
    except Exception as error:  # noqa: BLE001 - a reference that leads nowhere, too many steps
        raise ValueError(f"the server's schema cannot be applied: {error}"[:500]) from None


def _without_absent(arguments: Any, errors: Sequence[Any], required: frozenset[str]) -> Any:
    """Return the arguments without optional ones that are None and that the schema refuses: None
    means that they were not given.
    """
    if not isinstance(arguments, dict):
        return arguments
    refused = {error.path[0] for error in errors if len(error.path) == 1} - required
    return {
        name: value for name, value in arguments.items() if value is not None or name not in refused
    }


def _is_plain(
    arguments: Any, plain_types: dict[str, tuple[type, ...]], required: frozenset[str]
) -> bool:
    """Whether all required arguments are given, and each has the type that its simple schema demands."""
    if not isinstance(arguments, dict) or not required <= arguments.keys():
        return False
    return all(type(value) in plain_types.get(name, ()) for name, value in arguments.items())


def _find_plain_types(schema: dict[str, Any]) -> dict[str, tuple[type, ...]] | None:
    """Argument → its Python types, for arguments whose schema is only a type; None if the schema has other
    constraints.
    """
    if schema.keys() - _REMARKS - {"type", "properties", "required", "additionalProperties"}:
        return None
    plain_types = {}
    for name, part in schema.get("properties", {}).items():
        if isinstance(part, dict) and isinstance(part.get("type"), str):
            plain = _PLAIN_TYPES.get(part["type"])
            if plain is not None and not part.keys() - _REMARKS - {"type"}:
                plain_types[name] = plain
    return plain_types


def _count_values(value_: Any) -> int:
    """Return the number of values in the arguments, including nested ones."""
    count, parts = 0, [value_]
    while parts:
        part = parts.pop()
        count += 1
        parts += part if isinstance(part, list) else part.values() if isinstance(part, dict) else ()
    return count


class _TypeReader:
    """Reads which types a schema allows, in a limited number of its parts."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._left = _MOST_PARTS

    def read(self, part: Any, levels: int) -> dict[str, Any]:
        """The types of a part of the schema with references resolved; {} if they are not simple."""
        self._left -= 1
        for _ in range(_MOST_LEVELS):
            if isinstance(part, dict) and isinstance(part.get("$ref"), str):
                part = _resolve(self._schema, part["$ref"])
        if not isinstance(part, dict) or not levels or "$ref" in part or "allOf" in part:
            return {}
        if isinstance(part.get("type"), list):
            return self._read_choices([{**part, "type": value} for value in part["type"]], levels)
        choices = part.get("anyOf", part.get("oneOf"))
        if isinstance(choices, list):
            return self._read_choices(choices, levels)
        types = {key: part[key] for key in ("type", "enum", "const") if key in part}
        values = (*types.get("enum", ()), types.get("const"))
        if any(isinstance(value, dict | list) for value in values):
            return {}
        if isinstance(part.get("items"), dict):
            types["items"] = self.read(part["items"], levels - 1)
        properties = part.get("properties")
        if isinstance(properties, dict) and len(properties) <= self._left:
            below = {name: self.read(value, levels - 1) for name, value in properties.items()}
            types |= {"properties": below, "required": part.get("required", [])}
        return types

    def _read_choices(self, parts: list[Any], levels: int) -> dict[str, Any]:
        if len(parts) > self._left:
            return {}
        return {"anyOf": [self.read(part, levels - 1) for part in parts]}


def _is_endless(schema: dict[str, Any]) -> bool:
    """Return whether a part of a schema applies itself to the same value again, by references."""
    states: dict[int, bool] = {}

    def follows(part: Any) -> bool:
        if not isinstance(part, dict):
            return False
        if id(part) in states:
            return states[id(part)]
        # True while its parts are followed, so that reaching it again means a cycle.
        states[id(part)] = True
        states[id(part)] = any(map(follows, _same_value_parts(schema, part)))
        return states[id(part)]

    parts: list[Any] = [schema]
    while parts:
        part = parts.pop()
        try:
            if follows(part):
                return True
        except RecursionError:
            return True
        parts += part if isinstance(part, list) else part.values() if isinstance(part, dict) else ()
    return False


def _same_value_parts(schema: dict[str, Any], part: dict[str, Any]) -> Iterator[Any]:
    """Yield the schemas that a part of the schema applies to its own value."""
    if isinstance(part.get("$ref"), str):
        yield _resolve(schema, part["$ref"])
    for key in _IN_PLACE:
        value = part.get(key)
        yield from value if isinstance(value, list) else [value]


def _resolve(schema: Any, reference: str) -> Any:
    """Return the part of the schema that a reference names; None if there is none."""
    start, _, pointer = reference.partition("#")
    if start or (pointer and not pointer.startswith("/")):
        return None
    for step in unquote(pointer).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list) and name.isdigit() and int(name) < len(schema):
            schema = schema[int(name)]
        else:
            schema = schema.get(name) if isinstance(schema, dict) else None
    return schema


def _without_patterns(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_patterns(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("pattern", "patternProperties", "format"):
            continue
        if key in ("additionalProperties", "unevaluatedProperties") and (
            "patternProperties" in schema
        ):
            continue
        if key in _NAMED and isinstance(value, dict):
            result[key] = {name: _without_patterns(part) for name, part in value.items()}
        else:
            result[key] = value if key in _VALUES else _without_patterns(value)
    return result


def _describe(error: Any) -> str:
    where = ".".join(map(str, error.absolute_path))
    return f"{where}: {error.message}"[:300] if where else str(error.message)[:300]
