"""Whether a tree is so small that a second thread costs more than it brings."""

from __future__ import annotations

import os
from typing import Final

from handrail.core.places import Kind, Place
from handrail.host.search.roots import Root, open_directory

_FEW: Final = 100


def is_small(root: Root, place: Place) -> bool:
    """Whether the place holds at most about a hundred names; looks at no more than that."""
    if place.kind is Kind.FILE:
        return True
    seen = 0
    pending = [place.rel]
    while pending:
        rel = pending.pop()
        try:
            handle = open_directory(root, rel)
        except OSError:
            continue
        try:
            with os.scandir(handle) as entries:
                for entry in entries:
                    seen += 1
                    if seen > _FEW:
                        return False
                    if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                        pending.append(f"{rel}/{entry.name}" if rel else entry.name)
        finally:
            os.close(handle)
    return True
