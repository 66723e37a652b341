"""A store on disk and rows to put into it."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from handrail.core.ports.records import Row


@pytest.fixture
def engine() -> str:
    """Tests marked `BOTH_ENGINES` get both."""
    return "sqlite"


@pytest.fixture
def path(tmp_path: Path, engine: str, request: pytest.FixtureRequest) -> Path | str:
    """The location of a store that does not exist yet: a file, or the URL of an empty schema."""
    if engine == "sqlite":
        return tmp_path / "store.db"
    return request.getfixturevalue("postgres").new_store()


@pytest.fixture
def row() -> Callable[..., Row]:
    """Makes rows whose times ascend."""
    times = count(1_000)

    def make(call_id="c1", kind="requested", session="s", turn=1, **payload):
        return Row(session, kind, call_id, turn, next(times), payload or {"tool": "read_file"})

    return make
