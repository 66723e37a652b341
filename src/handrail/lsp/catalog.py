"""The table of known servers, and which program of this machine is used for a file.

A workspace never chooses a server, its options or its settings: programs are searched outside the
roots, and everything else comes from this table or the user's own settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from handrail.lsp import messages


class ServerSpec(NamedTuple):
    """A server as it is configured. `command`: the program's name or absolute path, and its
    arguments. `languages`: the language id by file extension. `runs_project`: reading a project may
    run programs or build scripts of the project.
    """

    name: str
    command: tuple[str, ...]
    languages: Mapping[str, str]
    options: Mapping[str, Any] = {}
    settings: Mapping[str, Any] = {}
    env: Mapping[str, str] = {}
    runs_project: bool = False
    configured: bool = False


_PYTHON: Final = {".py": "python", ".pyi": "python"}
_SCRIPT: Final = {
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
    ".tsx": "typescriptreact",
    ".jsx": "javascriptreact",
}
_C: Final = {
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp"),
}
# In the order of preference.
KNOWN: Final = (
    # `untrustedWorkspace`: ty runs no program that the project names.
    ServerSpec("ty", ("ty", "server"), _PYTHON, {"untrustedWorkspace": True}),
    ServerSpec("basedpyright", ("basedpyright-langserver", "--stdio"), _PYTHON),
    ServerSpec("typescript", ("tsc", "--lsp", "--stdio"), _SCRIPT),
    # Without the workspace's `.clangd`, without an index on disk, and without querying a compiler.
    ServerSpec(
        "clangd",
        (
            "clangd",
            "--enable-config=0",
            "--background-index=0",
            "--log=error",
            "--pch-storage=memory",
        ),
        _C,
    ),
    ServerSpec(
        "gopls",
        ("gopls",),
        {".go": "go"},
        env={"GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"},
        runs_project=True,
    ),
    ServerSpec("rust-analyzer", ("rust-analyzer",), {".rs": "rust"}, runs_project=True),
)


class ServerProgram(NamedTuple):
    """A server with its program. If `path` is None, the server is not used, for `reason`."""

    spec: ServerSpec
    path: str | None
    reason: str = ""


class ServerCatalog:
    """Chooses the server for a file. `find` returns the path of a trusted program outside the
    roots, None if there is none; `configured` are servers of the user's settings, which come first
    and replace known ones of the same name.
    """

    def __init__(
        self,
        find: Callable[[str], str | None],
        configured: Sequence[ServerSpec] = (),
        *,
        only_configured: bool = False,
    ) -> None:
        self._find = find
        names = {spec.name for spec in configured}
        self._specs = (*configured, *(spec for spec in KNOWN if spec.name not in names))
        self._only_configured = only_configured
        self._programs: dict[str, ServerProgram] = {}

    def for_file(self, path: str) -> ServerProgram:
        """Return the first usable server for the extension of a file, else why there is none."""
        ending = _file_extension(path)
        reasons = []
        for spec in self._specs:
            if ending in spec.languages:
                program = self._program(spec)
                if program.path is not None:
                    return program
                reasons.append(program.reason)
        shown = "; ".join(reasons) or messages.UNKNOWN_TYPE.format(ending=ending)
        return ServerProgram(ServerSpec("", (), {}), None, shown)

    def all(self) -> list[ServerProgram]:
        """Every server, in the order of preference."""
        return [self._program(spec) for spec in self._specs]

    def _program(self, spec: ServerSpec) -> ServerProgram:
        found = self._programs.get(spec.name)
        if found is None:
            found = self._programs[spec.name] = self._find_program(spec)
        return found

    def _find_program(self, spec: ServerSpec) -> ServerProgram:
        if self._only_configured and not spec.configured:
            return ServerProgram(spec, None, messages.ONLY_CONFIGURED)
        if spec.runs_project and not spec.configured:
            return ServerProgram(spec, None, messages.NEEDS_SETTING.format(name=spec.name))
        program = spec.command[0]
        # A path is the user's own choice, wherever it leads.
        path = program if program.startswith("/") else self._find(program)
        if path is None:
            return ServerProgram(spec, None, messages.NOT_INSTALLED.format(name=program))
        return ServerProgram(spec, path)


def _file_extension(path: str) -> str:
    name = path.rpartition("/")[2]
    at = name.rfind(".")
    return name[at:].lower() if at > 0 else name


def language_id(spec: ServerSpec, path: str) -> str:
    """The language of a file for a server."""
    return spec.languages.get(_file_extension(path), "plaintext")
