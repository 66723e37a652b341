"""Taking back what was changed: a plan made from what was recorded, committed like any other.

Only what was recorded is restored, and only where the disk still holds what we wrote, unless
the person says to overwrite it. An undo is journalled itself, so redo is its undo.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from anyio import to_thread

from handrail.core.past import Asker, PastChange, Wanted
from handrail.core.places import shown
from handrail.core.plan import Plan
from handrail.core.ports import Blobs, Clock, Files
from handrail.core.problems import ProblemRaised
from handrail.core.records import Store
from handrail.history import undo_words as words
from handrail.history.folders import folders_seen_by
from handrail.history.past import Key, Step, Taken, is_redo, is_undo, list_changes
from handrail.history.undo_blame import find_blame
from handrail.history.undo_choose import Chooser, Chosen
from handrail.history.undo_compose import Way, find_ways, make_changes, names_of
from handrail.history.undo_lookup import Lookup
from handrail.history.undo_redo import Redoer


class Undo:
    """Implements `Past` on the record of one store. `settle` brings what still waits to be
    recorded, such as the changes of a job that is over, before anything is looked up.
    """

    def __init__(
        self,
        store: Store,
        files: Files,
        blobs: Blobs | None,
        clock: Clock,
        settle: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._settle = settle
        self._store = store
        self._files = files
        self._blobs = blobs
        self._clock = clock

    async def undo_plan(self, wanted: Wanted, asker: Asker) -> Plan:
        """The plan that takes it back; see `Past.undo_plan`."""
        lookup = await self._lookup(asker)
        if wanted.scope == "call" and wanted.target != "last":
            named = await lookup.call(wanted.target)
            if is_undo(named) and not is_redo(named):
                # Taking an undo back is what redo does.
                return await self.redo_plan(wanted, asker)
        passed: list[str] = []
        async for chosen in self._candidates(lookup, wanted):
            ways = await self._ways(chosen.steps, force=wanted.force)
            await self._check(lookup, chosen.what, "undone", ways)
            missing = [step for way in ways for step in way.kept_back]
            if missing and (chosen.whole or not any(way.steps for way in ways)):
                raise _not_kept(missing)
            if any(not way.changes_nothing for way in ways):
                return await self._taking_back(chosen, ways, passed, asker)
            # Put back by somebody else already: the change before it is the last one.
            passed.append(f"{chosen.what} was as before already")
        raise _nothing_to_undo(wanted, passed, lookup.dropped())

    async def redo_plan(self, wanted: Wanted, asker: Asker) -> Plan:
        """The plan that takes the taking back of it back; see `Past.redo_plan`."""
        lookup = await self._lookup(asker)
        paths = names_of(wanted.target, self._files) if wanted.scope == "path" else ()
        redone = await Redoer(lookup).choose(wanted, paths)
        what = ", ".join(islice(redone.calls.values(), 4))
        ways = await self._ways(redone.steps, force=wanted.force)
        await self._check(lookup, what, "redone", ways)
        if missing := [step for way in ways for step in way.kept_back]:
            raise _not_kept(missing)
        if all(way.changes_nothing for way in ways):
            raise ProblemRaised("already_applied", f"{what} is redone already")
        names = list(redone.calls.values())
        said = words.headline("redid", names, "undone together", ())
        ids = [key.call_id for key in redone.calls]
        return await self._plan(said, ways, redone.undos, asker, {"redo": True, "redid": ids})

    async def changes(
        self, session: str, *, path: str | None = None, limit: int = 100
    ) -> Sequence[PastChange]:
        """What a session changed, the newest first; see `Past.changes`."""
        traces = await self._store.traces()
        paths = None if path is None else names_of(path, self._files)
        return list(islice(list_changes(traces, session=session, paths=paths), limit))

    async def _lookup(self, asker: Asker) -> Lookup:
        if self._settle is not None:
            await self._settle()
        openings = await self._store.openings()
        folders = folders_seen_by(openings, asker.session, self._files.roots[0])
        return Lookup(self._store, folders, asker)

    def _candidates(self, lookup: Lookup, wanted: Wanted) -> AsyncIterator[Chosen]:
        chooser = Chooser(lookup, self._clock.now_ns())
        target = wanted.target
        match wanted.scope:
            case "call":
                return chooser.newest_calls() if target == "last" else _one(chooser.call(target))
            case "turn":
                return chooser.newest_turns() if target == "last" else _one(chooser.turn(target))
            case "path":
                return chooser.file(names_of(target, self._files))
            case "since":
                return _one(chooser.since(target))

    async def _ways(self, steps: Sequence[Step], *, force: bool) -> list[Way]:
        work = partial(find_ways, steps, self._files, force=force)
        return await to_thread.run_sync(work, abandon_on_cancel=True)

    async def _check(self, lookup: Lookup, what: str, verb: str, ways: Sequence[Way]) -> None:
        """Raise `conflict` if somebody changed a file since."""
        bad = [way for way in ways if way.conflict]
        if not bad:
            return
        blame = await find_blame(lookup, bad)
        others = len(bad) < len(ways)
        person = lookup.asker.person
        raise words.conflict(what, verb, bad, blame, person=person, others=others)

    async def _taking_back(
        self, chosen: Chosen, ways: Sequence[Way], passed: Sequence[str], asker: Asker
    ) -> Plan:
        taken = _taken(chosen.steps, ways)
        kept = [
            f"{step.name} cannot be undone in {shown(way.path)}: its old content was not kept"
            for way in ways
            for step in way.kept_back
        ]
        of = f" in {shown(chosen.only)}, and nowhere else" if chosen.only is not None else ""
        names = [f"{one.tool} ({one.key.call_id}){of}" for one in taken]
        notes = [*passed, *chosen.notes, *kept]
        said = words.headline("undid", names, chosen.what, notes)
        ids = [one.key.call_id for one in taken]
        data = {"redo": False, "undid": ids, "passed_over": notes}
        return await self._plan(said, ways, taken, asker, data)

    async def _plan(
        self,
        said: str,
        ways: Sequence[Way],
        taken: Sequence[Taken],
        asker: Asker,
        data: Mapping[str, Any],
    ) -> Plan:
        whole = {
            way.path: await self._whole(way.target)
            for way in ways
            if way.target is not None and not way.changes_nothing
        }
        work = partial(make_changes, ways, self._files, self._blobs, whole)
        planned = await to_thread.run_sync(work, abandon_on_cancel=True)
        changes = [one for one in planned if not one.only_opens]
        return Plan(
            tuple(planned),
            "\n".join(["; ".join([said, *words.counted(changes)]), *words.lines(changes, ways)]),
            preview=words.diffs(changes),
            data={
                **data,
                "paths": [one.path for one in changes],
                "forced": [way.path for way in ways if way.forced],
                "by": "person" if asker.person else "model",
                "calls": words.as_data(taken),
            },
            relies_on="nothing",
        )

    async def _whole(self, step: Step) -> Mapping[str, Any]:
        """A change with its old content."""
        found: Any = await self._store.payload(step.row)
        for name in step.where:
            found = found[name]
        described: Mapping[str, Any] = found
        return described


async def _one(finding: Any) -> AsyncIterator[Chosen]:
    yield await finding


def _taken(steps: Sequence[Step], ways: Sequence[Way]) -> list[Taken]:
    """Which files of which calls the ways take back, the newest call first."""
    left = {(step.key, step.path) for way in ways for step in way.kept_back}
    found: dict[Key, tuple[str, list[str]]] = {}
    for step in steps:
        if (step.key, step.path) not in left:
            found.setdefault(step.key, (step.tool, []))[1].append(step.path)
    return [Taken(key, tool, tuple(paths)) for key, (tool, paths) in found.items()]


def _not_kept(missing: Sequence[Step]) -> ProblemRaised:
    one = missing[0]
    return ProblemRaised(
        "not_found", f"{one.name} cannot be undone: the old content of {one.path!r} was not kept"
    )


def _nothing_to_undo(
    wanted: Wanted, passed: Sequence[str], dropped: Sequence[str]
) -> ProblemRaised:
    if passed and wanted.target != "last":
        return ProblemRaised("already_applied", "; ".join(passed))
    what = "nothing is on record" if dropped else "nothing has been changed"
    said = [f"{what} that could be undone", *passed, *dropped]
    return ProblemRaised("not_found", "; ".join(said))
