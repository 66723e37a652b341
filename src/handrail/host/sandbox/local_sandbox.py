"""The sandbox of a runtime: the best confinement that works on this machine, chosen when first
needed.

A forced backend that does not work is a problem, never replaced silently. Without any backend the
result is `none`, with every property absent.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.core.ports.processes import (
    Confinement,
    Launch,
    PrivateRoots,
    ProcessResult,
    Strength,
)
from handrail.host.messages import (
    BACKEND_FAILED,
    NO_LISTENER,
    NO_TEMP_DIRECTORY,
    UNKNOWN_BACKEND,
)
from handrail.host.processes import landlock
from handrail.host.processes.binaries import find_binary, sha256
from handrail.host.sandbox.backends.bubblewrap import BubblewrapBackend, mounts_handles
from handrail.host.sandbox.backends.landlock_backend import LandlockBackend
from handrail.host.sandbox.device_nodes import DeviceNodes
from handrail.host.sandbox.failure_hints import explain_failure
from handrail.host.sandbox.private_copy import CopyImpossible, PrivateCopy
from handrail.host.sandbox.probe import measure
from handrail.host.sandbox.probe.stale_probes import remove_stale_probes
from handrail.host.sandbox.recipe import Recipe, proxy_environment
from handrail.host.sandbox.temp_dirs import TempDirectory
from handrail.host.sandbox.visible_paths import SharedMounts, VisiblePaths, find_visible_paths
from handrail.host.supervisor.tracing.syscall_tracer import can_listen

BACKENDS: Final = ("bubblewrap", "landlock", "none")
_SYSTEM_BWRAP: Final = "/usr/bin"


def open_sandbox(
    roots: Sequence[str],
    hidden: Sequence[str] = (),
    *,
    backend: str | None = None,
    readable: Sequence[str] = (),
    memory_limited: bool = False,
    cache: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    temporary: Path | None = None,
    aliases: Sequence[tuple[str, str]] = (),
) -> LocalSandbox:
    """Return a sandbox for the commands of a workspace; nothing is measured until it is needed.

    `backend` forces one of `BACKENDS`; None or "auto" chooses the best that works. `readable` are
    additional readable trees. `memory_limited` says that the supervisor limits the memory of each
    process. `cache` is a private directory for measurements. `temporary` is shown to commands as
    /tmp and kept, as are the device nodes next to it; if it is None, `close` removes both.
    `aliases` are other paths of roots, each with the resolved path. Raises `invalid_arguments` for
    an unknown backend.
    """
    backends = BACKENDS if backend is None or backend == "auto" else (backend,)
    if not set(backends) <= set(BACKENDS):
        raise UNKNOWN_BACKEND.error(backend=backend, names=", ".join(BACKENDS), field="sandbox")
    real = tuple(os.path.realpath(root) for root in roots)
    return LocalSandbox(
        SandboxOptions(
            backends,
            real,
            tuple(hidden),
            tuple(readable),
            memory_limited,
            cache,
            environ,
            temporary,
            tuple(aliases),
        )
    )


class SandboxOptions(NamedTuple):
    """Arguments of `open_sandbox`; `backends` in the order in which they are tried."""

    backends: tuple[str, ...]
    roots: tuple[str, ...]
    hidden: tuple[str, ...]
    readable: tuple[str, ...]
    memory_limited: bool
    cache: Path | None
    environ: Mapping[str, str]
    temporary: Path | None
    aliases: tuple[tuple[str, str], ...] = ()


class BackendChoice(NamedTuple):
    """The chosen backend; `facts` are for `describe`, `rejected` has better backends with
    reasons.
    """

    backend: BubblewrapBackend | LandlockBackend | None
    measured: Mapping[str, Strength]
    facts: Mapping[str, str | int]
    rejected: Mapping[str, str]


class LocalSandbox:
    """Implements `core.ports.processes.Sandbox`, and makes the recipes for the supervisor."""

    def __init__(self, wanted: SandboxOptions) -> None:
        self._wanted = wanted
        self._temporary = TempDirectory(wanted.temporary)
        lasting = wanted.temporary
        self._devices = DeviceNodes(lasting.with_name("devices") if lasting else None)
        self._lock = threading.Lock()
        self._chosen: BackendChoice | None = None
        self._places: VisiblePaths | None = None

    @cached_property
    def _device_paths(self) -> Mapping[str, str]:
        return self._devices.paths

    @cached_property
    def _protects_devices(self) -> bool:
        return self._devices.protects

    @property
    def backend(self) -> str:
        """`bubblewrap`, `landlock` or `none`."""
        chosen = self._choice().backend
        return "none" if chosen is None else chosen.name

    @property
    def measured(self) -> Mapping[str, Strength]:
        """The strength of each property, with the network closed."""
        choice = self._choice()
        measured = choice.measured
        if isinstance(choice.backend, BubblewrapBackend) and not self._protects_devices:
            measured = {**measured, "fs_write": Strength.PARTIAL}
        if self._wanted.memory_limited:
            # The limit is per process; a process tree can still use all memory.
            return {**measured, "memory_limit": Strength.PARTIAL}
        return measured

    def recipe(self, launch: Launch) -> Recipe:
        """Return the recipe for a launch. Raises `unavailable` if a forced backend does not work on
        this machine, or the private temporary directory cannot be created.
        """
        chosen = None if launch.confinement.off else self._choice().backend
        if chosen is None:
            return Recipe(launch.argv, launch.env, launch.cwd)
        try:
            temporary = self._temporary.path
        except OSError as error:
            raise NO_TEMP_DIRECTORY.error(reason=error) from error
        hosts = () if launch.confinement.network else launch.confinement.hosts
        if hosts:
            own_network = isinstance(chosen, BubblewrapBackend)
            variables = proxy_environment(hosts, own_network=own_network)
            launch = launch._replace(env={**launch.env, **variables})
        recipe = chosen.recipe(launch, self._shared_mounts(temporary))
        return recipe._replace(write_log=launch.confinement.write_log, hosts=hosts)

    def hiding_gap(self, confinement: Confinement) -> str | None:
        """Return why a confined program might read its denied paths; None if it cannot."""
        if not confinement.denied_reads:
            return None
        choice = self._choice()
        strength = choice.measured["fs_hide"]
        if confinement.off or choice.backend is None or strength is Strength.ABSENT:
            return "nothing here hides paths from commands"
        if strength is not Strength.ENFORCED and confinement.writable:
            return "paths are hidden here only from commands that write nothing"
        return choice.backend.hiding_gap(confinement, self._shared_mounts(""))

    def _shared_mounts(self, temporary: str) -> SharedMounts:
        places = self._visible_paths()
        hidden = (*self._wanted.hidden, *places.hidden)
        devices = self._device_paths if temporary else {}
        return SharedMounts(
            self._wanted.roots, hidden, temporary, places, self._wanted.aliases, devices
        )

    def why_failed(self, ended: ProcessResult, confinement: Confinement) -> str | None:
        """Return the probable cause of a failure, and the setting that lifts it."""
        return explain_failure(ended, confinement, self.backend)

    def enforced_read_only(self, confinement: Confinement) -> tuple[str, ...]:
        """Return the read-only paths that no program confined in this way can change."""
        chosen = None if confinement.off else self._choice().backend
        return (
            chosen.enforced_read_only(confinement) if isinstance(chosen, BubblewrapBackend) else ()
        )

    def copy_roots(self, confinement: Confinement) -> PrivateRoots | str:
        """Return private copies of the roots if a program can be shown them, else the reason."""
        if confinement.off or not isinstance(self._choice().backend, BubblewrapBackend):
            return "only bubblewrap can show a program a copy in its place"
        hidden = (*confinement.hidden, *confinement.denied_reads, *self._wanted.hidden)
        try:
            return PrivateCopy(self._wanted.roots, hidden)
        except CopyImpossible as impossible:
            return str(impossible)

    def describe(self) -> Mapping[str, Any]:
        """The backend, its programs and its properties, for `handrail doctor` and the audit."""
        choice = self._choice()
        return {
            "backend": self.backend,
            **choice.facts,
            "measured": {name: str(strength) for name, strength in self.measured.items()},
            "passed_over": dict(choice.rejected),
        }

    def close(self) -> None:
        """Remove the private temporary directory and devices; commands must have ended."""
        self._temporary.close()
        self._devices.close()

    def _visible_paths(self) -> VisiblePaths:
        if self._places is None:
            wanted = self._wanted
            self._places = find_visible_paths(wanted.roots, wanted.readable, wanted.environ)
        return self._places

    def _choice(self) -> BackendChoice:
        with self._lock:
            if self._chosen is None:
                self._chosen = self._choose()
            return self._chosen

    def _choose(self) -> BackendChoice:
        # Results are cached, so the next probe may come much later.
        remove_stale_probes()
        rejected: dict[str, str] = {}
        for name in self._wanted.backends:
            if name == "none":
                return BackendChoice(None, measure.ABSENT, {}, rejected)
            try:
                return self._first_usable(name, rejected)
            except measure.BackendUnusable as error:
                rejected[name] = str(error)
        forced = self._wanted.backends[0]
        raise BACKEND_FAILED.error(forced=forced, reason=rejected[forced])

    def _first_usable(self, name: str, rejected: Mapping[str, str]) -> BackendChoice:
        failure = measure.BackendUnusable("it does not exist on this machine")
        for backend, facts in _candidates(name, self._wanted.roots):
            key = measure.cache_key(sys.executable, repr(sorted(facts.items())))
            try:
                measured = _measured(backend, self._visible_paths, self._wanted.cache, key)
            except measure.BackendUnusable as error:
                failure = error
                continue
            return BackendChoice(backend, measured, facts, dict(rejected))
        raise failure


def _candidates(
    name: str, roots: Sequence[str]
) -> Iterator[tuple[BubblewrapBackend | LandlockBackend, dict[str, str | int]]]:
    if sys.platform != "linux":
        raise measure.BackendUnusable("only Linux has it")
    if name == "landlock":
        if not landlock.abi():
            raise measure.BackendUnusable("this kernel has no Landlock")
        listener = "available" if can_listen() else NO_LISTENER
        yield LandlockBackend(), {"landlock_abi": landlock.abi(), "listener": listener}
        return
    # The path that distributions use, for which their security profiles are written.
    program = find_binary("bwrap", roots, search_path=_SYSTEM_BWRAP) or find_binary("bwrap", roots)
    if program is None:
        raise measure.BackendUnusable(
            "bubblewrap (bwrap) is not installed, or only inside the workspace"
        )
    facts: dict[str, str | int] = {"path": program, "sha256": sha256(program)}
    by_handle = mounts_handles(program)
    facts["binds"] = "by handle" if by_handle else "by name"
    yield BubblewrapBackend(program, by_handle=by_handle), {**facts, "proc": "its own"}
    shared = BubblewrapBackend(program, own_proc=False, by_handle=by_handle)
    yield shared, {**facts, "proc": "the machine's, read-only"}


# The results that this process has already read from the file.
_known: dict[str, Mapping[str, Strength]] = {}


def _measured(
    backend: BubblewrapBackend | LandlockBackend,
    look: Callable[[], VisiblePaths],
    cache: Path | None,
    key: str,
) -> Mapping[str, Strength]:
    if key in _known:
        return _known[key]
    kept = _parse_result(measure.load_result(cache, key))
    if kept is None:
        kept = measure.measure_backend(backend, look())
        measure.save_result(cache, key, kept)
    _known[key] = kept
    return kept


def _parse_result(kept: Mapping[str, Any] | None) -> dict[str, Strength] | None:
    """Return the properties of a stored result if it has exactly the known ones."""
    if kept is None or set(kept) != set(measure.PROPERTIES):
        return None
    try:
        return {name: Strength(kept[name]) for name in measure.PROPERTIES}
    except ValueError:
        return None
