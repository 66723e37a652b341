"""Starts one program as its recipe says, after dropping rights and with nothing inherited.

Dropping rights binds a thread for good, so a restricted program is started by a thread of its own.
That thread lives as long as the program: its end would trigger the parent-death signal, on which
bubblewrap ends.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.ports.processes import Connection
from handrail.host.sandbox.backends.apply import restrict_thread
from handrail.host.sandbox.recipe import FILTER_HANDLE, Recipe
from handrail.host.supervisor.runner.root_handles import ResolvedLaunch, RootHandles
from handrail.host.supervisor.tracing.syscall_tracer import (
    deny_attribute_calls,
    has_service,
    start_service,
)

# The descriptor on which a program reports its last directory.
REPORT_HANDLE: Final = 9
_NOWHERE: Final = RootHandles()


class StartedProgram(NamedTuple):
    """A running program. `release` ends the thread that started it. `connections` returns what it
    asked its proxy for.
    """

    process: subprocess.Popen[bytes]
    release: Callable[[], None]
    connections: Callable[[], Sequence[Connection]] = tuple


class OutputPipes(NamedTuple):
    """Descriptors of the program: the streams it writes, the directory report if requested, and
    `stdin`; None: nothing to read.
    """

    stdout: int
    stderr: int
    report: int | None = None
    stdin: int | None = None


def reserve_handles() -> None:
    """Occupy the number of the report descriptor, so that nothing else gets it."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, REPORT_HANDLE, inheritable=False)
    os.close(null)


def start_program(
    recipe: Recipe, outputs: OutputPipes, root_handles: RootHandles = _NOWHERE
) -> StartedProgram:
    """Start a program. Raises OSError or ValueError if it cannot be started."""
    if outputs.report is not None:
        os.dup2(outputs.report, REPORT_HANDLE, inheritable=False)
    try:
        with root_handles.open(recipe) as ready:
            if not _needs_thread(recipe) and not has_service(recipe):
                return StartedProgram(_popen(recipe, ready, outputs), lambda: None)
            return _start_restricted(recipe, ready, outputs, root_handles)
    finally:
        if outputs.report is not None:
            reserve_handles()


def _start_restricted(
    recipe: Recipe, ready: ResolvedLaunch, outputs: OutputPipes, root_handles: RootHandles
) -> StartedProgram:
    thread = _StarterThread(recipe, ready, outputs, root_handles)
    thread.start()
    thread.done.wait()
    if thread.error is not None or thread.process is None:
        thread.release()
        raise thread.error or OSError("the thread that starts a program ended without a word")
    return StartedProgram(thread.process, thread.release, thread.connections)


def _needs_thread(recipe: Recipe) -> bool:
    return (
        recipe.landlock is not None
        or recipe.drop_capabilities
        or (bool(recipe.filter) and not recipe.hands_filter_over)
    )


class _StarterThread(threading.Thread):
    """Drops its rights, starts the program, and waits until the program has ended."""

    def __init__(
        self, recipe: Recipe, ready: ResolvedLaunch, outputs: OutputPipes, root_handles: RootHandles
    ) -> None:
        super().__init__(name="handrail-program", daemon=True)
        self.process: subprocess.Popen[bytes] | None = None
        self.error: OSError | ValueError | None = None
        self.done = threading.Event()
        self.over = threading.Event()
        self._recipe = recipe
        self._ready = ready
        self._root_handles = root_handles
        self._outputs = outputs
        self._service = start_service(recipe, root_handles.open_top)

    def release(self) -> None:
        """End the thread: the program has ended or was not started."""
        self.over.set()
        if self._service is not None:
            self._service.finish()

    def connections(self) -> Sequence[Connection]:
        """The connections that the program asked its proxy for."""
        return () if self._service is None else self._service.connections()

    def run(self) -> None:
        try:
            # Opened now, because the restricted thread will not be allowed to.
            with Path(os.devnull).open("rb") as nothing:
                mediated = self._service is not None and self._service.install()
                if self._recipe.landlock is not None and not mediated:
                    deny_attribute_calls()
                restrict_thread(self._recipe, self._root_handles.open_top)
                self.process = _popen(self._recipe, self._ready, self._outputs, nothing.fileno())
        except (OSError, ValueError) as error:
            self.error = error
        finally:
            self.done.set()
        if self.error is None:
            self.over.wait()


def _popen(
    recipe: Recipe, ready: ResolvedLaunch, outputs: OutputPipes, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    argv, aside = list(ready.argv), ready.aside
    memory: list[int] = []
    try:
        if recipe.hands_filter_over:
            memory.append(memory_file(recipe.filter))
            argv[argv.index(FILTER_HANDLE)] = str(memory[0])
        if aside:
            memory.append(memory_file(_words(argv[1 : aside + 1])))
            argv[1 : aside + 1] = ("--args", str(memory[-1]))
        handed = [*memory, *ready.handles, *([] if outputs.report is None else [REPORT_HANDLE])]
        return subprocess.Popen(
            argv,
            stdin=stdin if outputs.stdin is None else outputs.stdin,
            stdout=outputs.stdout,
            stderr=outputs.stderr,
            # The child enters the directory before descriptors are closed.
            cwd=ready.cwd,
            env=recipe.env,
            pass_fds=handed,
            start_new_session=True,
        )
    finally:
        for handle in memory:
            os.close(handle)


def _words(words: Sequence[str]) -> bytes:
    # Words are separated by NUL: one inside a word would create an extra option.
    if any("\0" in word for word in words):
        raise ValueError("embedded null byte")
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def memory_file(data: bytes) -> int:
    """A descriptor of an in-memory file with this content, at its beginning."""
    handle = os.memfd_create("handrail-options", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    os.lseek(handle, 0, os.SEEK_SET)
    return handle
