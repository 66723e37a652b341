"""Where a path in a command leads, and whether that is inside the workspace.

A path is checked as written and with its links followed; both must be inside.
"""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from handrail.core.commands import ExecutionContext
from handrail.shell.classify import messages
from handrail.shell.classify.arguments import Argument
from handrail.shell.tables.word_list import word_set

_GLOB: Final = re.compile(r"[*?\[]")
# Streams that lead nowhere, or where the command's own output goes anyway.
_HARMLESS: Final = re.compile(r"/dev/(?:null|stdout|stderr|stdin|tty|fd/(?:[012]|63))")
# Where these lead in our own process says nothing of the command's.
_OWN_STREAMS: Final = re.compile(r"/dev/(?:std(?:in|out|err)|fd/\d+)|/proc/self/fd/\d+")
# What every program may know about the machine.
PUBLIC_FILES: Final = word_set("""
    /etc/os-release /usr/lib/os-release /etc/lsb-release /etc/debian_version /etc/alpine-release
    /etc/redhat-release /etc/hostname /etc/timezone /etc/issue /proc/cpuinfo /proc/meminfo
    /proc/loadavg /proc/uptime /proc/version /proc/filesystems /proc/stat
""")
# What a distribution installs for everybody: names may be listed, and texts read.
_INSTALLED: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
_INSTALLED_TEXTS: Final = ("/usr/include", "/usr/share")
_SOURCES: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/fd/0", "/dev/fd/63"})


class PathLocation(NamedTuple):
    """Where a path leads."""

    # As written and, if different, with links followed.
    paths: tuple[str, ...] = ()
    # A harmless stream such as /dev/null.
    is_stream: bool = False
    # Why the path is not trusted; empty if it is.
    objection: str = ""
    # A root of the workspace, or everything in it.
    is_root: bool = False


def locate_path(
    argument: Argument, cwd: str | None, where: ExecutionContext, *, follow: bool = True
) -> PathLocation:
    """Locate the path that an argument names. `follow`: a link at its end is followed."""
    said = _absolute(argument, cwd, where)
    if isinstance(said, PathLocation):
        return said
    fixed, varying = _divided(said, glob=argument.glob)
    if any(part == ".." or (part[:1] == "." and fnmatchcase("..", part)) for part in varying):
        return PathLocation(objection=messages.GLOB_LEADS_ANYWHERE)
    lexical = posixpath.normpath(fixed)
    if _HARMLESS.fullmatch(lexical) and not varying:
        return PathLocation(is_stream=True)
    real = _real(fixed, where, follow=follow or bool(varying))
    tail = "".join(f"/{part}" for part in varying)
    paths = tuple(dict.fromkeys(_joined(one, tail) for one in (lexical, real)))
    return PathLocation(
        paths,
        objection=_objection(lexical, real, where),
        is_root=real in where.roots and varying in ([], ["*"]),
    )


def readable_stream(path: str) -> bool:
    """Whether reading the stream cannot block forever."""
    return path in _SOURCES


def is_public(place: PathLocation, *, listed: bool = False) -> bool:
    """Whether the path leads to what every user of a machine may read (`listed`: only list)."""
    roots = _INSTALLED if listed else _INSTALLED_TEXTS
    return bool(place.paths) and all(is_inside(path, roots) for path in place.paths)


def is_inside(path: str, roots: tuple[str, ...]) -> bool:
    """Whether a path is one of the roots or below one."""
    return any(path == root or path.startswith(f"{root.rstrip('/')}/") for root in roots)


def _absolute(argument: Argument, cwd: str | None, where: ExecutionContext) -> str | PathLocation:
    text = argument.text
    if text is None:
        return PathLocation(objection=messages.UNKNOWN_PATH)
    if "\0" in text:
        return PathLocation(objection=messages.NUL_IN_PATH)
    if argument.tilde:
        name, _, rest = text.partition("/")
        if name != "~":
            return PathLocation(objection=messages.OTHER_HOME)
        text = f"{where.home}/{rest}"
    if text.startswith("/"):
        return text
    if cwd is None:
        return PathLocation(objection=messages.UNKNOWN_DIRECTORY)
    return f"{cwd}/{text}" if text else PathLocation(is_stream=True)


def _divided(path: str, *, glob: bool) -> tuple[str, list[str]]:
    """The part before the first glob, and the components from there on."""
    parts = path.split("/")
    first = next((i for i, part in enumerate(parts) if glob and _GLOB.search(part)), len(parts))
    return "/".join(parts[:first]) or "/", [part for part in parts[first:] if part]


def _real(path: str, where: ExecutionContext, *, follow: bool) -> str:
    if _OWN_STREAMS.fullmatch(path):
        return path
    if follow or posixpath.basename(path) in ("", ".", ".."):
        return where.resolve(path)
    folder, name = posixpath.split(path.rstrip("/"))
    return _joined(where.resolve(folder or "/"), f"/{name}")


def _joined(folder: str, tail: str) -> str:
    return folder.rstrip("/") + tail if tail else folder


def _objection(lexical: str, real: str, where: ExecutionContext) -> str:
    for path in (lexical, real):
        if re.match(r"/(?:proc|dev|sys)(?:/|$)", path):
            return messages.SYSTEM_PATH
    if not is_inside(real, where.roots):
        return messages.OUTSIDE_WORKSPACE
    return ""
