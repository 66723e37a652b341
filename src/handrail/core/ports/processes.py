"""Programs that run for a call: how they are confined, started, read and ended.

The implementation is `host/supervisor`; what confines is `host/sandbox`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

Stream = Literal["stdout", "stderr"]
JobInputKind = Literal["none", "pipe", "terminal"]


class Strength(StrEnum):
    """How far a property of the confinement holds, as measured on this machine."""

    ENFORCED = "enforced"
    PARTIAL = "partial"
    REPAIRED = "repaired"
    ABSENT = "absent"


class RootCopy(NamedTuple):
    """A private copy that a program sees at the path of a root; `shared` are folders of the root that
    it sees as they are, read-only.
    """

    root: str
    path: str
    shared: tuple[str, ...] = ()


class PrivateRoots(Protocol):
    """Copies of the roots, until they are closed."""

    @property
    def copies(self) -> tuple[RootCopy, ...]:
        """One for each root."""

    def close(self) -> None:
        """Remove them with all that was written there. Blocks."""


class Confinement(NamedTuple):
    """What a program may reach; the sandbox turns it into mounts and kernel rules."""

    # Absolute paths of trees or files.
    writable: tuple[str, ...]
    # Paths inside `writable` that the program must not change, as long as they exist.
    read_only: tuple[str, ...] = ()
    # Paths that the program does not see.
    hidden: tuple[str, ...] = ()
    # The whole network, or none of it.
    network: bool = False
    # Not confined at all, because the user decided so.
    off: bool = False
    # Further readable paths.
    readable: tuple[str, ...] = ()
    # Existing paths that must not be read; `Sandbox.hiding_gap` says how far that is enforced.
    denied_reads: tuple[str, ...] = ()
    # The file for the observed writes of the program's processes; "": they are not observed.
    write_log: str = ""
    # Those of `read_only` that a rule closes, each with the rule.
    ruled: tuple[tuple[str, str], ...] = ()
    # Without `network`: the hosts that the program can reach through a proxy.
    hosts: tuple[str, ...] = ()
    # Whether the program may see files that hold secrets.
    shows_secrets: bool = False
    # What the program sees in place of the roots, and may write.
    copies: tuple[RootCopy, ...] = ()


class Launch(NamedTuple):
    """A program to start. `argv[0]` is an absolute path; `cwd` is absolute; `env` is the
    whole environment. `timeout_s` None: as long as it takes. `reports_directory`: the
    program writes its last directory to file descriptor 9. `stdin` is all that it can read
    there. `spills`: what is too long to be shown is kept in a file. `input`: what a background job
    can be sent with `Processes.write`: nothing, text for its stdin, or text typed at its terminal.
    `memory_mb` limits the data of each process of a program that is talked to; 0: no limit of its own.
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
    """What a program wrote to one stream: the beginning, the end, and what lies between.

    `total` bytes were written; `head` and `tail` do not overlap, and are all of it if their
    lengths add up to `total`. `saved` is the file with the full text as far as the quota
    went, None if head and tail are everything; `dropped` bytes are in no place at all.
    """

    head: bytes
    tail: bytes
    total: int
    saved: str | None = None
    dropped: int = 0


class Connection(NamedTuple):
    """A connection that a program asked its proxy for; `refused` says why it was not made, "" if it
    was.
    """

    host: str
    port: int
    refused: str = ""


class ProcessResult(NamedTuple):
    """How a program ended. `exit_code` is negative for a signal, as in `subprocess`.

    `ended_children`: processes that it had left running and that were ended with it.
    `survivors`: those that could not be ended, by their ids.
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


# Where a program that makes calls collects the output of their commands as it was written; what a
# result shows of it is cut and marked. None: nobody collects it.
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
    """A program in the background, by the number under which it is known in its workspace."""

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
    # What the job has asked its proxy for so far.
    connections: tuple[Connection, ...] = ()

    def to_meta(self) -> dict[str, Any]:
        """The connections, as the meta of a result; empty if there are none."""
        if not self.connections:
            return {}
        return {"connections": [one._asdict() for one in self.connections]}


class JobOutput(NamedTuple):
    """Some of what a job wrote (both streams, in the order of arrival), from a byte offset.

    `next_offset` is where to go on; `missing` bytes before `data` are no longer kept.
    """

    job: Job
    data: bytes
    next_offset: int
    missing: int = 0


class JobRequest(NamedTuple):
    """Who starts a job, and what to call it."""

    session: str
    call_id: str
    command: str
    description: str
    # Whether it goes on when the runtime that started it ends.
    keep: bool


OnOutput = Callable[[Stream, bytes], None]


class ProcessChannel(Protocol):
    """A running program that is talked to through its stdin and stdout.

    Nothing is read ahead of the caller: while nobody receives, the program waits at its full
    pipe, so one that floods costs no memory. Every method may wait as long as the program does;
    the caller sets the deadline (`anyio.fail_after`). One task sends at a time, others wait for
    their turn; only one task may receive.
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
        """End the program and everything it started: SIGTERM, after half a second SIGKILL. Returns
        when they are gone and all handles are closed; does nothing the second time.
        """


class Processes(Protocol):
    """Starts programs for calls. Leaving by any way leaves no process behind but a job."""

    def check_roots(self) -> None:
        """Raise `outside_workspace` if a root was moved or replaced since it was opened: then
        `run` and `start` refuse as well.
        """

    async def run(self, launch: Launch, on_output: OnOutput | None = None) -> ProcessResult:
        """Run to the end, or until the time is up or the caller is cancelled: then the whole
        tree is ended first. Raises `unavailable` if it cannot be started.
        """

    async def open(self, launch: Launch) -> ProcessChannel:
        """Start a program to talk to, confined as `launch` says; it ends with `close`, with the
        runtime, or after `launch.timeout_s`. Raises `unavailable` if it cannot be started.
        """

    async def start(self, launch: Launch, request: JobRequest) -> Job:
        """Start a background job; returns at once."""

    async def jobs(self) -> Sequence[Job]:
        """All jobs of this workspace, oldest first; those of a crashed runtime too."""

    async def output(self, job_id: str, offset: int, wait_s: float, limit: int) -> JobOutput:
        """What the job wrote from `offset` on; waits up to `wait_s` for it to end.
        Raises `not_found`.
        """

    async def write(self, job_id: str, data: bytes, *, eof: bool) -> int:
        """Send text to a job, then the end of its input if `eof`; returns how many bytes the job
        took within a few seconds. Raises `not_found`, `conflict` if it takes no input.
        """

    async def kill(self, job_id: str) -> Job:
        """End a job and everything it started; raises `not_found`, `conflict` if it is over."""


class NameRepair(NamedTuple):
    """A protected name that a program changed and that is as it was again.

    `what` is "changed", "created", "removed" or "replaced", or "unchecked" for a folder in which
    such names could not be looked for because there are too many; `kept` is where the program's
    version lies now. `restored` False: what stood there could not be put back in full.
    """

    path: str
    what: str
    kept: str | None = None
    restored: bool = True


class NameProtection(Protocol):
    """Protected names around a program that may write: compared before, repaired after."""

    def take(
        self,
        *,
        lifted: Sequence[str],
        git_writable: bool,
        sequences: bool,
        repositories: bool = False,
    ) -> Any:
        """How the protected names are now. `lifted`: globs that the user allowed; with
        `git_writable` only what makes git run code is watched in `.git`, and with `sequences`
        the steps of a rebase or the like may be left there too. `repositories`: new ones may be
        made. Blocks.
        """

    def read_only(self, snapshot: Any) -> tuple[str, ...]:
        """The names that exist and that the program must not be able to change."""

    def repair(self, snapshot: Any, *, held: Sequence[str] = ()) -> Sequence[NameRepair]:
        """Put back what is not as it was; the program's version is kept aside. What changed
        in `held` was somebody else, and stays. Blocks.
        """

    def leave(self, snapshot: Any, path: str) -> None:
        """Somebody was allowed to change this path since the snapshot."""


class Sandbox(Protocol):
    """What confines the programs that are started, and how far that holds here."""

    @property
    def backend(self) -> str:
        """`bubblewrap`, `landlock` or `none`."""

    @property
    def measured(self) -> Mapping[str, Strength]:
        """Property → strength, measured once per process on this machine."""

    def enforced_read_only(self, confinement: Confinement) -> tuple[str, ...]:
        """Which of its read-only paths no program so confined can change."""

    def hiding_gap(self, confinement: Confinement) -> str | None:
        """Why a program so confined might read its withheld paths; None if it cannot. Blocks."""

    def copy_roots(self, confinement: Confinement) -> PrivateRoots | str:
        """Copies of the roots for a program that must not change them, without the paths that it must
        not read; or why there are none. Blocks.
        """

    def why_failed(self, ended: ProcessResult, confinement: Confinement) -> str | None:
        """A sentence if the confinement probably made the program fail: what was in the way
        and which setting lifts it; None if nothing speaks for that.
        """

    def describe(self) -> Mapping[str, Any]:
        """For `doctor` and the audit: backend, version, path, the measured table."""
