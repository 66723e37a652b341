"""The types of agents that can be started: built-in and user-defined ones.

Tables of the settings and files of the user are trusted; a file of the project can be used only while
the user trusts exactly its content. Files are read again at every use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from handrail.core.ports.subagents import AgentSummary
from handrail.core.problems import ProblemRaised
from handrail.core.text.safe_text import safe_text
from handrail.policy.agents import AgentAccess, read_access
from handrail.policy.rules.parse import CanonicalName
from handrail.subagents.agent_types import BUILT_IN_TYPES, AgentType
from handrail.subagents.definitions import (
    SETTINGS,
    AgentDefinition,
    DefinitionFile,
    InvalidDefinition,
    read_file,
)

USER: Final = "user"
PROJECT: Final = "project"
_SHOWN: Final = 64


@dataclass(frozen=True, slots=True)
class LibraryOptions:
    """Where agents are defined. `read_files` reads the current files in the order of precedence; `tables`
    are the definitions of the settings; `canonical` resolves the names of tools in all dialects.
    """

    read_files: Callable[[], Sequence[DefinitionFile]]
    tables: Sequence[AgentDefinition] = ()
    # Whether the user trusts the project file with this path and hash.
    trusts: Callable[[str, str], bool] = lambda path, digest: False
    canonical: CanonicalName = lambda name: None


class _LibraryEntry(NamedTuple):
    summary: AgentSummary
    kind: AgentType | None
    # The text of the definition: the file, or the prompt.
    text: str = ""


class AgentLibrary:
    """Finds the types of agents."""

    def __init__(self, options: LibraryOptions) -> None:
        self._options = options

    def canonical(self, tool: str) -> str | None:
        """The canonical name of a tool, from its name in any dialect; None if no dialect has it."""
        return self._options.canonical(tool)

    def list(self) -> Sequence[AgentSummary]:
        """All types in a fixed order: built-in ones, tables, files of the user, files of the project."""
        return [entry.summary for entry in self._entries()]

    def types(self) -> Mapping[str, AgentType]:
        """Return the types that can be used now."""
        return {
            entry.summary.name: entry.kind
            for entry in self._entries()
            if entry.summary.usable and entry.kind is not None
        }

    def find(self, name: str) -> AgentSummary | None:
        """The first definition of this name, even if it cannot be used; None if there is none."""
        return next((summary for summary in self.list() if summary.name == name), None)

    def show(self, name: str) -> Sequence[tuple[AgentSummary, str]]:
        """Return the definitions of this name, each with the text of which it has the hash."""
        return [
            (entry.summary, entry.text) for entry in self._entries() if entry.summary.name == name
        ]

    def _entries(self) -> Sequence[_LibraryEntry]:
        tables = {table.name: _entry(table.make_type(SETTINGS)) for table in self._options.tables}
        built_in = [tables.pop(name, _entry(kind)) for name, kind in BUILT_IN_TYPES.items()]
        entries = [*built_in, *(tables[name] for name in sorted(tables))]
        for file in self._options.read_files():
            entries.append(self._resolve_clash(self._read(file), entries))
        return entries

    def _resolve_clash(self, new: _LibraryEntry, earlier: Sequence[_LibraryEntry]) -> _LibraryEntry:
        """Return the entry, marked as unusable if an earlier definition has its name."""
        for summary, _, _ in earlier:
            same = summary.name == new.summary.name
            if same and summary.problem is None and new.summary.problem is None:
                place = summary.path or f"the {summary.source}"
                problem = f"{summary.name!r} is also defined by {place}, which comes first"
                return _LibraryEntry(new.summary._replace(problem=problem), None, new.text)
        return new

    def _read(self, file: DefinitionFile) -> _LibraryEntry:
        shown = safe_text(file.stem, one_line=True)[:_SHOWN]
        source, path = file.source, file.path
        try:
            defined = read_file(file)
            access = self._access(defined, path)
        except InvalidDefinition as invalid:
            reason = safe_text(str(invalid), one_line=True)
            summary = AgentSummary(shown, "", source, path, file.digest, False, reason)
            return _LibraryEntry(summary, None, file.text)
        kind = replace(defined.make_type(source), access=access, profile=None)
        trusted = source == USER or self._options.trusts(path, file.digest)
        summary = AgentSummary(
            kind.name,
            kind.description,
            source,
            path,
            file.digest,
            trusted,
            ignored=defined.ignored,
        )
        return _LibraryEntry(summary, kind, file.text)

    def _access(self, defined: AgentDefinition, path: str) -> AgentAccess:
        """Return the access of a defined agent; raises `InvalidDefinition`."""
        table = dict(defined.access or {}) or {"tools": ["*"]}
        try:
            return read_access(defined.name, table, self._options.canonical, lambda key: path)
        except ProblemRaised as raised:
            raise InvalidDefinition(raised.problem.message) from raised


def _entry(kind: AgentType) -> _LibraryEntry:
    """Return the entry of a built-in type or of a table of the settings."""
    summary = AgentSummary(kind.name, kind.description, kind.source)
    return _LibraryEntry(summary, kind, kind.instructions)
