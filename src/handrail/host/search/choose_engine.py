"""Chooses the search engine of this machine at the first search."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from handrail.core.lazy import Lazy
from handrail.core.ports.machine import FilesFound, FilesQuery, GrepFound, GrepQuery
from handrail.host.processes.helpers.bundled import find_helper

if TYPE_CHECKING:
    from handrail.host.denials.search_filter import ReadDenyFilter
    from handrail.host.search.fallback.python_search import PythonSearch
    from handrail.host.search.ripgrep.ripgrep_search import RipgrepSearch


class DeferredSearch:
    """Implements the `Search` port; the first search opens the engine. The arguments are those of
    `open_search`; the handles must stay open until `close`.
    """

    def __init__(
        self,
        roots: Sequence[str],
        hidden: Sequence[str],
        handles: Sequence[int],
        aliases: Sequence[tuple[str, str]],
    ) -> None:
        self._engine = Lazy(partial(self._open, roots, hidden, handles, aliases))
        self._denied: ReadDenyFilter | None = None

    async def grep(self, query: GrepQuery) -> GrepFound:
        """Matching lines; see the port."""
        return await self._engine.value.grep(query)

    async def grep_text(self, query: GrepQuery, text: str) -> GrepFound:
        """Matching lines of one text; see the port."""
        return await self._engine.value.grep_text(query, text)

    async def files(self, query: FilesQuery) -> FilesFound:
        """Files with matching names; see the port."""
        return await self._engine.value.files(query)

    def withhold(self, denied: ReadDenyFilter) -> None:
        """Exclude denied files from every content search; must be called before the first one."""
        self._denied = denied

    @property
    def withholds(self) -> bool:
        """Whether denied files are excluded from content searches."""
        return self._denied is not None

    def close(self) -> None:
        """Close the engine, if it was opened."""
        if self._engine.built is not None:
            self._engine.built.close()

    def _open(
        self,
        roots: Sequence[str],
        hidden: Sequence[str],
        handles: Sequence[int],
        aliases: Sequence[tuple[str, str]],
    ) -> RipgrepSearch | PythonSearch:
        engine = open_search(roots, hidden, handles, aliases)
        if self._denied is not None:
            engine.withhold(self._denied)
        return engine


def open_search(
    roots: Sequence[str],
    hidden: Sequence[str] = (),
    handles: Sequence[int] = (),
    aliases: Sequence[tuple[str, str]] = (),
) -> RipgrepSearch | PythonSearch:
    """Open a search over these roots (canonical paths, the workspace first) that does not see the
    hidden directories (canonical paths as well). `handles` are the handles of the roots, so that
    searches use the same directories as reads and writes. `aliases` are other paths of roots.

    Uses ripgrep if a trusted one is found (see `find_helper`), else Python. Raises OSError if a
    root is not a directory. Closing the search closes its handles.
    """
    from handrail.host.processes import spawn

    binary = find_helper("rg", roots).path if spawn.supported() else None
    if binary is None:
        from handrail.host.search.fallback.python_search import PythonSearch

        return PythonSearch(roots, hidden=hidden, handles=handles, aliases=aliases)
    from handrail.host.search.ripgrep.ripgrep_search import RipgrepSearch

    return RipgrepSearch(roots, binary, hidden=hidden, handles=handles, aliases=aliases)
