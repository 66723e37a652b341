"""Chooses the search engine of this machine."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.host.processes import spawn
from handrail.host.processes.helpers.bundled import find_helper
from handrail.host.search.fallback.python_search import PythonSearch
from handrail.host.search.ripgrep.ripgrep_search import RipgrepSearch


def open_search(
    roots: Sequence[str],
    hidden: Sequence[str] = (),
    handles: Sequence[int] = (),
    aliases: Sequence[tuple[str, str]] = (),
) -> RipgrepSearch | PythonSearch:
    """A search over these roots (canonical paths, the workspace first), blind to what is
    in the hidden directories (canonical paths as well). `handles` are the roots' own, so
    that what is searched is what is read and written. `aliases` are further paths of roots.

    ripgrep if a trusted one is found (see `find_helper`), else Python. Raises OSError if a
    root is not a directory. Close it to let go of its handles.
    """
    binary = find_helper("rg", roots).path if spawn.supported() else None
    if binary is None:
        return PythonSearch(roots, hidden=hidden, handles=handles, aliases=aliases)
    return RipgrepSearch(roots, binary, hidden=hidden, handles=handles, aliases=aliases)
