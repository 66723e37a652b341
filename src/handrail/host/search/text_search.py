"""Searches a text that is not a file, through a temporary private directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

import anyio.to_thread

from handrail.core.places import Kind, Place
from handrail.core.ports.machine import GrepFound, GrepQuery

_NAME: Final = "output.txt"


class TextEngine(Protocol):
    """A search over its own roots."""

    async def grep(self, query: GrepQuery) -> GrepFound:
        """Lines that match."""

    def close(self) -> None:
        """Close the roots."""


async def grep_text(
    open_engine: Callable[[str], TextEngine], query: GrepQuery, text: str
) -> GrepFound:
    """Search a text like a file; results carry the query's own path."""
    with TemporaryDirectory(prefix="handrail-text-") as directory:
        real = await anyio.to_thread.run_sync(_put, directory, text)
        engine = open_engine(real)
        try:
            place = Place(0, _NAME, _NAME, f"{real}/{_NAME}", Kind.FILE)
            found = await engine.grep(replace(query, place=place, globs=(), type=None))
        finally:
            engine.close()
    shown = query.place.path
    return found._replace(
        files=tuple(shown for _ in found.files),
        hits=tuple(hit._replace(path=shown) for hit in found.hits),
    )


def _put(directory: str, text: str) -> str:
    """Write the text into the directory; returns the directory's resolved path."""
    real = os.path.realpath(directory)
    # A file with NUL bytes would count as binary.
    data = text.replace("\0", "\ufffd").encode("utf-8", "replace")
    Path(real, _NAME).write_bytes(data)
    return real
