"""Send text to a background job."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.commands import CommandAnalysis, CommandClass, Reason
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, writing
from handrail.core.lazy import Lazy
from handrail.core.outputs import Outputs
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Risk
from handrail.tools._lib.job_text import JobTool
from handrail.tools._lib.running_commands import AnalyzedCommands, command_risk
from handrail.tools._lib.services import Shell
from handrail.tools._lib.tool_base import INTEGER, object_schema

# Of a longer line only the end is analyzed.
_LONGEST_LINE: Final = 20_000


class JobWriteParams(Params):
    job: str = Field(description="The number of the job.")
    text: str = Field("", max_length=64_000, description="What to send.")
    eof: bool = Field(False, description="End the input afterwards.")


class JobWrite(JobTool[JobWriteParams]):
    name = "job_write"
    summary = "Send text to a background job."
    params = JobWriteParams
    # What the job does with the text is unknown.
    effects = Effects.OPEN_ENDED
    traits = ToolTraits(family=RuleFamily.RUN, takes_pattern=False, hidden_by_default=True)
    group = Group.EXEC
    output_schema = object_schema(written=INTEGER)

    def __init__(self, shell: Lazy[Shell] | None, outputs: Outputs | None = None) -> None:
        super().__init__(shell, outputs)
        self._judged = AnalyzedCommands(self._analyze)
        # By job: the text since the last line end. A line is analyzed as a whole, however many
        # pieces it is sent in.
        self._unfinished: dict[str, str] = {}

    def footprint(self, args: JobWriteParams) -> Footprint:
        """Return a footprint that writes one job; the text is analyzed as a command, since the job
        may be a shell.
        """
        return writing(f"job:{args.job}")._replace(command=self._judged.anew(args))

    def risk(self, args: JobWriteParams) -> Risk:
        """Return the risk of the text as a command."""
        return command_risk(self._judged.of(args))

    def render_call(self, args: JobWriteParams) -> str:
        return f"to job {args.job}: {args.text}" + (" (end of input)" if args.eof else "")

    async def run(self, args: JobWriteParams, ctx: ToolContext) -> Output:
        """Return how many bytes the job accepted; raises `not_found`, or `conflict` if it takes no
        input.
        """
        await self.own(args.job, ctx)
        line = self._unfinished.get(args.job, "") + args.text
        if self._judged.of(args).text != line:
            raise ProblemRaised(
                "conflict",
                f"other text was sent to job {args.job} since this call was prepared",
                hint="send the text again",
                retryable=True,
            )
        data = args.text.encode("utf-8", "surrogateescape")
        written = await self._processes.write(args.job, data, eof=args.eof)
        self._unfinished[args.job] = line.rpartition("\n")[2][-_LONGEST_LINE:]
        text = f"sent {written:,} bytes to job {args.job}"
        if written < len(data):
            text += (
                f"\n[handrail: the job does not read; {len(data) - written:,} bytes were not sent]"
            )
        return Output(text, data={"written": written})

    def _analyze(self, args: JobWriteParams) -> CommandAnalysis:
        if self._shell is None:
            raise self.unavailable()
        shell = self._shell.value
        line = self._unfinished.get(args.job, "") + args.text
        # The end of the input alone is not a command.
        judged = line if line.strip() else ":"
        analysis = shell.analyzer.analyze(judged, cwd=shell.working_directory.directory, env={})
        reasons = (*analysis.reasons, Reason("text for a program can be any command", ""))
        return analysis._replace(
            safety_class=max(analysis.safety_class, CommandClass.DANGEROUS),
            reasons=reasons,
            rule_matchable=False,
            text=line,
            # Sending text changes no file; effects of the job are recorded with the job.
            writes_nothing=True,
        )
