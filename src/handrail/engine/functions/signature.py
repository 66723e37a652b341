"""What a function takes, read from its signature: a model of arguments, and which are paths.

A path type that would not be found in a call is an error, never a string.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import SchemaError

from handrail.core.arguments.path_arguments import PathArguments, read_path_arguments
from handrail.core.arguments.schema import build_model, json_schema
from handrail.core.context import ToolContext
from handrail.core.tool import Params

_SCALARS: Final = (str, int, float, bool)
_PLAIN: Final = (*_SCALARS, type(None), Any, list, dict)


class _LaxParams(BaseModel):
    """For types that JSON has no word for (dates, enums): read from their JSON form."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class Signature:
    """What the function takes: the model, the path arguments, where the context goes.

    `names` leads from the model's attributes to the function's parameters.
    """

    params: type[BaseModel]
    names: dict[str, str]
    paths: PathArguments
    context: str | None


def read_signature(name: str, function: Callable[..., Any], described: dict[str, str]) -> Signature:
    """The parameters as a model; TypeError for what a model cannot be offered."""
    hints = _hints(name, function)
    fields: dict[str, tuple[Any, Any]] = {}
    context: str | None = None
    for parameter in inspect.signature(function).parameters.values():
        annotation = _annotation(name, parameter, hints)
        if annotation is ToolContext:
            context = parameter.name
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = _described(annotation, described.get(parameter.name)), default
    base: type[BaseModel] = Params
    if not all(_is_plain(annotation) for annotation, _ in fields.values()):
        base = _LaxParams
        fields = {one: (_strict(kind), default) for one, (kind, default) in fields.items()}
    model = _model(name, fields, base)
    names = dict(zip(model.model_fields, fields, strict=True))
    return Signature(model, names, _paths(name, model), context)


def _hints(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{name}: an annotation cannot be resolved ({error}); "
            "name only types that the function's module knows"
        ) from error


def _annotation(name: str, parameter: inspect.Parameter, hints: dict[str, Any]) -> Any:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise TypeError(f"{name}: {parameter} cannot be offered to a model; name every parameter")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise TypeError(f"{name}: {parameter.name!r} is positional only; arguments come by name")
    if parameter.name not in hints:
        raise TypeError(f"{name}: {parameter.name!r} needs a type annotation")
    return hints[parameter.name]


def _paths(name: str, model: type[BaseModel]) -> PathArguments:
    try:
        return read_path_arguments(model)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None


def _described(annotation: Any, description: str | None) -> Any:
    told = [one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, FieldInfo)]
    if description is None or any(one.description for one in told):
        return annotation
    return Annotated[annotation, Field(description=description)]


def _is_plain(annotation: Any) -> bool:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _is_plain(parts[0])
    if origin in (list, dict, Union, UnionType):
        return all(_is_plain(part) for part in parts)
    model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return origin is Literal or model or annotation in _PLAIN


def _strict(annotation: Any) -> Any:
    bare = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return Annotated[annotation, Field(strict=True)] if bare in _SCALARS else annotation


def _model(name: str, fields: dict[str, tuple[Any, Any]], base: type[BaseModel]) -> type[BaseModel]:
    try:
        model = build_model(name, fields, base)
        json_schema(model)
    except (PydanticUserError, SchemaError) as error:
        raise TypeError(f"{name}: a parameter has a type that JSON cannot hold: {error}") from error
    return model
