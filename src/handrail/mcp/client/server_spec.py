"""The configuration of a server, and the confinement of its program."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from fnmatch import fnmatchcase
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from handrail.core.ports.processes import Confinement, Processes
from handrail.core.problems import ProblemRaised
from handrail.mcp.client import messages

_INTERPRETER: Final = re.compile(
    r"(python|pypy|node|nodejs|deno|bun|tsx|ts-node|ruby|perl|php|lua|java|sh|bash|dash|zsh|uv|npx)[\d.]*"
)
# Characters between several paths in one argument; and a short option with its value.
_BETWEEN: Final = r"\s=,:;'\"()|&<>"
_SEPARATORS: Final = re.compile(f"[{_BETWEEN}]+")
_GLUED: Final = re.compile(r"-[A-Za-z]\S")
_CODE_SUFFIXES: Final = frozenset(
    [
        ".py",
        ".pyz",
        ".js",
        ".mjs",
        ".cjs",
        ".ts",
        ".mts",
        ".jsx",
        ".tsx",
        ".rb",
        ".pl",
        ".php",
        ".lua",
        ".sh",
        ".jar",
        ".wasm",
        ".so",
        ".dll",
        ".exe",
    ]
)


class HttpRefusal(NamedTuple):
    """Why a request was refused. `session_lost`: the server no longer knows the session."""

    problem: ProblemRaised
    session_lost: bool = False


# Called with the refusal of the last request; None if it was not refused.
NoteRefusal = Callable[[HttpRefusal | None], None]


class RevealedText(Protocol):
    """A secret text."""

    def reveal(self) -> str:
        """Return the secret text."""


class RemoteServerSpec(NamedTuple):
    """One configured server: a program, or a URL.

    `env_from` are the names of the user's variables that the program gets; `bearer_env` is the name of the
    variable whose value is sent as a token. `project` is the workspace whose files name the server, empty
    for a server of the user's settings.
    """

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    env_from: tuple[str, ...] = ()
    url: str | None = None
    bearer_env: str | None = None
    allow: tuple[str, ...] = ("*",)
    trust_annotations: bool = False
    start_s: float = 30.0
    call_s: float = 300.0
    project: str = ""
    # Globs of the names of tools that are declared to models.
    declared: tuple[str, ...] = ()
    memory_mb: int = 4096
    # Whether a protocol version before 2026-07-28 is used, in which servers send questions themselves.
    legacy: bool = False
    # Whether requests have the token of a login of the user.
    oauth: bool = False
    # The token, if it is in the settings.
    bearer_token: RevealedText | None = None

    def declares(self, tool: str) -> bool:
        """Return whether a tool is declared to models; other tools are found by a search."""
        return any(fnmatchcase(tool, pattern) for pattern in self.declared)

    @property
    def pin_name(self) -> str:
        """The name of the server's approval; that of a project's server is valid only for the project."""
        if not self.project:
            return self.name
        return f"{self.name}@{sha256(os.fsencode(self.project)).hexdigest()[:16]}"

    def fingerprint(self, program: str | None, places: ServerPlaces) -> str:
        """Return a hash of the server's configuration and code; `program` is the file that is run.
        It includes the contents of the program, and of the files among its arguments that are code
        or lie in a root; other files are data. Raises OSError if a file cannot be read.
        """
        files = []
        if program is not None:
            cwd = launch_directory(self, program, places)
            files = [program, *_find_code(program, self.command[1:], cwd, places.roots)]
            real_roots = [os.path.realpath(root) for root in places.roots]
            # An interpreter outside the roots is not included, so that it can be updated.
            interpreter = [Path(cwd, file) for file in _find_interpreter(program)]
            files += [
                str(file)
                for file in interpreter
                if _is_file(file) and _lies_inside(file, real_roots)
            ]
        contents = [_file_digest(file) for file in files]
        shown = [self.name, self.command, sorted(self.env.items()), self.env_from, self.url]
        shown += [self.project] if self.project else []
        return sha256(dumps([*shown, contents]).encode()).hexdigest()


class ServerPlaces(NamedTuple):
    """The paths that determine the confinement: the roots, Handrail's own paths, and hidden paths."""

    roots: Sequence[str]
    runtime_paths: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class RemoteServerHost(NamedTuple):
    """The services with which servers are started. `confines` returns whether a sandbox prevents programs
    from writing; `environment` returns the environment of every program; `variables` are the user's
    variables; `find` returns the path of a program, None if there is none; `http` returns the transport
    for a URL, which reports refused requests. `keep_log` stores the stderr of a program, `note_change`
    records how a server differs from its approved manifest.
    """

    processes: Callable[[], Processes] | None
    confines: Callable[[], bool]
    environment: Callable[[], Mapping[str, str]]
    variables: Mapping[str, str]
    places: ServerPlaces
    find: Callable[[str], str | None]
    http: Callable[[RemoteServerSpec, NoteRefusal], AbstractAsyncContextManager[Any]]
    keep_log: Callable[[RemoteServerSpec, bytes], None]
    note_change: Callable[[RemoteServerSpec, str], None]


def server_confinement(spec: RemoteServerSpec, program: str, places: ServerPlaces) -> Confinement:
    """What a server's program may reach. A server of a project, or with a program or an argument inside a
    root, can read the workspace, cannot write, and has no network access; others are not confined.
    """
    if not spec.project and not names_workspace(spec, program, places.roots):
        return Confinement((), network=True, off=True)
    home = str(Path(program).parent.parent)
    # A top-level directory such as /usr is readable anyway; the home directory has more than programs.
    alone = home.count("/") <= 1 or _lies_inside(Path.home(), [os.path.realpath(home)])
    readable = (program,) if alone else (home,)
    return Confinement((), places.runtime_paths, places.hidden, readable=readable)


def launch_directory(spec: RemoteServerSpec, program: str, places: ServerPlaces) -> str:
    """Return the directory in which a server's program is started."""
    # Many programs load code from their working directory; an unconfined one must not do so.
    return "/" if server_confinement(spec, program, places).off else places.roots[0]


def names_workspace(spec: RemoteServerSpec, program: str, roots: Sequence[str]) -> bool:
    """Return whether the program, or a path in its arguments, lies in a root: calls of a model can
    change such code.
    """
    real_roots = [os.path.realpath(root) for root in roots]
    words = [program, *_find_interpreter(program), *spec.command[1:], *spec.env.values()]
    named = [rf"{re.escape(root.rstrip('/'))}(?![^/{_BETWEEN}])" for root in (*roots, *real_roots)]
    if any(re.search(pattern, word) for pattern in named for word in words):
        return True
    for part in _path_parts(words):
        for base in ("/", *real_roots):
            path = Path(base, part)
            if os.path.lexists(path) and _lies_inside(path, real_roots):
                return True
    return False


def _path_parts(words: Sequence[str]) -> Iterator[str]:
    """Yield what may be a path in these words: each word, and the parts of a word with an option or several
    paths (`--file=PATH`, `-fPATH`, `A:B`, `sh -c "run PATH"`); also with `~` and variables replaced as by
    a shell.
    """
    for word in words:
        parts = [word, *_SEPARATORS.split(word)]
        parts += [word[2:]] if _GLUED.match(word) else []
        for part in dict.fromkeys(filter(None, parts)):
            yield part
            if part[0] == "~" or "$" in part:
                # Leaves the name of an unknown user unchanged, unlike `Path.expanduser`.
                yield os.path.expandvars(os.path.expanduser(part))  # noqa: PTH111


def _find_interpreter(program: str) -> list[str]:
    """The words of the first line of a script that name its interpreter; empty if there are none."""
    try:
        with Path(program).open("rb") as file:
            first = file.read(512)
    except OSError:
        return []
    line = first.partition(b"\n")[0]
    return os.fsdecode(line[2:]).split() if line[:2] == b"#!" else []


def _lies_inside(path: Path, real_roots: Sequence[str]) -> bool:
    real = os.path.realpath(path)
    return any(real == root or real.startswith(f"{root.rstrip('/')}/") for root in real_roots)


def _find_code(program: str, arguments: Sequence[str], cwd: str, roots: Sequence[str]) -> list[str]:
    """The files among the arguments of a program that may be code: the first file of an interpreter,
    executables, files with a suffix of code, and all files in a root, which calls can change.
    """
    real_roots = [os.path.realpath(root) for root in roots]
    paths = dict.fromkeys(Path(cwd, path) for path in _path_parts(arguments))
    files = [path for path in paths if _is_file(path)]
    first = files[:1] if _INTERPRETER.fullmatch(Path(program).name) else []
    return [
        str(path)
        for path in files
        if path in first
        or path.suffix.lower() in _CODE_SUFFIXES
        or os.access(path, os.X_OK)
        or _lies_inside(path, real_roots)
    ]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def find_server_program(spec: RemoteServerSpec, find: Callable[[str], str | None]) -> str:
    """Return the absolute path of a server's program; raises `unavailable`."""
    program = spec.command[0]
    path = program if program.startswith("/") else find(program)
    if path is None or not _is_file(Path(path)):
        raise messages.NOT_INSTALLED.error(server=spec.name, program=program)
    return path


def _file_digest(path: str) -> str:
    digest = sha256()
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
