"""Tasks of a fleet: JSON lines, each validated with its number before anything is started."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, cast, get_args
from urllib.parse import urlsplit

from handrail.agent.budget import Budget
from handrail.core.problems import ProblemRaised
from handrail.scale import messages
from handrail.scale.sources.tree_writer import without_login

Collect = Literal["patch", "files", "commit"]
SourceKind = Literal["directory", "git", "tarball", "fsspec"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
# "user@host:path", which git takes for ssh.
_SHORT_SSH: Final = re.compile(r"[^/@:]+@[^/:]+:")
_GIT_SCHEMES: Final = ("https", "ssh", "file")
_MAX_LINE: Final = 4 << 20
_MAX_CHECKS: Final = 50
_FIELDS: Final = frozenset(
    {"id", "workspace", "prompt", "model", "agent", "budget", "max_steps"}
    | {"checks", "tenant", "collect", "tools"}
)
_SOURCE_KEYS: Final[Mapping[SourceKind, frozenset[str]]] = {
    "directory": frozenset({"directory", "in_place"}),
    "git": frozenset({"git", "commit"}),
    "tarball": frozenset({"tarball"}),
    "fsspec": frozenset({"fsspec"}),
}


class SourceSpec(NamedTuple):
    """The source of a workspace's files. `in_place`: a directory is used itself."""

    kind: SourceKind
    place: str
    commit: str = ""
    in_place: bool = False


@dataclass(frozen=True, slots=True)
class FleetTask:
    """One task: a prompt for an agent in its own workspace."""

    id: str
    source: SourceSpec
    prompt: str
    model: str | None = None
    agent: str = "main"
    budget: Budget = field(default_factory=Budget)
    max_steps: int | None = None
    checks: tuple[str, ...] = ()
    tenant: str = "default"
    collect: Collect = "patch"
    tools: tuple[str, ...] = ()

    @property
    def workspace_key(self) -> str:
        """The key of the workspace that tasks share; "" for a separate copy."""
        return self.source.place if self.source.in_place else ""


class TaskLine(NamedTuple):
    """A valid line: its number, its task, the text under which it is stored, and its file."""

    number: int
    task: FleetTask
    text: str
    file: str = ""

    @property
    def where(self) -> str:
        """The line, for a message."""
        return _describe_place(self.file, self.number)

    @property
    def digest(self) -> str:
        """A hash of the task."""
        return sha256(self.text.encode()).hexdigest()


def read_tasks(path: Path) -> Iterator[TaskLine]:
    """Yield the tasks in a file; raises `invalid_arguments` with the number of the first invalid
    line. Relative paths are relative to the file.
    """
    try:
        with path.open("rb") as file:
            yield from _read_lines(file, str(path), path.resolve().parent)
    except OSError as error:
        reason = error.strerror or error
        raise messages.TASKS_UNREADABLE.error(path=str(path), reason=reason) from error


def task_lines(given: Iterable[Mapping[str, Any]], base: Path) -> Iterator[TaskLine]:
    """Yield tasks that a program gives as mappings with the keys of a line."""
    for number, value in enumerate(given, 1):
        try:
            text = json.dumps(dict(value))
        except (TypeError, ValueError) as error:
            reason = f"it is not a mapping of JSON values: {error}"
            raise _line_problem(_describe_place("", number), reason) from error
        yield parse_task(text, number, base)


def parse_task(text: str, number: int, base: Path, file: str = "") -> TaskLine:
    """Return the task of one line of a file; raises `invalid_arguments`."""
    where = _describe_place(file, number)
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
        task = _read_task(value, number, base)
    except ProblemRaised as raised:
        raise _line_problem(where, raised.problem.message) from raised
    except json.JSONDecodeError as error:
        raise _line_problem(f"{where}, column {error.pos + 1}", error.msg) from error
    except (ValueError, TypeError, RuntimeError) as error:
        # RuntimeError: values that are nested too deep, links in a circle, an unknown home.
        raise _line_problem(where, str(error)) from error
    return TaskLine(number, task, json.dumps(value, sort_keys=True), file)


def _read_lines(file: Any, name: str, base: Path) -> Iterator[TaskLine]:
    for number in range(1, 1 << 62):
        line = file.readline(_MAX_LINE + 1)
        if not line:
            return
        where = _describe_place(name, number)
        if len(line) > _MAX_LINE:
            raise _line_problem(where, f"it is longer than {_MAX_LINE:,} bytes")
        try:
            text = line.decode("utf-8").rstrip().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            raise _line_problem(where, "it is not UTF-8") from error
        if text:
            # Spaces before the object count as columns.
            yield parse_task(text, number, base, name)


def _read_task(value: Any, number: int, base: Path) -> FleetTask:
    if not isinstance(value, dict):
        raise TypeError("it is not a JSON object")
    unknown = sorted(set(value) - _FIELDS)
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; known are {', '.join(sorted(_FIELDS))}")
    if "workspace" not in value:
        raise ValueError("the key 'workspace' is missing")
    prompt = _text(value, "prompt", "")
    if not prompt.strip():
        raise ValueError("the key 'prompt' is missing or empty")
    collect = _text(value, "collect", "patch")
    source = _read_source(value["workspace"], base)
    if collect not in get_args(Collect):
        raise ValueError(f"'collect' is {collect!r}, not one of {', '.join(get_args(Collect))}")
    if collect == "commit" and source.kind != "git":
        raise messages.NO_COMMIT.error()
    return FleetTask(
        _name(value, "id", f"line-{number}"),
        source,
        prompt,
        _read_model(value, base),
        _text(value, "agent", "main"),
        _read_budget(value.get("budget")),
        _count(value, "max_steps"),
        _texts(value, "checks"),
        _name(value, "tenant", "default"),
        cast(Collect, collect),
        _texts(value, "tools"),
    )


def _read_model(value: Mapping[str, Any], base: Path) -> str | None:
    """Return the model; the file of a script or a recording is relative to the file of tasks."""
    name = _text(value, "model", "")
    kind, _, place = name.partition(":")
    if kind in ("script", "replay") and place:
        return f"{kind}:{base / place}"
    return name or None


def _read_source(given: Any, base: Path) -> SourceSpec:
    value = {"directory": given} if isinstance(given, str) else given
    if not isinstance(value, dict):
        raise TypeError("'workspace' is neither a path nor an object")
    kinds = [kind for kind in get_args(SourceKind) if kind in value]
    if len(kinds) != 1:
        raise ValueError(f"'workspace' has not exactly one of {', '.join(get_args(SourceKind))}")
    kind = cast(SourceKind, kinds[0])
    unknown = sorted(set(value) - _SOURCE_KEYS[kind])
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r} in 'workspace'")
    place, in_place = _text(value, kind, ""), value.get("in_place", False)
    if not place or "\0" in place:
        raise ValueError(f"{kind!r} in 'workspace' is empty or has a null character")
    if not isinstance(in_place, bool):
        raise TypeError("'in_place' is neither true nor false")
    if kind == "git":
        return SourceSpec(kind, _git_url(place, base), _commit(value))
    if kind == "fsspec":
        return SourceSpec(kind, place)
    return SourceSpec(kind, str((base / Path(place).expanduser()).resolve()), "", in_place)


def _git_url(place: str, base: Path) -> str:
    if _SHORT_SSH.match(place):
        raise ValueError(f"{place!r} is not a URL: write ssh://USER@HOST/PATH")
    if "://" not in place:
        return (base / Path(place).expanduser()).resolve().as_uri()
    url, shown = urlsplit(place), without_login(place)
    if url.scheme not in _GIT_SCHEMES:
        raise ValueError(f"the scheme of {shown!r} is not one of {', '.join(_GIT_SCHEMES)}")
    if (url.hostname or "").startswith("-"):
        raise ValueError(f"{shown!r} has no valid host")
    return place


def _commit(value: Mapping[str, Any]) -> str:
    commit = _text(value, "commit", "")
    if not _COMMIT.fullmatch(commit):
        raise ValueError("'commit' is not the full hash of a commit: 40 hexadecimal digits")
    return commit


def _read_budget(given: Any) -> Budget:
    if given is None:
        return Budget()
    if isinstance(given, str):
        return Budget.parse(given)
    if not isinstance(given, dict):
        raise TypeError("'budget' is neither text nor an object")
    parts = [
        # Not as 1e-05.
        f"{name}={amount:.10f}" if isinstance(amount, float) else f"{name}={amount}"
        for name, amount in given.items()
        if amount is not None
    ]
    return Budget.parse(",".join(parts)) if parts else Budget()


def _text(value: Mapping[str, Any], key: str, default: str) -> str:
    found = value.get(key, default)
    if not isinstance(found, str):
        raise TypeError(f"{key!r} is not text")
    found.encode("utf-8")
    return found


def _texts(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = value.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) and one for one in found):
        raise TypeError(f"{key!r} is not a list of texts")
    if len(found) > _MAX_CHECKS:
        raise ValueError(f"{key!r} has more than {_MAX_CHECKS} entries")
    return tuple(found)


def _name(value: Mapping[str, Any], key: str, default: str) -> str:
    found = _text(value, key, default)
    if not _NAME.fullmatch(found):
        raise ValueError(
            f"{key!r} has other characters than letters, digits, '.', '_' and '-', or too many"
        )
    return found


def _count(value: Mapping[str, Any], key: str) -> int | None:
    found = value.get(key)
    if found is not None and (not isinstance(found, int) or isinstance(found, bool) or found < 1):
        raise TypeError(f"{key!r} is not a positive number")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _describe_place(file: str, number: int) -> str:
    return f"{file}, line {number}" if file else f"line {number}"


def _line_problem(where: str, reason: str) -> ProblemRaised:
    return messages.INVALID_TASK.error(where=where, reason=reason)
