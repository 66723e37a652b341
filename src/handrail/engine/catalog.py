"""Declares the tools that exist and are enabled to a model, in its own vocabulary.

Declarations are cached until a tool is added or removed; a repeated request costs a shallow copy.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from handrail.core.context import Session
from handrail.core.effects import Effects
from handrail.core.ports.plan_mode import LEAVE, PLAN_MODE
from handrail.core.problems import ProblemRaised
from handrail.core.tool import Group, Tool, check_name_list
from handrail.dialects.base import View, Vocabulary
from handrail.engine.prepare.visibility import RESOLVED_TOOLS, callable_tools
from handrail.engine.registry import Registry, ToolEntry

if TYPE_CHECKING:
    from handrail.dialects.declare import ToolDeclaration


class _Declarations(NamedTuple):
    """The tools in a provider's form, and the canonical names that a model may then call."""

    declared: list[dict[str, Any]]
    # The "function" value of each declaration, kept separately: looking it up takes as long as
    # copying it. Empty for providers whose form has one level less.
    functions: list[dict[str, Any]]
    # The names that are shown.
    names: tuple[str, ...]
    callable_tools: frozenset[str]

    def copy(self) -> list[dict[str, Any]]:
        """Return a copy of the outer two levels; the schemas inside are shared."""
        if not self.functions:
            return [one.copy() for one in self.declared]
        pairs = zip(self.declared, self.functions, strict=True)
        return [{**one, "function": function.copy()} for one, function in pairs]


class Catalog:
    """Declares the tools of one runtime."""

    def __init__(self, registry: Registry, vocabulary: Vocabulary, session: Session) -> None:
        self._registry = registry
        self._vocabulary = vocabulary
        self._session = session
        self._prose: dict[str, str] = {}
        self._cache: dict[object, _Declarations] = {}
        self._version = registry.version

    @property
    def vocabulary(self) -> Vocabulary:
        """The names a model is shown and may use."""
        return self._vocabulary

    async def refresh(self, tools: Iterable[Tool[Any]] | None = None) -> None:
        """Ask these tools, or all, for their descriptions again. A tool that was never asked is
        asked when it is first declared, if its description can be computed without waiting.
        """
        for tool in self._registry.list_all() if tools is None else tools:
            said = tool.describe(self._session)
            self._prose[tool.name] = said if isinstance(said, str) else await said
        self._cache.clear()
        self._version = self._registry.version

    def declare(
        self,
        provider: str,
        *,
        allowed: Collection[str] | None = None,
        groups: Collection[str] | None = None,
    ) -> tuple[list[dict[str, Any]], tuple[str, ...], frozenset[str]]:
        """Return the tools in the form of a provider, their names there, and the canonical names
        that a model which is shown them may call. The caller may change the outer two levels; the
        schemas inside are shared.
        """
        kept = self._cached(provider, allowed, groups)
        return kept.copy(), kept.names, kept.callable_tools

    def check_names(self, names: Collection[Any], known: Collection[str]) -> None:
        """Raise `invalid_arguments` for a name that no tool has in any vocabulary; `known` are the
        canonical names that may be suggested.
        """
        check_name_list(names, "allowed")
        for name in names:
            if not isinstance(name, str) or self._registry.entry(self._canonical(name)) is None:
                raise self._no_such_tool(name, known)

    def _no_such_tool(self, name: object, known: Collection[str]) -> ProblemRaised:
        spelled = {view.name for tool in known for view in self._vocabulary.views(tool)}
        from difflib import get_close_matches

        close = get_close_matches(str(name)[:100], sorted(spelled | {*known}), n=3, cutoff=0.6)
        hint = (
            f"did you mean {' or '.join(close)}?"
            if close
            else f"tools: {', '.join(sorted(spelled))}"
        )
        message = f"there is no tool named {name!r:.200} to declare"
        return ProblemRaised("invalid_arguments", message, hint=hint, field="allowed")

    def _cached(
        self, provider: str, allowed: Collection[str] | None, groups: Collection[str] | None
    ) -> _Declarations:
        key = (provider, None if allowed is None else frozenset(allowed),
               None if groups is None else frozenset(groups), self._session.mode)  # fmt: skip
        if self._version != self._registry.version:
            self._prose.clear()
            self._cache.clear()
            self._version = self._registry.version
        kept = self._cache.get(key)
        if kept is None:
            everything = allowed is None and groups is None
            chosen = self._chosen(allowed, groups)
            kept = self._cache[key] = self._build(provider, chosen, everything=everything)
        return kept

    def _build(
        self, provider: str, chosen: list[ToolDeclaration], *, everything: bool
    ) -> _Declarations:
        from handrail.dialects.declare import declarations

        names = callable_tools(one.view.tool for one in chosen)
        names |= self._registry.reached_by(names)
        # A tool with several names is called by those that are shown.
        names |= {f"{one.view.tool}:{one.view.name}" for one in chosen}
        if everything:
            names |= {RESOLVED_TOOLS}
        declared = declarations(provider, chosen)
        functions = [one["function"] for one in declared if "function" in one]
        shown = tuple(one["name"] for one in functions or declared)
        return _Declarations(declared, functions, shown, names)

    def _chosen(
        self, allowed: Collection[str] | None, groups: Collection[str] | None
    ) -> list[ToolDeclaration]:
        wanted = None if allowed is None else {self._canonical(name) for name in allowed}
        shows_hidden = groups is not None
        return [
            self._declared(entry, view)
            for tool in self._registry.list_all(groups=groups)
            if (shows_hidden or not self._hides(tool) if wanted is None else tool.name in wanted)
            and tool.shown(self._session)
            if (entry := self._registry.entry(tool.name)) is not None
            for view in self._vocabulary.chosen_views(tool.name, allowed or ())
        ]

    def _hides(self, tool: Tool[Any]) -> bool:
        """Return whether a tool is hidden from a model unless it is requested by name."""
        # A model in plan mode needs the tool that leaves it.
        needed = self._session.mode == PLAN_MODE and tool.name == LEAVE
        return not needed and self._vocabulary.dialect.hides(tool.name, tool.traits)

    def _canonical(self, name: str) -> str:
        view = self._vocabulary.resolve(name)
        return view.tool if view is not None else name

    def _declared(self, entry: ToolEntry, view: View) -> ToolDeclaration:
        from handrail.dialects.declare import ToolDeclaration

        tool = entry.tool
        return ToolDeclaration(
            view=view,
            schema=entry.arguments.schema,
            prose=self._description(tool),
            output_schema=tool.output_schema,
            reads_only=tool.only_reads or tool.fetches_only,
            changes_files=tool.changes_files,
            idempotent=tool.idempotent,
            open_ended=tool.group in (Group.WEB, Group.MCP)
            or Effects.NETWORK in entry.touches.effects,
        )

    def _description(self, tool: Tool[Any]) -> str:
        """Return the description that `refresh` read, or the current one of a newer tool."""
        if tool.name not in self._prose:
            said = tool.describe(self._session)
            if not isinstance(said, str):
                if inspect.iscoroutine(said):
                    said.close()
                return tool.summary
            self._prose[tool.name] = said
        return self._prose[tool.name]
