"""Load the instructions of a skill."""

from __future__ import annotations

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.events import SkillUsed
from handrail.core.footprint import Footprint, reading
from handrail.core.lazy import Lazy
from handrail.core.ports.skills import LoadedSkill, SkillLibrary
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.tools._lib.tool_base import STRING, Builtin, object_schema


class SkillParams(Params):
    name: str = Field(max_length=64, description="Name of the skill.")
    arguments: str = Field("", max_length=4_000, description="What the skill is to work on.")


class SkillLoader(Builtin[SkillParams]):
    name = "skill"
    summary = "Load the instructions of a skill."
    params = SkillParams
    # Only skills that the user trusts can be loaded.
    always_safe = True
    effects = Effects.SESSION
    traits = ToolTraits(hidden_by_default=True)
    group = Group.META
    idempotent = True
    output_schema = object_schema(skill=STRING, hash=STRING, path=STRING)

    def __init__(self, skills: Lazy[SkillLibrary] | None) -> None:
        self._skills = skills

    def enabled(self, session: Session) -> bool:
        del session
        return self._skills is not None

    def footprint(self, args: SkillParams) -> Footprint:
        """Return a footprint that reads the folder of the skill, which is not a path argument."""
        return reading(f"session:skill:{args.name}")

    async def run(self, args: SkillParams, ctx: ToolContext) -> Output:
        """Return the instructions; raises `not_found` or `untrusted`."""
        if self._skills is None:
            raise ProblemRaised("unavailable", "there are no skills here")
        skill = self._skills.value.load(args.name, by_user=ctx.call.by_person)
        ctx.report(SkillUsed(skill.name, skill.digest, trusted=True))
        data = {"skill": skill.name, "hash": skill.digest, "path": skill.path}
        return Output(format_skill(skill, args.arguments), data=data)


def format_skill(skill: LoadedSkill, arguments: str) -> str:
    """Return the instructions for the model."""
    lines = [f"Skill {skill.name}, folder {safe_text(skill.path, one_line=True)}:"]
    if skill.tools:
        lines.append(f"It adds the tools: {', '.join(skill.tools)}")
    if skill.requested_tools:
        requested = safe_text(", ".join(skill.requested_tools), one_line=True)[:300]
        lines.append(f"It would like to use: {requested}. This allows nothing.")
    lines += ["", skill.body]
    if arguments.strip():
        lines += ["", f"Arguments: {arguments.strip()}"]
    return "\n".join(lines)
