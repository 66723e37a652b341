"""Adding read-only paths to the confinement of a command, and the paths that other agents lease."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from handrail.core.ports.leases import Lease
from handrail.core.ports.processes import Confinement, Sandbox
from handrail.core.text.globs import literal_prefix
from handrail.policy import messages


class ReadOnlyPaths(NamedTuple):
    """A confinement with read-only paths added to it."""

    confinement: Confinement
    # The wanted paths that the sandbox does not hold read-only.
    unprotected: tuple[str, ...]


def add_read_only_paths(
    confinement: Confinement, paths: Iterable[str], sandbox: Sandbox, roots: Sequence[str]
) -> ReadOnlyPaths:
    """Add every path that the sandbox can hold read-only to the confinement."""
    wanted = tuple(paths)
    if not wanted:
        return ReadOnlyPaths(confinement, ())
    narrower = confinement._replace(read_only=(*confinement.read_only, *wanted))
    held = () if confinement.off else sandbox.held(narrower)
    unprotected = tuple(path for path in wanted if path not in held or path in roots)
    # As mounts of their own, the parent folders cannot be moved away with what they contain.
    protected = [path for path in wanted if path not in unprotected]
    parents = {folder for path in protected for folder in _parent_mounts(path, narrower)}
    # The deepest mount decides, so no writable mount may lie inside a read-only path.
    closed = tuple(f"{path}/" for path in wanted)
    writable = [one for one in narrower.writable if not one.startswith(closed)]
    return ReadOnlyPaths(narrower._replace(writable=(*writable, *sorted(parents))), unprotected)


def protect_leased_paths(
    confinement: Confinement,
    leases: Sequence[Lease],
    sandbox: Sandbox,
    roots: Sequence[str],
    exists: Callable[[str], bool],
) -> Confinement:
    """Hold the paths that other agents have leased read-only; raises `conflict` if the sandbox
    cannot protect one of them. `exists` is `os.path.lexists` or a test's substitute.
    """
    if not leases:
        return confinement
    paths = {literal_prefix(one.glob): one for one in leases}
    result = add_read_only_paths(confinement, paths, sandbox, roots)
    if result.unprotected:
        path = result.unprotected[0]
        missing = not confinement.off and not exists(path)
        template = messages.MISSING_PATH_LEASED if missing else messages.PATH_LEASED
        raise template.error(path=path, owner=paths[path].owner)
    return result.confinement


def _parent_mounts(path: str, confinement: Confinement) -> list[str]:
    """The folders between a writable tree and the path; empty if one of them is closed."""
    closed = {*confinement.read_only, *confinement.hidden, *confinement.withheld}
    folders = list[str]()
    folder = path.rpartition("/")[0]
    while folder and folder not in confinement.writable:
        if folder in closed:
            return []
        folders.append(folder)
        folder = folder.rpartition("/")[0]
    return folders if folder else []
