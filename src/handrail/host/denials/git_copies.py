"""Whether git keeps copies of withheld files: no mount hides those in its object store.

Only the index is read: what an older commit held is not looked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from handrail.core.read_denials import ReadDenyPatterns
from handrail.host.git.index import tracked_paths

_POINTER: Final = b"gitdir:"


class GitCopies:
    """Asks the indexes of repositories, each again only when it has changed."""

    def __init__(self, withheld: ReadDenyPatterns) -> None:
        self._withheld = withheld
        self._known: dict[str, tuple[tuple[int, ...], str | None]] = {}

    def gap(self, repositories: Iterable[str]) -> str | None:
        """A sentence if one of these working trees has withheld files that git tracks."""
        return next(filter(None, map(self._of, repositories)), None)

    def _of(self, tree: str) -> str | None:
        index = _index(tree)
        if index is None:
            return None
        try:
            info = index.stat()
        except OSError:
            return None
        stamp = (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
        known = self._known.get(tree)
        if known is None or known[0] != stamp:
            known = self._known[tree] = stamp, self._look(tree, index)
        return known[1]

    def _look(self, tree: str, index: Path) -> str | None:
        try:
            held = next((name for name in tracked_paths(index) if self._keeps(tree, name)), None)
        except (OSError, ValueError) as error:
            return f"what git tracks in {tree!r} cannot be read: {error}"
        return None if held is None else f"git tracks {held!r}, so that its copies can be read"

    def _keeps(self, tree: str, name: str) -> bool:
        if name.endswith("/"):
            # A whole folder that is not checked out.
            return self._withheld.reaches(f"{tree}/{name}".rstrip("/"))
        # Most names are passed over by their parts.
        if not any(map(self._withheld.ends, name.split("/"))):
            return False
        return self._withheld.hides(f"{tree}/{name}")


def _index(tree: str) -> Path | None:
    git = Path(tree, ".git")
    if git.is_dir():
        return git / "index"
    try:
        with git.open("rb") as file:
            pointer = file.read(4096)
    except OSError:
        return None
    if not pointer.startswith(_POINTER):
        return None
    target = os.fsdecode(pointer.removeprefix(_POINTER).strip())
    return Path(os.path.normpath(Path(tree, target))) / "index"
