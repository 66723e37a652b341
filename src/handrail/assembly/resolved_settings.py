"""Interprets the settings before anything is opened. Opening a workspace and `handrail config check` both
use `resolve_settings`, so that they accept the same settings.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.assembly.extras.agent_definitions import (
    find_agents,
    has_definitions,
    read_at_once,
    read_tables,
)
from handrail.assembly.guardrails import load_guardrails
from handrail.assembly.machine import named_directory, real_directory
from handrail.assembly.rules import canonical_names, load_rules, path_base
from handrail.config.layers.load import LoadedSettings
from handrail.core.lazy import Lazy
from handrail.core.problems import ProblemRaised
from handrail.dialects.base import Vocabulary
from handrail.dialects.known import find_vocabulary
from handrail.engine.registry import ToolOrigin
from handrail.policy.agents import Agents, parse_agents, unknown_tools
from handrail.policy.guardrails.settings import GuardrailSettings
from handrail.policy.modes import Mode, parse_mode
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule import Rule

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalyzer
    from handrail.hooks.fields import ParsedHooks
    from handrail.policy.rules.parse import CanonicalName

_log = logging.getLogger("handrail")
# The tools that agents need to use MCP servers.
_REMOTE_TOOLS: Final = ("mcp__*", "tool_search")


class ResolvedSettings(NamedTuple):
    """Valid settings, and everything that is derived from them."""

    loaded: LoadedSettings
    # Absolute paths as they were given, with links.
    roots: tuple[str, ...]
    mode: Mode
    vocabulary: Vocabulary
    canonical: CanonicalName
    agents: Agents
    rules: tuple[Rule, ...]
    guardrails: GuardrailSettings
    # None: no hooks are configured.
    hooks: ParsedHooks | None
    # Notices about rules that have no effect yet.
    notices: tuple[str, ...] = ()


def resolve_settings(
    loaded: LoadedSettings, root: Path, own: Collection[str] = ()
) -> ResolvedSettings:
    """Interpret the settings as opening the workspace does, without opening or running anything. `own` are
    the names of user-defined tools that are registered at the start. Raises `invalid_arguments` with the
    place of an invalid setting, `not_found` for a directory that does not exist.
    """
    settings = loaded.settings
    with _at(loaded, "mode"):
        mode = parse_mode(settings.mode)
    with _at(loaded, "dialect"):
        timeout_s = settings.command_timeout_s
        vocabulary = find_vocabulary(settings.dialect, command_timeout_s=timeout_s)
    if settings.dialect == "coauthor" and has_definitions(loaded, root):
        # This dialect has one tool for each type of agent.
        library = find_agents(loaded, root, canonical_names(vocabulary, lambda name: None))
        vocabulary = find_vocabulary(settings.dialect, tuple(library.types()), timeout_s)
    roots = tuple(_roots(loaded, root))
    texts = [str(real_directory(Path(one))) for one in roots]
    analyzer = _analyzer(loaded, texts)

    names = canonical_names(vocabulary, lambda name: ToolOrigin.USER if name in own else None)
    aliases = [(given, real) for given, real in zip(roots, texts, strict=True) if given != real]
    base = path_base(texts, aliases)
    rules, notices = _rules(loaded, names, (*vocabulary.names, *own), base, analyzer)
    return ResolvedSettings(
        loaded,
        roots,
        mode,
        vocabulary,
        names,
        _load_agents(loaded, root, names),
        rules,
        load_guardrails(loaded),
        _hooks(loaded, texts, analyzer, own),
        notices,
    )


def _rules(
    loaded: LoadedSettings,
    names: CanonicalName,
    known: Collection[str],
    base: PathBase,
    analyzer: Lazy[CommandAnalyzer],
) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The user's rules, and notices about rules that have no effect yet."""
    permissions = loaded.settings.permissions
    if not (permissions.allow or permissions.ask or permissions.deny):
        return (), ()
    from handrail.policy.rules.notices import accept_later, list_unregistered

    used = analyzer if loaded.settings.commands else None
    rules = load_rules(loaded, accept_later(names, known), base, used)
    return rules, list_unregistered(rules, names)


def _roots(loaded: LoadedSettings, root: Path) -> Iterator[str]:
    real_directory(root)
    yield named_directory(root)
    with _at(loaded, "directories"):
        for one in map(Path, loaded.settings.directories):
            real_directory(one)
            yield named_directory(one)


def _analyzer(loaded: LoadedSettings, roots: list[str]) -> Lazy[CommandAnalyzer]:
    """The analyzer for the examples of rules and for hooks; its settings are checked immediately."""
    if loaded.settings.sandbox_require:
        from handrail.policy.confinement import check_properties

        with _at(loaded, "sandbox_require"):
            check_properties(loaded.settings.sandbox_require)

    def build() -> CommandAnalyzer:
        from handrail.assembly.commands import command_analyzer

        return command_analyzer(roots, loaded.settings)

    analyzer = Lazy(build)
    if loaded.settings.programs:
        with _at(loaded, "programs"):
            try:
                analyzer.value  # noqa: B018 - built for its errors
            except ValueError as error:
                raise ProblemRaised("invalid_arguments", str(error), field="programs") from error
    return analyzer


def _hooks(
    loaded: LoadedSettings, roots: list[str], analyzer: Lazy[CommandAnalyzer], own: Collection[str]
) -> ParsedHooks | None:
    if not loaded.settings.hooks:
        return None
    from handrail.assembly.hooks import load_hooks

    return load_hooks(loaded, roots, analyzer.value, own)


@contextmanager
def _at(loaded: LoadedSettings, key: str) -> Iterator[None]:
    """Add the place of a setting to a problem that is raised in the block."""
    try:
        yield
    except ProblemRaised as raised:
        source, problem = loaded.sources[key], raised.problem
        if source.file is None:
            raise
        where = f"{source}: {key}: {problem.message}"
        raise ProblemRaised(problem.code, where, hint=problem.hint, field=key) from raised


def _load_agents(loaded: LoadedSettings, root: Path, names: CanonicalName) -> Agents:
    """Parse the section `agents`; raises `invalid_arguments` with the key and its place."""
    section, remote = loaded.settings.agents, loaded.settings.mcp
    added = _REMOTE_TOOLS if remote.servers and remote.auto_allow else ()
    agents = parse_agents(section, names, lambda key: _setting_place(loaded, key), added)
    read_at_once(section)
    read_tables(loaded, root)
    for notice in unknown_tools(section, names):
        _log.warning("%s", notice)
    return agents


def _setting_place(loaded: LoadedSettings, key: str) -> str:
    """Where a setting, its first item, or the table that contains it is written."""
    while True:
        for name in (key, f"{key}[0]"):
            if name in loaded.sources:
                return str(loaded.sources[name])
        key, dot, _ = key.rpartition(".")
        if not dot:
            return "settings"
