"""Reads and writes lines of bytes over standard input and output, for servers whose protocol uses
them.

While a server runs, descriptors 0 and 1 are replaced: output of libraries goes to standard error,
and child processes read an empty standard input.
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Final, Protocol

_CHUNK: Final = 256 * 1024


class Pipe(Protocol):
    """A byte stream to and from the client."""

    async def read(self) -> bytes:
        """Read some bytes; b"" at the end of the stream."""

    async def write(self, data: bytes) -> None:
        """Write all bytes; raises OSError if the client has disconnected."""


async def open_stdio() -> Pipe:
    """Take over standard input and output."""
    source, sink = _redirect_standard(0, os.O_RDONLY), _redirect_standard(1, os.O_WRONLY)
    return await _pipe(source, sink)


async def read_lines(pipe: Pipe, limit: int) -> AsyncIterator[bytes | None]:
    """Yield the lines that arrive, without blank ones. A line of more than `limit` bytes is
    discarded, and None is yielded in its place.
    """
    kept = bytearray()
    skipping = False
    while data := await pipe.read():
        *ended, rest = data.split(b"\n")
        for part in ended:
            line = bytes(kept) + part
            kept.clear()
            if skipping or len(line) > limit:
                skipping = False
                yield None
            elif line.strip():
                yield line
        if not skipping:
            kept += rest
        if len(kept) > limit:
            kept.clear()
            skipping = True


def _redirect_standard(descriptor: int, flags: int) -> int:
    """Duplicate a standard descriptor and redirect the original."""
    own = os.dup(descriptor)
    os.set_inheritable(own, False)
    if flags == os.O_WRONLY:
        os.dup2(2, descriptor)
    else:
        nothing = os.open(os.devnull, flags)
        os.dup2(nothing, descriptor)
        os.close(nothing)
    return own


async def _pipe(source: int, sink: int) -> Pipe:
    if all(_is_pipe(one) for one in (source, sink)):
        return await _LoopPipe.open(source, sink)
    return _ThreadPipe(source, sink)


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class _LoopPipe:
    """A pipe or socket that the event loop can poll."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, source: int, sink: int) -> _LoopPipe:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_CHUNK)
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", buffering=0)
        )
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(sink, "wb", buffering=0)
        )
        return cls(reader, asyncio.StreamWriter(transport, protocol, None, loop))

    async def read(self) -> bytes:
        return await self._reader.read(_CHUNK)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


class _ThreadPipe:
    """A terminal or file, read in a thread: O_NONBLOCK would affect other processes."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink

    async def read(self) -> bytes:
        data: bytes = await _in_thread(os.read, self._source, _CHUNK)
        return data

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[await _in_thread(os.write, self._sink, rest) :]


async def _in_thread(work: Callable[..., Any], *args: Any) -> Any:
    """Run blocking work in a thread that does not keep the process alive: a read from a terminal
    may never return.
    """
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = work(*args)
        except OSError as raised:
            error = raised
        # The event loop may be closed by now; then nothing waits for the result.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="handrail-stdio", daemon=True).start()
    return await future
