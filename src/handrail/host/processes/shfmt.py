"""Parses commands with shfmt, which can access only its input; implements `ShellParser`.

If the program is missing or does not answer, no command can be parsed.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from handrail.core.commands import UnreadableCommand
from handrail.host.processes import spawn
from handrail.host.processes.prestart import PrestartedHelper

_OPTIONS: Final = ("--to-json", "-ln", "bash")
_DEADLINE_S: Final = 2.0
# The tree of 64 kB of commands is about 20 MB; a larger one is treated as an attack.
_MAX_BYTES: Final = 64 << 20
_CACHED: Final = 512
# The number of characters in all cached commands; the tree of one character takes about a kilobyte.
_CACHED_TEXT: Final = 32_768


class Shfmt:
    """One shfmt program; there is none if `binary` is None. Thread-safe.

    With `ahead` a process is kept ready for the next command; then `close` must be called.
    """

    def __init__(self, binary: str | None, *, ahead: bool = False) -> None:
        self._binary = binary
        self._ahead: PrestartedHelper | None = None
        if ahead and binary is not None:
            self._ahead = PrestartedHelper(
                [binary, *_OPTIONS], deadline_s=_DEADLINE_S, max_bytes=_MAX_BYTES
            )
        self._cache: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._letters = 0
        self._lock = threading.Lock()

    def parse(self, command: str) -> Mapping[str, Any]:
        """Return shfmt's JSON tree, which is shared and read-only; raises `UnreadableCommand`."""
        with self._lock:
            known = self._cache.get(command)
            if known is not None:
                self._cache.move_to_end(command)
                return known
        tree = self._ask(command)
        self._keep(command, tree)
        return tree

    def close(self) -> None:
        """End the waiting process, if there is one."""
        if self._ahead is not None:
            self._ahead.close()

    def _keep(self, command: str, tree: Mapping[str, Any]) -> None:
        with self._lock:
            if command not in self._cache:
                self._cache[command] = tree
                self._letters += len(command)
            while len(self._cache) > _CACHED or self._letters > _CACHED_TEXT:
                oldest, _ = self._cache.popitem(last=False)
                self._letters -= len(oldest)

    def _ask(self, command: str) -> Mapping[str, Any]:
        if self._binary is None:
            raise UnreadableCommand(
                "there is no shfmt program to parse it with: install shfmt-py, or see `handrail doctor`"
            )
        try:
            # An empty input would not be written to the program at all.
            feed = command.encode() or b"\n"
            done = self._ahead.run(feed) if self._ahead is not None else None
            if done is None:
                done = spawn.run_now(
                    [self._binary, *_OPTIONS],
                    feed=feed,
                    deadline_s=_DEADLINE_S,
                    max_bytes=_MAX_BYTES,
                )
        except (OSError, UnicodeEncodeError) as error:
            raise UnreadableCommand(f"shfmt could not read it: {error}") from error
        if done.timed_out or done.cut:
            raise UnreadableCommand("it is too large or too deep for shfmt")
        if done.exit_code:
            raise UnreadableCommand(f"it is no valid command: {_first_line(done.stderr)}")
        return _tree(done.stdout)


def _tree(answer: bytes) -> Mapping[str, Any]:
    try:
        tree = json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise UnreadableCommand("it is too deep to be read") from error
    if not isinstance(tree, dict):
        raise UnreadableCommand("shfmt gave no tree")
    return tree


def _first_line(answer: bytes) -> str:
    lines = answer.decode("utf-8", "replace").splitlines()
    return lines[0][:200] if lines else "shfmt refused it"
