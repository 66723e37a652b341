"""Finds every path type in the arguments of a tool, once, when the tool is registered.

Reads the core schema that pydantic builds, in which aliases, forward references, generics and nested
models are resolved. A path type that could not be found in a call is an error here: the path would
look confined to the workspace without being so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from handrail.core.arguments.annotations import field_annotations, hides_path, names_path
from handrail.core.arguments.nodes import (
    ChoiceNode,
    FieldsNode,
    ItemsNode,
    KeysNode,
    PathLeaf,
    PathNode,
    PathValue,
    PathValues,
    ReferenceNode,
    RootNode,
    SlotsNode,
    ValuesNode,
    rebuild_in,
)
from handrail.core.paths import PATH_MARK, PathUse

_Schema = dict[str, Any]
# Keys of a core schema whose value is not a schema, and keys whose value is a table of schemas.
_OPAQUE: Final = frozenset(
    ("metadata", "serialization", "default", "config", "expected", "cls", "computed_fields")
)
_TABLES: Final = ("fields", "choices")
_PLAIN: Final = "function-plain"
_FIND: Final = "use it as it is, or in Optional, list, tuple, dict values or a model"


class PathArguments(NamedTuple):
    """The path arguments of a tool. `direct` are arguments that are themselves paths, by attribute;
    `nested` finds the paths inside other values, None if there are none. `uses` are all uses of paths.
    """

    direct: tuple[tuple[str, PathUse], ...] = ()
    nested: FieldsNode | None = None
    uses: frozenset[PathUse] = frozenset()

    def collect(self, args: BaseModel) -> Iterable[PathValue]:
        """The nested paths of a call; raises TypeError for a value in which paths cannot be found."""
        found = PathValues()
        if self.nested is not None:
            self.nested.collect(args, "", found)
        return found

    def resolved(self, args: BaseModel, paths: Mapping[str, str]) -> dict[str, Any]:
        """The arguments with paths, by attribute, each path replaced by the entry of its name."""
        found: dict[str, Any] = {
            attribute: paths[attribute] for attribute, _ in self.direct if attribute in paths
        }
        for attribute, name, node in self.nested.fields if self.nested is not None else ():
            found[attribute] = rebuild_in(node, getattr(args, attribute), name, paths)
        return found


NO_PATHS: Final = PathArguments()


@lru_cache(maxsize=256)
def read_path_arguments(model: type[BaseModel]) -> PathArguments:
    """The path arguments of a model; raises TypeError, naming the argument, for a path type
    that could not be found in a call and for an operating-system path.
    """
    if not model.__pydantic_complete__:
        model.model_rebuild()
    schema: Any = model.__pydantic_core_schema__
    _check_no_os_path(_top_fields(schema))
    reader = _SchemaReader(schema)
    reader.check_none_hidden(schema)
    top = reader.build(schema, "")
    if top is None:
        return NO_PATHS
    if not isinstance(top, FieldsNode):
        raise TypeError("the arguments of a tool are a model with fields, not a root model")
    direct: list[tuple[str, PathUse]] = []
    nested: list[tuple[str, str, PathNode]] = []
    for attribute, _, node in top.fields:
        if isinstance(node, PathLeaf) and len(node.uses) == 1:
            direct.append((attribute, node.uses[0]))
        else:
            nested.append((attribute, attribute, node))
    rest = FieldsNode(top.cls, tuple(nested), top.extras) if nested or top.extras else None
    return PathArguments(tuple(direct), rest, frozenset(reader.uses))


class _SchemaReader:
    """Makes nodes of the parts of one schema that hold path types."""

    def __init__(self, schema: _Schema) -> None:
        listed = schema.get("definitions", ()) if schema["type"] == "definitions" else ()
        self._definitions: dict[str, _Schema] = {one["ref"]: one for one in listed}
        self._nodes: dict[str, PathNode] = {}
        self._reading: set[str] = set()
        self.uses: set[PathUse] = set()
        self._holding: set[str] = set()
        self._makers: dict[str, Callable[[_Schema, str], PathNode | None]] = {
            "definitions": self._inner,
            "definition-ref": self._reference,
            "nullable": self._inner,
            "default": self._inner,
            "function-before": self._inner,
            "function-after": self._inner,
            "function-wrap": self._inner,
            "model": self._model,
            "dataclass": self._dataclass,
            "typed-dict": self._typed_dict,
            "list": self._list,
            "tuple": self._tuple,
            "dict": self._dict,
            "union": lambda one, at: self._choice(_choices(one), at),
            "tagged-union": lambda one, at: self._choice(list(one["choices"].values()), at),
            "chain": lambda one, at: self._same(one["steps"], at),
            "lax-or-strict": lambda one, at: self._same(
                [one["lax_schema"], one["strict_schema"]], at
            ),
            "json-or-python": lambda one, at: self._same(
                [one["json_schema"], one["python_schema"]], at
            ),
        }
        self._find_definitions()

    def build(self, schema: _Schema, where: str) -> PathNode | None:
        """The node of a schema, None if no path type is in it."""
        if not self._holds(schema):
            return None
        if _marks(schema):
            return self._leaf(schema, where)
        make = self._makers.get(schema["type"])
        if make is None:
            raise TypeError(f"{where}: a path type inside a {schema['type']} is not found; {_FIND}")
        return make(schema, where)

    def check_none_hidden(self, schema: _Schema) -> None:
        """Raise TypeError for a validator that replaces the schema of a path type, and with it the
        mark by which the path is found.
        """
        for one in _walk(schema):
            cls, fields = _class_and_fields(one)
            annotations = field_annotations(cls)
            if annotations is None and any(
                one.get("type") == _PLAIN for one in _walk([*fields.values()])
            ):
                raise TypeError(
                    f"{cls.__name__}: its annotations cannot be resolved, and a plain validator "
                    "may hide a path type; define the types that it names in its module"
                )
            for name, annotation in (annotations or {}).items():
                if not names_path(annotation):
                    continue
                lost = name in fields and not self._holds(fields[name])
                if lost or hides_path(annotation):
                    raise TypeError(
                        f"{name}: a plain validator hides the path type; use an after validator"
                    )

    # --- which parts hold path types ------------------------------------------------------

    def _find_definitions(self) -> None:
        """Find the shared types that contain path types, directly or through other shared types."""
        grown = True
        while grown:
            found = {
                ref
                for ref, one in self._definitions.items()
                if ref not in self._holding and self._holds(one)
            }
            self._holding |= found
            grown = bool(found)

    def _holds(self, schema: Any) -> bool:
        if isinstance(schema, list | tuple):
            return any(self._holds(one) for one in schema)
        if not isinstance(schema, dict):
            return False
        if _marks(schema) or schema.get("schema_ref") in self._holding:
            return True
        return any(self._holds(one) for one in _children(schema))

    # --- the makers -----------------------------------------------------------------------

    def _leaf(self, schema: _Schema, where: str) -> PathNode:
        if not self._is_text(schema):
            raise TypeError(
                f"{where}: a path type must stand on a string: write list[ReadPath], "
                "not Annotated[list[str], …]"
            )
        uses = tuple(dict.fromkeys(_all_marks(schema)))
        self.uses.update(uses)
        return PathLeaf(uses)

    def _is_text(self, schema: Any) -> bool:
        kind = schema["type"]
        if kind == "literal":
            return all(one is None or isinstance(one, str) for one in schema["expected"])
        if kind == "union":
            return all(self._is_text(one) for one in _choices(schema))
        if kind == "definition-ref":
            ref = schema["schema_ref"]
            return ref in self._definitions and self._is_text(self._definitions[ref])
        if kind in ("nullable", "default", "function-before", "function-after", "function-wrap"):
            return self._is_text(schema["schema"])
        return kind in ("str", "none")

    def _inner(self, schema: _Schema, where: str) -> PathNode | None:
        return self.build(schema["schema"], where)

    def _reference(self, schema: _Schema, where: str) -> PathNode:
        ref = schema["schema_ref"]
        if ref not in self._nodes and ref not in self._reading:
            self._reading.add(ref)
            node = self.build(self._definitions[ref], where)
            if node is not None:
                self._nodes[ref] = node
        return ReferenceNode(lambda: self._nodes[ref])

    def _model(self, schema: _Schema, where: str) -> PathNode | None:
        cls, inner = schema["cls"], schema["schema"]
        if schema.get("root_model"):
            root = self.build(inner, where)
            return None if root is None else RootNode(cls, root)
        while inner["type"] != "model-fields":
            if "schema" not in inner:
                raise TypeError(
                    f"{where}: {cls.__name__} is validated in a way that hides its paths"
                )
            inner = inner["schema"]
        extras = inner.get("extras_schema")
        extra = None if extras is None else self.build(extras, f"{where}[…]")
        return FieldsNode(cls, self._fields(cls, inner["fields"].items(), where), extra)

    def _dataclass(self, schema: _Schema, where: str) -> PathNode:
        cls, inner = schema["cls"], schema["schema"]
        while inner["type"] != "dataclass-args":
            inner = inner["schema"]
        listed = [(one["name"], one) for one in inner["fields"]]
        return FieldsNode(cls, self._fields(cls, listed, where))

    def _typed_dict(self, schema: _Schema, where: str) -> PathNode:
        extras = schema.get("extras_schema")
        if extras is not None and self._holds(extras):
            raise TypeError(f"{where}: a path type among further keys is not found; {_FIND}")
        found = self._fields(schema.get("cls"), schema["fields"].items(), where)
        return KeysNode(tuple((key, node) for key, _, node in found))

    def _fields(
        self, cls: Any, fields: Iterable[tuple[str, _Schema]], where: str
    ) -> tuple[tuple[str, str, PathNode], ...]:
        found = []
        for attribute, field in fields:
            at = f"{where}.{attribute}" if where else attribute
            node = self.build(field["schema"], at)
            if node is not None:
                found.append((attribute, _given_name(cls, attribute, field, at), node))
        return tuple(found)

    def _list(self, schema: _Schema, where: str) -> PathNode | None:
        item = self.build(schema["items_schema"], f"{where}[]")
        return None if item is None else ItemsNode(item)

    def _tuple(self, schema: _Schema, where: str) -> PathNode:
        slots = [
            self.build(one, f"{where}[{index}]") for index, one in enumerate(schema["items_schema"])
        ]
        return SlotsNode(tuple(slots), schema.get("variadic_item_index"))

    def _dict(self, schema: _Schema, where: str) -> PathNode | None:
        if self._holds(schema.get("keys_schema")):
            raise TypeError(f"{where}: a path type as the key of a dict is not found; {_FIND}")
        value = self.build(schema["values_schema"], f"{where}[]")
        return None if value is None else ValuesNode(value)

    def _choice(self, schemas: list[_Schema], where: str) -> PathNode:
        schemas = [one for one in schemas if one["type"] != "none"]
        nodes = [node for one in schemas if (node := self.build(one, where)) is not None]
        return ChoiceNode(tuple(nodes), closed=len(nodes) == len(schemas))

    def _same(self, schemas: Iterable[_Schema], where: str) -> PathNode:
        """The node of schemas that are several ways to validate one value, all with path types."""
        nodes = [node for one in schemas if (node := self.build(one, where)) is not None]
        return ChoiceNode(tuple(nodes), closed=True)


def _marks(schema: _Schema) -> tuple[PathUse, ...]:
    metadata = schema.get("metadata")
    return metadata.get(PATH_MARK, ()) if isinstance(metadata, dict) else ()


def _all_marks(schema: Any) -> Iterator[PathUse]:
    if isinstance(schema, list | tuple):
        for one in schema:
            yield from _all_marks(one)
    elif isinstance(schema, dict):
        yield from _marks(schema)
        for one in _children(schema):
            yield from _all_marks(one)


def _children(schema: _Schema) -> Iterator[Any]:
    """Yield the schemas directly inside a schema."""
    for key, value in schema.items():
        if key in _TABLES and isinstance(value, dict):
            yield from value.values()
        elif key not in _OPAQUE:
            yield value


def _choices(schema: _Schema) -> list[_Schema]:
    return [one[0] if isinstance(one, tuple) else one for one in schema["choices"]]


def _walk(schema: Any) -> Iterator[_Schema]:
    """Yield a schema and every schema inside it."""
    if isinstance(schema, list | tuple):
        for one in schema:
            yield from _walk(one)
    elif isinstance(schema, dict):
        yield schema
        for one in _children(schema):
            yield from _walk(one)


def _check_no_os_path(fields: Iterable[tuple[str, _Schema]]) -> None:
    for name, field in fields:
        for one in _walk(field):
            cls = one.get("cls") if one.get("type") == "is-instance" else None
            if isinstance(cls, type) and issubclass(cls, os.PathLike):
                raise TypeError(
                    f"{name!r} is an operating-system path, which nothing would contain; annotate "
                    "it as handrail.ReadPath, WritePath or TreePath (a string that is resolved "
                    "inside the workspace)"
                )


def _top_fields(schema: _Schema) -> list[tuple[str, _Schema]]:
    """The arguments by name, then the definitions that several of them share."""
    shared = [(_title(one), one) for one in schema.get("definitions", ())]
    inner = schema
    while "fields" not in inner and isinstance(inner.get("schema"), dict):
        inner = inner["schema"]
    fields = inner.get("fields")
    return [*fields.items(), *shared] if isinstance(fields, dict) else [("", inner), *shared]


def _title(schema: _Schema) -> str:
    return getattr(schema.get("cls"), "__name__", "an argument")


def _class_and_fields(schema: _Schema) -> tuple[Any, dict[str, _Schema]]:
    """The class whose instances a schema produces, and its fields; None if there is no class."""
    kind = schema.get("type")
    if kind in ("model", "typed-dict"):
        return schema.get("cls"), dict(_top_fields({"schema": schema}))
    if kind == "dataclass":
        inner = schema
        while inner["type"] != "dataclass-args":
            inner = inner["schema"]
        return schema["cls"], {one["name"]: one for one in inner["fields"]}
    if kind == "call":
        listed = schema["arguments_schema"].get("arguments_schema", ())
        return schema["function"], {one["name"]: one for one in listed}
    return None, {}


def _given_name(cls: Any, attribute: str, field: _Schema, where: str) -> str:
    """The name of the field in a call; raises TypeError if it has several."""
    alias = field.get("validation_alias")
    if alias is None:
        return attribute
    config = getattr(cls, "model_config", None) or getattr(cls, "__pydantic_config__", None) or {}
    by_both = config.get("populate_by_name") or config.get("validate_by_name")
    if not isinstance(alias, str) or by_both:
        raise TypeError(f"{where}: a path must have one name, and this one has several aliases")
    return alias
