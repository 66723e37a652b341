"""Detects whether the history of a git repository has changed. Git directories are not copied: git
keeps its own history, and restoring single files would corrupt it.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Final

from handrail.host.files.roots import LIST

# Each line has the old and the new commit of HEAD, and the reason.
_LOG: Final = "logs/HEAD"
# Changed by a commit, checkout, reset or fetch, but not by read-only commands.
_WATCHED: Final = ("HEAD", _LOG, "packed-refs", "refs/heads", "refs/tags")
_MOVE: Final = re.compile(
    rb"^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\t\n]*\t(commit\b)?", re.MULTILINE
)
_BRANCH: Final = re.compile(rb"ref: refs/heads/([\w./-]{1,100})\n?")
_NOTHING: Final = re.compile(rb"0+")
_MOST_BYTES: Final = 1 << 20
_SHORT: Final = 10


def history_mark(directory: int, name: str) -> tuple[int, ...] | None:
    """The times of the last history changes of a repository; None if there is no repository."""
    try:
        handle = os.open(name, LIST | os.O_NOFOLLOW, dir_fd=directory)
    except OSError:
        return None
    try:
        times = [_stat(handle, path) for path in _WATCHED]
        logged = _stat(handle, _LOG)
        # The size of the log comes last: lines after it were added since.
        return (*(one.st_ctime_ns if one else 0 for one in times), logged.st_size if logged else 0)
    finally:
        os.close(handle)


def describe_history_change(path: str, before: tuple[int, ...] | None) -> str:
    """What the log says since a mark; "" if unclear. The log is untrusted: only hexadecimal digits
    are taken from it.
    """
    try:
        handle = os.open(path, LIST | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        moves = _MOVE.findall(_read(handle, _LOG, before[-1] if before else 0))
        branch = _BRANCH.fullmatch(_read(handle, "HEAD"))
    finally:
        os.close(handle)
    if not moves:
        return ""
    old, new = (one[:_SHORT].decode() for one in (moves[0][0], moves[-1][1]))
    if not all(commit for _, _, commit in moves):
        return f"HEAD moved from {old} to {new}, and stays there"
    on = f" on {branch[1].decode()}" if branch else ""
    back = "" if _NOTHING.fullmatch(moves[0][0]) else f"; `git reset --soft {old}` takes "
    if len(moves) == 1:
        return f"made commit {new}{on}, which stays{back and back + 'it back'}"
    many = f"made {len(moves)} commits up to {new}{on}"
    return f"{many}, which stay{back and back + 'them back'}"


def _stat(handle: int, path: str) -> os.stat_result | None:
    try:
        return os.stat(path, dir_fd=handle, follow_symlinks=False)
    except OSError:
        return None


def _read(handle: int, path: str, offset: int = 0) -> bytes:
    """The content of a file from an offset; empty if it is not a regular file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
    except OSError:
        return b""
    try:
        regular = stat.S_ISREG(os.fstat(file).st_mode)
        return os.pread(file, _MOST_BYTES, offset) if regular else b""
    finally:
        os.close(file)
