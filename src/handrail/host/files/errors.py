"""Turns errors of the operating system into problems that a model can act on."""

from __future__ import annotations

import errno
import stat
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.host.files import messages

_SHOWN: Final = 200
# Errors of a failing disk, whatever the operation.
FAILING: Final = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT})

_TEMPLATES: Final = {
    errno.ENOENT: messages.MISSING,
    errno.ENOTDIR: messages.PART_IS_A_FILE,
    errno.EISDIR: messages.IS_A_DIRECTORY,
    errno.ELOOP: messages.PART_BECAME_A_LINK,
    errno.EXDEV: messages.LEADS_OUTSIDE,
    errno.EACCES: messages.ACCESS_DENIED,
    errno.ENXIO: messages.NOT_A_FILE,
    errno.ENAMETOOLONG: messages.NAME_TOO_LONG,
    errno.EINVAL: messages.INVALID_NAME,
    errno.ENOSPC: messages.DISK_FULL,
    errno.EDQUOT: messages.QUOTA_EXCEEDED,
    errno.EROFS: messages.READ_ONLY_FILE_SYSTEM,
    errno.EIO: messages.DISK_ERROR,
    errno.EFBIG: messages.FILE_LIMIT_EXCEEDED,
    errno.EMFILE: messages.TOO_MANY_OPEN_FILES,
    errno.ENFILE: messages.TOO_MANY_OPEN_FILES,
    errno.EPERM: messages.ACCESS_DENIED,
}

_SPECIAL: Final = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def quoted(path: str) -> str:
    """Quote a path for a message, shortened in the middle if it is very long."""
    if len(path) > _SHOWN:
        path = f"{path[: _SHOWN // 2]}…{path[-_SHOWN // 2 :]}"
    return repr(path)


def problem_from_oserror(error: OSError, path: str) -> ProblemRaised:
    """Return the problem for an error of the operating system about a path."""
    template = _TEMPLATES.get(error.errno or 0)
    if template is not None:
        return template.error(path=quoted(path))
    return messages.FILE_UNUSABLE.error(path=quoted(path), reason=error.strerror or error)


def not_regular_problem(mode: int, path: str) -> ProblemRaised:
    """Return the problem for a path that is not a regular file, chosen by its mode."""
    if stat.S_ISDIR(mode):
        return problem_from_oserror(IsADirectoryError(errno.EISDIR, ""), path)
    what = _SPECIAL.get(stat.S_IFMT(mode), "something special")
    return messages.NOT_REGULAR.error(path=quoted(path), what=what)
