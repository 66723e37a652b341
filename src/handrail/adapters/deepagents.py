"""deepagents: the workspace of a runtime as a backend with files and commands."""

from __future__ import annotations

import posixpath
from base64 import b64encode
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from handrail.adapters.binding import BlockingRuntime, missing_framework
from handrail.adapters.graph_approvals import GraphApprovals
from handrail.adapters.workspace import BoundWorkspace, WorkspaceProblem
from handrail.core.results import ToolResult
from handrail.engine.runtime import Runtime

try:
    from deepagents.backends.protocol import (
        DeleteResult,
        EditResult,
        ExecuteResponse,
        FileDownloadResponse,
        FileInfo,
        FileUploadResponse,
        GlobResult,
        GrepMatch,
        GrepResult,
        LsResult,
        ReadResult,
        SandboxBackendProtocol,
        WriteResult,
    )
    from deepagents.backends.utils import slice_read_response
except ImportError as error:
    raise missing_framework(error, "deepagents", "deepagents") from error

T = TypeVar("T")
_MAX_BINARY_BYTES: Final = 512_000
_MOST_FOUND: Final = 10_000
_PAGE: Final = 1_000
# The exit codes of a shell for a command that may not run, and for one that timed out.
_NOT_RUN: Final = 126
_TIMED_OUT: Final = 124
_FILE_ERRORS: Final = {
    "not_found": "file_not_found",
    "invalid_arguments": "invalid_path",
    "outside_workspace": "invalid_path",
    "exists": "is_directory",
    "not_text": "is_directory",
}


class HandrailBackend(SandboxBackendProtocol):
    """The workspace of an opened runtime, under absolute paths. With `FrameworkApprover` as the
    approver of the runtime, an operation that needs approval interrupts the graph.
    """

    def __init__(self, runtime: Runtime | BlockingRuntime, *, agent: str = "main") -> None:
        self._workspace = BoundWorkspace(
            runtime, agent, lambda binding: GraphApprovals(binding).call
        )

    @property
    def id(self) -> str:
        """The session of the runtime."""
        return self._workspace.session

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a shell command in the sandbox of the runtime."""
        try:
            ended = self._wait(self._workspace.run_command(command, timeout_s=timeout or None))
        except WorkspaceProblem as raised:
            return ExecuteResponse(output=f"Error: {raised.problem}", exit_code=_NOT_RUN)
        output, code = ended.stdout + ended.stderr, ended.exit_code
        if ended.timed_out:
            output, code = f"{output}\nError: the command did not finish in its time", _TIMED_OUT
        return ExecuteResponse(output=output, exit_code=code, truncated=not ended.complete)

    def ls(self, path: str) -> LsResult:
        """Return the entries of a directory."""
        try:
            _check_absolute(path)
            found = self._wait(self._workspace.list_directory(path))
        except WorkspaceProblem as raised:
            return LsResult(error=_message(raised, path))
        entries = [_info(one.absolute, one.kind, one.size) for one in found]
        return LsResult(entries=entries)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read some lines of a text file, or all of a small binary one."""
        try:
            _check_absolute(file_path)
            data = self._wait(self._workspace.read_bytes(file_path))
        except WorkspaceProblem as raised:
            return ReadResult(error=_message(raised, file_path))
        try:
            text = {"content": data.decode("utf-8"), "encoding": "utf-8"}
        except UnicodeDecodeError:
            if len(data) > _MAX_BINARY_BYTES:
                why = f"Binary file exceeds maximum preview size of {_MAX_BINARY_BYTES} bytes"
                return ReadResult(error=f"File '{file_path}': {why}")
            coded = {"content": b64encode(data).decode(), "encoding": "base64"}
            return ReadResult(file_data=coded)
        sliced: ReadResult = slice_read_response(text, offset, limit)
        if sliced.next_offset is not None and sliced.file_data is not None:
            # The newline between two pages belongs to neither.
            whole = sliced.file_data["content"]
            sliced.file_data = {**sliced.file_data, "content": whole.removesuffix("\n")}
        return sliced

    def write(self, file_path: str, content: str) -> WriteResult:
        """Create or replace a file."""
        try:
            _check_absolute(file_path)
            data = content.encode("utf-8")
            self._wait(self._workspace.write_bytes(file_path, data))
        except WorkspaceProblem as raised:
            return WriteResult(error=_message(raised, file_path))
        except UnicodeEncodeError as raised:
            return WriteResult(error=f"Error writing '{file_path}': {raised}")
        return WriteResult(path=file_path)

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Replace a text in a file."""
        try:
            _check_absolute(file_path)
            edited: ToolResult = self._wait(
                self._workspace.call(
                    "edit_file",
                    path=file_path,
                    old_string=old_string,
                    new_string=new_string,
                    replace_all=replace_all,
                )
            )
        except WorkspaceProblem as raised:
            return EditResult(error=_message(raised, file_path))
        return EditResult(path=file_path, occurrences=edited.data["replacements"])

    def delete(self, file_path: str) -> DeleteResult:
        """Remove a file, or a directory with everything in it."""
        try:
            _check_absolute(file_path)
            self._wait(self._workspace.remove(file_path))
        except WorkspaceProblem as raised:
            return DeleteResult(error=_message(raised, file_path))
        return DeleteResult(path=file_path)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by name, without ignored ones."""
        anchored = pattern.removeprefix("/")
        arguments: dict[str, Any] = {"pattern": anchored, "path": path or self._workspace.root}
        if anchored != pattern and "/" not in anchored:
            arguments["recursive"] = False
        try:
            found, more = self._collect("find_files", "paths", arguments, _MOST_FOUND)
        except WorkspaceProblem as raised:
            return GlobResult(error=_message(raised, path or "."))
        matches = [_info(self._absolute(one), "file", None) for one in found]
        reason = "budget" if more else None
        return GlobResult(matches=matches, truncated=more, truncation_reason=reason)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Return lines that contain a text; ignored files are not searched."""
        arguments: dict[str, Any] = {
            "pattern": pattern,
            "path": path or self._workspace.root,
            "literal": True,
            "output_mode": "content",
        }
        if glob is not None:
            arguments["glob"] = glob
        most = _MOST_FOUND if max_count is None else min(max_count, _MOST_FOUND)
        try:
            found, more = self._collect("grep", "hits", arguments, most)
        except WorkspaceProblem as raised:
            return GrepResult(error=_message(raised, path or "."))
        matches = [
            GrepMatch(path=self._absolute(one["path"]), line=one["line"], text=one["text"])
            for one in found
        ]
        return GrepResult(matches=matches, truncated=more)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write files; each has its own result."""
        return [
            FileUploadResponse(path=path, error=self._upload(path, data)) for path, data in files
        ]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read files; each has its own result."""
        return [self._download(path) for path in paths]

    def _upload(self, path: str, data: bytes) -> str | None:
        try:
            _check_absolute(path)
            self._wait(self._workspace.write_bytes(path, bytes(data)))
        except WorkspaceProblem as raised:
            return _FILE_ERRORS.get(raised.problem.code, "permission_denied")
        return None

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            _check_absolute(path)
            content = self._wait(self._workspace.read_bytes(path))
        except WorkspaceProblem as raised:
            error = _FILE_ERRORS.get(raised.problem.code, "permission_denied")
            return FileDownloadResponse(path=path, content=None, error=error)
        return FileDownloadResponse(path=path, content=content, error=None)

    def _collect(
        self, tool: str, name: str, arguments: dict[str, Any], most: int
    ) -> tuple[list[Any], bool]:
        """Return the pages of a search up to a limit, and whether there is more."""
        found: list[Any] = []
        partial = False
        offset: int | None = 0
        while offset is not None and len(found) < most:
            limit = min(_PAGE, most - len(found))
            page = {**arguments, "offset": offset, "limit": limit}
            data = self._wait(self._workspace.call(tool, **page)).data
            found += data[name]
            offset, partial = data["next_offset"], partial or bool(data.get("partial"))
        return found, partial or offset is not None

    def _absolute(self, path: str) -> str:
        return posixpath.join(self._workspace.root, path)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._workspace.binding.run_blocking(work)


def _check_absolute(path: str) -> None:
    if not posixpath.isabs(path):
        raise WorkspaceProblem("invalid_arguments", f"the path must be absolute, got {path!r}")


def _info(path: str, kind: str, size: int | None) -> FileInfo:
    info = FileInfo(path=path, is_dir=kind == "directory")
    if size is not None:
        info["size"] = size
    return info


def _message(raised: WorkspaceProblem, path: str) -> str:
    """Return the error in the wording that models know from other backends."""
    match raised.problem.code:
        case "not_found":
            return f"File '{path}' not found"
        case "no_match":
            return f"String not found in file '{path}': {raised.problem}"
        case "ambiguous":
            return f"String appears multiple times in file '{path}': {raised.problem}"
    return str(raised.problem)
