"""Finds path types in annotations, to detect those that validation does not check.

A plain validator or `SkipValidation` replaces the schema of the type that it annotates, and with it
the mark by which paths are found. Then only the annotation shows that the value is a path.
"""

from __future__ import annotations

import collections.abc
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, NewType, get_args, get_origin, get_type_hints

from pydantic import PlainValidator, SkipValidation

from handrail.core.paths import PathUse

# Types whose values no call can contain, although their annotations may name a path type.
_NO_VALUES: Final = (type, collections.abc.Callable)
_WITHOUT_PARTS: Final = (None, str, int, float, bool, type(None))
_REPLACES_CHECK: Final = (PlainValidator, SkipValidation)


def names_path(annotation: Any) -> bool:
    """Whether an annotation, or a class that it names, contains a path type."""
    return any(isinstance(one, PathUse) for part in _parts(annotation) for one in _metadata(part))


def hides_path(annotation: Any) -> bool:
    """Whether a path type in an annotation, or in a class that it names, is never checked."""
    for part in _parts(annotation):
        metadata = _metadata(part)
        places = [at for at, one in enumerate(metadata) if isinstance(one, _REPLACES_CHECK)]
        if places:
            checked = (get_args(part)[0], *metadata[: places[-1]])
            if names_path(_annotated(checked)):
                return True
    return False


def field_annotations(cls: Any) -> Mapping[str, Any] | None:
    """The fields of a model, dataclass, TypedDict or named tuple by attribute; empty for any
    other class, None if its annotations cannot be resolved.
    """
    known = getattr(cls, "__pydantic_fields__", None)
    if isinstance(known, Mapping):
        return {name: _annotated((one.annotation, *one.metadata)) for name, one in known.items()}
    if not _has_fields(cls):
        return {}
    try:
        return get_type_hints(cls, include_extras=True)
    except (NameError, TypeError):
        return None


def _has_fields(cls: Any) -> bool:
    """Whether the class is a dataclass, a named tuple or a TypedDict (of typing or typing_extensions)."""
    if not isinstance(cls, type):
        return False
    named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return dataclasses.is_dataclass(cls) or named_tuple or hasattr(cls, "__total__")


def _parts(annotation: Any) -> Iterator[Any]:
    """Yield an annotation and all annotations inside it, each once."""
    waiting, seen = [annotation], list[Any]()
    while waiting:
        part = waiting.pop()
        if part in _WITHOUT_PARTS or any(part is one for one in seen):
            continue
        seen.append(part)
        yield part
        origin = get_origin(part)
        if origin in _NO_VALUES:
            continue
        waiting += get_args(part)[:1] if origin is Annotated else get_args(part)
        waiting += [getattr(one, "__value__", None) for one in (part, origin)]
        if isinstance(part, NewType):
            waiting.append(part.__supertype__)
        for cls in (part, origin):
            waiting += (field_annotations(cls) or {}).values()


def _metadata(annotation: Any) -> tuple[Any, ...]:
    return annotation.__metadata__ if get_origin(annotation) is Annotated else ()


def _annotated(parts: tuple[Any, ...]) -> Any:
    return Annotated[parts] if len(parts) > 1 else parts[0]
