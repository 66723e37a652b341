"""From an analyzed command to its footprint, its launch, and its result for the model: three
blocks, truncated in the middle if too long. Output never looks like a line of the runtime.
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

# Output lines that look like lines of Handrail, at the beginning of a line, whichever character
# ended the previous one.
_IMITATION: Final = re.compile(
    r"(?<![^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])(?=(?:stdout|stderr|exit_code):|\[handrail[: ])"
)
# Each imitation contains one of these; most output contains none, and is not searched further.
_IMITATED: Final = ("stdout:", "stderr:", "exit_code:", "[handrail")
_QUOTE: Final = "> "
_LEAST_ERROR_LINES: Final = 10


class ShownStream(NamedTuple):
    """The text of a stream as shown, and how many lines are omitted."""

    text: str
    omitted: int


def format_streams(result: ProcessResult, max_lines: int) -> dict[str, ShownStream]:
    """Return both streams by name, as shown."""
    return {
        "stdout": format_stream(result.stdout, max_lines),
        "stderr": format_stream(result.stderr, max(max_lines // 4, _LEAST_ERROR_LINES)),
    }


def format_output(streams: Mapping[str, ShownStream], exit_code: int) -> str:
    """Return the whole result: stdout, stderr, exit code. An empty stream is omitted."""
    blocks = [f"{name}:\n{part.text}" for name, part in streams.items() if part.text]
    return "\n".join([*blocks, f"exit_code: {exit_code}"])


def format_stream(captured: CapturedStream, max_lines: int) -> ShownStream:
    """Return the first half and the last quarter of the lines that may be shown."""
    complete = len(captured.head) + len(captured.tail) == captured.total
    if complete:
        lines = _lines(captured.head + captured.tail)
        if len(lines) <= max_lines:
            return ShownStream("\n".join(lines), 0)
        head, tail = _ends(lines, lines, max_lines)
        omitted = len(lines) - len(head) - len(tail)
        return ShownStream(_join_around_gap(head, f"{omitted} lines", tail), omitted)
    first, last = _lines(captured.head), _lines(captured.tail)
    # The lines next to the gap are incomplete, unless there is only one line.
    head, tail = _ends(first[:-1] or first, last[1:] or last, max_lines)
    between = captured.total - len(captured.head) - len(captured.tail)
    dropped = f", {captured.dropped:,} of them kept nowhere" if captured.dropped else ""
    return ShownStream(_join_around_gap(head, f"more than {between:,} bytes{dropped}", tail), -1)


def _ends(first: list[str], last: list[str], max_lines: int) -> tuple[list[str], list[str]]:
    return first[: max_lines // 2], last[-(max_lines // 4) :] if max_lines >= 4 else []


def _join_around_gap(head: list[str], what: str, tail: list[str]) -> str:
    return "\n".join([*head, f"[handrail: {what} left out here]", *tail])


def quote_imitations(text: str) -> str:
    """Return the output of a program, with lines that imitate Handrail's marked."""
    text = text.replace("\r\n", "\n")
    if not any(words in text for words in _IMITATED):
        return text
    return _IMITATION.sub(_QUOTE, text)


def _lines(data: bytes) -> list[str]:
    text = quote_imitations(data.decode("utf-8", "replace"))
    return text.removesuffix("\n").split("\n") if text else []


# Refused connections that a result names.
_MOST_REFUSED: Final = 10
_MOST_JUDGED: Final = 64
LONGEST_S: Final = 600
DEFAULT_S: Final = 120
A = TypeVar("A")
# The kernel refuses longer single arguments.
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


def _out_of_range(seconds: float, minimum: str) -> ValueError:
    return ValueError(
        f"must be {minimum} and at most {LONGEST_S} s ({LONGEST_S * 1000:,} ms), "
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


# How long to wait for something; 0 does not wait.
WaitSeconds = Annotated[
    float, AfterValidator(_no_less_than_zero), Field(json_schema_extra={"maximum": LONGEST_S})
]
Variables = Annotated[dict[str, str], AfterValidator(_variables)]

OUTPUT_SCHEMA: Final = object_schema(
    stdout=STRING, stderr=STRING, exit_code=INTEGER, duration_s={"type": "number"}
)


class AnalyzedCommands(Generic[A]):
    """Caches the analysis of each running call, so that all its steps see the same one.

    `anew` analyzes again; `of` returns the cached analysis.
    """

    def __init__(self, judge: Callable[[A], CommandAnalysis]) -> None:
        self._judge = judge
        # Holds the arguments themselves, so that no other object can reuse their identity.
        self._known: OrderedDict[int, tuple[A, CommandAnalysis]] = OrderedDict()

    def anew(self, args: A) -> CommandAnalysis:
        """Analyze the arguments and cache the result for the following steps."""
        analysis = self._judge(args)
        self._known[id(args)] = args, analysis
        if len(self._known) > _MOST_JUDGED:
            self._known.popitem(last=False)
        return analysis

    def of(self, args: A) -> CommandAnalysis:
        """Return the cached analysis of these arguments; analyzes them if there is none."""
        cached = self._known.get(id(args))
        return self.anew(args) if cached is None or cached[0] is not args else cached[1]


def command_risk(analysis: CommandAnalysis) -> Risk:
    """Return the risk of a command, by its class."""
    return _RISKS[analysis.safety_class]


def command_footprint(analysis: CommandAnalysis, shell: Shell, *, job: bool) -> Footprint:
    """Return the footprint of an analyzed command; a job counts as a change even if its command
    only reads.
    """
    effects = analysis.effects
    if shell.network:
        analysis = analysis._replace(network=shell.network)
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
    """Return the footprint key of a path of an effect: a file, or the tree that contains what a
    glob may match.
    """
    match = _GLOB.search(path)
    if match is not None:
        top = path[: match.start()].rpartition("/")[0]
        return f"tree:{top or '/'}"
    return f"tree:{path.rstrip('/') or '/'}" if path.endswith("/") else f"file:{path}"


def check_size(text: str, field: str) -> None:
    """Raise `invalid_arguments` for a text that the kernel would not accept as an argument."""
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
    """Return the program as it will be started; it inherits only what is listed."""
    if ctx.confinement is None:
        # Only the engine decides what a program may reach; without its decision nothing starts.
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
    """Run a program to its end and return its output."""
    if any(map(is_sensitive, analysis.effects.reads)):
        # Output that may contain a secret is shown as far as it fits, and stored nowhere.
        launch = launch._replace(spills=False)
    result = await shell.processes.run(launch, ctx.on_output)
    if (collected := collected_results.get()) is not None:
        collected.append(result)
    if result.directory is not None and files is not None:
        set_working_directory(shell.working_directory, result.directory, files)
    notes = _notes(shell, result, launch.confinement)
    if not launch.confinement.off:
        notes += _lost_writes(analysis, ctx.session.roots)
    notes += _refused_connections(result)
    return _output(shell, ctx, result, launch, notes)


def _refused_connections(result: ProcessResult) -> list[str]:
    """Return notes on the connections that the command attempted and that were refused."""
    refused = [connection for connection in result.connections if connection.refused]
    listed = [
        f"{connection.host}:{connection.port} ({connection.refused})"
        for connection in refused[:_MOST_REFUSED]
    ]
    if len(refused) > _MOST_REFUSED:
        listed.append(f"and {len(refused) - _MOST_REFUSED} more")
    if not listed:
        return []
    return [f"connections refused: {', '.join(listed)}; the setting `network` lists allowed hosts"]


def _lost_writes(analysis: CommandAnalysis, roots: Sequence[str]) -> list[str]:
    """Return a note on paths outside of the workspace that a confined command wrote, without
    lasting effect.
    """
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
    """Start a program in the background and return its job number."""
    request = JobRequest(
        ctx.session.id, ctx.call_id, command, description or "", keep=shell.keep_jobs
    )
    job = await shell.processes.start(launch, request)
    return Output(f"Background job started: {job.id}", data={"job": job.id, "pid": job.pid})


def _output(
    shell: Shell, ctx: ToolContext, result: ProcessResult, launch: Launch, notes: list[str]
) -> Output:
    streams = format_streams(result, shell.max_output_lines)
    data: dict[str, Any] = {
        "exit_code": result.exit_code,
        "duration_s": round(result.duration_s, 3),
    }
    meta: dict[str, Any] = {"exit_code": result.exit_code}
    if result.connections:
        meta["connections"] = [connection._asdict() for connection in result.connections]
    for name, captured in (("stdout", result.stdout), ("stderr", result.stderr)):
        part = streams[name]
        data[name] = part.text
        saved = captured.saved
        if saved is None and part.omitted and launch.spills:
            saved = _save_stream(ctx, name, captured)
        if saved is not None:
            meta |= {f"{name}_saved": saved, f"{name}_bytes": captured.total}
            handle = output_handle(ctx.call_id)
            notes.append(f"{name} had {captured.total:,} bytes; the full text is kept as {handle}")
    problem = _problem(result, launch)
    if result.timed_out and problem is not None:
        notes.append(problem.message)
    text = "\n".join(
        [format_output(streams, result.exit_code), *[f"[handrail: {note}]" for note in notes]]
    )
    return Output(text, data=data, meta=meta, problem=problem)


def _save_stream(ctx: ToolContext, name: str, captured: CapturedStream) -> str | None:
    missing = captured.total - len(captured.head) - len(captured.tail)
    gap = f"\n[{missing:,} bytes were not kept here]\n".encode() if missing > 0 else b""
    # A full disk must not turn a result that exists into a failure.
    try:
        return ctx.session.artifacts.save(
            f"{ctx.call_id}-{name}.txt", captured.head + gap + captured.tail
        )
    except ProblemRaised:
        return None


def _notes(shell: Shell, result: ProcessResult, confinement: Confinement) -> list[str]:
    notes = []
    if result.ended_children and not result.timed_out:
        instead = "; run it as a background job instead" if shown_arg("background") else ""
        notes.append(f"what the command left running was ended with it{instead}")
    if result.survivors:
        listed = ", ".join(map(str, result.survivors))
        notes.append(f"these processes could not be ended: {listed}")
    if result.exit_code and not result.timed_out:
        why = shell.sandbox.why_failed(result, confinement)
        if why is not None:
            notes.append(why)
    return notes


def _more_time() -> str:
    # Some vocabularies have no commands in the background.
    alternative = ", or run it in the background" if shown_arg("background") else ""
    return f"give it more time{alternative}"


def _problem(result: ProcessResult, launch: Launch) -> Problem | None:
    if result.timed_out:
        return Problem(
            "timeout",
            f"the command did not finish within {launch.timeout_s:g} s and was ended",
            hint=_more_time(),
        )
    if result.exit_code:
        return Problem("command_failed", f"the command ended with exit code {result.exit_code}")
    return None
