"""Measures from inside a confinement how far each of its properties holds on this machine.

Fails closed: a property without a result counts as absent.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from handrail.core.ports.processes import Confinement, Launch, Strength
from handrail.host.processes.binaries import find_binary
from handrail.host.sandbox.probe import run_probe
from handrail.host.sandbox.probe.fixture import ProbeFixture, create_fixture
from handrail.host.sandbox.recipe import Recipe
from handrail.host.sandbox.visible_paths import SharedMounts, VisiblePaths

DEADLINE_S: Final = 2.5
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
    """Run every attack once. Raises `BackendUnusable` if not even allowed actions work."""
    sleep, shell, setsid = (_needed(name) for name in ("sleep", "sh", "setsid"))
    try:
        with create_fixture(sleep) as fixture:
            leave = f"{setsid} {' '.join(fixture.lingering())} >/dev/null 2>&1 &"
            inner = _inner(fixture)
            recipe = _recipe(
                backend, places, fixture, (shell, "-c", f'{leave} exec "$@"', "sh", *inner)
            )
            if not recipe.own_pids:
                # The supervisor, which normally ends the process tree, is not involved here.
                recipe = _recipe(backend, places, fixture, inner)
            outcome = run_probe.run_probe_program(recipe, deadline_s=DEADLINE_S)
            return _judge(_answers(outcome), fixture.observed_attacks(), own_pids=recipe.own_pids)
    except OSError as error:
        raise BackendUnusable(f"it cannot be tried: {error}") from error


def _needed(name: str) -> str:
    path = find_binary(name, (), search_path=_SYSTEM_PATH)
    if path is None:
        raise BackendUnusable(f"it cannot be tried: there is no {name!r} to try it with")
    return path


def _inner(fixture: ProbeFixture) -> tuple[str, ...]:
    source = Path(__file__).with_name("probe_child.py").read_text("utf-8")
    # Resolved: a virtual environment may lie in an invisible directory.
    python = os.path.realpath(sys.executable)
    return (python, "-I", "-S", "-B", "-c", source, json.dumps(fixture.child_arguments()))


def _recipe(
    backend: SandboxBackend, places: VisiblePaths, fixture: ProbeFixture, argv: Sequence[str]
) -> Recipe:
    shared_mounts = SharedMounts(
        roots=(fixture.workspace, fixture.shown),
        hidden=(fixture.hidden, *places.hidden),
        temporary=str(fixture.top / "tmp"),
        places=places,
    )
    confinement = Confinement(
        (fixture.workspace,), read_only=(f"{fixture.workspace}/.git",), withheld=fixture.withheld
    )
    env = {"PATH": _SYSTEM_PATH, "HOME": places.home or "/"}
    launch = Launch(tuple(argv), fixture.workspace, env, confinement, DEADLINE_S)
    return backend.recipe(launch, shared_mounts)


def _answers(outcome: run_probe.ProbeOutput) -> dict[str, bool]:
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


def _judge(
    inside: Mapping[str, bool], outside: Mapping[str, bool], *, own_pids: bool
) -> dict[str, Strength]:
    """Property → strength. `inside` and `outside`: attack → whether it succeeded, as seen by
    either side.
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
        # A path that does not exist cannot be made read-only; it is repaired afterwards.
        "protected_names": Strength.REPAIRED,
        "kill_tree": graded(("survivors",)) if own_pids else Strength.ENFORCED,
    }
