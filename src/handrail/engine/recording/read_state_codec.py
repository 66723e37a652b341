"""What a named session has read, between runs: loaded from the rows of its calls, and from the
state that was saved when it was last closed. It is kept by agent, because each agent knows only
what it has read itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from handrail.core.call import MAIN_AGENT
from handrail.core.context import ReadRecord, ReadState, ReadStates, Session
from handrail.core.places import Stat
from handrail.core.ports.records import Store

_KEY: Final = "reads"


class SavedReads:
    """What each agent last saw of each file, by path; `seq` is the last row included."""

    def __init__(self, agents: Mapping[str, Mapping[str, ReadRecord]], seq: int) -> None:
        self._agents = {agent: dict(files) for agent, files in agents.items()}
        self.seq = seq

    @classmethod
    def from_state(cls, saved: Any) -> SavedReads:
        """Decode what was saved with a session; empty if there is nothing or it cannot be read."""
        if not isinstance(saved, Mapping):
            return cls({}, 0)
        if not isinstance(saved.get("seq"), int):
            return cls(_read_older(saved), 0)
        agents = {
            agent: {path: _record(one) for path, one in files.items()}
            for agent, files in saved["agents"].items()
        }
        return cls(agents, saved["seq"])

    def add_call(self, reads: Mapping[str, Any]) -> None:
        """Add what a call recorded: its agent and the files that it has read or written."""
        agent = str(reads.get("agent", MAIN_AGENT))
        self.add(agent, {path: one and _record(one) for path, one in reads["files"].items()})
        for path, (before, stat, after) in reads.get("edited", {}).items():
            known = self._agents[agent].get(path)
            if known is not None and known.digest == before:
                self.add(agent, {path: known._replace(stat=Stat(*stat), digest=after)})

    def add(self, agent: str, files: Mapping[str, ReadRecord | None]) -> None:
        """Add what an agent knows of files; None means that a file no longer exists."""
        known = self._agents.setdefault(agent, {})
        for path, record in files.items():
            known.pop(path, None)
            if record is not None:
                known[path] = record

    def restore(self) -> ReadStates:
        """Return the read states of the agents, to continue with them."""
        return ReadStates({agent: ReadState(files) for agent, files in self._agents.items()})

    def to_state(self) -> dict[str, Any]:
        """Return JSON values, to save with the session."""
        return {"seq": self.seq, "agents": self._agents}


async def load_reads(store: Store, session: str, kept: Mapping[str, Any]) -> SavedReads:
    """Return what a session had read when it ended; `kept` are the values stored with it."""
    saved = SavedReads.from_state(kept.get(_KEY))
    last, noted = await store.parts_of_calls(session, _KEY, saved.seq)
    for reads in _readable(noted):
        saved.add_call(reads)
    saved.seq = last
    return saved


async def save_reads(store: Store, session: Session, *, recorded: bool = True) -> None:
    """Save what a session has read, so that its rows up to now need not be read again. If not
    `recorded`, the rows lack it, and all of it comes from memory.
    """
    saved = await load_reads(store, session.id, await store.load_state(session.id))
    states = session.read_states.items()
    if recorded:
        for agent, state in states:
            saved.add(agent, state.outside_calls)
    else:
        saved = SavedReads({agent: dict(state.items()) for agent, state in states}, saved.seq)
    store.save_state(session.id, _KEY, saved.to_state())


def _readable(noted: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    return (one for one in noted if isinstance(one, Mapping) and isinstance(one.get("files"), dict))


def _record(saved: Any) -> ReadRecord:
    read_at, offset, limit, stat, *rest = saved
    return ReadRecord(read_at, offset, limit, Stat(*stat), *rest)


def _read_older(saved: Mapping[str, Any]) -> dict[str, dict[str, ReadRecord]]:
    """Decode the older form, by agent and path or by path alone."""
    by_path = any(key.startswith("/") for key in saved)
    agents = {MAIN_AGENT: saved} if by_path else saved
    return {
        agent: {
            path: ReadRecord(**{**one, "stat": Stat(*one["stat"])}) for path, one in files.items()
        }
        for agent, files in agents.items()
    }
