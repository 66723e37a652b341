"""Measures from inside a confinement how far each of its properties holds on this machine.

Fails closed: a property without a result counts as absent.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Protocol

from handrail.core.ports.processes import Confinement, Launch, Strength
from handrail.core.problems import ProblemRaised
from handrail.host.processes.binaries import find_binary
from handrail.host.sandbox.probe.fixture import (
    ProbeFixture,
    ProbeOutput,
    create_fixture,
    run_probe_program,
)
from handrail.host.sandbox.recipe import Recipe
from handrail.host.sandbox.visible_paths import SharedMounts, VisiblePaths
from handrail.host.state.directories import private_directory

_FILE: Final = "sandbox.json"
_MOST: Final = 32
_IDENTITY: Final = ("/proc/sys/kernel/random/boot_id", "/proc/self/attr/current")
_NAMESPACES: Final = ("mnt", "net", "pid", "user")

DEADLINE_S: Final = 2.5
BUSY_DEADLINE_S: Final = 15.0
PROPERTIES: Final = (
    "fs_write", "fs_read", "fs_hide", "tcp", "udp", "mptcp", "unix_path", "unix_abstract", "signals",
    "proc_view", "ptrace", "userns", "protected_names", "kill_tree", "memory_limit", "pids_limit",
)  # fmt: skip
_SYSTEM_PATH: Final = "/usr/bin:/bin"
ABSENT: Final[Mapping[str, Strength]] = dict.fromkeys(PROPERTIES, Strength.ABSENT)


class BackendUnusable(Exception):
    """The confinement does not work on this machine; the message says why."""


class SandboxBackend(Protocol):
    """Turns launches into recipes."""

    name: str

    def recipe(self, launch: Launch, shared_mounts: SharedMounts) -> Recipe:
        """The recipe for a launch."""


def measure_backend(backend: SandboxBackend, places: VisiblePaths) -> dict[str, Strength]:
    """Run every attack once. Raises `BackendUnusable` if not even allowed actions work.

    A measurement that exceeds its deadline is repeated with more time: the machine may be busy.
    """
    try:
        for deadline_s in (DEADLINE_S, BUSY_DEADLINE_S):
            measured = _measure(backend, places, deadline_s)
            if measured is not None:
                return measured
    except OSError as error:
        raise BackendUnusable(f"it cannot be tried: {error}") from error
    raise BackendUnusable(f"it did not end within {BUSY_DEADLINE_S:g} s")


def _measure(
    backend: SandboxBackend, places: VisiblePaths, deadline_s: float
) -> dict[str, Strength] | None:
    """Run every attack once; return None if the deadline has passed."""
    sleep, shell, setsid = (_required_program(name) for name in ("sleep", "sh", "setsid"))
    with create_fixture(sleep) as fixture:
        leave = f"{setsid} {' '.join(fixture.lingering())} >/dev/null 2>&1 &"
        inner = _inner_command(fixture)
        confined = (shell, "-c", f'{leave} exec "$@"', "sh", *inner)
        recipe = _recipe(backend, places, fixture, confined, deadline_s)
        if not recipe.own_pids:
            # The supervisor, which normally ends the process tree, is not used here.
            recipe = _recipe(backend, places, fixture, inner, deadline_s)
        outcome = run_probe_program(recipe, deadline_s=deadline_s)
        if outcome.exit_code is None:
            return None
        return _grade_properties(
            _parse_answers(outcome), fixture.observed_attacks(), own_pids=recipe.own_pids
        )


def _required_program(name: str) -> str:
    path = find_binary(name, (), search_path=_SYSTEM_PATH)
    if path is None:
        raise BackendUnusable(
            f"it cannot be tried: there is no {name!r} that belongs to root or to this user"
        )
    return path


def _inner_command(fixture: ProbeFixture) -> tuple[str, ...]:
    source = Path(__file__).with_name("probe_child.py").read_text("utf-8")
    # Resolved: a virtual environment may lie in a directory that is not visible inside.
    python = os.path.realpath(sys.executable)
    return (python, "-I", "-S", "-B", "-c", source, json.dumps(fixture.child_arguments()))


def _recipe(
    backend: SandboxBackend,
    places: VisiblePaths,
    fixture: ProbeFixture,
    argv: Sequence[str],
    deadline_s: float,
) -> Recipe:
    shared_mounts = SharedMounts(
        roots=(fixture.workspace, fixture.shown),
        hidden=(fixture.hidden, *places.hidden),
        temporary=str(fixture.top / "tmp"),
        places=places,
    )
    confinement = Confinement(
        (fixture.workspace,),
        read_only=(f"{fixture.workspace}/.git",),
        denied_reads=fixture.withheld,
    )
    env = {"PATH": _SYSTEM_PATH, "HOME": places.home or "/"}
    launch = Launch(tuple(argv), fixture.workspace, env, confinement, deadline_s)
    return backend.recipe(launch, shared_mounts)


def _parse_answers(outcome: ProbeOutput) -> dict[str, bool]:
    try:
        answers = json.loads(outcome.stdout)
    except ValueError:
        answers = None
    if outcome.exit_code != 0 or not isinstance(answers, dict):
        said = outcome.stderr.decode("utf-8", "replace").strip().splitlines()
        raise BackendUnusable(said[-1] if said else f"it ended with {outcome.exit_code}")
    broken = [name for name in answers if name.startswith("ok_") and not answers[name]]
    if broken:
        raise BackendUnusable(f"it refuses what is allowed: {', '.join(broken)}")
    return answers


def _grade_properties(
    inside: Mapping[str, bool], outside: Mapping[str, bool], *, own_pids: bool
) -> dict[str, Strength]:
    """Return the strength of each property, by the attacks that succeeded `inside` and
    `outside`.
    """

    def through(*names: str) -> bool:
        # An attack without a result counts as successful.
        return any(inside.get(name, name not in outside) or outside.get(name) for name in names)

    def first(prefix: str) -> tuple[str, ...]:
        inner = tuple(name for name in inside if name.startswith(prefix)) or (f"{prefix}none",)
        return (*inner, *(name for name in outside if name.startswith(prefix)))

    def graded(full: tuple[str, ...], some: tuple[str, ...] = ()) -> Strength:
        if through(*full):
            return Strength.ABSENT
        return Strength.PARTIAL if some and through(*some) else Strength.ENFORCED

    return dict(ABSENT) | {
        "fs_write": graded(first("write_"), first("meta_")),
        "fs_read": graded(("read_outside",), ("read_hidden", "read_names")),
        "fs_hide": graded(first("hide_shown_"), first("hide_workspace_")),
        "tcp": graded(("tcp",)),
        "udp": graded(("udp",)),
        "mptcp": graded(("mptcp", "tcp")),
        "unix_path": graded(("unix_path", "unix_path_pair")),
        "unix_abstract": graded(("unix_abstract",)),
        "signals": graded(("signals",)),
        "proc_view": graded(("proc_environment",), ("proc_seen",)),
        "ptrace": graded(("ptrace",)),
        "userns": graded(("userns",)),
        # A path that does not exist cannot be made read-only; it is repaired afterwards instead.
        "protected_names": Strength.REPAIRED,
        "kill_tree": graded(("survivors",)) if own_pids else Strength.ENFORCED,
    }


def cache_key(*parts: str) -> str:
    """Return the cache key: this machine and process, and the given parts."""
    facts = [platform.release(), platform.machine(), str(os.geteuid()), str(os.getegid()), *parts]
    facts += [_text(path) for path in _IDENTITY]
    facts += sorted(_source_digests())
    facts += [_link(f"/proc/self/ns/{name}") for name in _NAMESPACES]
    status = _text("/proc/self/status").splitlines()
    facts += [line for line in status if line.startswith(("Cap", "Seccomp:", "NoNewPrivs:"))]
    return sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def load_result(directory: Path | None, key: str) -> Mapping[str, Any] | None:
    """Return the result stored under the key."""
    found = _load(directory).get(key)
    return found if isinstance(found, dict) else None


def save_result(directory: Path | None, key: str, facts: Mapping[str, Any]) -> None:
    """Store a result; do nothing if the directory cannot be written."""
    if directory is None:
        return
    kept = {**_load(directory), key: facts}
    newest = dict(list(kept.items())[-_MOST:])
    try:
        private_directory(directory)
        with tempfile.NamedTemporaryFile("w", dir=directory, delete=False) as file:
            json.dump(newest, file)
        Path(file.name).replace(directory / _FILE)
    except (OSError, ProblemRaised):
        return


def _load(directory: Path | None) -> dict[str, Any]:
    # Reading must not create the directory.
    if directory is None or not directory.is_dir():
        return {}
    try:
        private_directory(directory)
        kept = json.loads((directory / _FILE).read_text("utf-8"))
    except (OSError, ValueError, ProblemRaised):
        return {}
    return kept if isinstance(kept, dict) else {}


def _source_digests() -> Iterator[str]:
    """Return the source files of the sandbox and of the service that answers system calls: another
    version may measure or confine differently.
    """
    sandbox = Path(__file__).parents[1]
    folders = (sandbox, sandbox.with_name("supervisor") / "tracing")
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        info = path.stat()
        yield f"{path} {info.st_size} {info.st_mtime_ns}"


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""
