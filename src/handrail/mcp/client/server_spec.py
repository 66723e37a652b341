"""A server as it is configured, and how far its program is confined."""

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
# What stands between the paths of one argument, and a short option with its value.
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


# Takes the refusal of the last request; None if it was not refused.
NoteRefusal = Callable[[HttpRefusal | None], None]


class RevealedText(Protocol):
    """Text that is shown nowhere."""

    def reveal(self) -> str:
        """The text itself."""


class RemoteServerSpec(NamedTuple):
    """One server of the settings: a program, or a URL.

    `env_from` names variables of the user that the program gets; `bearer_env` the one whose
    value is sent as a token. `project` is the workspace whose files name the server, empty for one of
    the user's settings.
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
    # The tools that are declared to models: globs of names.
    declared: tuple[str, ...] = ()
    memory_mb: int = 4096
    # Whether the protocol before 2026-07-28 is used, which lets servers ask questions by themselves.
    legacy: bool = False
    # Whether requests carry the token of a login of the user.
    oauth: bool = False
    # The token itself, where the settings have it.
    bearer_token: RevealedText | None = None

    def declares(self, tool: str) -> bool:
        """Whether a tool is declared to models; the others are found by a search."""
        return any(fnmatchcase(tool, one) for one in self.declared)

    @property
    def pin_name(self) -> str:
        """The name of the server's approval; one of a project holds only there."""
        if not self.project:
            return self.name
        return f"{self.name}@{sha256(os.fsencode(self.project)).hexdigest()[:16]}"

    def fingerprint(self, program: str | None, places: ServerPlaces) -> str:
        """A hash of what is started or reached; `program` is the file that is run. It covers the
        contents of the program, and of the files among its arguments that are code or lie in a root;
        others are data. Raises OSError if one cannot be read.
        """
        files = []
        if program is not None:
            cwd = launch_directory(self, program, places)
            files = [program, *_find_code(program, self.command[1:], cwd, places.roots)]
            real_roots = [os.path.realpath(root) for root in places.roots]
            # An interpreter elsewhere may be updated, as other programs that a server uses.
            interpreter = [Path(cwd, one) for one in _find_interpreter(program)]
            files += [
                str(one) for one in interpreter if _is_file(one) and _lies_inside(one, real_roots)
            ]
        contents = [_file_digest(one) for one in files]
        shown = [self.name, self.command, sorted(self.env.items()), self.env_from, self.url]
        shown += [self.project] if self.project else []
        return sha256(dumps([*shown, contents]).encode()).hexdigest()


class ServerPlaces(NamedTuple):
    """The paths that decide about confinement: the roots, Handrail's own, and hidden ones."""

    roots: Sequence[str]
    runtime_paths: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class RemoteServerHost(NamedTuple):
    """What servers are started with. `find` returns the path of a program, None if there is none;
    `confines`: whether a sandbox keeps programs from writing;
    `environment` is what every program inherits; `variables` are the user's own; `http` returns
    the transport for a URL, which reports whether the last request was refused. `keep_log` takes what a program wrote to stderr, `note_change` how a
    server differs from what was approved.
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
    """What a server's program may reach. A program or argument inside of a root, or a server of
    a project's settings: it reads the workspace, writes nothing and has no network access.
    """
    if not spec.project and not names_workspace(spec, program, places.roots):
        return Confinement((), network=True, off=True)
    home = str(Path(program).parent.parent)
    # A directory at the top, such as /usr, need not be named; that of the user has more than programs.
    alone = home.count("/") <= 1 or _lies_inside(Path.home(), [os.path.realpath(home)])
    readable = (program,) if alone else (home,)
    return Confinement((), places.runtime_paths, places.hidden, readable=readable)


def launch_directory(spec: RemoteServerSpec, program: str, places: ServerPlaces) -> str:
    """The directory that a server's program is started in."""
    # Many programs load code from their directory, which an unconfined one must not.
    return "/" if server_confinement(spec, program, places).off else places.roots[0]


def names_workspace(spec: RemoteServerSpec, program: str, roots: Sequence[str]) -> bool:
    """Whether the program, or a path among its arguments, lies in a root: such code can be
    changed by the calls that it would be trusted with.
    """
    real_roots = [os.path.realpath(root) for root in roots]
    words = [program, *_find_interpreter(program), *spec.command[1:], *spec.env.values()]
    named = [rf"{re.escape(root.rstrip('/'))}(?![^/{_BETWEEN}])" for root in (*roots, *real_roots)]
    if any(re.search(one, word) for one in named for word in words):
        return True
    for part in _path_parts(words):
        for base in ("/", *real_roots):
            path = Path(base, part)
            if os.path.lexists(path) and _lies_inside(path, real_roots):
                return True
    return False


def _path_parts(words: Sequence[str]) -> Iterator[str]:
    """What may be a path in these words: each one, and the parts of one that holds a path behind an
    option or among others (`--file=PATH`, `-fPATH`, `A:B`, `sh -c "run PATH"`); `~` and variables are
    also replaced, as a shell would.
    """
    for word in words:
        parts = [word, *_SEPARATORS.split(word)]
        parts += [word[2:]] if _GLUED.match(word) else []
        for part in dict.fromkeys(one for one in parts if one):
            yield part
            if part[0] == "~" or "$" in part:
                # Leaves the name of an unknown user as it is, unlike `Path.expanduser`.
                yield os.path.expandvars(os.path.expanduser(part))  # noqa: PTH111


def _find_interpreter(program: str) -> list[str]:
    """The words of the first line of a script: what it is run with."""
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
    """The files among the arguments of a program that may be run: the first one of an interpreter,
    executables, files whose names end as those of code do, and all in a root, which calls can change.
    """
    real_roots = [os.path.realpath(root) for root in roots]
    paths = dict.fromkeys(Path(cwd, one) for one in _path_parts(arguments))
    files = [one for one in paths if _is_file(one)]
    first = files[:1] if _INTERPRETER.fullmatch(Path(program).name) else []
    return [
        str(one)
        for one in files
        if one in first
        or one.suffix.lower() in _CODE_SUFFIXES
        or os.access(one, os.X_OK)
        or _lies_inside(one, real_roots)
    ]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def find_server_program(spec: RemoteServerSpec, find: Callable[[str], str | None]) -> str:
    """The absolute path of a server's program; raises `unavailable`."""
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
