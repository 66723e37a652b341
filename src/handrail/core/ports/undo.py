"""Undo and redo: requests, recorded changes, and the protocol that plans them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Protocol

from handrail.core.plan import Plan

# Prefix of the id of a subagent as the target of the scope "since".
AGENT_PREFIX: Final = "agent:"

Scope = Literal["call", "turn", "path", "since"]


class UndoRequest(NamedTuple):
    """What to undo, or to redo.

    `target` depends on the scope. "call": the id of a call. "turn": a number, `session:number`, or the
    id of a call in the turn. "path": a path. "since": `start`, `all`, a time, or the id of a call. For
    calls and turns, `last` is the newest one that is not undone, `SESSION>last` that of a session. `force` overwrites later changes that
    others made.
    """

    scope: Scope = "call"
    target: str = "last"
    force: bool = False


class Requester(NamedTuple):
    """Who requests an undo. The user can undo calls of every session, a model only those of its own."""

    session: str
    is_user: bool = False


class UndoCall(NamedTuple):
    """The call for which a plan is made. An undo of many files is split into parts, each with its own
    call; `continues` is the id of the call of the first part.
    """

    call_id: str = ""
    continues: str | None = None


ALONE: Final = UndoCall()


class UndoableChange(NamedTuple):
    """One change of one file, as a line of the file's history.

    `standing` False: the change was undone. `attributed` False: it happened while the command of the
    call ran, but the command may not have made it. `calls` are the calls that an undo reverted or a redo
    restored.
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
    """Lists changes, and plans how to undo or redo them."""

    async def undo_plan(
        self, wanted: UndoRequest, asker: Requester, turn: UndoCall = ALONE
    ) -> Plan:
        """The plan that undoes the requested changes, all or nothing. If there are very many files, it is
        the plan of a part of them, and `data["rest"]` is the number of files that follow; all of them
        were checked before.

        Raises `not_found`, `conflict` (naming the file) if a file was changed since, `already_applied`
        if the changes are undone already, `ambiguous` if a name has several meanings.
        """

    async def redo_plan(
        self, wanted: UndoRequest, asker: Requester, turn: UndoCall = ALONE
    ) -> Plan:
        """The plan that redoes the requested changes, or a part of them; raises as `undo_plan` does."""

    async def changes(
        self, session: str, *, path: str | None = None, limit: int = 100
    ) -> Sequence[UndoableChange]:
        """The changes of a session, newest first; only those of one file if a path is given."""
