"""The targets that the probe attacks: files, sockets and a process that a confined program must not
reach.

Everything lies in a temporary directory that is removed afterwards. Nothing of the user's is
touched.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.host.sandbox.probe.stale_probes import (
    PREFIX,
    SHARED,
    create_probe_dir,
    create_shared_file,
    remove_stale_probes,
)
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.runner.launch import OutputPipes, StartedProgram, start_program

_MAX_BYTES: Final = 1 << 20

_CONTENT: Final = "probe"
_MOMENT_S: Final = 0.5


class ProbeFixture(NamedTuple):
    """The paths and names of the fixture. `mark` is in the command line of the process to
    attack.
    """

    top: Path
    mark: str
    victim: StartedProgram
    sockets: dict[str, socket.socket]
    attributes: dict[str, object]

    @property
    def workspace(self) -> str:
        """The only writable directory."""
        return str(self.top / "workspace")

    @property
    def shown(self) -> str:
        """A readable directory that contains a hidden one."""
        return str(self.top / "shown")

    @property
    def hidden(self) -> str:
        """A hidden directory inside a readable one."""
        return str(self.top / "shown" / "hidden")

    @property
    def withheld(self) -> tuple[str, ...]:
        """Denied files and directories, in a writable and in a read-only place."""
        tops = (self.workspace, self.shown)
        return tuple(f"{top}/way/{name}" for top in tops for name in ("withheld", "closed"))

    def child_arguments(self) -> dict[str, Any]:
        """The arguments of the probe program."""
        return {
            "workspace": self.workspace,
            "shown": self.shown,
            "outside": str(self.top / "outside"),
            "tcp": self.sockets["tcp"].getsockname()[1],
            "udp": self.sockets["udp"].getsockname()[1],
            "abstract_socket": self.mark,
            "victim": self.victim.process.pid,
            "victim_argument": _sleep_seconds(self.mark),
            "mark": self.mark,
            "shared_memory": _shared_memory(self.mark),
        }

    def observed_attacks(self) -> dict[str, bool]:
        """Return for each attack whether it succeeded, as observed from outside."""
        return {
            "write_open_outside": _changed(self.top / "outside"),
            "write_open_shown": _changed(self.top / "shown"),
            "meta_seen": _attributes(self.top) != self.attributes,
            "tcp": _was_reached(self.sockets["tcp"]),
            "udp": _was_reached(self.sockets["udp"]),
            "unix_path": _was_reached(self.sockets["stream"]),
            "unix_path_pair": _was_reached(self.sockets["datagram"]),
            "unix_abstract": _was_reached(self.sockets["abstract"]),
            "signals": self.victim.process.poll() is not None,
            "survivors": self._outlives_parent(),
        }

    def lingering(self) -> tuple[str, ...]:
        """Return the command line of a program that tries to outlive its parent."""
        return ("sleep", f"60.{self.mark}")

    def _outlives_parent(self) -> bool:
        """Return whether that program is still running; the kernel ends a pid namespace shortly
        after its first process.
        """
        end = time.monotonic() + _MOMENT_S
        while self._is_running():
            if time.monotonic() > end:
                return True
            time.sleep(_MOMENT_S / 100)
        return False

    def _is_running(self) -> bool:
        wanted = "\0".join(self.lingering())
        return any(wanted in _command_line(entry) for entry in Path("/proc").iterdir())


@contextmanager
def create_fixture(sleep: str) -> Iterator[ProbeFixture]:
    """Create the fixture, and remove it when the block ends; raises OSError."""
    remove_stale_probes()
    with ExitStack() as ends:
        top = create_probe_dir(ends)
        for folder in ("workspace/.git", "shown/hidden", "outside", "tmp"):
            (top / folder).mkdir(parents=True)
        for way in (top / "workspace" / "way", top / "shown" / "way"):
            (way / "closed").mkdir(parents=True)
            (way / "beside").write_text(_CONTENT, "ascii")
            for name in ("withheld", "closed/secret"):
                (way / name).write_text("withheld", "ascii")
        for folder in ("shown", "outside"):
            for name in ("file", "attributes"):
                (top / folder / name).write_text(_CONTENT, "ascii")
        for secret in ("outside/secret", "shown/hidden/secret", "workspace/.git/config"):
            (top / secret).write_text(_CONTENT, "ascii")
        mark = str(int.from_bytes(os.urandom(6), "big"))
        create_shared_file(_shared_memory(mark), _CONTENT.encode("ascii"), ends)
        sockets = _sockets(ends, top / "workspace", mark)
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        ends.callback(os.close, null)
        recipe = Recipe((sleep, _sleep_seconds(mark)), {"HANDRAIL_PROBE": mark}, "/")
        victim = ends.enter_context(start_probe_program(recipe, OutputPipes(null, null)))
        yield ProbeFixture(top, mark, victim, sockets, _attributes(top))


def _attributes(top: Path) -> dict[str, object]:
    """Return mode, owner, times and attributes of the files whose attributes are attacked."""
    found: dict[str, object] = {}
    for folder in ("shown", "outside"):
        file = top / folder / "attributes"
        info = file.stat()
        names = os.listxattr(file)
        found[folder] = info.st_mode, info.st_gid, info.st_mtime_ns, info.st_ctime_ns, names
    return found


def _sockets(ends: ExitStack, workspace: Path, mark: str) -> dict[str, socket.socket]:
    # By descriptor: socket addresses must be short, but the path of the directory may be long.
    handle = os.open(workspace, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    ends.callback(os.close, handle)
    sockets: dict[str, socket.socket] = {}
    for name, family, kind, address in (
        ("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        ("stream", socket.AF_UNIX, socket.SOCK_STREAM, f"/proc/self/fd/{handle}/stream"),
        ("datagram", socket.AF_UNIX, socket.SOCK_DGRAM, f"/proc/self/fd/{handle}/datagram"),
        ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{mark}"),
    ):
        made = ends.enter_context(socket.socket(family, kind))
        made.setblocking(False)
        made.bind(address)
        if kind is socket.SOCK_STREAM:
            made.listen()
        sockets[name] = made
    return sockets


def _shared_memory(mark: str) -> str:
    return f"{SHARED}/{PREFIX}{mark}"


def _sleep_seconds(mark: str) -> str:
    return f"30.{mark}"


def _was_reached(listener: socket.socket) -> bool:
    try:
        if listener.type is socket.SOCK_STREAM:
            listener.accept()[0].close()
        else:
            listener.recv(1)
    except BlockingIOError:
        return False
    return True


def _changed(folder: Path) -> bool:
    """Return whether names or contents differ from those that were created."""
    expected = {
        "outside": {"file", "attributes", "secret"},
        "shown": {"file", "attributes", "hidden", "way"},
    }
    names = {entry.name for entry in folder.iterdir()}
    return names != expected[folder.name] or (folder / "file").read_text("ascii") != _CONTENT


def _command_line(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_text("utf-8", "replace") if entry.name.isdigit() else ""
    except OSError:
        return ""


class ProbeOutput(NamedTuple):
    """The result of a probe program; `exit_code` is None if it exceeded its time."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes


def run_probe_program(recipe: Recipe, *, deadline_s: float) -> ProbeOutput:
    """Run a program to its end or deadline; raises OSError if it cannot start."""
    # Files, because the caller would have to drain pipes.
    stdout, stderr = _memory(), _memory()
    try:
        with start_probe_program(recipe, OutputPipes(stdout, stderr)) as started:
            code = _wait(started, deadline_s)
        return ProbeOutput(code, _content(stdout), _content(stderr))
    finally:
        os.close(stdout)
        os.close(stderr)


@contextmanager
def start_probe_program(recipe: Recipe, outputs: OutputPipes) -> Iterator[StartedProgram]:
    """Run a program during the `with` block; its process group is killed at the end."""
    started = start_program(recipe, outputs)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            os.killpg(started.process.pid, signal.SIGKILL)
            started.process.wait()
        started.release()


def _wait(started: StartedProgram, deadline_s: float) -> int | None:
    end = os.pidfd_open(started.process.pid)
    try:
        ready, _, _ = select.select([end], [], [], deadline_s)
    finally:
        os.close(end)
    return started.process.wait() if ready else None


def _memory() -> int:
    return os.memfd_create("handrail-trial", os.MFD_CLOEXEC)


def _content(handle: int) -> bytes:
    return os.pread(handle, _MAX_BYTES, 0)
