"""Run a command that was analyzed first, in the sandbox."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint
from handrail.core.lazy import Lazy
from handrail.core.paths import PathUse
from handrail.core.places import Kind
from handrail.core.ports.machine import Files
from handrail.core.ports.processes import JobInputKind, Launch
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Risk
from handrail.shell.parse.trivial import same_in_any_shell
from handrail.tools._lib.running_commands import (
    DEFAULT_S,
    AnalyzedCommands,
    Seconds,
    Variables,
    check_size,
    choose_timeout,
    command_footprint,
    command_risk,
    make_launch,
    run_as_job,
    run_to_end,
)
from handrail.tools._lib.services import Shell
from handrail.tools._lib.tool_base import Builtin

# The working directory at the end is written to a separate file descriptor, so that output cannot
# forge it.
_REPORT = "trap 'pwd -P >&9' EXIT\n"


class RunCommandParams(Params):
    command: str = Field(min_length=1, description="Run by bash.")
    cwd: Annotated[str | None, PathUse.TREE] = Field(None, description="Directory to start in.")
    timeout_s: Seconds = Field(DEFAULT_S, description="Seconds until it is ended.")
    env: Variables | None = Field(None, description="Variables to add.")
    description: str | None = Field(None, description="What it does, in a few words.")
    background: bool = Field(False, description="Return at once and let it go on.")
    input: JobInputKind = Field(
        "none", description="What [[tool:job_write]] can send a background command."
    )
    unconfined: bool = Field(False, description="Outside the sandbox; the user is always asked.")


class RunCommand(Builtin[RunCommandParams]):
    name = "run_command"
    summary = "Run a shell command."
    params = RunCommandParams
    effects = Effects.OPEN_ENDED
    traits = ToolTraits(family=RuleFamily.RUN, agent_profiles=("test",))
    group = Group.EXEC
    # The command has its own time limit, which the supervisor enforces.
    timeout_s = None
    keep = "both"

    def __init__(self, files: Files, shell: Lazy[Shell] | None) -> None:
        self._files = files
        self._shell = shell
        self._judged = AnalyzedCommands(self._analyze)

    def enabled(self, session: Session) -> bool:
        return session.runs_commands and self._shell is not None

    def footprint(self, args: RunCommandParams) -> Footprint:
        """Return what the command may touch, according to its analysis."""
        return command_footprint(self._judged.anew(args), self._shell_services, job=args.background)

    def risk(self, args: RunCommandParams) -> Risk:
        """Return the risk of the command's class; outside the sandbox no command is safe."""
        risk = command_risk(self._judged.of(args))
        return max(risk, Risk.DANGEROUS) if args.unconfined else risk

    def render_call(self, args: RunCommandParams) -> str:
        return args.command

    async def preflight(self, args: RunCommandParams, ctx: ToolContext) -> None:
        """Raise a problem for a working directory that does not exist and for a command that cannot
        be started.
        """
        check_size(args.command, "command")
        self._shell_services.processes.check_roots()
        if args.input != "none" and (args.unconfined or not args.background):
            raise ProblemRaised(
                "invalid_arguments",
                "only a background command inside the sandbox takes input",
                field="input",
            )
        place = ctx.places.get("cwd")
        if place is not None and place.kind is not Kind.DIRECTORY:
            raise ProblemRaised(
                "not_found",
                f"there is no directory {place.path!r}",
                hint="leave cwd out to start in the workspace",
                field="cwd",
            )

    async def run(self, args: RunCommandParams, ctx: ToolContext) -> Output:
        """Return the output and the exit code; raises `timeout` or `command_failed`."""
        shell = self._shell_services
        analysis = self._judged.of(args)
        launch = self._launch(args, ctx, analysis)
        if args.background:
            return await run_as_job(shell, ctx, launch, args.command, args.description)
        return await run_to_end(shell, ctx, launch, analysis, self._files)

    def _launch(
        self, args: RunCommandParams, ctx: ToolContext, analysis: CommandAnalysis
    ) -> Launch:
        shell = self._shell_services
        moves = (
            shell.working_directory.moves
            and analysis.effects.changes_directory
            and args.cwd is None
            and not args.background
        )
        tame = shell.tame if analysis.safety_class is CommandClass.SAFE else {}
        text = _REPORT + args.command if moves else args.command
        argv: tuple[str, ...] = (shell.program, "--norc", "--noprofile", "-c", text)
        if shell.small is not None and same_in_any_shell(text):
            argv = (shell.small, "-c", text)
        env = {**(args.env or {}), **tame}
        if args.input == "terminal":
            # A session leader, so that it gets the signals of its terminal.
            leader = shell.find("setsid")
            argv = (leader, "--ctty", "--wait", *argv) if leader is not None else argv
            env = {"TERM": "dumb", **env}
        launch = make_launch(
            shell,
            ctx,
            argv,
            cwd=self._cwd(args),
            env=env,
            timeout_s=None if args.background else choose_timeout(args, args.timeout_s, shell),
            reports_directory=moves,
        )
        return launch._replace(input=args.input)

    def _analyze(self, args: RunCommandParams) -> CommandAnalysis:
        cwd = self._cwd(args)
        analysis = self._shell_services.analyzer.analyze(args.command, cwd=cwd, env=args.env or {})
        return analysis._replace(cwd=cwd, unconfined=args.unconfined)

    def _cwd(self, args: RunCommandParams) -> str:
        if args.cwd is None:
            return self._shell_services.working_directory.directory
        return self._files.locate(args.cwd).absolute

    @property
    def _shell_services(self) -> Shell:
        if self._shell is None:
            raise ProblemRaised("unavailable", "commands cannot be run here")
        return self._shell.value
