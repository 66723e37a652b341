"""Loads user-defined agents, and records which agent files of projects the user trusts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.assembly.settings_files import add_trust, is_inside, trust_book
from handrail.config.layers.sources import PROJECT_LAYERS
from handrail.core.problems import ProblemRaised
from handrail.host.state.directories import config_home
from handrail.policy.agents import DEFAULT, MAIN, OPTIONS

if TYPE_CHECKING:
    from handrail.config.layers.load import LoadedSettings
    from handrail.config.trust import TrustBook
    from handrail.policy.rules.parse import CanonicalName
    from handrail.subagents.definitions import AgentDefinition, DefinitionFile
    from handrail.subagents.library import AgentLibrary

PROJECT_FOLDER: Final = (".handrail", "agents")
_TRUST: Final = "agents"
_MAX_PROMPT_BYTES: Final = 64_000
# Names of tables that do not define an agent that can be started.
_TABLES_ONLY: Final = frozenset({MAIN, DEFAULT, *OPTIONS})


def find_agents(loaded: LoadedSettings, root: Path, canonical: CanonicalName) -> AgentLibrary:
    """The types of agents of a workspace; the library reads files when it is used."""
    from handrail.assembly.extras.definition_files import DefinitionFolder, read_folder
    from handrail.subagents.library import PROJECT, USER, AgentLibrary, LibraryOptions

    folders = [DefinitionFolder(root, PROJECT_FOLDER, PROJECT)]
    # A configuration folder inside the workspace does not count as the user's.
    if not is_inside(config_home(), root):
        folders.insert(0, DefinitionFolder(config_home(), (_TRUST,), USER))

    def read_files() -> list[DefinitionFile]:
        return [file for folder in folders for file in read_folder(folder)]

    def trusts(path: str, digest: str) -> bool:
        return agent_trust().trusts(Path(path), digest)

    return AgentLibrary(LibraryOptions(read_files, read_tables(loaded, root), trusts, canonical))


def has_definitions(loaded: LoadedSettings, root: Path) -> bool:
    """Whether agents may be defined in this workspace; reads no files."""
    folders = (root.joinpath(*PROJECT_FOLDER), config_home() / _TRUST)
    named = set(loaded.settings.agents) - _TABLES_ONLY
    return bool(named) or any(one.is_dir() for one in folders)


def read_tables(loaded: LoadedSettings, root: Path) -> list[AgentDefinition]:
    """The agents that the settings define; raises `invalid_arguments` with the place of the error."""
    found = []
    for name, table in loaded.settings.agents.items():
        if name not in _TABLES_ONLY and isinstance(table, Mapping):
            found += _read_table(loaded, root, name, table)
    return found


def _read_table(
    loaded: LoadedSettings, root: Path, name: str, table: Mapping[str, Any]
) -> list[AgentDefinition]:
    from handrail.policy.agents import DEFINITION_KEYS
    from handrail.subagents.agent_types import BUILT_IN_TYPES
    from handrail.subagents.definitions import InvalidDefinition, check_name, read_definition

    try:
        if name not in BUILT_IN_TYPES:
            check_name(name)
        return [read_definition(name, table, lambda file: _prompt(loaded, root, name, file))]
    except InvalidDefinition as invalid:
        if not set(DEFINITION_KEYS) & set(table):
            # A table that only limits the calls of an agent may have any name.
            return []
        message = f"agents.{name}: {invalid}"
        source = loaded.sources.get(f"agents.{name}")
        place = "" if source is None else f"{source}: "
        raise ProblemRaised("invalid_arguments", f"{place}{message}", field="agents") from invalid


def _prompt(loaded: LoadedSettings, root: Path, name: str, file: str) -> str:
    """The text of a prompt file of the user."""
    from handrail.subagents.definitions import InvalidDefinition

    source = loaded.sources.get(f"agents.{name}.prompt_file")
    path = config_home() / Path(file).expanduser()
    if (source is not None and source.layer in PROJECT_LAYERS) or is_inside(path, root):
        # Trusting settings does not include other files.
        where = "/".join(PROJECT_FOLDER)
        raise InvalidDefinition(
            f"prompt_file may not lie in the workspace or be named by it; use {where}/{name}.md"
        )
    if not path.is_file():
        raise InvalidDefinition(f"prompt_file is not a file: {file!r}")
    try:
        with path.open("rb") as opened:
            content = opened.read(_MAX_PROMPT_BYTES + 1)
        text = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidDefinition(f"prompt_file cannot be read: {error}") from error
    if len(content) > _MAX_PROMPT_BYTES:
        raise InvalidDefinition(f"prompt_file has more than {_MAX_PROMPT_BYTES // 1_000} kB")
    return text


def read_at_once(section: Mapping[str, Any]) -> int | None:
    """The setting `agents.at_once`; None: the default. Raises `invalid_arguments`."""
    given = section.get("at_once")
    if given is None:
        return None
    if type(given) is not int or not 1 <= given <= 100:
        raise ProblemRaised(
            "invalid_arguments", "agents.at_once is not a number from 1 to 100", field="agents"
        )
    return given


def agent_trust() -> TrustBook:
    """The user's record of which agent files of projects are trusted."""
    return trust_book(_TRUST)


def trust_agent(path: Path, digest: str) -> None:
    """Record that the user trusts the agent file with this hash."""
    add_trust(_TRUST, path, digest)
