"""What both search engines share: the roots, and the read denials of content searches."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.ports.machine import GrepQuery
from handrail.host.denials.search_filter import ReadDenyFilter
from handrail.host.files.root_identity import RootHandle
from handrail.host.search.filters import PathFilter, path_filter
from handrail.host.search.query import check_pattern, check_place
from handrail.host.search.search_roots import SearchRoot, close_roots


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
        """The root and the filter of a content search; raises a problem for a bad query."""
        check_pattern(query)
        check_place(query.place)
        root = self._roots[query.place.root]
        allowed = path_filter(root, query.place, query.globs, "glob")
        if self._left_out is not None:
            self._left_out.check(query.place)
            allowed = self._left_out.applied(allowed, root)
        return root, allowed
