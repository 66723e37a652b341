"""Which folder a call was made in: this one, one that stood here before, or another.

A store can outlive its workspace, and serve several. A call of another folder must never be
taken back in this one because a file happens to have the same name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from handrail.core.ports.records import OpenedSession


class WorkspaceMatch(StrEnum):
    """Where a call was made, seen from here."""

    HERE = "here"
    # At this path, but that folder is gone and this one was made since.
    BEFORE = "before"
    ELSEWHERE = "elsewhere"


class WorkspaceFolder(NamedTuple):
    """A workspace: its path, and what tells the folder from a later one ("": unknown)."""

    path: str
    identity: str


def workspace_folder(opened: OpenedSession) -> WorkspaceFolder:
    """The folder that a session was opened on."""
    info = opened.info
    return WorkspaceFolder(str(info.get("workspace") or ""), str(info.get("folder") or ""))


def workspace_folders(
    openings: Sequence[OpenedSession], session: str, root: str
) -> WorkspaceFolders:
    """The folders as a session sees them that is open on the one at `root`."""
    latest = next((one for one in reversed(openings) if one.session == session), None)
    here = (
        WorkspaceFolder(root, "")
        if latest is None
        else workspace_folder(latest)._replace(path=root)
    )
    return WorkspaceFolders(openings, here)


class WorkspaceFolders:
    """Knows from the openings of sessions which folder each call belongs to."""

    def __init__(self, openings: Iterable[OpenedSession], here: WorkspaceFolder) -> None:
        self._here = here
        self._times: dict[str, list[int]] = {}
        self._folders: dict[str, list[WorkspaceFolder]] = {}
        for one in openings:
            self._times.setdefault(one.session, []).append(one.at_ns)
            self._folders.setdefault(one.session, []).append(workspace_folder(one))

    def folder(self, session: str, at_ns: int) -> WorkspaceFolder:
        """The folder that the session worked in then."""
        known = self._folders.get(session)
        if known is None:
            return self._here
        return known[max(bisect_right(self._times[session], at_ns) - 1, 0)]

    def where(self, session: str, at_ns: int) -> WorkspaceMatch:
        """Whether that is this folder; where its identity is unknown, the path decides."""
        folder = self.folder(session, at_ns)
        known = bool(folder.identity and self._here.identity)
        if known and folder.identity == self._here.identity:
            # Also if it was moved since.
            return WorkspaceMatch.HERE
        if folder.path and folder.path != self._here.path:
            return WorkspaceMatch.ELSEWHERE
        return WorkspaceMatch.BEFORE if known else WorkspaceMatch.HERE
