"""What a named session keeps between runs, as plain values for the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from handrail.core.context import ReadRecord, ReadState
from handrail.core.places import Stat


def save_reads(reads: ReadState) -> dict[str, Any]:
    """What the model has seen, JSON-ready."""
    return {path: {**one._asdict(), "stat": list(one.stat)} for path, one in reads.items()}


def restore_reads(saved: Mapping[str, Any]) -> ReadState:
    """The read state of an earlier run."""
    return ReadState(
        {path: ReadRecord(**{**one, "stat": Stat(*one["stat"])}) for path, one in saved.items()}
    )
