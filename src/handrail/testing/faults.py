"""A disk that fails at a chosen moment, beneath chosen directories.

It fails what this process requests through `os`, `pathlib` and Handrail's own calls, in every
thread; not what other processes do, nor SQLite, which makes its own system calls.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

from handrail.testing._oscalls import OsCall, exchanged

# A write that writes only half of its data, as the system may do at any time.
SHORT: Final = "short"
Failure = int | Literal["short"]
Beneath = str | Path | Sequence[str | Path]
# What a full disk refuses; other errors may come from any call.
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class Fault:
    """Fails the call of one number; use it with `with`, once, from one thread at a time.

    `calls` are the calls that counted, as text; `reached` says whether that number was reached.
    """

    def __init__(self, beneath: Beneath, failure: Failure, call: int, *, lasting: bool) -> None:
        given = [beneath] if isinstance(beneath, str | Path) else beneath
        self._tops = [os.path.realpath(one) for one in given]
        self._failure = failure
        self._lasting = lasting
        self._lock = threading.Lock()
        self._inside: AbstractContextManager[None] | None = None
        self.call = call
        self.calls: list[str] = []
        self.reached = False

    def __enter__(self) -> Self:
        self._inside = exchanged(self._meet)
        self._inside.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        inside, self._inside = self._inside, None
        if inside is not None:
            inside.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        name = self._failure if self._failure == SHORT else errno.errorcode[self._failure]
        what = self.calls[self.call - 1] if len(self.calls) >= self.call else "not reached"
        return f"<{name} at call {self.call}: {what}>"

    def _meet(self, call: OsCall, make: Callable[[], Any], cut: Callable[[int], int]) -> Any:
        if not self._counts(call) or not self._strikes(call):
            return make()
        if self._failure == SHORT:
            return cut(call.size // 2)
        raise OSError(self._failure, os.strerror(self._failure), call.paths[-1])

    def _counts(self, call: OsCall) -> bool:
        if not any(_lies_in(path, top) for path in call.paths for top in self._tops):
            return False
        if self._failure == SHORT:
            return call.size > 1
        return call.changes or self._failure not in _FULL

    def _strikes(self, call: OsCall) -> bool:
        with self._lock:
            self.calls.append(f"{call.name} {' '.join(call.paths)}")
            number = len(self.calls)
            strikes = number == self.call or (self._lasting and number > self.call)
            self.reached = self.reached or strikes
            return strikes


@contextmanager
def failing(
    beneath: Beneath, failure: Failure = errno.ENOSPC, *, call: int = 1, lasting: bool = False
) -> Iterator[Fault]:
    """Fail the call of this number with an error of the system (`errno.ENOSPC`, …) or `SHORT`.

    Only calls on files beneath the directories are counted, and of those only calls that can fail
    so: a full disk fails what changes something, `SHORT` what writes at least two bytes, any other
    error every call. With `lasting`, all later calls fail as well.
    """
    with Fault(beneath, failure, call, lasting=lasting) as fault:
        yield fault


def each_call(
    beneath: Beneath, failure: Failure = errno.ENOSPC, *, lasting: bool = False
) -> Iterator[Fault]:
    """Yield a fault for every call that a piece of code makes: the first, the second, … Ends after
    a fault that was not reached. Run the same code from the same initial state inside each of them.
    """
    number = 0
    while True:
        number += 1
        fault = Fault(beneath, failure, number, lasting=lasting)
        yield fault
        if not fault.reached:
            return


def _lies_in(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top.rstrip('/')}/")
