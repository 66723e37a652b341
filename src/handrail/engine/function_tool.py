"""`@tool`: a typed function becomes a tool.

What a function cannot say by its signature is refused where it is decorated, with a
sentence for its author; nothing is left to go wrong in the middle of a call.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, Final, Generic, ParamSpec, TypeVar, overload

from anyio import to_thread
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, from_json, to_json

from handrail.core.context import ToolContext
from handrail.core.footprint import NOTHING, OPEN_ENDED, Footprint
from handrail.core.paths import PathUse
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group, Tool
from handrail.core.verdicts import Risk
from handrail.engine.docstring import parse_docstring
from handrail.engine.signature import read_signature

Ps = ParamSpec("Ps")
R = TypeVar("R")

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


class FunctionTool(Tool[BaseModel], Generic[Ps, R]):
    """A function as a tool; calling it calls the function."""

    def __init__(
        self,
        function: Callable[Ps, R],
        *,
        name: str | None,
        risk: Risk | None,
        idempotent: bool,
        max_attempts: int,
        group: Group,
        reads_only: bool,
        timeout_s: float | None,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self.name = _tool_name(function, name)
        about = parse_docstring(inspect.getdoc(function) or "")
        self.summary = about.text or self.name.replace("_", " ")
        self._signature = read_signature(self.name, function, about.arguments)
        self.params = self._signature.params
        self.idempotent = idempotent
        self.max_attempts = max_attempts
        self.group = group
        self.timeout_s = timeout_s
        self._risk = risk
        self._reads_only = reads_only
        if reads_only and self._writes_paths:
            raise TypeError(f"{self.name}: reads_only=True contradicts a WritePath parameter")

    def __call__(self, *args: Ps.args, **kwargs: Ps.kwargs) -> R:
        """Call the function itself, past the runtime."""
        return self._function(*args, **kwargs)

    def footprint(self, args: BaseModel) -> Footprint | None:
        """The paths it was given, and anything if there are none or a risk says more than
        they do; nothing if it only reads.
        """
        del args
        if self._signature.paths:
            return None if self._writes_paths or not self._does_more else OPEN_ENDED
        return NOTHING if self._reads_only else OPEN_ENDED

    @property
    def only_reads(self) -> bool:
        """What the types of its paths or its author say."""
        if self._signature.paths:
            return not self._writes_paths and not self._does_more
        return self._reads_only

    @property
    def _writes_paths(self) -> bool:
        return PathUse.WRITE in self._signature.paths.values()

    @property
    def _does_more(self) -> bool:
        """Whether it has effects that its paths do not show: its author says that it could
        harm, and not that it only reads. What sends a file by mail only reads the file.
        """
        return bool(self._risk) and not self._reads_only

    def risk(self, args: BaseModel) -> Risk | None:
        """What the author said, if anything."""
        del args
        return self._risk

    async def run(self, args: BaseModel, ctx: ToolContext) -> Output:
        """Call the function, in a thread unless it is async."""
        given = {
            name: getattr(args, attribute) for attribute, name in self._signature.names.items()
        }
        for attribute, place in ctx.places.items():
            given[self._signature.names[attribute]] = place.absolute
        if self._signature.context is not None:
            given[self._signature.context] = ctx
        call: Callable[[], Any] = functools.partial(self._function, **given)
        if inspect.iscoroutinefunction(self._function):
            return self._output(await call())
        # Left behind when the call ends early: a thread cannot be stopped from outside.
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
            raise ProblemRaised(
                "internal",
                f"{self.name} returned a {type(value).__name__}, which cannot be shown: {error}",
                hint="a tool returns text, an Output, or something that JSON can hold",
            ) from error
        return Output(text, data=from_json(text))


@overload
def tool(function: Callable[Ps, R], /) -> FunctionTool[Ps, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    risk: Risk | None = None,
    idempotent: bool = False,
    max_attempts: int = 1,
    group: Group | str = Group.META,
    reads_only: bool = False,
    timeout_s: float | None = 120.0,
) -> Callable[[Callable[Ps, R]], FunctionTool[Ps, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    risk: Risk | None = None,
    idempotent: bool = False,
    max_attempts: int = 1,
    group: Group | str = Group.META,
    reads_only: bool = False,
    timeout_s: float | None = 120.0,
) -> Any:
    """Make a tool of a typed function, sync or async.

    Parameters of type `ReadPath`, `WritePath` or `TreePath` are resolved and contained, and
    the function gets absolute paths; without any, the call counts as one that may touch
    anything, unless `reads_only`; so does one with a `risk` above safe. A parameter of type
    `ToolContext` is filled in and not shown. `max_attempts` above one needs `idempotent`.
    Raises TypeError for a signature that cannot be offered to a model.
    """

    def decorate(decorated: Callable[..., Any]) -> FunctionTool[..., Any]:
        return FunctionTool(
            decorated,
            name=name,
            risk=risk,
            idempotent=idempotent,
            max_attempts=max_attempts,
            group=Group(group),
            reads_only=reads_only,
            timeout_s=timeout_s,
        )

    return decorate if function is None else decorate(function)


def _tool_name(function: Callable[..., Any], name: str | None) -> str:
    chosen = name if name is not None else getattr(function, "__name__", "")
    if not _NAME.fullmatch(chosen):
        raise TypeError(
            f"{chosen!r} cannot be the name of a tool: give name= with letters, digits, _ or -"
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{chosen}: a generator cannot be a tool; return the whole result")
    return chosen
