"""Where the kernel cannot hold ripgrep to its root, nothing it says is shown unchecked.

A directory that was a link for a moment may have led it outside: what it reports is kept
only if the same file, opened from the root's handle, says the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from handrail.host.search.context import line_end
from handrail.host.search.decode import read_all
from handrail.host.search.limits import cut_line
from handrail.host.search.roots import Root, open_beneath

_BREAK: Final = re.compile(rb"\n")


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
    return [] if data is None else list(_confirmed(data, lines))


def _confirmed(
    data: bytes, lines: Sequence[tuple[int, bool, str]]
) -> Iterator[tuple[int, bool, str]]:
    position, number = 0, 1
    for line in lines:
        if line[0] > number:
            breaks = _BREAK.finditer(data, position)
            found = next(islice(breaks, line[0] - number - 1, None), None)
            if found is None:
                return
            position, number = found.end(), line[0]
        text = data[position : line_end(data, position)].decode("utf-8", "replace")
        if cut_line(text) == line[2]:
            yield line
