"""Where the kernel cannot hold ripgrep to its root, nothing it says is shown unchecked.

A directory that was a link for a moment may have led it outside: what it reports is kept
only if the same file, opened from the root's handle, says the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from handrail.host.search.decode import read_all
from handrail.host.search.limits import cut_line
from handrail.host.search.roots import Root, open_beneath


def still_there(root: Root, rel: str) -> bool:
    """Whether the path is a regular file of this root."""
    handle = open_beneath(root, rel)
    if handle is None:
        return False
    os.close(handle)
    return True


def still_true(
    root: Root, rel: str, lines: Sequence[tuple[int, bool, str]]
) -> list[tuple[int, bool, str]]:
    """Those lines that the file of this root really has."""
    handle = open_beneath(root, rel)
    if handle is None:
        return []
    try:
        data = read_all(handle)
    finally:
        os.close(handle)
    if data is None:
        return []
    own = data.split(b"\n")
    return [
        line
        for line in lines
        if line[0] <= len(own) and cut_line(own[line[0] - 1].decode("utf-8", "replace")) == line[2]
    ]
