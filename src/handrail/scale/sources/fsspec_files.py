"""Copies a directory from a file system of fsspec."""

from __future__ import annotations

from typing import Any

from handrail.core.problems import ProblemRaised
from handrail.scale import messages
from handrail.scale.sources.tree_writer import TreeWriter, without_login


def copy_fsspec(url: str, writer: TreeWriter) -> None:
    """Write the files below a URL. Raises `unavailable` if fsspec is missing or the file system
    fails, `not_found` if the URL is not a directory.
    """
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra
    except ImportError:
        raise messages.NO_FSSPEC.error() from None
    try:
        system, place = url_to_fs(url)
        _copy_directory(system, place, url, writer)
    except ProblemRaised:
        raise
    except Exception as error:
        # File systems of others have their own exceptions.
        raise writer.unreadable(error) from error
    writer.finish()


def _copy_directory(system: Any, place: str, url: str, writer: TreeWriter) -> None:
    if not system.isdir(place):
        raise messages.SOURCE_MISSING.error(what="directory", path=without_login(url))
    root = place.rstrip("/")
    waiting = [root]
    while waiting:
        for entry in system.ls(waiting.pop(), detail=True):
            path = str(entry["name"]).rstrip("/")
            name = path.removeprefix(root).lstrip("/")
            if not path.startswith(f"{root}/"):
                # Some file systems list a directory as an entry of itself.
                continue
            if entry.get("islink"):
                writer.add_link(name, _link_target(entry.get("destination", "")))
            elif entry["type"] == "directory":
                writer.add_directory(name)
                waiting.append(path)
            elif entry["type"] == "file":
                with system.open(path, "rb") as content:
                    writer.add_file(
                        name, content, executable=bool((entry.get("mode") or 0) & 0o100)
                    )
            else:
                raise writer.refuse(f"{name[:200]!r} is neither a file nor a directory")


def _link_target(target: object) -> str:
    return target.decode("utf-8", "surrogateescape") if isinstance(target, bytes) else str(target)
