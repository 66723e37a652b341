"""The operations of a workspace backend as calls of the runtime. Failures raise `ProblemRaised`."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from handrail.adapters import workspace_tools
from handrail.adapters.binding import AdapterCall, BlockingRuntime, RuntimeBinding
from handrail.adapters.workspace_tools import collected_contents, register_workspace_tools
from handrail.core.ports.processes import CapturedStream, ProcessResult, collected_results
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Status, ToolResult
from handrail.engine.runtime import Runtime
from handrail.tools._lib.running_commands import LONGEST_S

Caller = Callable[[str, Mapping[str, Any]], Awaitable[AdapterCall]]
# Problems of a command that ran and has output although its call failed.
_ENDED: Final = frozenset({"command_failed", "timeout"})
_SIGNALS: Final = 128


class WorkspaceProblem(ProblemRaised):
    """A failed operation, with what its result reports about the path."""

    kind: str | None = None


class WorkspaceEntry(NamedTuple):
    """A file or directory; `kind` of a link is that of its target."""

    name: str
    absolute: str
    kind: str
    size: int | None


class WorkspaceCommandOutput(NamedTuple):
    """The output of a command, decoded with replacements. `complete`: nothing is missing."""

    exit_code: int
    stdout: str
    stderr: str
    complete: bool
    timed_out: bool


class BoundWorkspace:
    """The workspace of a runtime, in bytes and absolute paths."""

    def __init__(
        self,
        runtime: Runtime | BlockingRuntime,
        agent: str = "main",
        make_caller: Callable[[RuntimeBinding], Caller] = lambda binding: binding.call,
    ) -> None:
        """`make_caller` returns the object that makes the calls and may ask the user about them."""
        self.binding = RuntimeBinding(runtime, agent)
        self._make_call = make_caller(self.binding)
        self._contents = self.binding.apply(register_workspace_tools)

    @property
    def root(self) -> str:
        """The workspace, absolute and without links."""
        return self.binding.runtime.session.roots[0]

    @property
    def session(self) -> str:
        """The id of the runtime's session."""
        return self.binding.runtime.session.id

    async def read_bytes(self, path: str) -> bytes:
        """Return the content of a file."""
        contents: list[bytes] = []
        token = collected_contents.set(contents)
        try:
            await self.call(workspace_tools.READ, path=path)
        finally:
            collected_contents.reset(token)
        return contents[-1]

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Replace or create a file; missing directories are created."""
        digest = self._contents.hand_over(data)
        try:
            await self.call(workspace_tools.WRITE, path=path, sha256=digest, size=len(data))
        finally:
            self._contents.drop(digest)

    async def inspect(self, path: str) -> WorkspaceEntry:
        """Return what is at a path, under its resolved name; kind `missing` if there is nothing."""
        data = (await self.call(workspace_tools.INSPECT, path=path)).data
        name = posixpath.basename(path.rstrip("/"))
        return WorkspaceEntry(name, data["absolute"], data["kind"], data["size"])

    async def list_directory(self, path: str) -> list[WorkspaceEntry]:
        """The entries of a directory, sorted, under the name of the directory as it was given."""
        data = (await self.call(workspace_tools.LIST, path=path)).data
        above = "" if path == "/" else path.rstrip("/")
        return [
            WorkspaceEntry(one["name"], f"{above}/{one['name']}", one["kind"], one["size"])
            for one in data["entries"]
        ]

    async def make_directory(self, path: str) -> None:
        """Create a directory and those above it."""
        await self.call(workspace_tools.MAKE, path=path)

    async def remove(self, path: str) -> None:
        """Remove a file, a link, or a directory with everything in it."""
        try:
            await self.call(workspace_tools.REMOVE, path=path)
        except WorkspaceProblem as raised:
            if raised.problem.code != "not_text":
                raise
            # A pipe, a socket or a device, which a plan cannot contain.
            ended = await self.run_command(["rm", "-rf", "--", path])
            if ended.exit_code:
                raise

    async def run_command(
        self,
        command: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
    ) -> WorkspaceCommandOutput:
        """Run a shell command, or a program with its arguments, and return all of its output."""
        text = command if isinstance(command, str) else shlex.join(command)
        arguments: dict[str, Any] = {"command": text, "timeout_s": timeout_s or LONGEST_S}
        if env:
            arguments["env"] = dict(env)
        ended: list[ProcessResult] = []
        token = collected_results.set(ended)
        try:
            made = await self._make_call("run_command", arguments)
        finally:
            collected_results.reset(token)
        problem = made.result.problem
        if not ended or (problem is not None and problem.code not in _ENDED):
            raise _raised(made.result)
        return self._command_output(ended[-1])

    async def call(self, name: str, **arguments: Any) -> ToolResult:
        """Make a call that must succeed; raises its problem otherwise."""
        result = (await self._make_call(name, arguments)).result
        # A dry run and plan mode describe a change without making it.
        if result.status is not Status.OK:
            raise _raised(result)
        return result

    def _command_output(self, result: ProcessResult) -> WorkspaceCommandOutput:
        streams = [self._load(one) for one in (result.stdout, result.stderr)]
        stdout, stderr = (data.decode("utf-8", "replace") for data, _ in streams)
        code = result.exit_code
        return WorkspaceCommandOutput(
            _SIGNALS - code if code < 0 else code,
            stdout,
            stderr,
            complete=all(complete for _, complete in streams),
            timed_out=result.timed_out,
        )

    def _load(self, captured: CapturedStream) -> tuple[bytes, bool]:
        """Return all bytes of a stream as far as they are kept, and whether none is missing."""
        known = captured.head + captured.tail
        if len(known) == captured.total or captured.saved is None:
            return known, len(known) == captured.total
        try:
            artifacts = self.binding.runtime.session.artifacts
            saved = artifacts.load(posixpath.basename(captured.saved))
        except ProblemRaised:
            return known, False
        return saved, len(saved) == captured.total


def _raised(result: ToolResult) -> WorkspaceProblem:
    problem = result.problem or Problem("denied", result.text or "the call was not carried out")
    raised = WorkspaceProblem(problem.code, problem.message, hint=problem.hint, field=problem.field)
    if isinstance(result.data, dict):
        raised.kind = result.data.get("kind")
    return raised
