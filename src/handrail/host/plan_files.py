"""The plan file of a session, kept beside the record and out of every workspace, and the
`Files` port with that one file in it: tools reach it by its full path and nothing near it.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from handrail.core.places import ASIDE, Entry, Kind, Place, Stat
from handrail.core.plan import Change
from handrail.core.ports.machine import FileContent, Files, Named, Staged, Window
from handrail.host.files.local_files import LocalFiles
from handrail.host.state.directories import private_directory

_UNSAFE_CHARS: Final = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_BYTES: Final = 1_000_000
_NAME: Final = "plan.md"


class SessionPlanFile:
    """The plan file of one session. `directory` None: nothing shall stay, so it lies in a
    temporary one; `keep` False: it goes with the session.
    """

    def __init__(self, directory: Path | None, session: str, *, keep: bool) -> None:
        self._directory = directory
        digest = sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        self._folder = f"{_UNSAFE_CHARS.sub('-', session)[:40]}-{digest}"
        self._keep = keep
        self._temporary: Path | None = None
        self.files: LocalFiles | None = None
        if directory is not None and directory.is_dir():
            self.files = LocalFiles([private_directory(directory)])

    @property
    def path(self) -> str | None:
        """Its absolute path; None until there is a place for it."""
        if self.files is None:
            return None
        return f"{self.files.roots[0]}/{self._folder}/{_NAME}"

    def open(self) -> str:
        """Let tools reach it; returns its path. Raises `unavailable` if that cannot be."""
        if self.files is None:
            top = self._directory
            if top is None:
                top = self._temporary = Path(tempfile.mkdtemp(prefix="handrail-plan-"))
            self.files = LocalFiles([private_directory(top)])
        folder = f"{self.files.roots[0]}/{self._folder}"
        private_directory(Path(folder))
        return f"{folder}/{_NAME}"

    def read(self) -> str | None:
        """What it says; None if it was not written. Raises `too_large`."""
        if self.files is None:
            return None
        place = self.files.locate(f"{self._folder}/{_NAME}")
        if place.kind is not Kind.FILE:
            return None
        data = self.files.read(place, max_bytes=_MAX_BYTES).content.tobytes()
        return data.decode("utf-8", "replace")

    def close(self) -> None:
        """Let go of it, and remove it where nobody can come back to it."""
        files, self.files = self.files, None
        if files is None:
            return
        files.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
        elif not self._keep:
            shutil.rmtree(Path(files.roots[0]) / self._folder, ignore_errors=True)


class FilesWithPlanFile:
    """The files of the roots and, by its full path, the plan. `every`: the plans of other
    sessions too, for making whole what a crash has left and for taking back.
    """

    def __init__(self, files: LocalFiles, plan: SessionPlanFile, *, every: bool = False) -> None:
        self._files = files
        self._plan = plan
        self._every = every

    @property
    def roots(self) -> tuple[str, ...]:
        """Canonical absolute paths; the workspace first, and never the plan's directory."""
        return self._files.roots

    def locate(self, path: str) -> Place:
        """Resolve a path beneath a root, or the plan's own."""
        aside = self._aside(path)
        if aside is None:
            return self._files.locate(path)
        plans, rel = aside
        place = plans.locate(rel)
        return place._replace(root=ASIDE, path=place.absolute)

    def named(self, path: str) -> Named:
        """What bears this name, a link at its end not followed."""
        aside = self._aside(path)
        if aside is None:
            return self._files.named(path)
        plans, rel = aside
        found = plans.named(rel)
        place = found.place._replace(root=ASIDE, path=found.place.absolute)
        return found._replace(place=place)

    def stat(self, place: Place) -> Stat | None:
        """The file's stat now, None if it is missing."""
        return self._at(place).stat(_in_plan_root(place))

    def read(self, place: Place, *, max_bytes: int | None = None) -> FileContent:
        """The whole file."""
        return self._at(place).read(_in_plan_root(place), max_bytes=max_bytes)

    def read_part(self, place: Place, offset: int, count: int) -> bytes:
        """Up to `count` bytes from a byte offset."""
        return self._at(place).read_part(_in_plan_root(place), offset, count)

    def window(self, place: Place, first: int, count: int) -> Window:
        """`count` lines from line `first` (1-based)."""
        return self._at(place).window(_in_plan_root(place), first, count)

    def scan(self, place: Place) -> list[Entry]:
        """The names in a directory, sorted."""
        return self._at(place).scan(_in_plan_root(place))

    def unchanged(self, change: Change) -> bool:
        """Whether the change's target is still what the plan saw."""
        return self._at(change.place).unchanged(_change_in_plan_root(change))

    def prune(self, place: Place, levels: int) -> bool:
        """Remove up to so many empty directories above a place."""
        return self._at(place).prune(_in_plan_root(place), levels)

    def stage(
        self,
        change: Change,
        temp: str | None = None,
        *,
        durable: bool,
        announce: Callable[[], None] = lambda: None,
    ) -> Staged:
        """Write the new content beside its target."""
        files = self._at(change.place)
        return files.stage(_change_in_plan_root(change), temp, durable=durable, announce=announce)

    @property
    def syncs_groups(self) -> bool:
        """Whether one call writes a whole group of changes through to the disk."""
        return self._files.syncs_groups

    def sync_group(self, staged: Sequence[Staged]) -> None:
        """Write everything that was done for these changes through to the disk at once."""
        self._files.sync_group(staged)

    def _aside(self, path: str) -> tuple[LocalFiles, str] | None:
        """Where plans lie, and the path from there, if it is one that may be reached."""
        plans = self._plan.files
        if plans is None or not path.startswith(top := f"{plans.roots[0]}/"):
            return None
        rel = path[len(top) :]
        reached = path == self._plan.path or (self._every and ".." not in rel.split("/"))
        return (plans, rel) if reached else None

    def _at(self, place: Place) -> Files:
        plans = self._plan.files
        return plans if place.root == ASIDE and plans is not None else self._files


def _in_plan_root(place: Place) -> Place:
    return place._replace(root=0) if place.root == ASIDE else place


def _change_in_plan_root(change: Change) -> Change:
    if change.place.root != ASIDE:
        return change
    return replace(change, place=_in_plan_root(change.place))
