"""What every confined program of one runtime has in common."""

from __future__ import annotations

from typing import NamedTuple

from handrail.host.sandbox.visible_paths import Places


class Scene(NamedTuple):
    """The roots, what is never shown, the private temporary directory, and the rest that is
    readable. All paths are real ones, but for `aliases`: further paths of roots, through links.
    """

    roots: tuple[str, ...]
    hidden: tuple[str, ...]
    temporary: str
    places: Places
    aliases: tuple[tuple[str, str], ...] = ()
