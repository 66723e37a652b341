"""What others have reserved, or rules forbid to write, kept from a program that could write
anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.globs import split_glob
from handrail.core.leases import Lease
from handrail.core.problems import ProblemRaised
from handrail.core.processes import Confinement, Sandbox, Strength

_WILD: Final = frozenset("*?[")


def protect_reserved_paths(
    confinement: Confinement, reserved: Sequence[Lease], sandbox: Sandbox, roots: Sequence[str]
) -> Confinement:
    """The same, with what others have reserved out of reach; raises `conflict` if nothing
    can keep a program from it.
    """
    if not reserved:
        return confinement
    paths = {literal_prefix(one.glob): one for one in reserved}
    held = _add_read_only(confinement, paths, sandbox, roots)
    if held.lost:
        path = held.lost[0]
        message = f"the command may write {path!r}, which {paths[path].owner} has reserved"
        hint = "run it when it is free, or a command that says what it writes"
        if not confinement.off and not os.path.lexists(path):
            message += "; it does not exist, and only what does can be held read-only meanwhile"
            hint += "; or make it first"
        raise ProblemRaised(
            "conflict",
            message,
            hint=hint,
            retryable=True,
        )
    return held.confinement


@dataclass(slots=True)
class WriteDenialEnforcer:
    """Holds for commands what rules forbid to write: `paths`, each with its rule. `minds`
    answers whether a command may write one of them, were none held.
    """

    paths: Mapping[str, str]
    may_affect: Callable[[CommandAnalysis], bool]
    sandbox: Sandbox
    roots: tuple[str, ...]
    # What could not be held when a command last ran, and what the rules were last told of that.
    _lost: frozenset[str] = frozenset()
    _said: frozenset[str] = frozenset()

    def unwritable(self, analysis: CommandAnalysis) -> frozenset[str] | None:
        """Which of them the command will not be able to change; None: nothing anywhere. The
        rules believe it; `hold` makes it true, or nothing runs.
        """
        if not self._confines(analysis):
            return frozenset()
        if analysis.safety_class is CommandClass.SAFE:
            return None
        lost = self._held(Confinement(self.roots)).lost
        misspelled = (path for path in self._inside() if self._misspelled(path))
        self._said = self._lost.union(lost, misspelled)
        return frozenset(self.paths) - self._said

    def absent(self, analysis: CommandAnalysis) -> frozenset[str]:
        """Which of them are not held only because they do not exist."""
        if not self._confines(analysis):
            return frozenset()
        return frozenset(path for path in self._inside() if not os.path.lexists(path))

    def hold(
        self, confinement: Confinement, analysis: CommandAnalysis, *, approved: bool
    ) -> Confinement:
        """The same, with all of them held that can be. Raises `denied` if one cannot, unless a
        person who knew of it said yes or the command writes nothing of it.
        """
        if confinement.off:
            return confinement
        held = self._held(confinement)
        known = not self._confines(analysis) or self._said.issuperset(held.lost)
        # What is not there is seen when the rules ask again.
        self._lost = frozenset(filter(os.path.lexists, held.lost))
        if held.lost and not (approved and known) and self.may_affect(analysis):
            raise ProblemRaised(
                "denied",
                f"{held.lost[0]!r} cannot be held as it is while the command runs, and the rule "
                f"{self.paths[held.lost[0]]!r} forbids to write it",
                hint="call it again, and a person is asked; or name files and programs plainly",
            )
        return held.confinement

    def narrowed(self, confinement: Confinement) -> Confinement:
        """The same for a program that no rule judges, with all of them held that can be."""
        return confinement if confinement.off else self._held(confinement).confinement

    def _confines(self, analysis: CommandAnalysis) -> bool:
        enforced = self.sandbox.measured.get("fs_write") is Strength.ENFORCED
        return enforced and not analysis.unconfined

    def _held(self, confinement: Confinement) -> _ReadOnlyResult:
        held = _add_read_only(confinement, self._inside(), self.sandbox, self.roots)
        ruled = tuple((path, rule) for path, rule in self.paths.items() if path not in held.lost)
        return held._replace(confinement=held.confinement._replace(ruled=ruled))

    def _inside(self) -> list[str]:
        """Those in the roots; elsewhere no command can write."""
        tops = tuple(f"{root.rstrip('/')}/" for root in self.roots)
        return [path for path in self.paths if path.startswith(tops)]

    def _misspelled(self, path: str) -> bool:
        """Whether the same stands there in other letters too, which rules do not tell apart."""
        while path not in self.roots:
            folder, _, name = path.rpartition("/")
            try:
                names = {entry.name for entry in os.scandir(folder)}
            except OSError:
                return True
            if any(one.casefold() == name.casefold() for one in names - {name}):
                return True
            path = folder
        return False


class _ReadOnlyResult(NamedTuple):
    """A confinement, and what it should hold and does not."""

    confinement: Confinement
    lost: tuple[str, ...]


def _add_read_only(
    confinement: Confinement, paths: Iterable[str], sandbox: Sandbox, roots: Sequence[str]
) -> _ReadOnlyResult:
    """The same with further paths held read-only, as far as the sandbox can."""
    wanted = tuple(paths)
    if not wanted:
        return _ReadOnlyResult(confinement, ())
    narrower = confinement._replace(read_only=(*confinement.read_only, *wanted))
    held = () if confinement.off else sandbox.held(narrower)
    lost = tuple(path for path in wanted if path not in held or path in roots)
    # As mounts of their own, the folders above cannot be moved away with what they hold.
    above = {
        folder for path in wanted if path not in lost for folder in _parent_mounts(path, narrower)
    }
    # The deepest mount decides: none that can be written may lie in what is held.
    closed = tuple(f"{path}/" for path in wanted)
    open_ = [one for one in narrower.writable if not one.startswith(closed)]
    return _ReadOnlyResult(narrower._replace(writable=(*open_, *sorted(above))), lost)


def _parent_mounts(path: str, confinement: Confinement) -> list[str]:
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


def literal_prefix(glob: str) -> str:
    """The path above the first wildcard of a glob: everything that it covers lies in it."""
    parts = split_glob(glob)
    fixed = next((n for n, part in enumerate(parts) if not _WILD.isdisjoint(part)), len(parts))
    return "/" + "/".join(parts[:fixed])
