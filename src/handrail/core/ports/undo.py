"""What was changed and can be undone, as values and a protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Protocol

from handrail.core.plan import Plan

# Before the id of a subagent, as the target of the scope "since".
AGENT_PREFIX: Final = "agent:"

Scope = Literal["call", "turn", "path", "since"]


class UndoRequest(NamedTuple):
    """What to undo, or to redo.

    `target` by scope: the id of a call; a turn (its number, `session:number`, or the id of a
    call in it); a path; since when (`start`, `all`, a time, or the id of a call). For calls
    and turns `last` is the newest that still stands. `force` overwrites what others wrote.
    """

    scope: Scope = "call"
    target: str = "last"
    force: bool = False


class Requester(NamedTuple):
    """Who wants it: the session they are in, and whether they are the user, who reaches
    the calls of every session. A model reaches those of its own.
    """

    session: str
    is_user: bool = False


class UndoCall(NamedTuple):
    """The call that a plan is made for. An undo of many files is carried out in parts, each a
    call of its own: `continues` is the id of the call that carried out the first part.
    """

    call_id: str = ""
    continues: str | None = None


ALONE: Final = UndoCall()


class UndoableChange(NamedTuple):
    """One change of one file, as a line of its history.

    `standing` False: it was undone since. `attributed` False: it happened while the
    call's command ran, and is not known to be its doing. `calls` are those that an undo took
    back, or a redo brought back.
    """

    path: str
    operation: str
    session: str
    turn: int
    call_id: str
    tool: str
    at_ns: int
    standing: bool
    attributed: bool
    before_hash: str | None
    after_hash: str | None
    calls: tuple[str, ...] = ()


class UndoService(Protocol):
    """What was changed, and the plan that takes it back."""

    async def undo_plan(
        self, wanted: UndoRequest, asker: Requester, turn: UndoCall = ALONE
    ) -> Plan:
        """One plan that takes all of it back, or nothing. Where there are very many files it is
        the plan of a part of them, and its `data["rest"]` says how many follow; all of them
        were looked at before.

        Raises `not_found`, `conflict` (naming the file) if somebody changed it since,
        `already_applied` if it is undone already, `ambiguous` if a name has several
        meanings.
        """

    async def redo_plan(
        self, wanted: UndoRequest, asker: Requester, turn: UndoCall = ALONE
    ) -> Plan:
        """One plan that redoes what was undone, or a part of it; raises likewise."""

    async def changes(
        self, session: str, *, path: str | None = None, limit: int = 100
    ) -> Sequence[UndoableChange]:
        """What a session changed, the newest first; of one file if a path is given."""
