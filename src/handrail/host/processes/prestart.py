"""Keeps a filter program started before it is needed.

One restricted thread starts one process after the other. Each process waits for its input and
serves one request. When the parent ends, in whatever way, the input is closed and the process ends.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.host.processes.spawn import Helper, HelperResult

# Fits into a pipe that is not being read.
_MAX_FEED: Final = 32 << 10
# A caller that was just served continues for a moment; the next process starts after that.
_AFTER_S: Final = 0.002


class _WaitingHelper(NamedTuple):
    helper: Helper
    feed: int
    confined: bool

    def finish(self) -> HelperResult:
        return self.helper.finish(confined=self.confined)


class PrestartedHelper:
    """Keeps one process ready, from the second request on.

    Confined as by `spawn.run_now`. Thread-safe.
    """

    def __init__(self, command: Sequence[str], *, deadline_s: float, max_bytes: int) -> None:
        self._command = tuple(command)
        self._deadline_s = deadline_s
        self._max_bytes = max_bytes
        self._nowhere = os.open(os.sep, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._wanted = threading.Semaphore(0)
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._ready: _WaitingHelper | None = None
        self._asked = False
        self._coming = False

    def run(self, feed: bytes) -> HelperResult | None:
        """The result for this input; None if no process is ready, or the process was lost."""
        if len(feed) > _MAX_FEED or os.getpid() != self._pid:
            return None
        with self._lock:
            ready, self._ready = self._ready, None
            if self._asked and not self._coming:
                self._request_next()
            self._asked = True
        if ready is None:
            return None
        try:
            with os.fdopen(ready.feed, "wb", buffering=0) as pipe:
                pipe.write(feed)
        except OSError:
            ready.helper.kill()
        finished = ready.finish()
        # A process that was killed says nothing about the input.
        return finished if finished.exit_code >= 0 or finished.timed_out or finished.cut else None

    def close(self) -> None:
        """End the waiting process; may be called twice."""
        if self._closing.is_set() or os.getpid() != self._pid:
            return
        self._closing.set()
        self._wanted.release()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            ready, self._ready = self._ready, None
        if ready is not None:
            ready.helper.kill()
            os.close(ready.feed)
            ready.finish()
        os.close(self._nowhere)

    def _request_next(self) -> None:
        if self._thread is None and not self._closing.is_set():
            thread = threading.Thread(
                target=self._serve_requests, name="handrail-spawn", daemon=True
            )
            try:
                thread.start()
            except RuntimeError:
                # No thread available: continue without a waiting process.
                return
            self._thread = thread
        self._coming = True
        self._wanted.release()

    def _serve_requests(self) -> None:
        try:
            confined = self._helper().restrict_thread()
        except OSError:
            # There is no such program; starting it on demand will report that.
            return
        while True:
            self._wanted.acquire()
            if self._closing.wait(_AFTER_S):
                return
            ready = self._start_next(confined=confined)
            with self._lock:
                self._ready, self._coming = ready, False

    def _start_next(self, *, confined: bool) -> _WaitingHelper | None:
        helper = self._helper()
        given, feed = os.pipe2(os.O_CLOEXEC)
        try:
            helper.start(given)
        except OSError:
            # Starting the program on demand will report the reason.
            os.close(feed)
            return None
        finally:
            os.close(given)
        return _WaitingHelper(helper, feed, confined)

    def _helper(self) -> Helper:
        return Helper(
            self._command, self._nowhere, (), self._deadline_s, self._max_bytes, filtered=True
        )
