"""`handrail agents`: list types of agents, show one, trust one of the project."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.cli import messages
from handrail.cli.commands.setup.definitions import definition_table, print_definitions
from handrail.cli.parser import Parser, Subparsers, add_definition_parser
from handrail.core.ports.subagents import AgentSummary

_PROJECT: Final = "project"


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """Add the parser of this command."""
    add_definition_parser(subparsers, "agents", "agent", run)


def run(options: Namespace) -> int:
    """List the types of agents, or act on one."""
    from handrail.assembly.extras.agent_definitions import find_agents
    from handrail.assembly.rules import canonical_names
    from handrail.cli.commands.setup.config import load_layers
    from handrail.cli.workspace import refuse_session, workspace_directory
    from handrail.dialects.known import find_vocabulary

    refuse_session(options, "agents are defined for the workspace and for you")
    loaded = load_layers(options)
    canonical = canonical_names(find_vocabulary(loaded.settings.dialect))
    library = find_agents(loaded, workspace_directory(options), canonical)
    if options.action == "list":
        known = library.list()
        return print_definitions(
            options, map(_to_dict, known), definition_table("agent", known, _state)
        )
    if options.name is None:
        raise messages.AGENT_MISSING.error(action=options.action, field="name")
    chosen = library.show(options.name)
    if not chosen:
        raise messages.NO_SUCH_AGENT_TYPE.error(name=options.name, field="name")
    if options.action == "show":
        values = ({**_to_dict(one), "text": text} for one, text in chosen)
        lines = (line for one, text in chosen for line in _details(one, text))
        return print_definitions(options, values, lines, folded=True)
    return _trust(options, chosen)


def _to_dict(one: AgentSummary) -> dict[str, object]:
    return {**one._asdict(), "ignored": list(one.ignored), "usable": one.usable}


def _state(one: AgentSummary) -> str:
    from handrail.cli.render.screen import one_line

    if one.problem is not None:
        return f"not used: {one_line(one.problem)}"
    if not one.trusted:
        return "not trusted"
    return f"usable, ignores {', '.join(one.ignored)}" if one.ignored else "usable"


def _details(one: AgentSummary, text: str) -> Iterator[str]:
    from handrail.cli.render.screen import MARGIN, one_line
    from handrail.core.text.safe_text import safe_text

    yield f"{one.name}: {_state(one)}"
    if one.path:
        yield f"file    {one_line(one.path)}"
        yield f"hash    {one.digest}"
    yield from (f"{MARGIN}{line}" for line in safe_text(text).splitlines())


def _trust(options: Namespace, chosen: Sequence[tuple[AgentSummary, str]]) -> int:
    from handrail.assembly.extras.agent_definitions import agent_trust, trust_agent
    from handrail.cli.commands.setup.trust import DefinitionTrust

    found = [(one, text) for one, text in chosen if one.problem is None and one.source == _PROJECT]
    if not found:
        one = chosen[0][0]
        raise messages.AGENT_NEEDS_NO_TRUST.error(name=one.name, state=_state(one))
    one, text = found[0]
    trust = DefinitionTrust(
        "agents", "agent", "its file changes", trust_agent, agent_trust().revoke
    )
    return trust.change(options.action, one, _details(one, text))
