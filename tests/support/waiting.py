"""Bounded waits for threads, processes and conditions; a test uses no others."""

import time
from contextlib import contextmanager, suppress

import anyio

LIMIT_S = 30.0
PAUSE_S = 0.002


def wait_until(condition, limit_s=LIMIT_S):
    """Poll until `condition()` is true and return its value; fail after `limit_s` seconds."""
    end = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {limit_s} s: {condition}"
        time.sleep(PAUSE_S)
    return value


async def wait_until_async(condition, limit_s=LIMIT_S):
    """As `wait_until`, without blocking the event loop."""
    end = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {limit_s} s: {condition}"
        await anyio.sleep(PAUSE_S)
    return value


def join_threads(*threads, limit_s=LIMIT_S):
    """Wait for threads to end; fail if one is still running after `limit_s` seconds."""
    for thread in threads:
        thread.join(limit_s)
        assert not thread.is_alive(), f"still running after {limit_s} s: {thread}"


def wait_exit(process, limit_s=LIMIT_S):
    """The exit code of a process that ends by itself or was killed; kills it at the limit."""
    try:
        return process.wait(limit_s)
    except BaseException:
        process.kill()
        raise


@contextmanager
def running(process):
    """Yield a started process; on the way out kill it if it still runs, and close its pipes.

    Unlike `with subprocess.Popen(...)`, a failure inside does not wait for a process that
    never ends.
    """
    try:
        yield process
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        process.wait(LIMIT_S)
