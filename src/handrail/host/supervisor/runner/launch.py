"""Starts one program as its recipe says: rights given up first, then nothing inherited.

Rights are given up by a thread, for ever, so a restricted program gets a thread of its own.
That thread lives as long as the program: when it ends, the kernel tells the program's
parent-death signal, and bubblewrap would end with it.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from handrail.host.sandbox.backends.apply import restrict_thread
from handrail.host.sandbox.recipe import FILTER_HANDLE, Recipe
from handrail.host.supervisor.runner.root_handles import ResolvedLaunch, RootHandles
from handrail.host.supervisor.tracing.syscall_tracer import can_trace, start_tracer

# Where a program writes its last directory.
REPORT_HANDLE: Final = 9
_NOWHERE: Final = RootHandles()


class StartedProgram(NamedTuple):
    """A program that runs. `release` lets the thread go that started it."""

    process: subprocess.Popen[bytes]
    release: Callable[[], None]


class OutputPipes(NamedTuple):
    """Handles that the program writes to: the streams, and its last directory if asked.
    `stdin` is the one that it reads; None: there is nothing to read.
    """

    stdout: int
    stderr: int
    report: int | None = None
    stdin: int | None = None


def reserve_handles() -> None:
    """Keep the number of the report handle from being given to anything else."""
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, REPORT_HANDLE, inheritable=False)
    os.close(null)


def start_program(
    recipe: Recipe, outputs: OutputPipes, root_handles: RootHandles = _NOWHERE
) -> StartedProgram:
    """Start it; raises OSError or ValueError if that cannot be done."""
    if outputs.report is not None:
        os.dup2(outputs.report, REPORT_HANDLE, inheritable=False)
    try:
        with root_handles.open(recipe) as ready:
            if not _needs_thread(recipe) and not can_trace(recipe):
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
    return StartedProgram(thread.process, thread.release)


def _needs_thread(recipe: Recipe) -> bool:
    return (
        recipe.landlock is not None
        or recipe.drop_capabilities
        or (bool(recipe.filter) and not recipe.hands_filter_over)
    )


class _StarterThread(threading.Thread):
    """Gives up its rights, starts the program, and stays until the program is over."""

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
        self._tracer = start_tracer(recipe)

    def release(self) -> None:
        """The program is over, or never was."""
        self.over.set()
        if self._tracer is not None:
            self._tracer.finish()

    def run(self) -> None:
        try:
            # Opened before, because this thread will not be able to in a moment.
            with Path(os.devnull).open("rb") as nothing:
                if self._tracer is not None:
                    self._tracer.install()
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
            # A handle is entered before handles are closed.
            cwd=ready.cwd,
            env=recipe.env,
            pass_fds=handed,
            start_new_session=True,
        )
    finally:
        for handle in memory:
            os.close(handle)


def _words(words: Sequence[str]) -> bytes:
    # Each ends with a zero byte: one inside a word would make two of it, the second an option.
    if any("\0" in word for word in words):
        raise ValueError("embedded null byte")
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def memory_file(data: bytes) -> int:
    """The handle of a file in memory that holds this, to be read from its beginning."""
    handle = os.memfd_create("handrail-options", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    os.lseek(handle, 0, os.SEEK_SET)
    return handle
