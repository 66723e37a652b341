"""Builds pydantic models that validate arguments against a JSON Schema; pure.

Schemas come from MCP servers and users and may contain anything: an unknown construct, or one that
refers to itself, accepts every value. Building a model fails only for a path that could not be found
in a call.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WrapValidator, create_model

from handrail.core.arguments.schema_paths import (
    PATH_KEYWORD,
    copy_schema,
    find_path_keywords,
    has_path_keyword,
    path_use,
)

_MAX_NESTING: Final = 32
_LENGTH: Final = {"minLength": "min_length", "maxLength": "max_length"}
_ITEMS: Final = {"minItems": "min_length", "maxItems": "max_length"}
_RANGE: Final = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
}
# Larger limits are ignored: they limit nothing, and pydantic stores limits in 64 bits.
_MAX_LIMIT: Final = 2**53


def model_from_schema(name: str, schema: Mapping[str, Any]) -> type[BaseModel]:
    """A model that accepts at least what the JSON Schema accepts.

    An argument that is not required may be left out; `dump_given` then leaves it out too. A
    string with the keyword `x-handrail-path` is a path; raises TypeError if the keyword stands where
    a path could not be found in a call.
    """
    marked = has_path_keyword(schema)
    if marked:
        schema = copy_schema(schema, keyword=True)
    reader = _SchemaTypeReader(schema)
    model = reader.object_model(name, reader.resolved(schema), depth=0)
    if marked:
        reader.check_paths()
    return model


def build_model(
    name: str, fields: Mapping[str, tuple[Any, Any]], base: type[BaseModel]
) -> type[BaseModel]:
    """A model whose arguments may have any names, each with its type and default or Field.

    Names that a model cannot have as attributes (`-i`, `_x`, `copy`, `class`) are aliases.
    """
    taken = set(fields)
    definitions: dict[str, Any] = {}
    for argument, (annotation, default) in fields.items():
        attribute = _attribute(argument, taken)
        taken.add(attribute)
        shown = annotation
        if attribute != argument:
            shown = Annotated[annotation, Field(alias=argument)]
        definitions[attribute] = (shown, default)
    model: type[BaseModel] = create_model(name, __base__=base, **definitions)
    return model


def _attribute(argument: str, taken: Collection[str]) -> str:
    usable = argument.isidentifier() and argument.isascii() and not keyword.iskeyword(argument)
    if usable and not argument.startswith(("_", "model_")) and not hasattr(BaseModel, argument):
        return argument
    number = 1
    while f"argument_{number}" in taken:
        number += 1
    return f"argument_{number}"


class _ClosedModel(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", protected_namespaces=())


class _OpenModel(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="allow", protected_namespaces=())


class _SchemaTypeReader:
    """Turns the parts of one JSON Schema document into types."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        # Each reference is resolved once, so that the work does not grow exponentially; one that
        # occurs inside itself is recursive and accepts anything.
        self._references: dict[str, Any] = {}
        self._reading: set[str] = set()
        self._recursive: set[str] = set()
        # The parts with a path keyword that the model checks, by their identity.
        self._paths: set[int] = set()
        self._makers: dict[str, Callable[[str, Mapping[str, Any], int], Any]] = {
            "string": lambda _name, schema, _depth: _limited(str, schema, _LENGTH),
            "integer": lambda _name, schema, _depth: _limited(int, schema, _RANGE),
            "number": _number,
            "boolean": lambda _name, _schema, _depth: bool,
            "null": lambda _name, _schema, _depth: type(None),
            "array": self._array,
            "object": self._object,
        }

    def resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema, or the schema that its reference leads to."""
        seen: set[str] = set()
        while isinstance(reference := schema.get("$ref"), str) and reference not in seen:
            seen.add(reference)
            found = self._follow(reference)
            schema = found if isinstance(found, Mapping) else {}
        return schema

    def object_model(self, name: str, schema: Mapping[str, Any], depth: int) -> type[BaseModel]:
        """The model of an object with named properties."""
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = schema.get("required")
        listed = required if isinstance(required, list) else []
        needed = dict.fromkeys(one for one in listed if isinstance(one, str))
        fields = {
            str(argument): self._field(f"{name}_{argument}", part, argument in needed, depth)
            for argument, part in properties.items()
        }
        for argument in needed:
            fields.setdefault(argument, (Any, ...))
        return build_model(name, fields, self._base(name, schema, depth))

    def check_paths(self) -> None:
        """Raise TypeError for a path keyword that the model does not see."""
        for one in find_path_keywords(self._document):
            if id(one) not in self._paths:
                raise TypeError(
                    f"{PATH_KEYWORD} stands where paths are not found; use it on a string among "
                    "properties, items, anyOf or additionalProperties"
                )
        if any(has_path_keyword(self._follow(one)) for one in self._recursive):
            raise TypeError(f"{PATH_KEYWORD} stands in a schema that refers to itself")

    def type_of(self, name: str, schema: Any, depth: int) -> Any:
        """The Python type that accepts what this schema accepts, marked if it is a path."""
        seen = set(self._paths)
        kind = self._type_of(name, schema, depth)
        if kind is Any:
            # Every value is accepted, so no path in it is found.
            self._paths = seen
            return kind
        use = path_use(schema)
        if use is None:
            return kind
        self._paths.add(id(schema))
        return Annotated[kind, use]

    def _type_of(self, name: str, schema: Any, depth: int) -> Any:
        if not isinstance(schema, Mapping) or depth > _MAX_NESTING:
            return Any
        if isinstance(reference := schema.get("$ref"), str):
            return self._referenced(name, reference, depth)
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(values, list) and values:
            return _choice(values)
        choices = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(choices, list):
            return _union(self.type_of(name, one, depth + 1) for one in choices)
        kind = schema.get("type", "object" if "properties" in schema else None)
        kinds = kind if isinstance(kind, list) else [kind]
        return _union(self._made(name, one, schema, depth) for one in kinds)

    def _made(self, name: str, kind: Any, schema: Mapping[str, Any], depth: int) -> Any:
        make = self._makers.get(kind) if isinstance(kind, str) else None
        return make(name, schema, depth) if make else Any

    def _array(self, name: str, schema: Mapping[str, Any], depth: int) -> Any:
        items: Any = self.type_of(f"{name}_item", schema.get("items"), depth + 1)
        return _limited(list.__class_getitem__(items), schema, _ITEMS)

    def _object(self, name: str, schema: Mapping[str, Any], depth: int) -> Any:
        if isinstance(schema.get("properties"), Mapping):
            return self.object_model(name, schema, depth)
        values: Any = self.type_of(name, schema.get("additionalProperties"), depth + 1)
        return dict.__class_getitem__((str, values))

    def _field(self, name: str, part: Any, needed: bool, depth: int) -> tuple[Any, Any]:
        about = part if isinstance(part, Mapping) else {}
        description = about.get("description")
        return self.type_of(name, part, depth + 1), Field(
            ... if needed else _scalar(about.get("default")),
            description=description if isinstance(description, str) else None,
        )

    def _base(self, name: str, schema: Mapping[str, Any], depth: int) -> type[BaseModel]:
        extras = schema.get("additionalProperties")
        if extras is False:
            return _ClosedModel
        kind = self.type_of(f"{name}_extra", extras, depth + 1)
        if kind is Any:
            return _OpenModel
        annotations = {"__pydantic_extra__": dict.__class_getitem__((str, kind))}
        space = {"__annotations__": annotations, "__module__": __name__}
        return type(f"{name}_base", (_OpenModel,), space)

    def _referenced(self, name: str, reference: str, depth: int) -> Any:
        if reference in self._reading:
            self._recursive.add(reference)
        if reference not in self._references:
            self._references[reference] = Any
            self._reading.add(reference)
            kind = self.type_of(name, self._follow(reference), depth + 1)
            self._reading.discard(reference)
            self._references[reference] = kind
        return self._references[reference]

    def _follow(self, reference: str) -> Any:
        if not reference.startswith("#"):
            return None
        node: Any = self._document
        for step in reference.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            node = node.get(key) if isinstance(node, Mapping) else None
        return node


def _number(_name: str, schema: Mapping[str, Any], _depth: int) -> Any:
    # Checked but not converted: 5 must not reach a server as 5.0.
    return Annotated[_limited(float, schema, _RANGE), WrapValidator(_checked)]


def _checked(value: Any, check: Callable[[Any], Any]) -> Any:
    check(value)
    return value


def _limited(kind: Any, schema: Mapping[str, Any], limits: Mapping[str, str]) -> Any:
    given: dict[str, Any] = {
        ours: schema[theirs] if kind is float else int(schema[theirs])
        for theirs, ours in limits.items()
        if _is_limit(schema.get(theirs), whole=kind is not float, signed=limits is _RANGE)
    }
    return Annotated[kind, Field(**given)] if given else kind


def _is_limit(value: Any, *, whole: bool, signed: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (
        -_MAX_LIMIT < value < _MAX_LIMIT
        and (signed or value >= 0)
        and (not whole or value == int(value))
    )


def _union(kinds: Iterable[Any]) -> Any:
    found = list(kinds)
    return Any if Any in found or not found else reduce(or_, found)


def _choice(values: list[Any]) -> Any:
    if all(isinstance(value, str) or value is None for value in values):
        return Literal[tuple(values)]
    # Compared as JSON: Literal does not accept floats, and treats True and 1 as equal.
    accepted = {_to_json(value): None for value in values}

    def check(value: Any) -> Any:
        if _to_json(value) not in accepted:
            raise ValueError(f"should be one of {', '.join(accepted)}")
        return value

    extra: Any = {"enum": values} if values == [_scalar(value) for value in values] else None
    return Annotated[Any, AfterValidator(check), Field(json_schema_extra=extra)]


def _scalar(value: Any) -> Any:
    # No containers: pydantic would look for references inside them.
    return value if isinstance(value, str | int | float) else None


def _to_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
