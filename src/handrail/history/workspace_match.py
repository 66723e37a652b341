"""Determines whether a call was made in this workspace, in an earlier folder at its path, or elsewhere.

A store can outlive its workspace, and can be shared by several. A call of another folder must never be
undone in this one because a file has the same name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from handrail.core.ports.records import OpenedSession


class WorkspaceMatch(StrEnum):
    """Where a call was made, relative to this workspace."""

    HERE = "here"
    # At the same path, in a folder that was replaced by this one.
    BEFORE = "before"
    ELSEWHERE = "elsewhere"


class WorkspaceFolder(NamedTuple):
    """A workspace: its path, and an identity that differs for a later folder at the path ("": unknown)."""

    path: str
    identity: str


def workspace_folder(opened: OpenedSession) -> WorkspaceFolder:
    """The folder in which a session was opened."""
    info = opened.info
    return WorkspaceFolder(str(info.get("workspace") or ""), str(info.get("folder") or ""))


def workspace_folders(
    openings: Sequence[OpenedSession], session: str, root: str
) -> WorkspaceFolders:
    """The folders of all sessions, compared with that of `session`, which is open at `root`."""
    latest = next((one for one in reversed(openings) if one.session == session), None)
    here = (
        WorkspaceFolder(root, "")
        if latest is None
        else workspace_folder(latest)._replace(path=root)
    )
    return WorkspaceFolders(openings, here)


class WorkspaceFolders:
    """Finds the folder of each call from the openings of sessions."""

    def __init__(self, openings: Iterable[OpenedSession], here: WorkspaceFolder) -> None:
        self._here = here
        self._times: dict[str, list[int]] = {}
        self._folders: dict[str, list[WorkspaceFolder]] = {}
        for one in openings:
            self._times.setdefault(one.session, []).append(one.at_ns)
            self._folders.setdefault(one.session, []).append(workspace_folder(one))

    def folder(self, session: str, at_ns: int) -> WorkspaceFolder:
        """The folder in which the session worked at a time."""
        known = self._folders.get(session)
        if known is None:
            return self._here
        return known[max(bisect_right(self._times[session], at_ns) - 1, 0)]

    def where(self, session: str, at_ns: int) -> WorkspaceMatch:
        """Whether the session worked in this folder at a time; if an identity is unknown, the path
        decides.
        """
        folder = self.folder(session, at_ns)
        known = bool(folder.identity and self._here.identity)
        if known and folder.identity == self._here.identity:
            # Even if the folder was moved since.
            return WorkspaceMatch.HERE
        if folder.path and folder.path != self._here.path:
            return WorkspaceMatch.ELSEWHERE
        return WorkspaceMatch.BEFORE if known else WorkspaceMatch.HERE
