"""`handrail skills`: list skills, show one, trust one of the project."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from handrail.cli import messages
from handrail.cli.commands.setup.definitions import definition_table, print_definitions
from handrail.cli.parser import Parser, Subparsers, add_definition_parser
from handrail.core.ports.skills import SkillSummary, summary_dict


def add_parser(subparsers: Subparsers[Parser]) -> None:
    add_definition_parser(subparsers, "skills", "skill", run)


def run(options: Namespace) -> int:
    """List the skills, or act on one."""
    from handrail.assembly.skills import find_skills
    from handrail.cli.workspace import load_settings, refuse_session, workspace_directory
    from handrail.dialects.known import find_vocabulary
    from handrail.tools.builtin import BUILTIN_NAMES

    refuse_session(options, "skills belong to the workspace and to you")
    reserved = {*find_vocabulary("canonical").names, *BUILTIN_NAMES}
    library = find_skills(workspace_directory(options), load_settings(options), reserved)
    known = library.list()
    if options.action == "list":
        return print_definitions(options, map(summary_dict, known), skill_lines(known))
    if options.name is None:
        raise messages.SKILL_MISSING.error(action=options.action, field="name")
    chosen = [summary for summary in known if summary.name == options.name]
    if not chosen:
        raise messages.NO_SUCH_SKILL.error(name=options.name, field="name")
    if options.action == "show":
        lines = (line for summary in chosen for line in _details(summary))
        return print_definitions(options, map(summary_dict, chosen), lines, folded=True)
    return _trust(options, chosen)


def skill_lines(known: Sequence[SkillSummary]) -> Iterator[str]:
    """Yield the skills for a terminal, one per line."""
    if not known:
        yield "no skills"
        return
    yield from definition_table("skill", known, _state)


def _state(summary: SkillSummary) -> str:
    from handrail.cli.render.screen import one_line

    if summary.problem is not None:
        return f"not used: {one_line(summary.problem)}"
    return "trusted" if summary.trusted else "not trusted"


def _details(summary: SkillSummary) -> Iterator[str]:
    from handrail.cli.render.screen import MARGIN, one_line
    from handrail.core.text.safe_text import safe_text

    yield f"{summary.name}: {_state(summary)}"
    yield f"folder  {one_line(summary.path)}"
    yield f"hash    {summary.digest}"
    if summary.tools:
        yield f"tools   {', '.join(summary.tools)}"
    folder = Path(summary.path)
    for path in sorted(folder.rglob("*"))[:50]:
        yield f"file    {one_line(str(path.relative_to(folder)))}"
    manifest = folder / "SKILL.md"
    if summary.problem is None and manifest.is_file():
        for text in safe_text(manifest.read_text("utf-8", "replace")).splitlines():
            yield f"{MARGIN}{text}"


def _trust(options: Namespace, chosen: Sequence[SkillSummary]) -> int:
    from handrail.assembly.skills import skill_trust, trust_skill
    from handrail.cli.commands.setup.trust import DefinitionTrust

    skill_ = next((skill for skill in chosen if skill.problem is None), None)
    if skill_ is None or skill_.source != "project":
        raise messages.SKILL_NEEDS_NO_TRUST.error(name=chosen[0].name, state=_state(chosen[0]))
    trust = DefinitionTrust(
        "skills", "skill", "one of its files changes", trust_skill, skill_trust().revoke
    )
    return trust.change(options.action, skill_, _details(skill_))
