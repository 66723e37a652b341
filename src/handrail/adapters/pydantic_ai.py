"""pydantic-ai: the tools of a runtime as a toolset, and its workspace as a workspace backend."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from anyio import to_thread

from handrail.adapters.approvals import FrameworkAnswer, fingerprint
from handrail.adapters.binding import BlockingRuntime, RuntimeBinding, missing_framework
from handrail.adapters.workspace import BoundWorkspace, WorkspaceEntry, WorkspaceProblem
from handrail.core.results import ToolResult
from handrail.engine.runtime import Runtime

try:
    from pydantic_ai import BinaryContent, RunContext, ToolReturn
    from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_ai.workspaces import (
        CommandResult,
        FileEntry,
        WorkspaceOutputLimitError,
        WorkspaceRef,
        WorkspaceTimeoutError,
        WorkspaceUnavailableError,
    )
except ImportError as error:
    raise missing_framework(error, "pydantic-ai", "pydantic-ai") from error

from pydantic_core import SchemaValidator, core_schema

# Handrail validates the arguments itself, and repairs what it can.
_ANYTHING: Final = SchemaValidator(schema=core_schema.any_schema())
_QUESTION: Final = "handrail"
_PREVIEW_CHARS: Final = 65_536
_MOST_PENDING: Final = 1_000


class HandrailToolset(AbstractToolset[Any]):
    """The tools of an opened runtime; `tools` names them, None means all that a model is shown.

    A failed call raises `ToolFailed`, which the model reads. With `FrameworkApprover` as the
    approver of the runtime, a call that needs approval raises `ApprovalRequired`; the preview of
    the call is in `DeferredToolRequests.metadata`.
    """

    def __init__(
        self,
        runtime: Runtime | BlockingRuntime,
        *,
        tools: Collection[str] | None = None,
        agent: str = "main",
        id: str | None = "handrail",
    ) -> None:
        self._binding = RuntimeBinding(runtime, agent)
        self._tools = tools
        self._id = id
        # The fingerprint of each question that the user was shown.
        self._shown: dict[str, str] = {}

    @property
    def id(self) -> str | None:
        """The name of the toolset in an agent."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools as the runtime declares them now."""
        del ctx
        return {
            one.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=one.name,
                    description=one.description,
                    parameters_json_schema=one.parameters,
                ),
                max_retries=1,
                args_validator=_ANYTHING,
            )
            for one in self._binding.declare(self._tools)
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Make the call. Raises `ApprovalRequired`, or `ToolFailed` with the problem."""
        del tool
        answer = None
        if ctx.tool_call_approved:
            # If it is unknown what was shown, for example in another process, the question is asked
            # again.
            answer = FrameworkAnswer(approved=True, shown=self._what_was_shown(ctx))
        made = await self._binding.call(name, tool_args, answer)
        if made.question is not None:
            return self._ask(ctx.tool_call_id, made.question)
        if made.result.is_error:
            raise ToolFailed(made.result.text)
        return _returned(made.result)

    def _ask(self, call_id: str | None, question: Any) -> NoReturn:
        shown = fingerprint(question)
        if call_id is not None:
            self._shown[call_id] = shown
            while len(self._shown) > _MOST_PENDING:
                del self._shown[next(iter(self._shown))]
        raise ApprovalRequired({_QUESTION: question.to_dict(), "shown": shown})

    def _what_was_shown(self, ctx: RunContext[Any]) -> str:
        metadata = ctx.tool_call_metadata
        given = metadata.get("shown") if isinstance(metadata, Mapping) else None
        known = self._shown.pop(ctx.tool_call_id or "", None)
        return known or (given if isinstance(given, str) else "")


class HandrailWorkspace:
    """The workspace of an opened runtime as pydantic-ai's `WorkspaceBackend`, with commands, files and
    real paths. Paths outside the workspace, and what rules deny, raise `PermissionError`.
    """

    def __init__(self, runtime: Runtime | BlockingRuntime, *, agent: str = "main") -> None:
        self._workspace = BoundWorkspace(runtime, agent)

    @property
    def ref(self) -> WorkspaceRef:
        """The directory is the environment; it exists before the runtime does."""
        return WorkspaceRef(provider="handrail", id=self._workspace.root)

    async def working_dir(self) -> str:
        """Return the workspace; raises `WorkspaceUnavailableError` if it no longer exists."""
        root = self._workspace.root
        # The runtime holds a handle, which outlives the directory.
        if not await to_thread.run_sync(Path(root).is_dir):
            raise WorkspaceUnavailableError(f"the workspace {root!r} does not exist")
        return root

    async def run(
        self,
        command: str | Sequence[str],
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - a parameter of the protocol
    ) -> CommandResult:
        """Run a command in the sandbox of the runtime."""
        if isinstance(command, str) is not shell:
            raise TypeError("a string needs shell=True, a sequence of arguments shell=False")
        if timeout is not None and not 0 < timeout < float("inf"):
            raise ValueError("timeout must be a positive finite number or None")
        await self.working_dir()
        try:
            ended = await self._workspace.run_command(command, env=env, timeout_s=timeout)
        except WorkspaceProblem as raised:
            raise await self._translate(raised, ".") from raised
        await self.working_dir()
        if ended.timed_out:
            raise WorkspaceTimeoutError(
                "the command did not finish in its time", stdout=ended.stdout, stderr=ended.stderr
            )
        if not ended.complete:
            raise WorkspaceOutputLimitError(
                "the command wrote more than is kept",
                limit=len(ended.stdout) + len(ended.stderr),
                stdout=ended.stdout[:_PREVIEW_CHARS],
                stderr=ended.stderr[:_PREVIEW_CHARS],
            )
        return CommandResult(exit_code=ended.exit_code, stdout=ended.stdout, stderr=ended.stderr)

    async def read_bytes(self, path: str) -> bytes:
        """Return the content of a file."""
        try:
            return await self._workspace.read_bytes(_absolute(path))
        except WorkspaceProblem as raised:
            raise await self._translate(raised, path) from raised

    async def write_bytes(self, path: str, data: bytes) -> None:
        """Replace or create a file, through a link if there is one."""
        try:
            await self._workspace.write_bytes(_absolute(path), bytes(data))
        except WorkspaceProblem as raised:
            raise await self._translate(raised, path, exists=IsADirectoryError) from raised

    async def stat(self, path: str) -> FileEntry:
        """Return the entry at a path."""
        found = await self._inspect(path)
        if found.kind == "missing":
            raise FileNotFoundError(path)
        return _entry(found._replace(absolute=path))

    async def list_dir(self, path: str) -> Sequence[FileEntry]:
        """Return the entries of a directory."""
        try:
            return [_entry(one) for one in await self._workspace.list_directory(_absolute(path))]
        except WorkspaceProblem as raised:
            raise await self._translate(raised, path) from raised

    async def make_dir(self, path: str) -> None:
        """Create a directory and those above it."""
        try:
            await self._workspace.make_directory(_absolute(path))
        except WorkspaceProblem as raised:
            raise await self._translate(raised, path) from raised

    async def remove(self, path: str) -> None:
        """Remove a file, a link, or a directory with everything in it."""
        root = self._workspace.root
        target = posixpath.normpath(_absolute(path)).rstrip("/")
        if f"{root}/".startswith(f"{target}/"):
            raise ValueError("cannot remove the workspace or a directory above it")
        try:
            await self._workspace.remove(path)
        except WorkspaceProblem as raised:
            raise await self._translate(raised, path) from raised

    async def exists(self, path: str) -> bool:
        """Return whether there is anything at a path."""
        try:
            return (await self._inspect(path)).kind != "missing"
        except (FileNotFoundError, NotADirectoryError):
            return False

    async def realpath(self, path: str) -> str:
        """The path without links; raises `PermissionError` if it leads out of the workspace."""
        before, up, rest = path.partition("/..")
        if not up or (rest and not rest.startswith("/")):
            return (await self._inspect(path)).absolute
        # Upwards from the target of a link, even if nothing is there.
        above = posixpath.dirname((await self._inspect(before)).absolute)
        return await self.realpath(f"{above}{rest}")

    async def _inspect(self, path: str) -> WorkspaceEntry:
        try:
            return await self._workspace.inspect(_absolute(path))
        except WorkspaceProblem as raised:
            raise await self._translate(raised, path) from raised

    async def _translate(
        self, raised: WorkspaceProblem, path: str, exists: type[OSError] = FileExistsError
    ) -> Exception:
        """Return the built-in error that the backends of pydantic-ai raise for a problem."""
        code, text = raised.problem.code, str(raised.problem)
        await self.working_dir()
        if code == "not_found":
            return (NotADirectoryError if await self._below_file(path) else FileNotFoundError)(path)
        if code == "exists":
            return exists(text)
        if code in ("not_text", "invalid_arguments") and raised.kind is not None:
            return _WRONG_KINDS.get((code, raised.kind), OSError)(text)
        error: Exception = _ERRORS.get(code, OSError)(text)
        return error

    async def _below_file(self, path: str) -> bool:
        """Return whether a directory above the path is a file."""
        above = posixpath.dirname(posixpath.normpath(path))
        while above.startswith(f"{self._workspace.root}/"):
            try:
                found = await self._workspace.inspect(above)
            except WorkspaceProblem:
                found = None
            if found is not None and found.kind != "missing":
                return found.kind != "directory"
            above = posixpath.dirname(above)
        return False


# The errors for a path that is not a file to read or a directory to list.
_WRONG_KINDS: Final = {
    ("not_text", "directory"): IsADirectoryError,
    ("invalid_arguments", "file"): NotADirectoryError,
    ("invalid_arguments", "special"): NotADirectoryError,
}
_ERRORS: Final[Mapping[str, type[Exception]]] = {
    "invalid_arguments": ValueError,
    "unavailable": WorkspaceUnavailableError,
    "store_unavailable": WorkspaceUnavailableError,
    **dict.fromkeys(
        ("denied", "protected", "outside_workspace", "needs_approval", "blocked", "untrusted"),
        PermissionError,
    ),
}


def _absolute(path: str) -> str:
    if not posixpath.isabs(path):
        raise ValueError(f"path must be absolute, got {path!r}")
    return path


def _entry(entry: WorkspaceEntry) -> FileEntry:
    is_dir = entry.kind == "directory"
    return FileEntry(name=entry.name, path=entry.absolute, is_dir=is_dir, size=entry.size)


def _returned(result: ToolResult) -> Any:
    """Return the text for the model, with the pictures for a model that accepts them."""
    if not result.images:
        return result.text
    pictures = [
        BinaryContent(data=image.data, media_type=image.media_type) for image in result.images
    ]
    return ToolReturn(return_value=result.text, content=[result.text, *pictures])
