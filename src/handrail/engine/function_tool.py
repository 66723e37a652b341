"""`@tool`: makes a tool of a typed function.

A signature that cannot become a tool is refused where it is decorated, with a sentence for its
author, so that nothing fails during a call.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, SchemaError, from_json, to_json

from handrail.core.arguments.params import Params
from handrail.core.arguments.path_arguments import PathArguments, read_path_arguments
from handrail.core.arguments.schema import build_model, json_schema
from handrail.core.context import ToolContext
from handrail.core.effects import Effects, check_statement, path_effects
from handrail.core.paths import PathUse
from handrail.core.results import Output
from handrail.core.tool import TOOL_NAME, Group, Tool
from handrail.core.verdicts import Risk
from handrail.engine import messages

_SCALARS: Final = (str, int, float, bool)
_PLAIN: Final = (*_SCALARS, type(None), Any, list, dict)

_SECTION: Final = re.compile(
    r"(args|arguments|parameters|returns?|yields?|raises?|examples?|notes?):\s*", re.IGNORECASE
)
_ARGUMENTS: Final = frozenset({"args", "arguments", "parameters"})
_ITEM: Final = re.compile(r"(?P<name>\w+)\s*(\([^)]*\))?:\s*(?P<text>.*)")


class Docstring(NamedTuple):
    """The text before the first section, and the argument descriptions."""

    text: str
    arguments: dict[str, str]


def parse_docstring(docstring: str) -> Docstring:
    """Read a docstring (already without common indentation) with an `Args:` section."""
    text: list[str] = []
    items: list[str] = []
    section: str | None = None
    for line in docstring.splitlines():
        head = _SECTION.fullmatch(line)
        if head:
            section = head[1].lower()
        elif section is None:
            text.append(line)
        elif section in _ARGUMENTS:
            items.append(line)
    return Docstring("\n".join(text).strip(), _items(items))


def _items(lines: list[str]) -> dict[str, str]:
    filled = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in filled:
        item = _ITEM.fullmatch(line.strip()) if line[margin : margin + 1].strip() else None
        if item:
            current = found.setdefault(item["name"], [])
            current.append(item["text"].strip())
        else:
            current.append(line.strip())
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}


Ps = ParamSpec("Ps")
R = TypeVar("R")
# One risk for all calls, or a function from the validated arguments to the risk of a call.
RiskStatement = Risk | Callable[[Any], Risk | None]


class FunctionTool(Tool[BaseModel], Generic[Ps, R]):
    """A function as a tool; calling it calls the function."""

    def __init__(
        self,
        function: Callable[Ps, R],
        *,
        name: str | None,
        risk: RiskStatement | None,
        idempotent: bool,
        max_attempts: int,
        polls: bool,
        group: Group,
        effects: Effects | None,
        reads_only: bool,
        timeout_s: float | None,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self.name = _tool_name(function, name)
        about = parse_docstring(inspect.getdoc(function) or "")
        self.polls = polls
        self.summary = about.text or self.name.replace("_", " ")
        self._signature = read_signature(self.name, function, about.arguments)
        self.params = self._signature.params
        self.idempotent = idempotent
        self.max_attempts = max_attempts
        self.group = group
        self.timeout_s = timeout_s
        self._risk = _read_risk(self.name, risk)
        self.effects = _effects(self.name, self._signature.paths.uses, effects, risk, reads_only)

    def __call__(self, *args: Ps.args, **kwargs: Ps.kwargs) -> R:
        """Call the function directly, without the runtime."""
        return self._function(*args, **kwargs)

    def risk(self, args: BaseModel) -> Risk | None:
        """Return the risk that the author declared, if any; TypeError for anything but a `Risk`."""
        if not callable(self._risk):
            return self._risk
        rated = self._risk(args)
        if rated is not None and not isinstance(rated, Risk):
            raise TypeError(f"the risk function of {self.name} returned no Risk")
        return rated

    async def run(self, args: BaseModel, ctx: ToolContext) -> Output:
        """Call the function, in a thread unless it is async."""
        given = {
            name: getattr(args, attribute) for attribute, name in self._signature.names.items()
        }
        paths = {name: place.absolute for name, place in ctx.places.items()}
        for attribute, value in self._signature.paths.resolved(args, paths).items():
            given[self._signature.names[attribute]] = value
        if self._signature.context is not None:
            given[self._signature.context] = ctx
        call: Callable[[], Any] = functools.partial(self._function, **given)
        if inspect.iscoroutinefunction(self._function):
            return self._output(await call())
        # The thread continues if the call ends early, because a thread cannot be stopped from
        # outside.
        result = await to_thread.run_sync(call, abandon_on_cancel=True)
        return self._output(await result if inspect.isawaitable(result) else result)

    def _output(self, value: Any) -> Output:
        if isinstance(value, Output):
            return value
        if isinstance(value, str):
            return Output(value)
        if value is None:
            return Output("Done.")
        try:
            text = to_json(value, inf_nan_mode="strings").decode("utf-8")
        except (PydanticSerializationError, ValueError) as error:
            raise messages.UNSERIALIZABLE_RESULT.error(
                tool=self.name, kind=type(value).__name__, error=error
            ) from error
        return Output(text, data=from_json(text))


@overload
def tool(function: Callable[Ps, R], /) -> FunctionTool[Ps, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    risk: RiskStatement | None = None,
    idempotent: bool = False,
    max_attempts: int = 1,
    polls: bool = False,
    group: Group | str = Group.META,
    effects: Effects | None = None,
    reads_only: bool = False,
    timeout_s: float | None = 120.0,
) -> Callable[[Callable[Ps, R]], FunctionTool[Ps, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    risk: RiskStatement | None = None,
    idempotent: bool = False,
    max_attempts: int = 1,
    polls: bool = False,
    group: Group | str = Group.META,
    effects: Effects | None = None,
    reads_only: bool = False,
    timeout_s: float | None = 120.0,
) -> Any:
    """Make a tool of a typed function, sync or async.

    Parameters of type `ReadPath`, `WritePath` or `TreePath`, also inside Optional, list, tuple,
    dict values and models, are resolved and contained, and the function gets absolute paths.
    They state the tool's `effects`; without any the tool is open-ended, and so is one that only
    reads its paths and has a `risk` above safe, unless `effects` says otherwise. `reads_only` is
    the older spelling of READS_PATHS, or of PURE without path parameters. A parameter of type
    `ToolContext` is filled in and not shown. `risk` is a `Risk`, or a function that gets the
    arguments (`args.command`) and returns the `Risk` of a call. `max_attempts` above one needs `idempotent`.
    `polls` says that equal calls are made again and again on purpose: the loop guard ignores them.
    Raises TypeError for a signature that cannot be offered to a model, and for effects that the
    parameters contradict.
    """

    def decorate(decorated: Callable[..., Any]) -> FunctionTool[..., Any]:
        return FunctionTool(
            decorated,
            name=name,
            risk=risk,
            idempotent=idempotent,
            max_attempts=max_attempts,
            polls=polls,
            group=Group(group),
            effects=effects,
            reads_only=reads_only,
            timeout_s=timeout_s,
        )

    return decorate if function is None else decorate(function)


def _effects(
    name: str,
    uses: frozenset[PathUse],
    stated: Effects | None,
    risk: RiskStatement | None,
    reads_only: bool,
) -> Effects:
    """Return the effects that the author states, or those of the path types; raises TypeError."""
    if reads_only and stated is not None:
        raise TypeError(f"{name}: reads_only and effects state the same thing; give one of them")
    if reads_only and PathUse.WRITE in uses:
        raise TypeError(f"{name}: reads_only=True contradicts a WritePath parameter")
    effects = stated
    if effects is None:
        effects = path_effects(uses)
        if reads_only:
            effects = effects or Effects.PURE
        elif effects is None or (risk and effects is Effects.READS_PATHS):
            # A risk means that there is more than the paths show: a tool that sends a file only
            # reads it.
            effects = Effects.OPEN_ENDED if effects is None else effects | Effects.OPEN_ENDED
    try:
        return check_statement(effects, uses, plans=False, own_footprint=False)
    except TypeError as error:
        raise TypeError(f"{name} {error}") from None


def _read_risk(name: str, risk: RiskStatement | None) -> RiskStatement | None:
    if risk is None or isinstance(risk, Risk) or callable(risk):
        return risk
    raise TypeError(f"{name}: risk is a handrail.Risk or a function that returns one")


def _tool_name(function: Callable[..., Any], name: str | None) -> str:
    chosen = name if name is not None else getattr(function, "__name__", "")
    if not TOOL_NAME.fullmatch(chosen):
        raise TypeError(
            f"{chosen!r} cannot be the name of a tool: give name= with letters, digits, _ or -"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{chosen}: a generator cannot be a tool; return the whole result")
    return chosen


class _LaxParams(BaseModel):
    """Parameters of types that JSON lacks (dates, enums), which are read from their JSON form."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of the function: the model, the path arguments, and which one is the context.

    `names` maps the model's attributes to the function's parameters.
    """

    params: type[BaseModel]
    names: dict[str, str]
    paths: PathArguments
    context: str | None


def read_signature(name: str, function: Callable[..., Any], described: dict[str, str]) -> Signature:
    """The parameters as a model; raises TypeError for a type that cannot be offered to a model."""
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
    fields = [one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, FieldInfo)]
    if description is None or any(one.description for one in fields):
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
