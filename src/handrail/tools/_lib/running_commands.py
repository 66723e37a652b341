"""From an analyzed command to its footprint, its launch, and its result as a model reads it: three blocks,
truncated in the middle where too long. Output can never look like a line of the runtime.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Generic, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, Field

from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.context import ToolContext, set_working_directory
from handrail.core.footprint import Access, Footprint, Touch
from handrail.core.names.caller_words import shown_arg
from handrail.core.names.sensitive import is_sensitive
from handrail.core.outputs import output_handle
from handrail.core.ports.machine import Files
from handrail.core.ports.processes import (
    CapturedStream,
    Confinement,
    JobRequest,
    Launch,
    ProcessResult,
    collected_results,
)
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Output
from handrail.core.verdicts import Risk
from handrail.tools._lib.services import Shell
from handrail.tools._lib.tool_base import INTEGER, STRING, object_schema

# A line of the command's that looks like one of ours.
# At the beginning of a line, whichever character ended the one before.
_IMITATION: Final = re.compile(
    r"(?<![^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])(?=(?:stdout|stderr|exit_code):|\[handrail[: ])"
)
_QUOTE: Final = "> "
_LEAST_ERROR_LINES: Final = 10


class ShownStream(NamedTuple):
    """The text of a stream as it is shown, and how many lines of it are not."""

    text: str
    omitted: int


def format_streams(ended: ProcessResult, max_lines: int) -> dict[str, ShownStream]:
    """Both streams by name, as they are shown."""
    return {
        "stdout": format_stream(ended.stdout, max_lines),
        "stderr": format_stream(ended.stderr, max(max_lines // 4, _LEAST_ERROR_LINES)),
    }


def format_output(streams: Mapping[str, ShownStream], exit_code: int) -> str:
    """The whole result: stdout, stderr, exit code. An empty stream is left out."""
    blocks = [f"{name}:\n{part.text}" for name, part in streams.items() if part.text]
    return "\n".join([*blocks, f"exit_code: {exit_code}"])


def format_stream(captured: CapturedStream, max_lines: int) -> ShownStream:
    """The first half and the last quarter of the lines that may be shown (R-01)."""
    whole = len(captured.head) + len(captured.tail) == captured.total
    if whole:
        lines = _lines(captured.head + captured.tail)
        if len(lines) <= max_lines:
            return ShownStream("\n".join(lines), 0)
        head, tail = _ends(lines, lines, max_lines)
        omitted = len(lines) - len(head) - len(tail)
        return ShownStream(_joined(head, f"{omitted} lines", tail), omitted)
    first, last = _lines(captured.head), _lines(captured.tail)
    # The lines next to the gap are torn, unless one line is all there is.
    head, tail = _ends(first[:-1] or first, last[1:] or last, max_lines)
    between = captured.total - len(captured.head) - len(captured.tail)
    kept = f", {captured.dropped:,} of them kept nowhere" if captured.dropped else ""
    return ShownStream(_joined(head, f"more than {between:,} bytes{kept}", tail), -1)


def _ends(first: list[str], last: list[str], max_lines: int) -> tuple[list[str], list[str]]:
    return first[: max_lines // 2], last[-(max_lines // 4) :] if max_lines >= 4 else []


def _joined(head: list[str], what: str, tail: list[str]) -> str:
    return "\n".join([*head, f"[handrail: {what} left out here]", *tail])


def quote_imitations(text: str) -> str:
    """What a program printed, so that no line of it passes for one of ours."""
    return _IMITATION.sub(_QUOTE, text.replace("\r\n", "\n"))


def _lines(data: bytes) -> list[str]:
    text = quote_imitations(data.decode("utf-8", "replace"))
    return text.removesuffix("\n").split("\n") if text else []


# Refused connections that a result names.
_MOST_REFUSED: Final = 10
_MOST_JUDGED: Final = 64
LONGEST_S: Final = 600
DEFAULT_S: Final = 120
A = TypeVar("A")
# The kernel takes no single argument longer than this.
MAX_BYTES: Final = 128 * 1024 - 1024
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:%%)?")
_GLOB: Final = re.compile(r"[*?\[{]")
_RISKS: Final = {
    CommandClass.SAFE: Risk.SAFE,
    CommandClass.DEV: Risk.MODERATE,
    CommandClass.DANGEROUS: Risk.DANGEROUS,
    CommandClass.BLOCKED: Risk.CRITICAL,
}


def _in_range(seconds: float) -> float:
    if not 0 < seconds <= LONGEST_S:
        raise _out_of_range(seconds, "more than 0")
    return seconds


def _no_less_than_zero(seconds: float) -> float:
    if not 0 <= seconds <= LONGEST_S:
        raise _out_of_range(seconds, "0 or more")
    return seconds


def _out_of_range(seconds: float, least: str) -> ValueError:
    return ValueError(
        f"must be {least} and at most {LONGEST_S} s ({LONGEST_S * 1000:,} ms), "
        f"got {seconds:g} s ({seconds * 1000:,.0f} ms)"
    )


Seconds = Annotated[
    float, AfterValidator(_in_range), Field(json_schema_extra={"maximum": LONGEST_S})
]


def _variables(env: dict[str, str]) -> dict[str, str]:
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            raise ValueError(f"{name!r} is no variable that a program can get")
    return env


# How long to wait for something; 0 only looks.
WaitSeconds = Annotated[
    float, AfterValidator(_no_less_than_zero), Field(json_schema_extra={"maximum": LONGEST_S})
]
Variables = Annotated[dict[str, str], AfterValidator(_variables)]

OUTPUT_SCHEMA: Final = object_schema(
    stdout=STRING, stderr=STRING, exit_code=INTEGER, duration_s={"type": "number"}
)


class AnalyzedCommands(Generic[A]):
    """The judgement on each call while it is under way, so that all its steps see the same.

    `anew` judges, as often as the call is looked at again; `of` is what it said.
    """

    def __init__(self, judge: Callable[[A], CommandAnalysis]) -> None:
        self._judge = judge
        # With the arguments themselves, so that no other object can have their identity.
        self._known: OrderedDict[int, tuple[A, CommandAnalysis]] = OrderedDict()

    def anew(self, args: A) -> CommandAnalysis:
        """Judge, and remember it for the steps that follow."""
        analysis = self._judge(args)
        self._known[id(args)] = args, analysis
        if len(self._known) > _MOST_JUDGED:
            self._known.popitem(last=False)
        return analysis

    def of(self, args: A) -> CommandAnalysis:
        """What was said of these very arguments."""
        known = self._known.get(id(args))
        return self.anew(args) if known is None or known[0] is not args else known[1]


def command_risk(analysis: CommandAnalysis) -> Risk:
    """The class of a command on the common ladder."""
    return _RISKS[analysis.safety_class]


def command_footprint(analysis: CommandAnalysis, shell: Shell, *, job: bool) -> Footprint:
    """What a judged command touches; a job is a change even if its command only looks."""
    effects = analysis.effects
    touches = [Touch(path_key(path), Access.READ) for path in effects.reads]
    touches += [Touch(path_key(path), Access.WRITE) for path in effects.writes]
    touches += [Touch(f"net:{host}", Access.WRITE) for host in effects.hosts]
    if shell.working_directory.moves:
        moves = effects.changes_directory and not job
        touches.append(Touch("session:directory", Access.WRITE if moves else Access.READ))
    if job or effects.background:
        touches.append(Touch("session:jobs", Access.WRITE))
    return Footprint(tuple(touches), effects.open_ended, analysis)


def path_key(path: str) -> str:
    """The key of a path of an effect: a file, or the tree that holds what a glob may mean."""
    found = _GLOB.search(path)
    if found is not None:
        top = path[: found.start()].rpartition("/")[0]
        return f"tree:{top or '/'}"
    return f"tree:{path.rstrip('/') or '/'}" if path.endswith("/") else f"file:{path}"


def check_size(text: str, field: str) -> None:
    """Refuse what the kernel would not take as an argument."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise ProblemRaised(
            "too_large",
            f"{field} has {size:,} bytes; at most {MAX_BYTES:,} can be run",
            hint="write it to a file first and run the file",
            field=field,
        )


def choose_timeout(args: BaseModel, asked_s: float, shell: Shell) -> float:
    """The time limit of a command: of the call, else of the user's settings, else of the tool."""
    if "timeout_s" in args.model_fields_set or shell.timeout_s is None:
        return asked_s
    return shell.timeout_s


def make_launch(
    shell: Shell,
    ctx: ToolContext,
    argv: tuple[str, ...],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout_s: float | None,
    reports_directory: bool = False,
) -> Launch:
    """The program as it will be started, with nothing inherited that is not listed."""
    if ctx.confinement is None:
        # Only the engine decides what a program may reach; without its word nothing starts.
        raise ProblemRaised("unavailable", "no confinement was decided for this program")
    merged = {**shell.environment, **env}
    return Launch(argv, cwd, merged, ctx.confinement, timeout_s, reports_directory)


async def run_to_end(
    shell: Shell,
    ctx: ToolContext,
    launch: Launch,
    analysis: CommandAnalysis,
    files: Files | None = None,
) -> Output:
    """Run a program to its end and tell what came of it."""
    if any(map(is_sensitive, analysis.effects.reads)):
        # What is printed of a secret is shown as far as it fits, and kept nowhere.
        launch = launch._replace(spills=False)
    ended = await shell.processes.run(launch, ctx.on_output)
    if (collected := collected_results.get()) is not None:
        collected.append(ended)
    if ended.directory is not None and files is not None:
        set_working_directory(shell.working_directory, ended.directory, files)
    notes = _notes(shell, ended, launch.confinement)
    if not launch.confinement.off:
        notes += _lost(analysis, ctx.session.roots)
    notes += _refused_connections(ended)
    return _output(shell, ctx, ended, launch, notes)


def _refused_connections(ended: ProcessResult) -> list[str]:
    """The connections that the command asked for and did not get."""
    refused = [one for one in ended.connections if one.refused]
    listed = [f"{one.host}:{one.port} ({one.refused})" for one in refused[:_MOST_REFUSED]]
    if len(refused) > _MOST_REFUSED:
        listed.append(f"and {len(refused) - _MOST_REFUSED} more")
    if not listed:
        return []
    return [f"connections refused: {', '.join(listed)}; the setting `network` lists allowed hosts"]


def _lost(analysis: CommandAnalysis, roots: Sequence[str]) -> list[str]:
    """What a confined command wrote, or thinks it wrote, outside of the workspace."""
    outside = [
        path
        for path in analysis.effects.writes
        if not path.startswith("/dev/")
        and not any(f"{path}/".startswith(f"{root.rstrip('/')}/") for root in roots)
    ]
    if not outside:
        return []
    listed = ", ".join(outside[:5])
    return [f"{listed}: outside of the workspace, so nothing of it is left after the command"]


async def run_as_job(
    shell: Shell, ctx: ToolContext, launch: Launch, command: str, description: str | None
) -> Output:
    """Start a program in the background; its number is all that is known of it yet."""
    request = JobRequest(
        ctx.session.id, ctx.call_id, command, description or "", keep=shell.keep_jobs
    )
    job = await shell.processes.start(launch, request)
    return Output(f"Background job started: {job.id}", data={"job": job.id, "pid": job.pid})


def _output(
    shell: Shell, ctx: ToolContext, ended: ProcessResult, launch: Launch, notes: list[str]
) -> Output:
    streams = format_streams(ended, shell.max_output_lines)
    data: dict[str, Any] = {"exit_code": ended.exit_code, "duration_s": round(ended.duration_s, 3)}
    meta: dict[str, Any] = {"exit_code": ended.exit_code}
    if ended.connections:
        meta["connections"] = [one._asdict() for one in ended.connections]
    for name, captured in (("stdout", ended.stdout), ("stderr", ended.stderr)):
        part = streams[name]
        data[name] = part.text
        saved = captured.saved
        if saved is None and part.omitted and launch.spills:
            saved = _kept(ctx, name, captured)
        if saved is not None:
            meta |= {f"{name}_saved": saved, f"{name}_bytes": captured.total}
            handle = output_handle(ctx.call_id)
            notes.append(f"{name} had {captured.total:,} bytes; the full text is kept as {handle}")
    problem = _problem(ended, launch)
    if ended.timed_out and problem is not None:
        notes.append(problem.message)
    text = "\n".join(
        [format_output(streams, ended.exit_code), *[f"[handrail: {note}]" for note in notes]]
    )
    return Output(text, data=data, meta=meta, problem=problem)


def _kept(ctx: ToolContext, name: str, captured: CapturedStream) -> str | None:
    missing = captured.total - len(captured.head) - len(captured.tail)
    gap = f"\n[{missing:,} bytes were not kept here]\n".encode() if missing > 0 else b""
    # A full disk must not turn a result that exists into a failure.
    try:
        return ctx.session.artifacts.save(
            f"{ctx.call_id}-{name}.txt", captured.head + gap + captured.tail
        )
    except ProblemRaised:
        return None


def _notes(shell: Shell, ended: ProcessResult, confinement: Confinement) -> list[str]:
    notes = []
    if ended.ended_children and not ended.timed_out:
        instead = "; run it as a background job instead" if shown_arg("background") else ""
        notes.append(f"what the command left running was ended with it{instead}")
    if ended.survivors:
        listed = ", ".join(map(str, ended.survivors))
        notes.append(f"these processes could not be ended: {listed}")
    if ended.exit_code and not ended.timed_out:
        why = shell.sandbox.why_failed(ended, confinement)
        if why is not None:
            notes.append(why)
    return notes


def _more_time() -> str:
    # Some vocabularies have no commands in the background.
    way = ", or run it in the background" if shown_arg("background") else ""
    return f"give it more time{way}"


def _problem(ended: ProcessResult, launch: Launch) -> Problem | None:
    if ended.timed_out:
        return Problem(
            "timeout",
            f"the command did not finish within {launch.timeout_s:g} s and was ended",
            hint=_more_time(),
        )
    if ended.exit_code:
        return Problem("command_failed", f"the command ended with exit code {ended.exit_code}")
    return None
