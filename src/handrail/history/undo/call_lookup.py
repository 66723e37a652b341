"""Finds calls and turns by the names that users and models give them.

An id is unique only in its session, and the number of a turn only in one process: an ambiguous name is
refused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, NamedTuple

from handrail.core.call import call_owner
from handrail.core.names.caller_words import tool_name
from handrail.core.ports.records import Store, Trace
from handrail.core.ports.undo import Requester
from handrail.core.problems import ProblemRaised
from handrail.core.text.listing import first_few
from handrail.history.undo.recorded_changes import (
    FileChange,
    UndoState,
    call_label,
    is_job,
    is_undo,
    may_have_changed,
    turn_key,
)
from handrail.history.workspace_match import WorkspaceFolders, WorkspaceMatch

_FIRST_PAGE: Final = 8
_PAGE: Final = 200
# The most described changes of one page in memory.
_PAGE_CHANGES: Final = 5_000
_LISTED: Final = 8


def next_page_size(page: Sequence[Trace], size: int) -> int:
    """How many calls to load next: more if the last ones changed few files."""
    changes = sum(_count_changes(trace) for trace in page)
    return min(2 * size, _PAGE) if changes <= _PAGE_CHANGES // 2 else max(size // 2, 1)


def _count_changes(trace: Trace) -> int:
    effects = (trace.completed or {}).get("effects")
    found = effects.get("changes") if isinstance(effects, Mapping) else None
    return len(trace.intent.get("changes") or ()) + len(found or ())


class TraceState(NamedTuple):
    """A trace, and which of its changes are not undone."""

    trace: Trace
    steps: list[FileChange]
    standing: UndoState

    @property
    def sure(self) -> list[FileChange]:
        """The changes that are known to be the call's and are not undone."""
        return [step for step in self.steps if step.attributed]


class CallLookup:
    """Looks through the record of a store for one requester."""

    def __init__(self, store: Store, folders: WorkspaceFolders, asker: Requester) -> None:
        self.store = store
        self.folders = folders
        self.asker = asker
        # Calls that were found and could have been meant, but whose record was purged.
        self._dropped: set[int] = set()

    async def scan(self) -> AsyncIterator[TraceState]:
        """Yield every call that announced a change, newest first."""
        standing, before, size = UndoState(), None, _FIRST_PAGE
        while page := await self.store.traces(before=before, limit=size):
            before, size = page[-1].row, next_page_size(page, size)
            page.reverse()
            while page:
                # Removed from the page to free its memory: some calls changed very many files.
                trace = page.pop()
                if trace.intent.get("purged") and self.implied(trace):
                    self._dropped.add(trace.row)
                yield TraceState(trace, standing.meet(trace), standing)

    def dropped(self) -> list[str]:
        """A note about calls that were found and whose record was purged; empty if there are none."""
        count = len(self._dropped)
        if not count:
            return []
        calls = "1 call" if count == 1 else f"{count:,} calls"
        return [
            f"the record of {calls} that ran or changed something was deleted, by `handrail gc` or with "
            "a session"
        ]

    def reaches(self, trace: Trace) -> bool:
        """Whether the requester may undo this call."""
        return self.asker.is_user or trace.session == self.asker.session

    def where(self, trace: Trace) -> WorkspaceMatch:
        """Whether the call was made in this workspace."""
        return self.folders.where(trace.session, trace.at_ns)

    def implied(self, trace: Trace) -> bool:
        """Whether a call can be meant without being named: it is not an undo, and was made in this
        workspace.
        """
        return (
            self.reaches(trace) and not is_undo(trace) and self.where(trace) is WorkspaceMatch.HERE
        )

    async def call(self, name: str) -> Trace:
        """The call with this id, or `session:id`. Raises `not_found`, `ambiguous`."""
        trace = await self.call_if_known(name)
        if trace is None:
            raise await self._unknown(name)
        return trace

    async def call_if_known(self, name: str) -> Trace | None:
        """The call of `call`, None if there is no such call. Raises `ambiguous`."""
        found = list(await self.store.traces(call_id=name))
        # The session or the id may contain colons itself.
        splits = {name.partition(":"), name.rpartition(":")}
        for session, colon, rest in splits:
            if colon:
                found += await self.store.traces(session=session, call_id=rest)
        found = [one for one in found if self.reaches(one)]
        if not found:
            return None
        found = [one for one in found if one.session == self.asker.session] or found
        if len({(one.session, one.call_id) for one in found}) > 1:
            names = [f"{one.session}:{one.call_id}" for one in found]
            raise ProblemRaised(
                "ambiguous",
                f"calls of several sessions have the id {name!r}",
                hint=f"name one of them as {first_few(names, _LISTED)}",
                field="target",
            )
        return self._checked(found[0])

    async def turn(self, name: str) -> Trace:
        """A call of the turn with this number, `session:number` or id of a call. Raises `not_found`,
        `ambiguous`.
        """
        session, colon, number = name.rpartition(":")
        if not number.isdecimal() or len(number) > _LONGEST_NUMBER:
            return await self.call(name)
        only = session if colon else None if self.asker.is_user else self.asker.session
        found = await self.store.traces(session=only, turn=int(number))
        if colon and self.asker.is_user:
            # The id of a conversation: the ids of its calls begin with it, in any session.
            every = await self.store.traces(turn=int(number))
            owner = call_owner(session)
            found += [one for one in every if one.call_id.startswith(f"{owner}.")]
        groups = {
            turn_key(one): one
            for one in found
            if self.reaches(one) and not is_undo(one) and not is_job(one) and may_have_changed(one)
        }
        if not groups:
            raise ProblemRaised(
                "not_found",
                f"no turn {name!r} that changed a file is on record here",
                hint=await self._turns(),
                field="target",
            )
        if len(groups) > 1:
            listed = [f"{one.session}:{number} (with {one.call_id})" for one in groups.values()]
            raise ProblemRaised(
                "ambiguous",
                f"there are several turns {name!r}: {first_few(listed, _LISTED)}",
                hint="name one as session:number, or by the id of a call in it",
                field="target",
            )
        return self._checked(next(iter(groups.values())))

    async def turn_of(self, trace: Trace) -> list[Trace]:
        """All calls of the turn that a call belongs to."""
        found = await self.store.traces(session=trace.session, turn=trace.turn)
        return [one for one in found if turn_key(one) == turn_key(trace)]

    def _checked(self, trace: Trace) -> Trace:
        if self.where(trace) is not WorkspaceMatch.ELSEWHERE:
            return trace
        path = self.folders.folder(trace.session, trace.at_ns).path
        raise ProblemRaised(
            "not_found",
            f"{call_label(trace)} was made in another workspace, {path!r}",
            hint="open that workspace to take it back",
        )

    async def _turns(self) -> str:
        turns: dict[str, None] = {}
        async for seen in self.scan():
            if seen.sure and self.implied(seen.trace) and not is_job(seen.trace):
                turns[f"{seen.trace.session}:{seen.trace.turn}"] = None
            if len(turns) == _LISTED:
                break
        known = f"turns that changed files: {', '.join(turns)}"
        if not turns:
            known = "no turn that changed a file can still be undone"
        return known + ("; `handrail log` lists all turns" if self.asker.is_user else "")

    async def _unknown(self, name: str) -> ProblemRaised:
        calls: list[str] = []
        paths: set[str] = set()
        async for seen in self.scan():
            if seen.sure and self.implied(seen.trace):
                calls.append(f"{seen.trace.call_id} ({tool_name(seen.sure[0].tool)})")
                paths.update(step.path for step in seen.sure)
            if len(calls) == _LISTED:
                break
        hint = f"calls that changed files: {', '.join(calls)}"
        if not calls:
            hint = "no call that changed a file can still be undone"
        if self.asker.is_user:
            hint += "; `handrail log` lists all calls"
        if name in paths:
            hint = f"{name!r} is a file: name it as a path (scope 'path')"
        return ProblemRaised(
            "not_found",
            f"no call {name!r} that changed a file is on record here",
            hint=hint,
            field="target",
        )


_LONGEST_NUMBER: Final = 15
