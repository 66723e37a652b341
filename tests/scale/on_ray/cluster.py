"""A Ray cluster of nodes with names of their own, for programs in a network namespace without any
other machine. A node is all processes of its UTS namespace.
"""

import fcntl
import os
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.support.waiting import wait_until

START_S = 90
TRIES = 3
PORT = 6399
RAY = str(Path(sys.executable).with_name("ray"))
_SIOCSIFFLAGS, _IFF_UP_RUNNING = 0x8914, 0x41
_STARTED, _ENDED = "Ray runtime started", "the node has ended"
_OPTIONS = ("--block", "--num-cpus=1", "--disable-usage-stats", "--object-store-memory=80000000")

_PORTS = (
    "dashboard-agent-grpc-port",
    "dashboard-agent-listen-port",
    "runtime-env-agent-port",
    "metrics-export-port",
)


def bring_up_loopback():
    """Refuses to go on where another interface is: nothing may leave this machine."""
    names = {name for _, name in socket.if_nameindex()}
    assert names == {"lo"}, f"not a network namespace of its own: {sorted(names)}"
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _IFF_UP_RUNNING))


class RayCluster:
    """Starts nodes with one core each; the first is the head."""

    def __init__(self, nodes):
        # Names of sockets are short.
        self.directory = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
        os.environ.update(
            RAY_AUTH_MODE="token",
            RAY_AUTH_TOKEN=secrets.token_hex(32),
            RAY_ADDRESS=f"127.0.0.1:{PORT}",
            RAY_health_check_initial_delay_ms="1000",
            RAY_health_check_period_ms="1000",
            RAY_health_check_timeout_ms="4000",
            # A loaded machine starts them slowly.
            RAY_agent_register_timeout_ms=str(1000 * START_S),
            RAY_raylet_start_wait_time_s=str(START_S),
        )
        self._nodes = {}
        head = ("--head", f"--port={PORT}", "--include-dashboard=false")
        self._start(1, *head, f"--temp-dir={self.directory}")
        for number in range(2, nodes + 1):
            self._start(number, f"--address=127.0.0.1:{PORT}")

    def _start(self, number, *options):
        name, log = f"n{number}", Path(self.directory, f"n{number}.log")
        # Ports that are given are not waited for.
        ports = [f"--{port}={PORT + 10 * number + at}" for at, port in enumerate(_PORTS)]
        command = [RAY, "start", *_OPTIONS, *options, *ports]
        # The shell stays, so that the namespace is known until all of it is killed.
        shell = f'hostname {name}; "$@"; echo {_ENDED}; exec sleep 3600'
        named = ["unshare", "--uts", "sh", "-c", shell, "sh", *command]
        for _ in range(TRIES):
            with log.open("wb") as output:
                started = subprocess.Popen(
                    named, stdout=output, stderr=output, stdin=subprocess.DEVNULL
                )
            self._nodes[name] = started
            # Parts of Ray give up early on a loaded machine, and the rest of the node waits for them.
            with suppress(AssertionError):
                wait_until(lambda: _says(log, _STARTED) or _says(log, _ENDED), START_S)
            if _says(log, _STARTED) and not _says(log, _ENDED):
                return
            self.kill_node(name)
        raise AssertionError(f"{name} does not start:\n{log.read_text()}")

    def kill_node(self, name):
        """End all processes of a node at once."""
        started = self._nodes.pop(name)
        place = os.readlink(f"/proc/{started.pid}/ns/uts")
        assert place != os.readlink("/proc/self/ns/uts")
        while pids := _processes(place):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        started.wait(START_S)

    def close(self):
        for name in list(self._nodes):
            self.kill_node(name)
        shutil.rmtree(self.directory, ignore_errors=True)


def _says(log, text):
    return text in log.read_text(errors="replace")


def _processes(place):
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if os.readlink(f"/proc/{entry}/ns/uts") == place and _is_alive(entry):
                found.append(int(entry))
    return found


def _is_alive(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] not in "ZX"
