"""Path arguments in a raw JSON Schema: a string with the keyword `x-handrail-path`.

The keyword means the same as a path type in a pydantic model. It is removed from the schemas that
language models are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from handrail.core.paths import PathUse

PATH_KEYWORD: Final = "x-handrail-path"
# Keywords whose value is a table of schemas by name, and keywords whose value is not a schema.
_TABLES: Final = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
)
_VALUES: Final = frozenset(("default", "const", "enum", "examples", "required"))
_MAX_NESTING: Final = 100


def path_use(schema: Mapping[str, Any]) -> PathUse | None:
    """The value of the keyword, None without it; raises TypeError for an unknown value."""
    if PATH_KEYWORD not in schema:
        return None
    word = schema[PATH_KEYWORD]
    if word not in list(PathUse):
        raise TypeError(f"{PATH_KEYWORD} is {word!r:.100}; use one of: {', '.join(PathUse)}")
    return PathUse(word)


def has_path_keyword(schema: Any) -> bool:
    """Whether the keyword occurs anywhere in a schema."""
    return next(find_path_keywords(schema), None) is not None


def find_path_keywords(schema: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield the schema and the schemas inside it that have the keyword."""
    if depth > _MAX_NESTING:
        return
    if isinstance(schema, list):
        for one in schema:
            yield from find_path_keywords(one, depth + 1)
    elif isinstance(schema, Mapping):
        if PATH_KEYWORD in schema:
            yield schema
        for key, value in schema.items():
            if key in _TABLES and isinstance(value, Mapping):
                for one in value.values():
                    yield from find_path_keywords(one, depth + 1)
            elif key not in _VALUES:
                yield from find_path_keywords(value, depth + 1)


def copy_schema(schema: Any, *, keyword: bool, depth: int = 0) -> Any:
    """A deep copy in which no two places share an object, with or without the keyword."""
    if depth > _MAX_NESTING:
        raise TypeError("the schema is nested too deeply to find the paths in it")
    if isinstance(schema, list):
        return [copy_schema(one, keyword=keyword, depth=depth + 1) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _TABLES and isinstance(value, Mapping):
            made[key] = {
                name: copy_schema(one, keyword=keyword, depth=depth + 1)
                for name, one in value.items()
            }
        elif key in _VALUES:
            made[key] = value
        elif keyword or key != PATH_KEYWORD:
            made[key] = copy_schema(value, keyword=keyword, depth=depth + 1)
    return made
