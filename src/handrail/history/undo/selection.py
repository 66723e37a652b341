"""Selects the changes to undo: by call, turn, file or time, among those that are not undone."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from handrail.core.call import call_owner, is_owned
from handrail.core.names.caches import is_cache
from handrail.core.ports.records import Trace
from handrail.core.ports.undo import AGENT_PREFIX
from handrail.core.problems import ProblemRaised
from handrail.history.undo.call_lookup import CallLookup, TraceState
from handrail.history.undo.recorded_changes import (
    FileChange,
    call_key,
    call_label,
    file_changes,
    is_job,
    is_undo,
    turn_key,
    undo_limits,
    why_not_undoable,
)
from handrail.history.workspace_match import WorkspaceMatch

_AGO: Final = re.compile(r"(\d{1,6})\s*(s|m|h|d)(?:\s+ago)?")
_CLOCK: Final = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_time(text: str, now_ns: int) -> int | None:
    """Parse a time to nanoseconds since the epoch: `2026-03-01`, `2026-03-01T14:30`, `14:30` (today),
    `20m` (ago); in the time zone of this machine unless it has one. None if the text is not a time.
    """
    now = datetime.fromtimestamp(now_ns / 1e9).astimezone()
    try:
        moment = _moment(text.strip(), now).astimezone()
        return int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1000
    except (ValueError, OverflowError):
        return None


def _moment(given: str, now: datetime) -> datetime:
    ago = _AGO.fullmatch(given)
    if ago is not None:
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    if _CLOCK.fullmatch(given):
        given = f"{now.date().isoformat()}T{given.zfill(8 if given.count(':') > 1 else 5)}"
    return datetime.fromisoformat(given)


# Rows are in the order in which they were written, and the clocks of processes differ a little.
_SLACK_NS: Final = 60_000_000_000


@dataclass(slots=True)
class Selection:
    """The changes to undo, newest first. `what` describes the selection; `notes` are about what was left
    out. `whole`: undo all or nothing, if an old content is not stored. `only` is the file, if only one of
    several files of a call is meant. `run` is an unfinished undo in parts of the same calls.
    """

    steps: list[FileChange] = field(default_factory=list)
    what: str = ""
    notes: list[str] = field(default_factory=list)
    whole: bool = False
    only: str | None = None
    run: str | None = None


class Newest(NamedTuple):
    """The newest call or turn that is not undone, of one session if `session` is given."""

    session: str | None

    @classmethod
    def parse(cls, target: str) -> Newest | None:
        """Read `last` or `SESSION>last`; None if the target names something else."""
        session, _, name = target.rpartition(">")
        return cls(session or None) if name == "last" else None

    def includes(self, trace: Trace) -> bool:
        """Whether a call may be the newest one."""
        return self.session is None or _is_in_session(trace, self.session)


class UndoSelector:
    """Selects what is undone."""

    def __init__(self, lookup: CallLookup, now_ns: int) -> None:
        self._lookup = lookup
        self._now_ns = now_ns

    async def newest_calls(self, newest: Newest) -> AsyncIterator[Selection]:
        """Yield one selection for each call, newest first, with notes about calls that were left out. A
        call that changed only files in caches comes after all others.
        """
        notes: list[str] = []
        in_caches: Selection | None = None
        async for seen in self._lookup.scan():
            if not self._lookup.implied(seen.trace) or not newest.includes(seen.trace):
                continue
            if seen.sure:
                what = call_label(seen.trace)
                run = seen.standing.unfinished_run(call_key(seen.trace))
                notes_here = [*notes, *self._notes(seen)]
                found = Selection(seen.sure, what, notes_here, whole=True, run=run)
                if any(not is_cache(step.path) for step in found.steps):
                    yield found
                else:
                    in_caches = in_caches or found
            else:
                notes += self._notes(seen)
        if in_caches is not None:
            yield in_caches

    async def call(self, name: str) -> Selection:
        """The changes of one call that are not undone; raises `not_found`, `already_applied`."""
        trace = await self._lookup.call(name)
        chosen = await self._collect(lambda one: one.row == trace.row, trace.row)
        chosen.what, chosen.whole = call_label(trace), True
        if not chosen.steps:
            raise _nothing_left(trace)
        return chosen

    async def newest_turns(self, newest: Newest) -> AsyncIterator[Selection]:
        """Yield one selection for each turn, newest first."""
        met: set[tuple[str, str, int]] = set()
        notes: list[str] = []
        while (trace := await self._newest(newest, met)) is not None:
            met.add(turn_key(trace))
            chosen = await self._turn_of(trace)
            notes += chosen.notes
            if chosen.steps:
                chosen.notes = list(notes)
                yield chosen

    async def turn(self, name: str) -> Selection:
        """One turn; raises `not_found`, `ambiguous`, `already_applied`."""
        trace = await self._lookup.turn(name)
        # Before the changes are collected: a call that ends in between then has changes to undo.
        ended = all(one.completed is not None for one in await self._lookup.turn_of(trace))
        chosen = await self._turn_of(trace)
        if chosen.steps:
            return chosen
        if not ended:
            raise ProblemRaised("not_found", f"{chosen.what} has not ended yet")
        why = "; ".join(chosen.notes) or "all of it is undone already"
        raise ProblemRaised("already_applied", f"{chosen.what}: {why}")

    async def file(self, paths: Sequence[str]) -> AsyncIterator[Selection]:
        """Yield one selection for each change of one file, newest first. Includes changes that happened
        while a command ran and are not attributed to it, because the file is named.
        """
        known: dict[str, None] = {}
        async for seen in self._lookup.scan():
            trace = seen.trace
            if is_undo(trace) or not self._lookup.reaches(trace):
                continue
            if self._lookup.where(trace) is WorkspaceMatch.ELSEWHERE:
                continue
            for step in seen.steps:
                known[step.path] = None
                if step.path in paths:
                    only = step.path if len(file_changes(trace)) > 1 else None
                    notes = self._folder_notes(trace)
                    yield Selection([step], call_label(trace), notes, whole=True, only=only)
        if known.keys().isdisjoint(paths):
            listed = ", ".join(repr(one) for one in list(known)[:8]) or "none"
            said = f"no change of {paths[-1]!r} that still stands is on record here"
            raise ProblemRaised(
                "not_found",
                "; ".join([said, *self._lookup.dropped()]),
                hint=f"files with such changes: {listed}",
                field="target",
            )

    async def since(self, when: str) -> Selection:
        """All changes since a point; raises `not_found`, `invalid_arguments`. `OWNER>TURN` means the calls
        of a conversation after a turn (see `call_owner`), `SESSION>WHEN` those of a session since a point,
        `agent:ID` those of a subagent and its subagents.
        """
        owner, later, turn = when.rpartition(">")
        agent = when.removeprefix(AGENT_PREFIX) if when.startswith(AGENT_PREFIX) else None
        session = owner if later and not turn.isdigit() else None
        if session is not None:
            row, at_ns, what = await self._point(turn, session)
        elif later or agent is not None:
            row, at_ns, what = 0, 0, f"after turn {turn}" if agent is None else f"of agent {agent}"
        else:
            row, at_ns, what = await self._point(when)

        def keep(trace: Trace) -> bool:
            if agent is not None and not _belongs_to(trace.call_id, agent):
                return False
            if session is not None and not _is_in_session(trace, session):
                return False
            if later and session is None and not is_owned(trace.call_id, owner, int(turn)):
                return False
            return self._lookup.implied(trace) and trace.row >= row and trace.at_ns >= at_ns

        chosen = await self._collect(keep, row, at_ns - _SLACK_NS)
        chosen.what = what
        if not chosen.steps:
            notes = [*chosen.notes, *self._lookup.dropped()]
            why = f" ({'; '.join(notes)})" if notes else ""
            raise ProblemRaised(
                "not_found", f"nothing can be undone: {what}{why}", hint=self._further(when)
            )
        return chosen

    def _further(self, when: str) -> str | None:
        if when == "all":
            return None
        if self._lookup.asker.is_user:
            return "`handrail undo --since all` goes back over every session"
        return "since 'all' goes back over the whole session"

    async def _turn_of(self, trace: Trace) -> Selection:
        group = turn_key(trace)
        first = min(one.row for one in await self._lookup.turn_of(trace))
        chosen = await self._collect(lambda one: turn_key(one) == group and not is_undo(one), first)
        chosen.what = f"turn {trace.turn}"
        if trace.session != self._lookup.asker.session:
            chosen.what += f" of session {trace.session}"
        return chosen

    async def _newest(self, newest: Newest, met: set[tuple[str, str, int]]) -> Trace | None:
        async for seen in self._lookup.scan():
            trace = seen.trace
            changed = bool(seen.sure) or why_not_undoable(trace) is not None
            if not changed or is_job(trace) or turn_key(trace) in met:
                continue
            if self._lookup.implied(trace) and newest.includes(trace):
                return trace
        return None

    async def _collect(
        self, keep: Callable[[Trace], bool], down_to: int, earliest_ns: int = 0
    ) -> Selection:
        chosen = Selection()
        async for seen in self._lookup.scan():
            if seen.trace.row < down_to or seen.trace.at_ns < earliest_ns:
                break
            if self._lookup.reaches(seen.trace) and keep(seen.trace):
                chosen.steps += seen.sure
                chosen.run = seen.standing.unfinished_run(call_key(seen.trace)) or chosen.run
                chosen.notes += self._notes(seen)
        return chosen

    async def _point(self, when: str, session: str | None = None) -> tuple[int, int, str]:
        """The first row, the earliest time, and a description of the point; `start` is that of a given
        session.
        """
        if when == "all":
            return 0, 0, "all that stands"
        if when == "start":
            whole = (0, 0, f"since the first change of session {session}")
            return await self._start() if session is None else whole
        trace = await self._lookup.call_if_known(when)
        if trace is not None:
            return trace.row, 0, f"since {call_label(trace)}"
        at_ns = parse_time(when, self._now_ns)
        if at_ns is None:
            raise ProblemRaised(
                "invalid_arguments",
                f"{when!r} is neither a time nor the id of a call that changed something",
                hint="use start, all, 14:30, 2026-03-01T14:30, 20m (ago), or an id",
                field="target",
            )
        return 0, at_ns, f"since {when}"

    async def _start(self) -> tuple[int, int, str]:
        """The first change of the session that made the latest change."""
        implied = self._lookup.implied
        async for seen in self._lookup.scan():
            if implied(seen.trace) and file_changes(seen.trace):
                session = seen.trace.session
                own = await self._lookup.store.traces(session=session)
                first = min(one.row for one in own if implied(one) and file_changes(one))
                return first, 0, f"since the first change of session {session}"
        raise ProblemRaised("not_found", "nothing has been changed that could be undone")

    def _notes(self, seen: TraceState) -> list[str]:
        """Notes about changes of a call that remain although the call is undone."""
        # A call whose changes are all undone leaves nothing to report.
        undone = bool(file_changes(seen.trace)) and not seen.steps
        limited = not undone or why_not_undoable(seen.trace) is not None
        found = undo_limits(seen.trace, seen.steps) if limited else []
        return [*found, *self._folder_notes(seen.trace)]

    def _folder_notes(self, trace: Trace) -> list[str]:
        if self._lookup.where(trace) is not WorkspaceMatch.BEFORE:
            return []
        return [f"{call_label(trace)} was made in a folder that stood here before"]


def _is_in_session(trace: Trace, session: str) -> bool:
    """Whether a call was made in a session, or in the conversation of that name."""
    return trace.session == session or is_owned(trace.call_id, call_owner(session))


def _belongs_to(call_id: str, agent: str) -> bool:
    """Whether a call belongs to a subagent or one below it, by its id: `CALL-AGENT.TURN…`."""
    return call_id.startswith(f"{agent}.") or f"-{agent}." in call_id


def _nothing_left(trace: Trace) -> ProblemRaised:
    why = why_not_undoable(trace)
    if trace.intent.get("purged"):
        why = "its old contents were dropped from the record"
    elif trace.completed is None:
        why = "it has not ended yet"
    if why is not None:
        return ProblemRaised("not_found", f"{call_label(trace)} cannot be undone: {why}")
    steps = file_changes(trace)
    if any(step.attributed for step in steps):
        return ProblemRaised("already_applied", f"call {trace.call_id!r} is undone already")
    if said := undo_limits(trace, steps):
        return ProblemRaised(
            "not_found",
            f"nothing of it can be undone: {'; '.join(said)}",
            hint="name a file to take it back all the same" if steps else None,
        )
    return ProblemRaised("not_found", f"{call_label(trace)} changed no file")
