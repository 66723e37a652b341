"""A store on disk and rows to put into it."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from handrail.core.ports.records import Row


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def row() -> Callable[..., Row]:
    """Makes rows whose times ascend."""
    times = count(1_000)

    def make(call_id="c1", kind="requested", session="s", turn=1, **payload):
        return Row(session, kind, call_id, turn, next(times), payload or {"tool": "read_file"})

    return make
