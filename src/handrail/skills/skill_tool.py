"""A tool that a skill defines: a command that is checked, confined and recorded like any other."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from pydantic import BaseModel

from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint
from handrail.core.results import Output
from handrail.core.tool import Group, Tool
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Risk
from handrail.skills import messages
from handrail.skills.templates import ToolTemplate
from handrail.tools.commands.run_command import RunCommand, RunCommandParams

_MOST_KNOWN: Final = 256
SKILL_TOOL: Final = "skill"


class SkillTool(Tool[Any]):
    """Runs the command of a template. `unchanged` tells whether the files of the skill are unchanged
    since the tool was created.
    """

    effects = Effects.OPEN_ENDED
    traits = ToolTraits(family=RuleFamily.RUN, hidden_by_default=True, reached_by=SKILL_TOOL)
    group = Group.EXEC
    # The command has a deadline of its own.
    timeout_s = None
    keep = "both"

    def __init__(
        self,
        template: ToolTemplate,
        skill: str,
        folder: str,
        commands: RunCommand,
        unchanged: Callable[[], bool],
    ) -> None:
        self.name = template.name
        self.summary = f"{template.description} (from the skill {skill})"
        self.raw_schema = template.schema()
        self._template = template
        self._skill = skill
        self._folder = folder
        self._commands = commands
        self._unchanged = unchanged
        # The command of each call, so that all steps of the call use the same one.
        self._known: OrderedDict[int, tuple[BaseModel, RunCommandParams]] = OrderedDict()

    def enabled(self, session: Session) -> bool:
        """Whether commands can be run here."""
        return self._commands.enabled(session)

    def footprint(self, args: BaseModel) -> Footprint:
        """What the expanded command would touch; raises `invalid_arguments` for a bad value."""
        return self._commands.footprint(self._command(args))

    def risk(self, args: BaseModel) -> Risk:
        """The risk of the expanded command."""
        return self._commands.risk(self._command(args))

    def render_call(self, args: BaseModel) -> str:
        """The expanded command."""
        return self._command(args).command

    async def preflight(self, args: BaseModel, ctx: ToolContext) -> None:
        """Raise `untrusted` if the files of the skill have changed; otherwise check the command."""
        if not self._unchanged():
            raise messages.CHANGED_SKILL.error(name=self._skill)
        await self._commands.preflight(self._command(args), ctx)

    async def run(self, args: BaseModel, ctx: ToolContext) -> Output:
        """Run the command; returns its output and how it ended."""
        return await self._commands.run(self._command(args), ctx)

    def _command(self, args: BaseModel) -> RunCommandParams:
        known = self._known.get(id(args))
        if known is not None and known[0] is args:
            return known[1]
        try:
            text = self._template.expand(args.model_dump(), self._folder)
        except ValueError as error:
            raise messages.INVALID_VALUE.error(reason=error) from error
        given = {"command": text, "timeout_s": self._template.timeout_s}
        made = RunCommandParams.model_validate(given)
        self._known[id(args)] = args, made
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        return made
