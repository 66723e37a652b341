"""The base of both search engines: the roots, and the read denials of content searches."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

import anyio.to_thread

from handrail.core.places import Kind, Place
from handrail.core.ports.machine import GrepFound, GrepQuery
from handrail.host.denials.search_filter import ReadDenyFilter
from handrail.host.files.root_identity import RootHandle
from handrail.host.search.filters import PathFilter, path_filter
from handrail.host.search.results import check_pattern, check_place
from handrail.host.search.search_roots import SearchRoot, close_roots

_NAME: Final = "output.txt"


class SearchEngine:
    """Base of the engines; implements no search itself."""

    def __init__(self, roots: Sequence[SearchRoot], deadline_s: float) -> None:
        self._roots = roots
        self._deadline_s = deadline_s
        self._left_out: ReadDenyFilter | None = None

    def withhold(self, left_out: ReadDenyFilter) -> None:
        """Exclude denied files from every content search from now on."""
        self._left_out = left_out

    @property
    def withholds(self) -> bool:
        """Whether denied files are excluded from content searches."""
        return self._left_out is not None

    @property
    def root_handles(self) -> tuple[RootHandle, ...]:
        """The searched directories."""
        return tuple(RootHandle(root.path, root.fd) for root in self._roots)

    def close(self) -> None:
        """Close the root handles."""
        close_roots(self._roots)

    def _prepare(self, query: GrepQuery) -> tuple[SearchRoot, PathFilter]:
        """The root and the filter of a content search; raises a problem for an invalid query."""
        check_pattern(query)
        check_place(query.place)
        root = self._roots[query.place.root]
        allowed = path_filter(root, query.place, query.globs, "glob")
        if self._left_out is not None:
            self._left_out.check(query.place)
            allowed = self._left_out.applied(allowed, root)
        return root, allowed


class TextEngine(Protocol):
    """A search over its own roots."""

    async def grep(self, query: GrepQuery) -> GrepFound:
        """Lines that match."""

    def close(self) -> None:
        """Close the roots."""


async def grep_text(
    open_engine: Callable[[str], TextEngine], query: GrepQuery, text: str
) -> GrepFound:
    """Search a text as if it were a file; results have the query's own path."""
    with TemporaryDirectory(prefix="handrail-text-") as directory:
        real = await anyio.to_thread.run_sync(_put, directory, text)
        engine = open_engine(real)
        try:
            place = Place(0, _NAME, _NAME, f"{real}/{_NAME}", Kind.FILE)
            found = await engine.grep(query._replace(place=place, globs=(), type=None))
        finally:
            engine.close()
    shown = query.place.path
    return found._replace(
        files=tuple(shown for _ in found.files),
        hits=tuple(hit._replace(path=shown) for hit in found.hits),
    )


def _put(directory: str, text: str) -> str:
    """Write the text into the directory; return the directory's resolved path."""
    real = os.path.realpath(directory)
    # A file with NUL bytes would count as binary.
    data = text.replace("\0", "\ufffd").encode("utf-8", "replace")
    Path(real, _NAME).write_bytes(data)
    return real
