"""The write log files of the tracer: creating and reading them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from handrail.core.shadows import ObservedWrites

_MOST_BYTES: Final = 128 << 20


def create_write_log(directory: Path) -> str:
    """Path of a new write log; creates its directory."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(directory / os.urandom(8).hex())


def read_write_log(path: str) -> ObservedWrites | None:
    """Read and remove a write log; None if it was not written."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(_MOST_BYTES)
            written_ns = os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return None
    with suppress(OSError):
        Path(path).unlink()
    return parse(text)._replace(written_ns=written_ns)


def parse(text: bytes) -> ObservedWrites:
    """Parse a write log; a truncated line is ignored."""
    files: dict[str, tuple[int, int] | None] = {}
    trees: dict[str, None] = {}
    blind = False
    for line in text.splitlines():
        try:
            said: Any = json.loads(line)
        except ValueError:
            break
        if said is None:
            blind = True
        elif len(said) == 1:
            trees[f"{said[0]}/"] = None
        else:
            files.setdefault(said[0], None if said[1] is None else (said[1][0], said[1][1]))
    return ObservedWrites(files, tuple(trees), blind=blind)
