"""What the operating system said about a file, told so that a model can act on it."""

from __future__ import annotations

import errno
import stat
from typing import Final

from handrail.core.problems import Code, ProblemRaised

_SHOWN: Final = 200
# What a disk says that fails, whatever was asked of it.
FAILING: Final = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT})

_SENTENCES: Final[dict[int, tuple[Code, str, str | None]]] = {
    errno.ENOENT: ("not_found", "{path} does not exist", None),
    errno.ENOTDIR: ("not_found", "a part of {path} is a file, not a directory", None),
    errno.EISDIR: ("not_found", "{path} is a directory, not a file", "use list_files to see it"),
    errno.ELOOP: (
        "stale",
        "{path} no longer leads where it did: a part of it became a symbolic link",
        "look at its directory again before going on",
    ),
    errno.EXDEV: ("outside_workspace", "{path} leads outside the workspace", None),
    errno.EACCES: (
        "denied",
        "the operating system denies access to {path}",
        "its permission bits or its owner would have to change; work without it or ask",
    ),
    errno.ENXIO: ("not_text", "{path} is a socket or device, not a regular file", None),
    errno.ENAMETOOLONG: ("invalid_arguments", "a name in {path} is too long", None),
    errno.EINVAL: ("invalid_arguments", "{path} is not a name this file system takes", None),
    errno.ENOSPC: ("unavailable", "the disk is full: {path} was left as it was", "free some space"),
    errno.EDQUOT: (
        "unavailable",
        "the disk quota is used up: {path} was left as it was",
        "free some space",
    ),
    errno.EROFS: ("unavailable", "{path} is on a read-only file system", None),
    errno.EIO: ("unavailable", "the disk reported an error for {path}", None),
    errno.EFBIG: ("too_large", "{path} would be larger than this file system allows", None),
    errno.EMFILE: ("unavailable", "too many files are open to reach {path}", "try again later"),
    errno.ENFILE: ("unavailable", "too many files are open to reach {path}", "try again later"),
}
_SENTENCES[errno.EPERM] = _SENTENCES[errno.EACCES]

_SPECIAL: Final = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def quoted(path: str) -> str:
    """A path for a message, cut in the middle if it is absurdly long."""
    if len(path) > _SHOWN:
        path = f"{path[: _SHOWN // 2]}…{path[-_SHOWN // 2 :]}"
    return repr(path)


def problem_from_oserror(error: OSError, path: str) -> ProblemRaised:
    """The problem to raise for what the operating system said about a path."""
    code = error.errno or 0
    if code in _SENTENCES:
        kind, sentence, hint = _SENTENCES[code]
        retryable = code in (errno.EMFILE, errno.ENFILE)
        return ProblemRaised(
            kind, sentence.format(path=quoted(path)), hint=hint, retryable=retryable
        )
    return ProblemRaised(
        "unavailable", f"{quoted(path)} could not be used: {error.strerror or error}"
    )


def not_regular_problem(mode: int, path: str) -> ProblemRaised:
    """The problem of a path that is no regular file, by its mode."""
    if stat.S_ISDIR(mode):
        return problem_from_oserror(IsADirectoryError(errno.EISDIR, ""), path)
    what = _SPECIAL.get(stat.S_IFMT(mode), "something special")
    return ProblemRaised("not_text", f"{quoted(path)} is {what}, not a regular file")
