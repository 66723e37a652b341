"""The full text of an earlier result, named by a handle: `output:<call id>`.

The handle stands where a tool takes a path to read. A file of that name is written with
`./` before it.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from handrail.core.call import ToolCall

OUTPUT_PREFIX: Final = "output:"
# In the `meta` of a result: the id of the call whose output it repeats.
OUTPUT_OF: Final = "output_of"


def output_handle(call_id: str) -> str:
    """The handle of what a call returned."""
    return f"{OUTPUT_PREFIX}{call_id}"


def output_call_id(path: object) -> str | None:
    """The call whose output a path argument names; None if it names a file."""
    if isinstance(path, str) and path.startswith(OUTPUT_PREFIX):
        return path[len(OUTPUT_PREFIX) :]
    return None


class StoredStream(NamedTuple):
    """One stream of a program, complete as far as it was kept."""

    name: str
    text: str


class StoredOutput(NamedTuple):
    """What a call returned. `streams` are those of a command, with its exit code; otherwise
    `text` is all of it.
    """

    call_id: str
    text: str
    streams: tuple[StoredStream, ...] = ()
    exit_code: int | None = None


class Outputs(Protocol):
    """Results of earlier calls of the same session. Reading one is a read of what its call
    has read, under the rules that hold now.
    """

    async def load(self, call_id: str, caller: ToolCall) -> StoredOutput:
        """The full output of a call; raises `not_found` if it is not kept, `denied` if the
        caller may not read it.
        """

    async def check(self, call_id: str, caller: ToolCall) -> None:
        """Raise `denied` if the caller may not read what a call has returned."""

    async def denies(self, call: ToolCall) -> bool:
        """Whether the agent of a call may not read now what the call has returned, in whichever session
        it was made. A call that is not on record is judged by what it says.
        """
