"""What a named session keeps between runs, as plain values for the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.core.call import MAIN_AGENT
from handrail.core.context import ReadRecord, ReadState, ReadStates
from handrail.core.places import Stat


def save_reads(reads: ReadStates) -> dict[str, Any]:
    """What each agent has seen, JSON-ready."""
    return {
        agent: {path: {**one._asdict(), "stat": list(one.stat)} for path, one in state.items()}
        for agent, state in reads.items()
    }


def restore_reads(saved: Mapping[str, Any]) -> ReadStates:
    """The read states of an earlier run; an older one knew the main agent only, by path."""
    if any(key.startswith("/") for key in saved):
        saved = {MAIN_AGENT: saved}
    return ReadStates({agent: _restore(records) for agent, records in saved.items()})


def _restore(records: Mapping[str, Any]) -> ReadState:
    return ReadState(
        {path: ReadRecord(**{**one, "stat": Stat(*one["stat"])}) for path, one in records.items()}
    )
