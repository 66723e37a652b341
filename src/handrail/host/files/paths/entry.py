"""Finds the entry of a name: a file, a directory or a link, which is not followed."""

from __future__ import annotations

import os

from handrail.core.places import Form, Kind, Place
from handrail.core.ports.machine import Named
from handrail.core.text.content import Content
from handrail.host.files.errors import problem_from_oserror
from handrail.host.files.paths.locate import Locator, check
from handrail.host.files.paths.openat2 import LOOK_IN
from handrail.host.files.paths.roots import Roots
from handrail.host.files.reading.open_file import make_stat

_KINDS = {Form.FILE: Kind.FILE, Form.FOLDER: Kind.DIRECTORY, None: Kind.MISSING}


def find_entry(roots: Roots, locator: Locator, path: str) -> Named:
    """The entry that the last name of a path refers to; see `Files.named`."""
    check(path)
    above, _, name = path.rpartition("/")
    if name in ("", ".", ".."):
        # The path has no last name, so it cannot be a link.
        place = locator.locate(path)
        return Named(place, Form.FOLDER if place.kind is Kind.DIRECTORY else Form.SPECIAL)
    folder = locator.locate(above or ("/" if path.startswith("/") else "."))
    place = locator.below(folder, name)
    if folder.kind is Kind.MISSING:
        return Named(place)
    if folder.kind is not Kind.DIRECTORY:
        return Named(place._replace(kind=Kind.SPECIAL), Form.SPECIAL)
    try:
        return _look(roots, folder, place, name)
    except FileNotFoundError:
        return Named(place)
    except OSError as error:
        raise problem_from_oserror(error, path) from error


def read_link_target(handle: int, name: str) -> bytes:
    """The target of a link in a directory; raises OSError."""
    return os.fsencode(os.readlink(name, dir_fd=handle))


def _look(roots: Roots, folder: Place, place: Place, name: str) -> Named:
    handle = roots.open(folder, LOOK_IN)
    try:
        info = os.stat(name, dir_fd=handle, follow_symlinks=False)
        form = Form.of(info.st_mode)
        content = Content(read_link_target(handle, name)) if form is Form.LINK else None
    finally:
        os.close(handle)
    if form is Form.FOLDER:
        content = Content(b"")
    return Named(
        place._replace(kind=_KINDS.get(form, Kind.SPECIAL)), form, content, make_stat(info)
    )
