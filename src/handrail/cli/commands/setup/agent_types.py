"""`handrail agents`: list agent types, show one, trust one of the project."""

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
    add_definition_parser(subparsers, "agents", "agent", run)


def run(options: Namespace) -> int:
    """List the agent types, or act on one."""
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
        values = ({**_to_dict(summary), "text": text} for summary, text in chosen)
        lines = (line for summary, text in chosen for line in _details(summary, text))
        return print_definitions(options, values, lines, folded=True)
    return _trust(options, chosen)


def _to_dict(summary: AgentSummary) -> dict[str, object]:
    return {**summary._asdict(), "ignored": list(summary.ignored), "usable": summary.usable}


def _state(summary: AgentSummary) -> str:
    from handrail.cli.render.screen import one_line

    if summary.problem is not None:
        return f"not used: {one_line(summary.problem)}"
    if not summary.trusted:
        return "not trusted"
    return f"usable, ignores {', '.join(summary.ignored)}" if summary.ignored else "usable"


def _details(summary: AgentSummary, text: str) -> Iterator[str]:
    from handrail.cli.render.screen import MARGIN, one_line
    from handrail.core.text.safe_text import safe_text

    yield f"{summary.name}: {_state(summary)}"
    if summary.path:
        yield f"file    {one_line(summary.path)}"
        yield f"hash    {summary.digest}"
    yield from (f"{MARGIN}{line}" for line in safe_text(text).splitlines())


def _trust(options: Namespace, chosen: Sequence[tuple[AgentSummary, str]]) -> int:
    from handrail.assembly.extras.agent_definitions import agent_trust, trust_agent
    from handrail.cli.commands.setup.trust import DefinitionTrust

    trustable = [
        (summary, text)
        for summary, text in chosen
        if summary.problem is None and summary.source == _PROJECT
    ]
    if not trustable:
        summary = chosen[0][0]
        raise messages.AGENT_NEEDS_NO_TRUST.error(name=summary.name, state=_state(summary))
    summary, text = trustable[0]
    trust = DefinitionTrust(
        "agents", "agent", "its file changes", trust_agent, agent_trust().revoke
    )
    return trust.change(options.action, summary, _details(summary, text))
