"""Starts programs that write or connect and therefore cannot be confined as `spawn` does: git for
the sources of workspaces, and the worker processes of a fleet. A model names none of them.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, Final, NamedTuple

_MAX_STDERR: Final = 4096
# A line of a worker process is a result without its patches.
_MAX_LINE: Final = 16 << 20
_BLOCK: Final = 512
# Limits the files of a program, and ends it with all that it started when the pipe closes that
# only this process holds open: a program that waits for a server would outlive a killed process.
_LIMITED: Final = """\
ulimit -f "$0" || exit
{ read _ < "/dev/fd/$1"; kill -9 0; } > /dev/null 2>&1 &
shift
"$@"
code=$?
{ kill -9 $!; wait $!; } 2> /dev/null
exit $code"""


class ProgramStream(NamedTuple):
    """A running program whose output is read as it arrives."""

    output: IO[bytes]
    process: subprocess.Popen[bytes]


@contextmanager
def stream_program(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    feed: IO[bytes] | None,
    deadline_s: float,
    max_file_bytes: int,
) -> Iterator[ProgramStream]:
    """Run a program while the block reads its output; `feed` is an open file with its input.

    When the block ends, raises OSError if the program failed, took too long or was not read to its
    end. No file that it writes gets larger than `max_file_bytes`. No process is left.
    """
    blocks = max(max_file_bytes // _BLOCK, 1)
    watched, alive = os.pipe()
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _LIMITED, str(blocks), str(watched), *command],
            stdin=subprocess.DEVNULL if feed is None else feed,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environ),
            process_group=0,
            pass_fds=(watched,),
        )
    except BaseException:
        os.close(alive)
        raise
    finally:
        os.close(watched)
    if process.stdout is None or process.stderr is None:
        raise RuntimeError("a program was started without its pipes")
    tail = bytearray()
    reader = threading.Thread(target=_collect, args=(process.stderr, tail), daemon=True)
    reader.start()
    timer = threading.Timer(deadline_s, _kill, (process,))
    timer.start()
    try:
        yield ProgramStream(process.stdout, process)
        # A program whose output was not read completely must not wait for a reader.
        process.stdout.close()
        code = process.wait()
    finally:
        timer.cancel()
        _kill(process)
        process.wait()
        os.close(alive)
        reader.join()
        process.stdout.close()
        process.stderr.close()
    if code != 0:
        text = tail.decode("utf-8", "replace").strip()
        raise OSError(f"{text or 'it was ended'} (exit code {code})")


def run_program(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    deadline_s: float,
    max_bytes: int,
    max_file_bytes: int,
    feed: IO[bytes] | None = None,
) -> bytes:
    """The output of a program; see `stream_program`. Raises OSError, also for too much output."""
    with stream_program(
        command,
        environ=environ,
        feed=feed,
        deadline_s=deadline_s,
        max_file_bytes=max_file_bytes,
    ) as running:
        output = running.output.read(max_bytes + 1)
        if len(output) > max_bytes:
            raise OSError(f"it printed more than {max_bytes:,} bytes")
    return output


class WorkerPipes(NamedTuple):
    """A worker process and this side's ends of its pipes; the caller waits for the process."""

    process: subprocess.Popen[bytes]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def end(self, patience_s: float) -> None:
        """Close the input of the process; kill it if it has not ended within the patience. Returns
        once the process has ended.
        """
        self.writer.close()
        try:
            await asyncio.to_thread(self.process.wait, patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            await asyncio.to_thread(self.process.wait)


async def start_module(module: str, *, log: int, handed: Sequence[int]) -> WorkerPipes:
    """Start one of Handrail's Python modules with this program's rights and environment. Its input
    and output are pipes, `log` gets its standard error, and the open handles `handed` keep their
    numbers. Raises OSError.
    """
    process = _start_module(module, log, handed)
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=_MAX_LINE)
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, process.stdout)
    transport, flow = await loop.connect_write_pipe(
        lambda: asyncio.streams.FlowControlMixin(loop), process.stdin
    )
    return WorkerPipes(process, reader, asyncio.StreamWriter(transport, flow, None, loop))


def _start_module(module: str, log: int, handed: Sequence[int]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        bufsize=0,
        pass_fds=tuple(handed),
        # Ctrl-C at a terminal is for the program that started this process.
        process_group=0,
    )


def _collect(pipe: IO[bytes], tail: bytearray) -> None:
    while chunk := pipe.read(_MAX_STDERR):
        tail += chunk
        del tail[:-_MAX_STDERR]


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
