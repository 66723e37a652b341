"""Taking back what was changed: a plan made from what was recorded, committed like any other.

Only what was recorded is restored, and only where the disk still holds what we wrote: an
undo never overwrites somebody else's work. It is journalled itself, so redo is its undo.
"""

from __future__ import annotations

import difflib
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from handrail.core.content import Content
from handrail.core.places import Kind
from handrail.core.plan import Change, Plan
from handrail.core.ports import Blobs, Files
from handrail.core.problems import ProblemRaised
from handrail.core.records import CallRecord, Store
from handrail.history.images import load_image, state_of

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
        if call is not None:
            chosen = _named(records, call)
            return self._reverse(chosen, f"undid {_tool(chosen)} ({chosen.call_id})")
        undone = _undone(records)
        passed = ""
        for one in records:
            if one.call_id in undone or _undid(one) is not None:
                continue
            try:
                return self._reverse(one, f"undid {_tool(one)} ({one.call_id}){passed}")
            except ProblemRaised as raised:
                # Put back by somebody else already: the change before it is the last one.
                if raised.problem.code != "already_applied":
                    raise
                passed += f"; {_tool(one)} ({one.call_id}) was as before already"
        raise ProblemRaised("not_found", "nothing has been changed that could be undone")

    async def redo_plan(self, call: str | None, *, session: str | None) -> Plan:
        """The plan that takes the taking back of a call back; see `Past.redo_plan`."""
        records = await self._changing(session)
        undone = _undone(records)
        # A redo is an undo of an undo; only what took back an ordinary call can be redone.
        undos = {one.call_id for one in records if _undid(one) is not None}
        chosen = next(
            (
                one
                for one in records
                if (target := _undid(one)) is not None
                and target not in undos
                and one.call_id not in undone
                and call in (None, target)
            ),
            None,
        )
        if chosen is None:
            what = f"call {call!r}" if call else "no call"
            raise ProblemRaised("not_found", f"{what} has been undone, so there is nothing to redo")
        original = next((one for one in records if one.call_id == _undid(chosen)), chosen)
        plan = self._reverse(chosen, f"redid {_tool(original)} ({original.call_id})")
        return replace(plan, data={**_data(plan), "redid": original.call_id})

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
            match state_of(one, current.before_hash, current.seen):
                case "after":
                    changes.append(self._restore(one, current))
                case "before":
                    done += 1
                case _:
                    conflicts.append(one["path"])
        if conflicts:
            raise _conflict(said, conflicts)
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
        now, mode = current.seen, described["before_mode"]
        if now is not None and stat.S_IMODE(now.mode) != described["after_mode"]:
            # Somebody has set other permissions since; those are not ours to take back.
            mode = None
        made = len(described.get("made", ())) if before is None else 0
        return Change(current.place, current.before, before, now, mode, made)


def _changed(record: CallRecord) -> bool:
    done = record.completed
    return bool(record.intent and record.intent.get("changes") and done and done.get("changes"))


def _undid(record: CallRecord) -> str | None:
    """The call that this one took back, if it is an undo."""
    data = (record.intent or {}).get("data")
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


def _data(plan: Plan) -> Mapping[str, Any]:
    return plan.data if isinstance(plan.data, Mapping) else {}


def _tool(record: CallRecord) -> str:
    return str(record.requested.get("tool", "?"))


def _listed(records: Sequence[CallRecord]) -> str:
    ids = [f"{one.call_id} ({_tool(one)})" for one in records[:8]]
    return ", ".join(ids) or "none"


def _named(records: Sequence[CallRecord], call: str) -> CallRecord:
    found = next((one for one in records if one.call_id == call), None)
    if found is None:
        raise ProblemRaised(
            "not_found",
            f"no call {call!r} that changed a file is on record here",
            hint=f"calls that changed files: {_listed(records)}",
        )
    return found


def _conflict(said: str, paths: Sequence[str]) -> ProblemRaised:
    names = ", ".join(repr(path) for path in paths)
    done, _, what = said.partition(" ")
    verb = "undone" if done == "undid" else "redone"
    return ProblemRaised(
        "conflict",
        f"{what} cannot be {verb}: {names} changed since, by a later call or from outside",
        hint="nothing was touched; name the id of another call, or restore the file by hand",
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
