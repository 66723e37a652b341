"""Handles of the full text of an earlier result: `output:<call id>`.

A handle can be used in place of a path to read. A file of such a name is written with `./` before it.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from handrail.core.call import ToolCall

OUTPUT_PREFIX: Final = "output:"
# The key in the `meta` of a result with the id of the call whose output the result repeats.
OUTPUT_OF: Final = "output_of"


def output_handle(call_id: str) -> str:
    """The handle of the output of a call."""
    return f"{OUTPUT_PREFIX}{call_id}"


def output_call_id(path: object) -> str | None:
    """The id of the call whose output a path argument names; None if it names a file."""
    if isinstance(path, str) and path.startswith(OUTPUT_PREFIX):
        return path[len(OUTPUT_PREFIX) :]
    return None


class StoredStream(NamedTuple):
    """One stream of a program, as much of it as was stored."""

    name: str
    text: str


class StoredOutput(NamedTuple):
    """The output of a call. A command has `streams` and an exit code; for other calls `text` is the
    whole output.
    """

    call_id: str
    text: str
    streams: tuple[StoredStream, ...] = ()
    exit_code: int | None = None


class Outputs(Protocol):
    """The results of earlier calls of the same session. Reading a result counts as reading the files
    that its call has read, under the current rules.
    """

    async def load(self, call_id: str, caller: ToolCall) -> StoredOutput:
        """The full output of a call; raises `not_found` if it was not stored, `denied` if the caller
        may not read it.
        """

    async def check(self, call_id: str, caller: ToolCall) -> None:
        """Raise `denied` if the caller may not read the output of a call."""

    async def denies(self, call: ToolCall) -> bool:
        """Whether the agent that made a call, in any session, may no longer read its output. A call
        that is not in the record is judged by its arguments.
        """
