"""Run a piece of code, confined like a command."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.commands import (
    CommandAnalysis,
    CommandClass,
    CommandEffects,
    CommandSegment,
    Reason,
)
from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint
from handrail.core.lazy import Lazy
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Risk
from handrail.tools._lib.running_commands import (
    OUTPUT_SCHEMA,
    AnalyzedCommands,
    Seconds,
    check_size,
    choose_timeout,
    command_footprint,
    command_risk,
    make_launch,
    run_to_end,
)
from handrail.tools._lib.services import Shell
from handrail.tools._lib.tool_base import Builtin

# Language: the program and the arguments before the code.
_INTERPRETERS: Final = {"python": ("python3", "-c"), "node": ("node", "-e")}


class ExecuteCodeParams(Params):
    language: Literal["python", "bash", "node"] = Field(description="What it is written in.")
    code: str = Field(min_length=1, description="The code itself.")
    timeout_s: Seconds = Field(30, description="Seconds until it is ended.")


class ExecuteCode(Builtin[ExecuteCodeParams]):
    name = "execute_code"
    summary = "Run a piece of Python, bash or JavaScript."
    params = ExecuteCodeParams
    effects = Effects.OPEN_ENDED
    traits = ToolTraits(family=RuleFamily.RUN, takes_pattern=False, hidden_by_default=True)
    group = Group.EXEC
    timeout_s = None
    keep = "both"
    output_schema = OUTPUT_SCHEMA

    def __init__(self, shell: Lazy[Shell] | None) -> None:
        self._shell = shell
        self._judged = AnalyzedCommands(self._analyze)

    def enabled(self, session: Session) -> bool:
        return session.runs_commands and self._shell is not None

    def footprint(self, args: ExecuteCodeParams) -> Footprint:
        """The footprint of Bash code from its analysis; for other languages it is open-ended."""
        return command_footprint(self._judged.anew(args), self._shell_services, job=False)

    def risk(self, args: ExecuteCodeParams) -> Risk:
        """Return the risk of the class of the code."""
        return command_risk(self._judged.of(args))

    def render_call(self, args: ExecuteCodeParams) -> str:
        return f"{args.language}: {args.code}"

    async def preflight(self, args: ExecuteCodeParams, ctx: ToolContext) -> None:
        """Raise the problem of code that cannot be started."""
        del ctx
        check_size(args.code, "code")
        self._shell_services.processes.check_roots()
        self._argv(args)

    async def run(self, args: ExecuteCodeParams, ctx: ToolContext) -> Output:
        """Return the output and the exit code; raises `timeout` or `command_failed`."""
        shell = self._shell_services
        launch = make_launch(
            shell,
            ctx,
            self._argv(args),
            cwd=shell.working_directory.directory,
            env=shell.tame if self._judged.of(args).safety_class is CommandClass.SAFE else {},
            timeout_s=choose_timeout(args, args.timeout_s, shell),
        )
        return await run_to_end(shell, ctx, launch, self._judged.of(args))

    def _argv(self, args: ExecuteCodeParams) -> tuple[str, ...]:
        shell = self._shell_services
        if args.language == "bash":
            return (shell.program, "--norc", "--noprofile", "-c", args.code)
        name, option = _INTERPRETERS[args.language]
        program = shell.find(name)
        if program is None:
            raise ProblemRaised(
                "unavailable",
                f"{name} is not installed here",
                hint="use another language, or ask the user to install it",
                field="language",
            )
        return (program, option, args.code)

    def _analyze(self, args: ExecuteCodeParams) -> CommandAnalysis:
        shell = self._shell_services
        if args.language == "bash":
            return shell.analyzer.analyze(args.code, cwd=shell.working_directory.directory, env={})
        program, _ = _INTERPRETERS[args.language]
        reason = Reason(f"runs {args.language} code, which can do anything", args.code[:200])
        effects = CommandEffects(programs=(program,), open_ended=True)
        return CommandAnalysis(
            CommandClass.DANGEROUS,
            (reason,),
            effects,
            segments=(CommandSegment(program, reason.part),),
            text=args.code,
        )

    @property
    def _shell_services(self) -> Shell:
        if self._shell is None:
            raise ProblemRaised("unavailable", "programs cannot be run here")
        return self._shell.value
