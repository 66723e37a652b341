"""What others have reserved, kept from a program that could write anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.core.globs import split_glob
from handrail.core.leases import Lease
from handrail.core.problems import ProblemRaised
from handrail.core.processes import Confinement, Sandbox

_WILD: Final = frozenset("*?[")


def hold_back(
    confinement: Confinement, reserved: Sequence[Lease], sandbox: Sandbox, roots: Sequence[str]
) -> Confinement:
    """The same, with what others have reserved out of reach; raises `conflict` if nothing
    can keep a program from it.
    """
    if not reserved:
        return confinement
    paths = {fixed_part(one.glob): one for one in reserved}
    narrower = confinement._replace(read_only=(*confinement.read_only, *paths))
    held = () if confinement.off else sandbox.held(narrower)
    for path, lease in paths.items():
        if path not in held or path in roots:
            raise ProblemRaised(
                "conflict",
                f"the command may write {path!r}, which {lease.owner} has reserved",
                hint="run it when it is free, or a command that says what it writes",
                retryable=True,
            )
    # As mounts of their own, the folders above cannot be moved away with what they hold.
    above = {folder for path in paths for folder in _above(path, confinement)}
    return narrower._replace(writable=(*narrower.writable, *sorted(above)))


def _above(path: str, confinement: Confinement) -> list[str]:
    """The folders between a writable tree and what lies in it; none that must not be written."""
    closed = {*confinement.read_only, *confinement.hidden, *confinement.withheld}
    folders = list[str]()
    folder = path.rpartition("/")[0]
    while folder and folder not in confinement.writable:
        if folder in closed:
            return []
        folders.append(folder)
        folder = folder.rpartition("/")[0]
    return folders if folder else []


def fixed_part(glob: str) -> str:
    """The path above the first wildcard of a glob: everything that it covers lies in it."""
    parts = split_glob(glob)
    fixed = next((n for n, part in enumerate(parts) if not _WILD.isdisjoint(part)), len(parts))
    return "/" + "/".join(parts[:fixed])
