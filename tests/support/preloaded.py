"""Starts `handrail` in copies of a process that has loaded it: imports, above all that of the MCP SDK,
are most of what a short command takes. For tests whose subject is not how the program starts.
"""

import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios

LIMIT_S = 30
LARGEST_REQUEST = 1 << 17
MODULES = (
    "handrail.cli.main",
    "handrail.cli.runner",
    "handrail.cli.commands.setup.mcp",
    "handrail.cli.commands.setup.serve",
    "handrail.assembly.runtime_opener",
    "handrail.assembly.extras.server_http",
    "handrail.mcp.client.oauth",
    "handrail.mcp.server.http",
    "handrail.mcp.server.tool_server",
)


class PreloadedProcess:
    """A command that runs; its exit code arrives through a pipe."""

    def __init__(self, answers):
        self._answers = answers
        self._code = None
        self.pid = self._read(LIMIT_S)
        assert self.pid is not None

    def poll(self):
        """The exit code, None while the command runs."""
        if self._code is None:
            self._code = self._read(0)
        return self._code

    def wait(self, timeout):
        if self._code is None:
            self._code = self._read(timeout)
            assert self._code is not None, f"the command still runs after {timeout} s"
        return self._code

    def terminate(self):
        self.kill(signal.SIGTERM)

    def kill(self, number=signal.SIGKILL):
        if self.poll() is None:
            os.kill(self.pid, number)

    def close(self):
        self.kill()
        self.wait(LIMIT_S)
        self._answers.close()

    def _read(self, timeout):
        # The pipe has one line at a time: the process id, then the exit code.
        ready, _, _ = select.select([self._answers], [], [], timeout)
        return int(self._answers.readline()) if ready else None


class PreloadedProgram:
    """The process that has everything loaded."""

    def __init__(self):
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def start(self, words, streams, *, in_terminal=False, **environment):
        """Run a command in the current directory; `streams` are its first three descriptors."""
        request = {
            "words": list(map(str, words)),
            "cwd": os.getcwd(),
            "environment": {**os.environ, **environment},
            "in_terminal": in_terminal,
        }
        ours, theirs = os.pipe()
        try:
            data = json.dumps(request).encode()
            assert len(data) < LARGEST_REQUEST
            socket.send_fds(self._requests, [data], [*streams, theirs])
        finally:
            os.close(theirs)
        return PreloadedProcess(os.fdopen(ours, "rb", buffering=0))

    def close(self):
        self._requests.close()
        self._process.wait(LIMIT_S)


def serve(requests):
    """Answer each request with two processes: the command, and one that waits for its end."""
    for name in MODULES:
        importlib.import_module(name)
    gc.freeze()
    running = set()
    while True:
        data, descriptors, _, _ = socket.recv_fds(requests, LARGEST_REQUEST, 4)
        if not data:
            return
        running -= {one for one in running if os.waitpid(one, os.WNOHANG)[0]}
        if waiter := os.fork():
            running.add(waiter)
        else:
            requests.close()
            *streams, answers = descriptors
            if command := os.fork():
                _report_exit(command, streams, answers)
            os.close(answers)
            _become_command(streams, **json.loads(data))
        for one in descriptors:
            os.close(one)


def _report_exit(command, streams, answers):
    try:
        for one in streams:
            os.close(one)
        os.write(answers, b"%d\n" % command)
        _, status = os.waitpid(command, 0)
        os.write(answers, b"%d\n" % os.waitstatus_to_exitcode(status))
    finally:
        os._exit(0)


def _become_command(streams, words, cwd, environment, in_terminal):
    if in_terminal:
        os.setsid()
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    for number, one in enumerate(streams):
        os.dup2(one, number)
    for one in set(streams) - {0, 1, 2}:
        os.close(one)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        new = open(number, old.mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["handrail", *words]
    sys.exit(sys.modules["handrail.cli.main"].main())


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
