"""Folders that their owner closed to writing, opened while something in them is put back.

The program that changed what is in one had opened it for that, and closed it again. A folder
that is opened is a change of the plan, so that after a crash it is closed again as well.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from typing import Any, Final

from handrail.core.places import Form
from handrail.core.plan import Change
from handrail.core.ports.machine import Files
from handrail.core.text.content import Content

OPEN: Final = 0o700


def add_permission_grants(changes: Sequence[Change], files: Files) -> list[Change]:
    """The changes in the order in which they are made ready, with the folders to be opened."""
    known = {one.path for one in changes if one.of_folder}
    above = {one.path.rpartition("/")[0] for one in changes} - known - {"", *files.roots}
    opened = [found for path in above if (found := _opening(path, files)) is not None]
    # Folders first, the upper before the lower: what comes into them is made ready there.
    return sorted(
        [*opened, *changes],
        key=lambda one: (not one.of_folder, one.of_folder and one.place.absolute),
    )


def restore_permissions(
    described: Mapping[str, Any], files: Files, *, happened: bool
) -> Change | None:
    """What gives a folder the permissions that a plan left it without when it was cut short;
    None if it has them, or somebody has given it others since.
    """
    place, form, content, seen = files.named(described["path"])
    wanted = described["after_mode" if happened else "before_mode"]
    if form is not Form.FOLDER or seen is None or wanted is None or place.path != described["path"]:
        return None
    modes = (described["before_mode"], described["after_mode"])
    ours = {mode | OPEN for mode in modes if mode is not None} - {wanted}
    if stat.S_IMODE(seen.mode) not in ours:
        return None
    return Change(place, content, content, seen, wanted, 0, form, form)


def _opening(path: str, files: Files) -> Change | None:
    place, form, _, seen = files.named(path)
    if form is not Form.FOLDER or seen is None or not place.rel or place.path != path:
        return None
    mode = stat.S_IMODE(seen.mode)
    if mode & OPEN == OPEN:
        return None
    empty = Content(b"")
    return Change(place, empty, empty, seen, mode, 0, form, form)
