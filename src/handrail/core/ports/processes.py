"""Programs that run for calls: how they are confined, started, read and ended.

`host/supervisor` implements this; `host/sandbox` confines the programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

Stream = Literal["stdout", "stderr"]
JobInputKind = Literal["none", "pipe", "terminal"]


class Strength(StrEnum):
    """How strongly a property of the confinement is enforced, as measured on this machine."""

    ENFORCED = "enforced"
    PARTIAL = "partial"
    REPAIRED = "repaired"
    ABSENT = "absent"


class RootCopy(NamedTuple):
    """A private copy that a program sees at the path of a root. `shared` are folders of the root that
    are not copied; the program sees the original, read-only.
    """

    root: str
    path: str
    shared: tuple[str, ...] = ()


class PrivateRoots(Protocol):
    """Copies of the roots, which exist until `close`."""

    @property
    def copies(self) -> tuple[RootCopy, ...]:
        """One for each root."""

    def close(self) -> None:
        """Remove the copies with everything that was written there. Blocks."""


class Confinement(NamedTuple):
    """What a program may reach; the sandbox turns it into mounts and kernel rules."""

    # Absolute paths of trees or files.
    writable: tuple[str, ...]
    # Paths inside `writable` that the program must not change, as long as they exist.
    read_only: tuple[str, ...] = ()
    # Paths that are invisible to the program.
    hidden: tuple[str, ...] = ()
    # The whole network, or none of it.
    network: bool = False
    # Not confined at all, because the user decided so.
    off: bool = False
    # Further readable paths.
    readable: tuple[str, ...] = ()
    # Existing paths that must not be read; `Sandbox.hiding_gap` says how far that is enforced.
    denied_reads: tuple[str, ...] = ()
    # The file that records the writes of the program's processes; "" if they are not observed.
    write_log: str = ""
    # The paths of `read_only` that are there because of a rule, each with the rule.
    ruled: tuple[tuple[str, str], ...] = ()
    # The hosts that the program can reach through a proxy if `network` is False.
    hosts: tuple[str, ...] = ()
    # Whether the program may see files that contain secrets.
    shows_secrets: bool = False
    # What the program sees in place of the roots, and may write.
    copies: tuple[RootCopy, ...] = ()


class Launch(NamedTuple):
    """A program to start. `argv[0]` and `cwd` are absolute paths; `env` is the whole environment.
    `timeout_s` None: no limit. `reports_directory`: the program writes its last directory to file
    descriptor 9. `stdin` is the whole standard input. `spills`: output that is too long to be shown is
    saved in a file. `input`: what `Processes.write` can send to a background job: nothing, text for its
    stdin, or text typed at its terminal. `memory_mb` limits the data of each process of a program that
    `Processes.open` starts; 0: no limit for this program.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    confinement: Confinement
    timeout_s: float | None
    reports_directory: bool = False
    stdin: bytes = b""
    spills: bool = True
    input: JobInputKind = "none"
    memory_mb: int = 0


class CapturedStream(NamedTuple):
    """What a program wrote to one stream.

    `total` is the number of bytes written. `head` and `tail` are the beginning and the end, without
    overlap; they are everything if their lengths add up to `total`. `saved` is the file with the full
    text up to the quota, None if head and tail are everything; `dropped` bytes were not saved.
    """

    head: bytes
    tail: bytes
    total: int
    saved: str | None = None
    dropped: int = 0


class Connection(NamedTuple):
    """A connection that a program requested from its proxy; `refused` says why it was not made, "" if
    it was.
    """

    host: str
    port: int
    refused: str = ""


class ProcessResult(NamedTuple):
    """How a program ended. `exit_code` is negative for a signal, as in `subprocess`.

    `ended_children` is the number of processes that the program left running and that were ended with
    it. `survivors` are the ids of processes that could not be ended.
    """

    exit_code: int
    stdout: CapturedStream
    stderr: CapturedStream
    duration_s: float
    timed_out: bool = False
    cancelled: bool = False
    ended_children: int = 0
    survivors: tuple[int, ...] = ()
    directory: str | None = None
    connections: tuple[Connection, ...] = ()


# The list in which a program that makes calls collects the results of their commands, complete and
# unmarked, unlike the text of a tool result. None if they are not collected.
collected_results: ContextVar[list[ProcessResult] | None] = ContextVar(
    "handrail_program_results", default=None
)


class JobState(StrEnum):
    """The state of a background job. LOST: how it ended is unknown."""

    RUNNING = "running"
    EXITED = "exited"
    KILLED = "killed"
    TIMED_OUT = "timed_out"
    LOST = "lost"


class Job(NamedTuple):
    """A background job; `id` is its number in the workspace."""

    id: str
    session: str
    call_id: str
    command: str
    description: str
    started_at: float
    state: JobState
    pid: int | None
    exit_code: int | None = None
    ended_at: float | None = None
    kept: bool = False
    # The connections that the job has requested from its proxy so far.
    connections: tuple[Connection, ...] = ()

    def to_meta(self) -> dict[str, Any]:
        """The `meta` of a result with the connections; empty if there are none."""
        if not self.connections:
            return {}
        return {"connections": [one._asdict() for one in self.connections]}


class JobOutput(NamedTuple):
    """Output of a job from a byte offset; both streams in the order in which they were written.
    `next_offset` is where the next read continues; `missing` bytes before `data` are no longer stored.
    """

    job: Job
    data: bytes
    next_offset: int
    missing: int = 0


class JobRequest(NamedTuple):
    """Which call starts a job, and how the job is described."""

    session: str
    call_id: str
    command: str
    description: str
    # Whether the job continues when the runtime that started it ends.
    keep: bool


OnOutput = Callable[[Stream, bytes], None]


class ProcessChannel(Protocol):
    """A running program with which the caller exchanges messages over its stdin and stdout.

    Output is not buffered: while no task receives, the program blocks at its full pipe, so that a large
    output needs no memory. Every method may wait as long as the program does; the caller sets the
    deadline (`anyio.fail_after`). Several tasks may send, one after the other; only one may receive.
    """

    @property
    def pid(self) -> int:
        """The pid of the program's first process."""

    @property
    def stderr(self) -> bytes:
        """The last 64 kB that the program wrote to stderr, with a delay of up to 50 ms."""

    async def send(self, data: bytes) -> None:
        """Write all of `data` to the program. Raises `unavailable` if the program has closed its
        stdin or ended, and for every send after one that was cancelled half-way.
        """

    def send_eof(self) -> None:
        """Close the program's stdin; nothing can be sent afterwards."""

    async def receive_until(self, separator: bytes, limit: int) -> bytes:
        """Read up to and including `separator`; b"" if the program's output ended before it.
        Raises `too_large` if the separator is not among the next `limit` bytes.
        """

    async def receive_exactly(self, size: int) -> bytes:
        """Read `size` bytes; b"" if the program's output ended before that."""

    async def wait_ended(self) -> ProcessResult:
        """Wait until all processes of the program have ended; can be called by several tasks and
        again later. Raises `unavailable` if the process that supervised the program was killed.
        """

    async def close(self) -> None:
        """End the program and everything it started: SIGTERM, after half a second SIGKILL. Returns when
        all processes have ended and all handles are closed. A second call does nothing.
        """


class Processes(Protocol):
    """Starts programs for calls. However a method ends, only background jobs keep running."""

    def check_roots(self) -> None:
        """Raise `outside_workspace` if a root was moved or replaced since it was opened; `run` and
        `start` then refuse too.
        """

    async def run(self, launch: Launch, on_output: OnOutput | None = None) -> ProcessResult:
        """Run a program until it ends, its time is up or the caller is cancelled; in the last two cases
        all its processes are ended. Raises `unavailable` if it cannot be started.
        """

    async def open(self, launch: Launch) -> ProcessChannel:
        """Start a program to exchange messages with. It ends with `close`, with the runtime, or after
        `launch.timeout_s`. Raises `unavailable` if it cannot be started.
        """

    async def start(self, launch: Launch, request: JobRequest) -> Job:
        """Start a background job; returns at once."""

    async def jobs(self) -> Sequence[Job]:
        """All jobs of this workspace, oldest first, including those of a crashed runtime."""

    async def output(self, job_id: str, offset: int, wait_s: float, limit: int) -> JobOutput:
        """The output of a job from `offset` on, after waiting up to `wait_s` for its end. Raises
        `not_found`.
        """

    async def write(self, job_id: str, data: bytes, *, eof: bool) -> int:
        """Send text to a job, then the end of its input if `eof`; returns how many bytes the job
        accepted within a few seconds. Raises `not_found`, `conflict` if the job accepts no input.
        """

    async def kill(self, job_id: str) -> Job:
        """End a job and everything it started; raises `not_found`, `conflict` if it has ended."""


class NameRepair(NamedTuple):
    """A protected name that a program changed and that was restored.

    `what` is "changed", "created", "removed" or "replaced", or "unchecked" for a folder with too many
    entries to look for protected names. `kept` is the path of the program's version. `restored` False:
    the original could not be restored completely.
    """

    path: str
    what: str
    kept: str | None = None
    restored: bool = True


class NameProtection(Protocol):
    """Detects changes of protected names by a program that may write, and reverts them."""

    def take(
        self,
        *,
        lifted: Sequence[str],
        git_writable: bool,
        sequences: bool,
        repositories: bool = False,
    ) -> Any:
        """Take a snapshot of the protected names. `lifted` are globs that the user allowed. With
        `git_writable`, only files of `.git` that make git run code are watched; with `sequences`, the
        program may also leave the steps of a rebase or a similar command there. `repositories`: the
        program may create repositories. Blocks.
        """

    def read_only(self, snapshot: Any) -> tuple[str, ...]:
        """The names that exist and that the program must not be able to change."""

    def repair(self, snapshot: Any, *, held: Sequence[str] = ()) -> Sequence[NameRepair]:
        """Restore the names that have changed; the program's versions are kept elsewhere. Changes below
        `held` were made by other calls and are kept. Blocks.
        """

    def leave(self, snapshot: Any, path: str) -> None:
        """Record that another call was allowed to change this path since the snapshot."""


class Sandbox(Protocol):
    """Confines programs; knows how strongly each property is enforced on this machine."""

    @property
    def backend(self) -> str:
        """`bubblewrap`, `landlock` or `none`."""

    @property
    def measured(self) -> Mapping[str, Strength]:
        """Property → strength, measured once per process on this machine."""

    def enforced_read_only(self, confinement: Confinement) -> tuple[str, ...]:
        """The read-only paths that a program with this confinement cannot change."""

    def hiding_gap(self, confinement: Confinement) -> str | None:
        """Why a program with this confinement might read its denied paths; None if it cannot. Blocks."""

    def copy_roots(self, confinement: Confinement) -> PrivateRoots | str:
        """Copy the roots, without paths that must not be read, for a program that must not change them;
        returns the reason if that is not possible. Blocks.
        """

    def why_failed(self, ended: ProcessResult, confinement: Confinement) -> str | None:
        """If the confinement probably made the program fail: a sentence with the cause and the setting
        that lifts it; otherwise None.
        """

    def describe(self) -> Mapping[str, Any]:
        """Backend, version, path and the measured strengths, for `doctor` and the audit."""
