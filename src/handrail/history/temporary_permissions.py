"""Makes read-only folders writable while undo restores files in them.

A command that changes files in a read-only folder makes it writable for that and read-only again. The
grant of permissions is a change of the plan, so that recovery also restores them after a crash.
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
    """The changes in the order in which they are staged, with the folders that must become writable."""
    known = {one.path for one in changes if one.of_folder}
    above = {one.path.rpartition("/")[0] for one in changes} - known - {"", *files.roots}
    opened = [found for path in above if (found := _opening(path, files)) is not None]
    # Folders first, parents before children: new contents are staged in them.
    return sorted(
        [*opened, *changes],
        key=lambda one: (not one.of_folder, one.of_folder and one.place.absolute),
    )


def restore_permissions(
    described: Mapping[str, Any], files: Files, *, happened: bool
) -> Change | None:
    """The change that restores the permissions of a folder after an interrupted plan; None if the folder
    has them, or has got other permissions since.
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
