"""Which tools exist, by canonical name. Nothing here decides who may call them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.core.effects import Effects, base_footprint, check_statement
from handrail.core.footprint import NOTHING, Footprint
from handrail.core.lazy import Lazy
from handrail.core.paths import PathUse
from handrail.core.tool import TOOL_NAME, Group, Tool, check_name_list
from handrail.engine.events import EventBus

if TYPE_CHECKING:
    from pydantic import BaseModel

    from handrail.core.arguments.path_arguments import PathArguments
    from handrail.core.events import Listener


class DuplicateToolError(ValueError):
    """A tool of that name exists already."""


class ToolNotFoundError(KeyError):
    """No tool has that name."""


class ToolOrigin(StrEnum):
    """Where a tool comes from; a built-in can never be replaced by another origin."""

    BUILTIN = "builtin"
    USER = "user"
    SKILL = "skill"
    MCP = "mcp"
    # Found by the host program's `resolve_tool` when it was first called.
    RESOLVED = "resolved"


# Returns the tool of a name that is not registered; None if there is none.
ToolResolver = Callable[[str], Tool[Any] | None]


class ArgumentSpec(NamedTuple):
    """The arguments of a tool, computed once when it is registered."""

    model: type[BaseModel]
    # Validates a mapping and returns the model.
    validate: Callable[[Any], BaseModel]
    # The JSON schema that a model is shown; made when it is first used.
    lazy_schema: Lazy[dict[str, Any]]
    # The path arguments on the top level.
    paths: tuple[tuple[str, PathUse], ...]
    # The path arguments inside other values; None if there are none.
    nested_paths: PathArguments | None

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema that a model is shown."""
        return self.lazy_schema.value


class FootprintSpec(NamedTuple):
    """What calls of a tool touch, computed once when it is registered."""

    effects: Effects
    # What a call touches besides its paths, unless the tool computes it per call.
    base: Footprint
    # Whether the tool computes the footprint of each call.
    computed: bool
    # Whether a call touches its path arguments and nothing else.
    only_paths: bool
    # Whether every call touches its path arguments only, and writes none of them.
    reads_only: bool


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A registered tool with what every call of it needs."""

    tool: Tool[Any]
    origin: ToolOrigin
    arguments: ArgumentSpec
    touches: FootprintSpec
    # Whether the tool decides itself when it can be used, and how risky a call is.
    conditional: bool = True
    rates_risk: bool = True
    # How often a call is attempted if it fails transiently.
    attempts: int = 1

    @property
    def edits_files(self) -> bool:
        """Return whether a call may change files: by a plan, or as a tool of the user's own."""
        own = self.origin is not ToolOrigin.BUILTIN
        return self.tool.plans or (own and bool(self.touches.effects & _EDITS))


_EDITS: Final = Effects.WRITES_PATHS | Effects.OPEN_ENDED


class RegistryView(NamedTuple):
    """Maps the names of a dialect to canonical ones, and says which tools can be used."""

    names: Mapping[str, str]
    usable: Callable[[Tool[Any]], bool]


class Registry:
    """The set of tools, in deterministic order, so that prompt caches stay valid.

    A built-in tool is deferred: it is built when its entry is first requested.
    """

    def __init__(self, bus: EventBus | None = None, view: RegistryView | None = None) -> None:
        self._bus = bus or EventBus()
        self._entries: dict[str, ToolEntry] = {}
        self._deferred: dict[str, Callable[[], Tool[Any]]] = {}
        # Tools that are found by name and never listed.
        self._resolvers: list[tuple[ToolResolver, ToolOrigin]] = []
        self._resolved: dict[str, ToolEntry] = {}
        self._view = view or RegistryView({}, lambda tool: True)
        # Counts changes, so that values derived from the tools know when they are stale.
        self.version = 0

    def register(
        self, tool: Tool[Any], *, allow_override: bool = False, origin: ToolOrigin = ToolOrigin.USER
    ) -> None:
        """Add a tool; raises `DuplicateToolError` unless an own tool may be overridden, TypeError
        if it has no usable name, does not state its effects or its parameters contradict them.
        """
        _check_is_tool(tool)
        old = self.origin(tool.name)
        if old is not None and not allow_override:
            raise DuplicateToolError(f"a tool named {tool.name!r} exists already")
        meant = self.origin(self._view.names.get(tool.name, tool.name))
        if ToolOrigin.BUILTIN in (old, meant) and origin is not ToolOrigin.BUILTIN:
            raise DuplicateToolError(f"{tool.name!r} is built in and cannot be replaced")
        self._deferred.pop(tool.name, None)
        entry = _entry(tool, origin)
        if origin is not ToolOrigin.BUILTIN:
            # A schema that cannot be made is an error of the caller that registers the tool.
            _ = entry.arguments.schema
        self._entries[tool.name] = entry
        self.version += 1
        self._report_registered(tool.name)

    def defer_builtin(self, name: str, build: Callable[[], Tool[Any]]) -> None:
        """Add a built-in tool, which `build` returns when its entry is first requested."""
        if self.origin(name) is not None:
            raise DuplicateToolError(f"a tool named {name!r} exists already")
        self._deferred[name] = build
        self.version += 1

    def add_resolver(self, resolve: ToolResolver, origin: ToolOrigin) -> None:
        """Ask `resolve` for the tools of names that are not registered."""
        self._resolvers.append((resolve, origin))

    def resolve(self, name: str) -> ToolEntry | None:
        """Return the tool that a resolver finds under a name; None if there is none. Such a tool
        can be called from then on; it is not listed, so that what models are shown stays the same.
        """
        for resolver, origin in self._resolvers:
            tool = resolver(name)
            if tool is None:
                continue
            _check_is_tool(tool)
            if tool.name in self._resolved:
                return self._resolved[tool.name]
            listed = self._entries.get(tool.name)
            if listed is not None and (listed.tool, listed.origin) == (tool, origin):
                # The name is another name of a tool that models are shown.
                return listed
            taken = self.origin(tool.name) is not None
            if taken or (origin is ToolOrigin.RESOLVED and tool.name != name):
                raise DuplicateToolError(f"{name!r} was resolved to {tool.name!r}, another tool")
            entry = self._resolved[tool.name] = _entry(tool, origin)
            self._report_registered(tool.name)
            return entry
        return None

    def with_retry(self, name: str, attempts: int) -> None:
        """Attempt calls up to this often. ValueError: not idempotent; `ToolNotFoundError`: unknown."""
        entry = self.entry(name)
        if entry is None:
            raise ToolNotFoundError(name)
        self._entries[name] = replace(entry, attempts=_attempts(entry.tool, attempts))
        self.version += 1

    def unregister(self, name: str) -> None:
        """Remove a tool; raises `ToolNotFoundError`."""
        if self.origin(name) is None:
            raise ToolNotFoundError(name)
        self._entries.pop(name, None)
        self._deferred.pop(name, None)
        self.version += 1
        if not self._bus.idle:
            from handrail.core.events import ToolUnregistered

            self._bus.emit(ToolUnregistered(name))

    def entry(self, name: str) -> ToolEntry | None:
        """Return the tool with what a call of it needs; None if there is none."""
        found = self._entries.get(name)
        if found is None and name in self._deferred:
            found = self._entries[name] = _entry(self._deferred[name](), ToolOrigin.BUILTIN)
            del self._deferred[name]
        return found or self._resolved.get(name)

    def _report_registered(self, name: str) -> None:
        if not self._bus.idle:
            from handrail.core.events import ToolRegistered

            self._bus.emit(ToolRegistered(name))

    def origin(self, name: str) -> ToolOrigin | None:
        """Return where the tool of a name comes from; None if there is none. Builds nothing."""
        if name in self._deferred:
            return ToolOrigin.BUILTIN
        found = self._entries.get(name)
        return None if found is None else found.origin

    @property
    def names(self) -> list[str]:
        """Return the names of all tools, sorted; builds nothing."""
        return sorted((*self._entries, *self._deferred))

    def __iter__(self) -> Iterator[Tool[Any]]:
        return iter(self.list_all())

    def __len__(self) -> int:
        return self.count()

    def get(self, name: str) -> Tool[Any]:
        """The tool of a name, canonical or the dialect's; raises `ToolNotFoundError`."""
        tool = self.find(name)
        if tool is None:
            raise ToolNotFoundError(name)
        return tool

    def find(self, name: str) -> Tool[Any] | None:
        """The tool of a name, canonical or the dialect's, None if there is none."""
        entry = self.entry(self._own_name(name))
        return entry.tool if entry else None

    def has_tool(self, name: str) -> bool:
        """Whether a tool of that name, canonical or the dialect's, exists and is not disabled."""
        tool = self.find(name)
        return tool is not None and self._view.usable(tool)

    def _own_name(self, name: str) -> str:
        known = name in self._entries or name in self._deferred
        return name if known else self._view.names.get(name, name)

    def reached_by(self, shown: Collection[str]) -> frozenset[str]:
        """The tools that a model may call because it is shown the tool that leads to them."""
        entries = self._entries.items()
        return frozenset(name for name, one in entries if one.tool.traits.reached_by in shown)

    def count(self) -> int:
        """How many tools there are."""
        return len(self._entries) + len(self._deferred)

    def clear(self) -> None:
        """Remove every tool."""
        for name in self.names:
            self.unregister(name)

    def list_all(self, *, groups: Iterable[Group | str] | None = None) -> list[Tool[Any]]:
        """All tools, or those of some groups, sorted by name; ValueError for an unknown group."""
        wanted = None if groups is None else _read_groups(groups)
        tools = [self.get(name) for name in self.names]
        return [tool for tool in tools if wanted is None or tool.group in wanted]

    def filter_by_names(self, names: Iterable[str]) -> Registry:
        """Return an iterable registry with only these tools; names that do not exist are
        left out.
        """
        wanted = {self._own_name(name) for name in names}
        chosen = Registry(self._bus, self._view)
        chosen._entries = {name: one for name, one in self._entries.items() if name in wanted}
        chosen._deferred = {name: one for name, one in self._deferred.items() if name in wanted}
        return chosen

    @classmethod
    def of(cls, tools: Sequence[Tool[Any]]) -> Registry:
        """A registry built from a list of tools."""
        registry = cls()
        for tool in tools:
            registry.register(tool)
        return registry

    def get_schemas(self, allowed: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """The schemas of all tools, or of those named; `missing` reports which are left out."""
        names = self.names if allowed is None else allowed
        return [tool.get_schema() for name in names if (tool := self.find(name)) is not None]

    def missing(self, names: Iterable[str]) -> list[str]:
        """The names among these that no tool has, for diagnostics."""
        return [name for name in names if self.find(name) is None]

    def subscribe(self, listener: Listener) -> None:
        """Call the listener when tools are registered and unregistered."""
        self._bus.subscribe(listener)


def _check_is_tool(tool: object) -> None:
    """Raise TypeError for a value that is not a tool, or a name that providers would reject."""
    if isinstance(tool, type) and issubclass(tool, Tool):
        raise TypeError(f"{tool.__name__} is a class; give an instance of it: {tool.__name__}()")
    if not isinstance(tool, Tool):
        raise TypeError(f"{tool!r} is not a tool; decorate a function with @handrail.tool")
    name = getattr(tool, "name", None)
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise TypeError(
            f"{name!r} cannot be the name of a tool: use up to 64 letters, digits, _ or -, "
            f"starting with a letter (in {type(tool).__name__})"
        )


def _read_groups(groups: Iterable[Group | str]) -> set[Group]:
    check_name_list(groups, "groups")
    wanted = set(groups)
    if unknown := sorted(map(str, wanted - {*Group})):
        known = ", ".join(Group)
        raise ValueError(f"there is no group of tools named {unknown[0]!r}; groups: {known}")
    return {Group(group) for group in wanted}


def _entry(tool: Tool[Any], origin: ToolOrigin) -> ToolEntry:
    from handrail.core.arguments.path_arguments import read_path_arguments

    declared = getattr(tool, "params", None)
    if (declared is None) == (tool.raw_schema is None):
        raise TypeError(f"{tool.name!r} must declare either params or raw_schema, not both")
    Group(tool.group)
    try:
        params = tool.argument_model()
        paths = read_path_arguments(params)
        effects = _effects(tool, paths)
    except TypeError as error:
        raise TypeError(f"the tool {tool.name!r} {error}") from error
    own_footprint = _overrides(tool, "footprint")
    base = base_footprint(effects)
    if tool.plans and PathUse.WRITE not in paths.uses:
        # Only the plan will say what is written.
        base = base._replace(open_ended=True)
    arguments = ArgumentSpec(
        model=params,
        validate=params.__pydantic_validator__.validate_python,
        lazy_schema=Lazy(partial(_shown_schema, tool, params)),
        paths=paths.direct,
        nested_paths=None if paths.nested is None else paths,
    )
    only_paths = not own_footprint and base is NOTHING
    reads_only = only_paths and PathUse.WRITE not in paths.uses
    return ToolEntry(
        tool,
        origin,
        arguments,
        FootprintSpec(effects, base, own_footprint, only_paths, reads_only),
        _overrides(tool, "enabled"),
        tool.always_safe or _overrides(tool, "risk"),
        _attempts(tool, tool.max_attempts),
    )


def _effects(tool: Tool[Any], paths: PathArguments) -> Effects:
    own = _overrides(tool, "footprint")
    return check_statement(tool.effects, paths.uses, plans=tool.plans, own_footprint=own)


def _overrides(tool: Tool[Any], method: str) -> bool:
    """Return whether the class or the object itself overrides a method of `Tool`."""
    own = getattr(type(tool), method) is not getattr(Tool, method)
    return own or method in getattr(tool, "__dict__", ())


def _shown_schema(tool: Tool[Any], params: type[BaseModel]) -> dict[str, Any]:
    from handrail.core.arguments.schema import json_schema
    from handrail.core.arguments.schema_paths import copy_schema, has_path_keyword

    if not tool.raw_schema:
        return json_schema(params)
    if not has_path_keyword(tool.raw_schema):
        return tool.raw_schema
    shown: dict[str, Any] = copy_schema(tool.raw_schema, keyword=False)
    return shown


def _attempts(tool: Tool[Any], attempts: int) -> int:
    if attempts < 1 or (attempts > 1 and not tool.idempotent):
        raise ValueError(
            f"{tool.name!r} cannot be tried {attempts} times: only what is idempotent is tried again"
        )
    return attempts
