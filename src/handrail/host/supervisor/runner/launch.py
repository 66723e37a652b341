"""Starts one program as its recipe says, with rights dropped and nothing inherited.

Dropping rights binds a thread for good, so a restricted program is started by its own thread. That
thread lives as long as the program: its end would send the parent-death signal, on which bubblewrap
ends.
"""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.ports.processes import Connection
from handrail.host.files.root_identity import RootHandle, is_in_place
from handrail.host.files.roots import LOOK, LOOK_IN, Opener, choose_opener
from handrail.host.sandbox.backends.apply import restrict_thread
from handrail.host.sandbox.backends.landlock_grants import inode_key, open_without_links
from handrail.host.sandbox.recipe import FILTER_HANDLE, Recipe
from handrail.host.supervisor.tracing.syscall_tracer import (
    deny_attribute_calls,
    has_service,
    start_service,
)

# The options of bubblewrap for a mount by path and by descriptor.
_BY_HANDLE: Final = {"--bind-try": "--bind-fd", "--ro-bind-try": "--ro-bind-fd"}


class ResolvedLaunch(NamedTuple):
    """A recipe with its paths opened: arguments, working directory, descriptors to pass on, and the
    number of arguments after the first that are read from a file.
    """

    argv: list[str]
    cwd: str
    handles: list[int]
    file_arguments: int


class RootHandles:
    """The handles of the roots of one runtime; without any, every path is used by name."""

    def __init__(self, roots: Sequence[RootHandle] = ()) -> None:
        self._roots = sorted(roots, key=lambda root: -len(root.path))

    @contextmanager
    def open(self, recipe: Recipe) -> Iterator[ResolvedLaunch]:
        """Open the directories of a program. Raises OSError; ESTALE if a root was moved or
        replaced.
        """
        for root in self._roots:
            if not is_in_place(root):
                raise OSError(errno.ESTALE, "it was moved or replaced", root.path)
        handles: list[int] = []
        try:
            cwd = self._directory(recipe.cwd)
            if cwd is not None:
                handles.append(cwd)
            argv = self._bind(recipe, handles)
            yield ResolvedLaunch(
                argv,
                recipe.cwd if cwd is None else f"/proc/self/fd/{cwd}",
                handles[cwd is not None :],
                recipe.file_arguments - (len(recipe.argv) - len(argv)),
            )
        finally:
            for handle in handles:
                os.close(handle)

    def open_top(self, path: str) -> int:
        """Open a path for stat only, following no link, beneath a root's handle. Raises OSError."""
        found = self._beneath(path, LOOK)
        return open_without_links(path) if found is None else found

    def _directory(self, path: str) -> int | None:
        """Open a directory in a root; return None if it lies in no root."""
        try:
            return self._beneath(path, LOOK_IN)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise OSError(error.errno, error.strerror, path) from error
        # The path leads through a link, whose target must lie in a root too.
        found = self._beneath(os.path.realpath(path), LOOK_IN)
        if found is None:
            raise OSError(errno.EXDEV, "it leads out of the workspace", path)
        return found

    def _bind(self, recipe: Recipe, handles: list[int]) -> list[str]:
        """The arguments, with mounts by descriptor where possible; missing paths are left out."""
        if not self._roots or not recipe.binds:
            return list(recipe.argv)
        argv: list[str] = []
        last = 0
        for at in recipe.binds:
            argv += recipe.argv[last:at]
            last = at + 3
            how, source, target = recipe.argv[at:last]
            try:
                handle = self._beneath(source, LOOK)
            except OSError:
                continue
            if handle is None:
                argv += (how, source, target)
                continue
            handles.append(handle)
            if inode_key(os.fstat(handle)) not in recipe.denied:
                argv += (_BY_HANDLE[how], str(handle), target)
        return [*argv, *recipe.argv[last:]]

    def _beneath(self, path: str, flags: int) -> int | None:
        """Open a path in a root without following links; return None if it lies in no root."""
        for root in self._roots:
            top = root.path.rstrip("/")
            if path == root.path or path.startswith(f"{top}/"):
                rel = os.fsencode(path[len(top) :].strip("/"))
                return self._opener(root.handle, rel or b".", flags)
        return None

    @cached_property
    def _opener(self) -> Opener:
        return choose_opener()


# The descriptor on which a program reports its last working directory.
REPORT_HANDLE: Final = 9
_NOWHERE: Final = RootHandles()


class StartedProgram(NamedTuple):
    """A running program. `release` ends its thread; `connections` has its requests to the proxy."""

    process: subprocess.Popen[bytes]
    release: Callable[[], None]
    connections: Callable[[], Sequence[Connection]] = tuple


class OutputPipes(NamedTuple):
    """The descriptors of a program: the streams that it writes, the directory report if requested,
    and `stdin`; None means an empty input.
    """

    stdout: int
    stderr: int
    report: int | None = None
    stdin: int | None = None


def reserve_handles() -> None:
    """Occupy the number of the report descriptor, so that no other file gets it."""
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
    argv, in_file = list(ready.argv), ready.file_arguments
    memory: list[int] = []
    try:
        if recipe.hands_filter_over:
            memory.append(memory_file(recipe.filter))
            argv[argv.index(FILTER_HANDLE)] = str(memory[0])
        if in_file:
            memory.append(memory_file(_words(argv[1 : in_file + 1])))
            argv[1 : in_file + 1] = ("--args", str(memory[-1]))
        handed = [*memory, *ready.handles, *([] if outputs.report is None else [REPORT_HANDLE])]
        return subprocess.Popen(
            argv,
            stdin=stdin if outputs.stdin is None else outputs.stdin,
            stdout=outputs.stdout,
            stderr=outputs.stderr,
            # The child changes to the directory before descriptors are closed.
            cwd=ready.cwd,
            env=recipe.env,
            pass_fds=handed,
            start_new_session=True,
        )
    finally:
        for handle in memory:
            os.close(handle)


def _words(words: Sequence[str]) -> bytes:
    # Words are separated by NUL, so a NUL inside a word would create another option.
    if any("\0" in word for word in words):
        raise ValueError("embedded null byte")
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def memory_file(data: bytes) -> int:
    """Return a descriptor of an in-memory file with this content, positioned at its beginning."""
    handle = os.memfd_create("handrail-options", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
    os.lseek(handle, 0, os.SEEK_SET)
    return handle
