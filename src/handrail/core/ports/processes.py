"""Programs that run for a call: how they are confined, started, read and ended.

The implementation is `host/supervisor`; what confines is `host/sandbox`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple, Protocol

Stream = Literal["stdout", "stderr"]


class Strength(StrEnum):
    """How far a property of the confinement holds, as measured on this machine."""

    ENFORCED = "enforced"
    PARTIAL = "partial"
    REPAIRED = "repaired"
    ABSENT = "absent"


class Confinement(NamedTuple):
    """What a program may reach; the sandbox turns it into mounts and kernel rules.

    `writable`: absolute paths (trees or files). `read_only`: paths inside them that stay as
    they are, as long as they exist. `hidden`: paths that are not even seen. `network`: all
    of it, or none. `off`: not confined at all, because the user decided so. `readable`: further
    paths that it may read. `withheld`: paths that exist and must not be read, as far as
    `Sandbox.unhidden` says. `notes`: a file for what its processes are seen to write.
    `ruled`: those of the read-only paths that a rule closes, each with the rule. `hosts`: without
    `network`, the hosts that it can reach through a proxy.
    """

    writable: tuple[str, ...]
    read_only: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False
    off: bool = False
    readable: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()
    notes: str = ""
    ruled: tuple[tuple[str, str], ...] = ()
    hosts: tuple[str, ...] = ()


class Launch(NamedTuple):
    """A program to start. `argv[0]` is an absolute path; `cwd` is absolute; `env` is the
    whole environment. `timeout_s` None: as long as it takes. `reports_directory`: the
    program writes its last directory to file descriptor 9. `stdin` is all that it can read
    there. `spills`: what is too long to be shown is kept in a file.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    confinement: Confinement
    timeout_s: float | None
    reports_directory: bool = False
    stdin: bytes = b""
    spills: bool = True


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

    async def start(self, launch: Launch, request: JobRequest) -> Job:
        """Start a background job; returns at once."""

    async def jobs(self) -> Sequence[Job]:
        """All jobs of this workspace, oldest first; those of a crashed runtime too."""

    async def output(self, job_id: str, offset: int, wait_s: float, limit: int) -> JobOutput:
        """What the job wrote from `offset` on; waits up to `wait_s` for it to end.
        Raises `not_found`.
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
    """Protected names around a program that may write: looked at before, mended after."""

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

    def held(self, confinement: Confinement) -> tuple[str, ...]:
        """Which of its read-only paths no program so confined can change."""

    def unhidden(self, confinement: Confinement) -> str | None:
        """Why a program so confined might read its withheld paths; None if it cannot. Blocks."""

    def why_failed(self, ended: ProcessResult, confinement: Confinement) -> str | None:
        """A sentence if the confinement probably made the program fail: what was in the way
        and which setting lifts it; None if nothing speaks for that.
        """

    def describe(self) -> Mapping[str, Any]:
        """For `doctor` and the audit: backend, version, path, the measured table."""
