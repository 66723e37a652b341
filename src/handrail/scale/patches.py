"""Makes patches for `git apply` and `patch -p1`: exact bytes, new and deleted files, no cuts."""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from handrail.core.places import Form
from handrail.core.text.content import Content
from handrail.history.call_diffs import NetChange

_MAX_BYTES: Final = 4 << 20
# A file with more lines is replaced as a whole, because the comparison would take too long.
_MAX_LINES: Final = 20_000
_QUOTED: Final = re.compile(rb'[\x00-\x1f"\\\x7f]')
_NO_NEWLINE: Final = b"\\ No newline at end of file\n"


def patch_obstacle(change: NetChange) -> str | None:
    """Return why a change cannot be in a patch; None if it can."""
    if Form.FOLDER in (change.before_form, change.after_form):
        return "a folder"
    for content in (change.before, change.after):
        if content is not None and content.size > _MAX_BYTES:
            return f"larger than {_MAX_BYTES:,} bytes"
        if content is not None and b"\0" in content.tobytes():
            return "binary"
    return None


def patch_parts(changes: Iterable[NetChange]) -> Iterator[bytes]:
    """Return the patch of each changed file; files with an obstacle are left out."""
    for change in changes:
        if change.reason is None and patch_obstacle(change) is None:
            yield _patch_file(change)


def _patch_file(change: NetChange) -> bytes:
    if (
        change.before is not None
        and change.after is not None
        and change.before_form is not change.after_form
    ):
        # As git shows it: a file is not changed into a link, but replaced by one.
        deletion, creation = change._replace(after=None), change._replace(before=None)
        return _patch_file(deletion) + _patch_file(creation)
    old, new = _lines(change.before), _lines(change.after)
    before, after = _name(b"a/", change.path), _name(b"b/", change.path)
    head = b"diff --git %s %s\n" % (before, after)
    old_mode = _git_mode(change.before_form, change.before_mode)
    new_mode = _git_mode(change.after_form, change.after_mode)
    if change.before is None:
        head, before = head + b"new file mode %s\n" % new_mode, b"/dev/null"
    elif change.after is None:
        head, after = head + b"deleted file mode %s\n" % old_mode, b"/dev/null"
    elif None not in (change.before_mode, change.after_mode) and old_mode != new_mode:
        head += b"old mode %s\nnew mode %s\n" % (old_mode, new_mode)
    elif old == new:
        return b""
    body = b"".join(_mark_missing_newline(_hunks(old, new)))
    return b"%s--- %s\n+++ %s\n%s" % (head, before, after, body) if body else head


def _git_mode(form: Form, mode: int | None) -> bytes:
    if form is Form.LINK:
        return b"120000"
    return b"100755" if mode is not None and mode & stat.S_IXUSR else b"100644"


def _hunks(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[bytes]:
    if len(old) + len(new) <= _MAX_LINES:
        diff_lines = difflib.diff_bytes(difflib.unified_diff, list(old), list(new))
        # Without the lines with the file names.
        yield from list(diff_lines)[2:]
        return
    first = int(bool(old)), len(old), int(bool(new)), len(new)
    yield b"@@ -%d,%d +%d,%d @@\n" % first
    yield from (b"-" + line for line in old)
    yield from (b"+" + line for line in new)


def _mark_missing_newline(lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE


def _lines(content: Content | None) -> list[bytes]:
    """Return the lines with their ends. Only a line feed ends a line, as in git."""
    data = b"" if content is None else content.tobytes()
    parts = data.split(b"\n")
    last = [parts[-1]] if parts[-1] else []
    return [part + b"\n" for part in parts[:-1]] + last


def _name(prefix: bytes, path: str) -> bytes:
    """Return a name as git writes it: quoted if it has special characters."""
    raw = prefix + os.fsencode(path)
    if not _QUOTED.search(raw):
        return raw
    return b'"%s"' % _QUOTED.sub(lambda found: b"\\%03o" % found[0][0], raw)
