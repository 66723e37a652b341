"""Arguments as a model and as JSON Schema; pure.

Schemas for language models are kept short: every token of them is paid for in every turn.
`model_builder` has the other direction, from a schema to a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from pydantic import BaseModel

from handrail.core.arguments.model_builder import build_model, model_from_schema

__all__ = ["Schema", "build_model", "dump_given", "full_schema", "json_schema", "model_from_schema"]

Schema: TypeAlias = dict[str, Any]

# Keywords whose value is one schema, a list of schemas, or a table of schemas. Only these
# are walked, so that an argument that happens to be called "title" stays an argument.
_ONE: Final = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames"})
_MANY: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_TABLE: Final = frozenset({"properties", "patternProperties"})
_NOISE: Final = frozenset({"title", "discriminator", "$defs"})
_NULL: Final[Schema] = {"type": "null"}
# References inside references multiply; beyond this number a reference is replaced by nothing.
_MAX_REFERENCES: Final = 500
# Cached, because every runtime of a process declares the same tools and pydantic needs a millisecond
# for each. The core schema is part of the entry, so that a rebuilt model is not shown as it was before.
_KNOWN: Final[WeakKeyDictionary[type[BaseModel], tuple[object, Schema]]] = WeakKeyDictionary()


def json_schema(model: type[BaseModel]) -> Schema:
    """The JSON Schema of a tool's arguments as a language model should see it.

    Without titles and `$defs`; an optional argument has only its type, without `null`; uninformative
    defaults are left out; unknown arguments are forbidden unless the model accepts them.
    """
    schema: Schema = _compact(full_schema(model))
    schema.pop("description", None)
    schema["additionalProperties"] = model.model_config.get("extra") == "allow"
    schema.setdefault("required", [])
    return schema


def full_schema(model: type[BaseModel]) -> Schema:
    """The JSON Schema with its references inlined, with `null` and all defaults. The caller may change
    the returned copy.
    """
    built = model.__pydantic_core_schema__
    known = _KNOWN.get(model)
    if known is None or known[0] is not built:
        raw = model.model_json_schema(by_alias=True)
        known = _KNOWN[model] = built, _Inliner(raw.get("$defs", {})).inlined(raw, ())
    copied: Schema = _copied(known[1])
    return copied


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def dump_given(model: BaseModel) -> dict[str, Any]:
    """The arguments that the caller gave, under the caller's names."""
    return model.model_dump(by_alias=True, exclude_unset=True)


class _Inliner:
    def __init__(self, defs: Mapping[str, Schema]) -> None:
        self._defs = defs
        self._left = _MAX_REFERENCES

    def inlined(self, node: Any, inside: tuple[str, ...]) -> Any:
        """The node with its references replaced; a recursive reference is replaced by nothing."""
        if not isinstance(node, dict):
            return node
        if "$ref" not in node:
            return _mapped(node, lambda child: self.inlined(child, inside))
        name = node["$ref"].rpartition("/")[2]
        rest = {key: value for key, value in node.items() if key not in ("$ref", *_NOISE)}
        self._left -= 1
        if name in inside or self._left < 0:
            return rest
        return {**self.inlined(self._defs[name], (*inside, name)), **rest}


def _mapped(node: Schema, change: Callable[[Any], Any]) -> Schema:
    result: Schema = {}
    for key, value in node.items():
        if key in _ONE:
            result[key] = change(value)
        elif key in _MANY:
            result[key] = [change(one) for one in value]
        elif key in _TABLE:
            result[key] = {name: change(one) for name, one in value.items()}
        elif key not in _NOISE:
            result[key] = value
    return result


def _compact(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    slim = _mapped(node, _compact)
    if "anyOf" in slim:
        slim = _without_null(slim)
    if "default" in slim and not _informative(slim["default"]):
        del slim["default"]
    if slim.get("additionalProperties") is True:
        del slim["additionalProperties"]
    return slim


def _without_null(node: Schema) -> Schema:
    kept = [one for one in node["anyOf"] if one != _NULL] or [_NULL]
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    if len(kept) == 1:
        return {**kept[0], **rest}
    return {"anyOf": kept, **rest}


def _informative(default: Any) -> bool:
    # Zero is informative ("no lines of context"), a flag that is off is not.
    return default is not False and default not in (None, "", [], {})
