"""The files in which a tracer notes what a program writes, and how they are read."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from handrail.core.shadows import ObservedWrites

_MOST_BYTES: Final = 128 << 20


def create_write_log(directory: Path) -> str:
    """The name of a file that is not there yet."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(directory / os.urandom(8).hex())


def read_write_log(path: str) -> ObservedWrites | None:
    """What stands in it, which is then removed; None if nobody wrote it."""
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
    """Notes as they were written; a line that was cut off is passed over."""
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
