"""The exact paths that must not be written, and their enforcement for commands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.ports.leases import Lease
from handrail.core.ports.processes import Confinement, Sandbox, Strength
from handrail.core.text.globs import literal_prefix
from handrail.core.traits import RuleFamily
from handrail.core.verdicts import Effect
from handrail.policy import messages
from handrail.policy.rules.paths.pattern import exact_denied_paths
from handrail.policy.rules.rule import Rule
from handrail.policy.rules.rule_set import RuleSet, rules_affect_command


class WriteDenials(NamedTuple):
    """The paths that deny rules about writing name exactly."""

    # Path → the text of its rule.
    paths: Mapping[str, str]
    # Whether the command could write a denied path if the sandbox did not prevent it.
    may_affect: Callable[[CommandAnalysis], bool]


def build_write_denials(rule_set: RuleSet, further: Iterable[Rule] = ()) -> WriteDenials | None:
    """The paths that the rules and `further` rules deny; None if no rule names exact paths."""
    paths: dict[str, str] = {}
    enforceable: list[Rule] = []
    for rule in (*rule_set.rules, *further):
        denies_writing = rule.effect is Effect.DENY and rule.family is RuleFamily.WRITE
        if denies_writing and rule.pattern is not None:
            exact = exact_denied_paths(rule.pattern, rule_set.path_base)
            if exact is not None:
                enforceable.append(rule)
                paths |= {path: rule.text for path in exact if path not in paths}
    if not paths:
        return None
    bare = RuleSet(enforceable, rule_set.path_base)
    return WriteDenials(paths, lambda analysis: rules_affect_command(bare, analysis))


class PathProbe(NamedTuple):
    """Access to the file system for the enforcer."""

    # Whether the path exists; links are not followed.
    exists: Callable[[str], bool]
    # The names in a folder; raises OSError.
    list_names: Callable[[str], Collection[str]]


@dataclass(slots=True)
class WriteDenialEnforcer:
    """Makes the sandbox keep denied paths read-only while a command runs."""

    denials: WriteDenials
    sandbox: Sandbox
    roots: tuple[str, ...]
    probe: PathProbe
    # Existing paths that the sandbox could not keep read-only for the last command.
    _unprotected: frozenset[str] = frozenset()
    # Paths that were reported to the rules as not enforced.
    _reported: frozenset[str] = frozenset()

    def read_only_paths(self, analysis: CommandAnalysis) -> frozenset[str] | None:
        """The denied paths that the command will not be able to change; None if it can change no file at
        all. The rules rely on the answer; `enforce` enforces it or raises.
        """
        if not self._confines(analysis):
            return frozenset()
        if analysis.safety_class is CommandClass.SAFE:
            return None
        unprotected = self._protect(Confinement(self.roots)).unprotected
        ambiguous = (path for path in self._inside_roots() if self._has_case_variant(path))
        self._reported = self._unprotected.union(unprotected, ambiguous)
        return frozenset(self.denials.paths) - self._reported

    def missing_paths(self, analysis: CommandAnalysis) -> frozenset[str]:
        """The denied paths that are not protected only because they do not exist."""
        if not self._confines(analysis):
            return frozenset()
        return frozenset(path for path in self._inside_roots() if not self.probe.exists(path))

    def enforce(
        self, confinement: Confinement, analysis: CommandAnalysis, *, approved: bool
    ) -> Confinement:
        """Add every denied path to the read-only paths of the confinement. Raises `denied` if one cannot
        be enforced, unless the user knew this when approving or the command does not write it.
        """
        if confinement.off:
            return confinement
        result = self._protect(confinement)
        unprotected = result.unprotected
        known = not self._confines(analysis) or self._reported.issuperset(unprotected)
        # Only existing paths are stored: `read_only_paths` looks for missing ones each time.
        self._unprotected = frozenset(filter(self.probe.exists, unprotected))
        if unprotected and not (approved and known) and self.denials.may_affect(analysis):
            path = unprotected[0]
            rule = self.denials.paths[path]
            raise messages.WRITE_DENIAL_NOT_ENFORCEABLE.error(path=path, rule=rule)
        return result.confinement

    def enforce_if_possible(self, confinement: Confinement) -> Confinement:
        """Add the denied paths for a program to which no rules apply, such as a hook."""
        return confinement if confinement.off else self._protect(confinement).confinement

    def _confines(self, analysis: CommandAnalysis) -> bool:
        enforced = self.sandbox.measured.get("fs_write") is Strength.ENFORCED
        return enforced and not analysis.unconfined

    def _protect(self, confinement: Confinement) -> ReadOnlyPaths:
        result = add_read_only_paths(confinement, self._inside_roots(), self.sandbox, self.roots)
        rules = self.denials.paths.items()
        ruled = tuple((path, rule) for path, rule in rules if path not in result.unprotected)
        return result._replace(confinement=result.confinement._replace(ruled=ruled))

    def _inside_roots(self) -> list[str]:
        """The denied paths inside the roots; a command can write nowhere else."""
        tops = tuple(f"{root.rstrip('/')}/" for root in self.roots)
        return [path for path in self.denials.paths if path.startswith(tops)]

    def _has_case_variant(self, path: str) -> bool:
        """Whether a name in the path also exists in another letter case, which rules treat as equal."""
        while path not in self.roots:
            folder, _, name = path.rpartition("/")
            try:
                names = set(self.probe.list_names(folder))
            except OSError:
                return True
            if any(one.casefold() == name.casefold() for one in names - {name}):
                return True
            path = folder
        return False


class ReadOnlyPaths(NamedTuple):
    """A confinement with read-only paths added to it."""

    confinement: Confinement
    # The wanted paths that the sandbox cannot keep read-only.
    unprotected: tuple[str, ...]


def add_read_only_paths(
    confinement: Confinement, paths: Iterable[str], sandbox: Sandbox, roots: Sequence[str]
) -> ReadOnlyPaths:
    """Add every path that the sandbox can keep read-only to the confinement."""
    wanted = tuple(paths)
    if not wanted:
        return ReadOnlyPaths(confinement, ())
    narrower = confinement._replace(read_only=(*confinement.read_only, *wanted))
    held = () if confinement.off else sandbox.enforced_read_only(narrower)
    unprotected = tuple(path for path in wanted if path not in held or path in roots)
    # The parent folders become separate mounts, so that they cannot be moved with their content.
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
    """Make the paths that other agents have leased read-only; raises `conflict` if the sandbox cannot
    protect one of them. `exists` is `os.path.lexists` or a test's substitute.
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
    """The folders between a writable tree and the path; empty if one of them is read-only or hidden."""
    closed = {*confinement.read_only, *confinement.hidden, *confinement.denied_reads}
    folders = list[str]()
    folder = path.rpartition("/")[0]
    while folder and folder not in confinement.writable:
        if folder in closed:
            return []
        folders.append(folder)
        folder = folder.rpartition("/")[0]
    return folders if folder else []
