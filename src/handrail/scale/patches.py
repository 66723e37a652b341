"""Patches that `git apply` and `patch -p1` take: exact bytes, new and deleted files, no shortening."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from handrail.core.text.content import Content
from handrail.history.call_diffs import NetChange

_MAX_BYTES: Final = 4 << 20
# Beyond so many lines, a file is replaced as a whole: comparing takes too long.
_MAX_LINES: Final = 20_000
_QUOTED: Final = re.compile(rb'[\x00-\x1f"\\\x7f]')
_NO_NEWLINE: Final = b"\\ No newline at end of file\n"


def patch_obstacle(one: NetChange) -> str | None:
    """Why a change cannot be in a patch; None if it can."""
    for content in (one.before, one.after):
        if content is not None and content.size > _MAX_BYTES:
            return f"larger than {_MAX_BYTES:,} bytes"
        if content is not None and b"\0" in content.tobytes():
            return "binary"
    return None


def patch_parts(changes: Iterable[NetChange]) -> Iterator[bytes]:
    """The patch of each changed file; files with an obstacle are left out."""
    for one in changes:
        if one.reason is None and patch_obstacle(one) is None:
            yield _patch_file(one)


def _patch_file(one: NetChange) -> bytes:
    old, new = _lines(one.before), _lines(one.after)
    if old == new and (one.before is None) == (one.after is None):
        return b""
    before, after = _name(b"a/", one.path), _name(b"b/", one.path)
    head = b"diff --git %s %s\n" % (before, after)
    if one.before is None:
        head, before = head + b"new file mode 100644\n", b"/dev/null"
    elif one.after is None:
        head, after = head + b"deleted file mode 100644\n", b"/dev/null"
    body = b"".join(_with_ends(_hunks(old, new)))
    return b"%s--- %s\n+++ %s\n%s" % (head, before, after, body) if body else head


def _hunks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[bytes]:
    if len(old) + len(new) <= _MAX_LINES:
        found = difflib.diff_bytes(difflib.unified_diff, list(old), list(new))
        # Without the names of the files, which come first.
        yield from list(found)[2:]
        return
    first = int(bool(old)), len(old), int(bool(new)), len(new)
    yield b"@@ -%d,%d +%d,%d @@\n" % first
    yield from (b"-" + line for line in old)
    yield from (b"+" + line for line in new)


def _with_ends(lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE


def _lines(content: Content | None) -> list[bytes]:
    """The lines with their ends. Only a line feed ends a line, as for git."""
    data = b"" if content is None else content.tobytes()
    parts = data.split(b"\n")
    last = [parts[-1]] if parts[-1] else []
    return [part + b"\n" for part in parts[:-1]] + last


def _name(prefix: bytes, path: str) -> bytes:
    """A name as git writes it: quoted if it has special characters."""
    raw = prefix + os.fsencode(path)
    if not _QUOTED.search(raw):
        return raw
    return b'"%s"' % _QUOTED.sub(lambda found: b"\\%03o" % found[0][0], raw)
