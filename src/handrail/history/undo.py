"""Taking back what was changed: a plan made from what was recorded, committed like any other.

Only what was recorded is restored, and only where the disk still holds what we wrote: an
undo never overwrites somebody else's work. It is journalled itself, so redo is its undo.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from handrail.core.content import Content
from handrail.core.places import Kind
from handrail.core.plan import Change, Plan
from handrail.core.ports import Blobs, Files
from handrail.core.problems import ProblemRaised
from handrail.core.records import CallRecord, Store
from handrail.history.images import load_image

TOOL: Final = "undo"
_SHOWN_BYTES: Final = 64 * 1024


class Undo:
    """Implements `Past` on the record of one store."""

    def __init__(self, store: Store, files: Files, blobs: Blobs | None) -> None:
        self._store = store
        self._files = files
        self._blobs = blobs

    async def undo_plan(self, call: str | None, *, session: str | None) -> Plan:
        """The plan that takes a call back; see `Past.undo_plan`."""
        records = await self._changing(session)
        undone = _undone(records)
        if call is None:
            chosen = next(
                (one for one in records if one.call_id not in undone and _undid(one) is None), None
            )
            if chosen is None:
                raise ProblemRaised("not_found", "nothing has been changed that could be undone")
        else:
            chosen = _named(records, call)
        return self._reverse(chosen, f"undid {_tool(chosen)} ({chosen.call_id})")

    async def redo_plan(self, call: str | None, *, session: str | None) -> Plan:
        """The plan that takes the taking back of a call back; see `Past.redo_plan`."""
        records = await self._changing(session)
        undone = _undone(records)
        chosen = next(
            (
                one
                for one in records
                if (target := _undid(one)) is not None
                and one.call_id not in undone
                and call in (None, target)
            ),
            None,
        )
        if chosen is None:
            what = f"call {call!r}" if call else "no call"
            raise ProblemRaised("not_found", f"{what} has been undone, so there is nothing to redo")
        original = next((one for one in records if one.call_id == _undid(chosen)), chosen)
        return self._reverse(chosen, f"redid {_tool(original)} ({original.call_id})")

    async def _changing(self, session: str | None) -> list[CallRecord]:
        found = await self._store.intents(session=session)
        return [one for one in found if _changed(one)]

    def _reverse(self, record: CallRecord, said: str) -> Plan:
        described = list(reversed((record.intent or {})["changes"]))
        changes: list[Change] = []
        conflicts: list[str] = []
        done = 0
        for one in described:
            current = self._current(one)
            if _hash(current) == one["after_hash"]:
                changes.append(self._restore(one, current))
            elif _hash(current) == one["before_hash"]:
                done += 1
            else:
                conflicts.append(one["path"])
        if conflicts:
            raise _conflict(record, conflicts)
        if done == len(described):
            raise ProblemRaised("already_applied", f"call {record.call_id!r} is undone already")
        lines = [f"  {_what(one)} {one.path}" for one in changes]
        return Plan(
            tuple(changes),
            "\n".join([said, *lines]),
            preview="".join(_diff(one) for one in changes),
            data={"undid": record.call_id, "paths": [one.path for one in changes]},
            relies_on="nothing",
        )

    def _current(self, described: Mapping[str, Any]) -> Change:
        """The file as it is now, as a change without an end."""
        place = self._files.locate(described["path"])
        if place.path != described["path"] or place.kind in (Kind.DIRECTORY, Kind.SPECIAL):
            # Another thing stands there, or a link leads elsewhere: not what we wrote.
            return Change(place, Content(b"\0 not a file of ours"), None)
        if place.kind is Kind.MISSING:
            return Change(place, None, None)
        found = self._files.read(place)
        return Change(place, found.content, None, found.stat)

    def _restore(self, described: Mapping[str, Any], current: Change) -> Change:
        before = load_image(described, self._blobs)
        return Change(current.place, current.before, before, current.seen, described["before_mode"])


def _changed(record: CallRecord) -> bool:
    done = record.completed
    return bool(record.intent and record.intent.get("changes") and done and done.get("changes"))


def _undid(record: CallRecord) -> str | None:
    """The call that this one took back, if it is an undo."""
    data = (record.completed or {}).get("data")
    if record.requested.get("tool") != TOOL or not isinstance(data, Mapping):
        return None
    target = data.get("undid")
    return target if isinstance(target, str) else None


def _undone(newest_first: Sequence[CallRecord]) -> set[str]:
    """The calls that are taken back now; a redo lets the original stand again."""
    undone: set[str] = set()
    targets: dict[str, str] = {}
    for record in reversed(newest_first):
        target = _undid(record)
        if target is None:
            continue
        undone.add(target)
        targets[record.call_id] = target
        if target in targets:
            undone.discard(targets[target])
    return undone


def _tool(record: CallRecord) -> str:
    return str(record.requested.get("tool", "?"))


def _named(records: Sequence[CallRecord], call: str) -> CallRecord:
    found = next((one for one in records if one.call_id == call), None)
    if found is None:
        raise ProblemRaised(
            "not_found",
            f"no call {call!r} that changed a file is on record here",
            hint="`handrail log` lists the calls",
        )
    return found


def _hash(current: Change) -> str | None:
    return current.before_hash


def _conflict(record: CallRecord, paths: Sequence[str]) -> ProblemRaised:
    names = ", ".join(repr(path) for path in paths)
    return ProblemRaised(
        "conflict",
        f"call {record.call_id!r} cannot be undone: {names} changed since",
        hint="undo the later changes first, or restore by hand; nothing was touched",
    )


def _what(change: Change) -> str:
    if change.after is None:
        return "removed"
    return "restored" if change.before is not None else "brought back"


def _diff(change: Change) -> str:
    before, after = change.before or Content(b""), change.after or Content(b"")
    if max(before.size, after.size) > _SHOWN_BYTES:
        return f"{change.path}: {before.size} bytes become {after.size}\n"
    old, new = (
        one.tobytes().decode("utf-8", "replace").splitlines(keepends=True)
        for one in (before, after)
    )
    lines = difflib.unified_diff(old, new, f"a/{change.path}", f"b/{change.path}")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
