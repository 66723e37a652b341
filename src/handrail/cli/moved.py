"""A workspace that was moved: its record is found under the old path and taken along.

Only the very folder that was recorded gets it, never a copy of it or one made anew.
"""

from __future__ import annotations

import os
from pathlib import Path

from handrail.core.problems import ProblemRaised


def take_along(old: Path, root: Path) -> Path:
    """Let the record of `old` be that of `root`; returns where it lies now.

    Raises `not_found` if nothing is recorded of it, `conflict` if this is another folder or
    has a record of its own.
    """
    from handrail.host.state.directories import state_home, workspace_name

    top = state_home()
    there, here = top / workspace_name(old), top / workspace_name(root)
    if there == here or not (there / "store.db").is_file():
        raise ProblemRaised(
            "not_found",
            f"nothing is recorded of a workspace at {str(old)!r}",
            hint="give the path at which it was last opened",
        )
    _check_same(there / "store.db", os.path.realpath(old), root)
    _check_empty(here / "store.db", root, there / "store.db")
    if here.exists():
        here.rename(here.with_name(f"{here.name}.empty-{os.urandom(4).hex()}"))
    there.rename(here)
    return here


def _check_same(store: Path, old: str, root: Path) -> None:
    from handrail.history.folders import folder_of
    from handrail.host.state.folder_identity import folder_identity
    from handrail.store.connect import open_read_only
    from handrail.store.traces import list_openings

    db = open_read_only(str(store))
    try:
        known = [folder_of(one) for one in list_openings(db)]
    finally:
        db.close()
    identity = next((one.identity for one in reversed(known) if one.path == old), "")
    if not identity or identity != folder_identity(str(root)):
        raise ProblemRaised(
            "conflict",
            f"{str(root)!r} is not the folder that was recorded at {old!r}",
            hint=f"it is a copy, or made anew; `--store {store}` reads that record",
        )


def _check_empty(store: Path, root: Path, old: Path) -> None:
    from handrail.store.connect import open_read_only

    if not store.is_file():
        return
    db = open_read_only(str(store))
    try:
        used = db.execute("SELECT 1 FROM rows LIMIT 1").fetchone()
    finally:
        db.close()
    if used:
        raise ProblemRaised(
            "conflict",
            f"{str(root)!r} has a record of its own already",
            hint=f"two records cannot become one; `--store {old}` uses the old one",
        )
