"""The guard of protected names: files that programs execute or agents follow without being told to.

By writing such a file, a model could turn text that it has read into code that runs later without
approval. The table and the comparison of names are in `core/names`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from handrail.core.names.protected_names import OBEYED_NAMES, PROTECTED_NAMES, fold_name
from handrail.core.names.protected_table import REPOSITORY_ENTRIES, REPOSITORY_REASON
from handrail.core.text.globs import fits, split_glob
from handrail.core.verdicts import Effect, Verdict
from handrail.policy import messages
from handrail.policy.policy_input import PolicyInput

# The protected names that may be links, in the spelling that programs look for: such a link gives an
# ordinary file or directory a protected name.
LINK_NAMES: Final = (
    *PROTECTED_NAMES.spellings,
    *OBEYED_NAMES.spellings,
    ".yarnrc.yml",
    "CLAUDE.local.md",
    ".windsurfrules",
)

_REPOSITORY_ENTRIES: Final = tuple((name, fold_name(name)) for name in REPOSITORY_ENTRIES)

# Returns the names of `LINK_NAMES` that are links, as absolute paths, with their targets.
LinkTargets = Callable[[], Mapping[str, str]]
# Returns whether an absolute path exists.
Exists = Callable[[str], bool]


class ProtectedNames:
    """The guard of protected names for one set of roots.

    `own` are Handrail's own paths (package, interpreter, state, configuration), which are always
    protected. `allowed` are globs, relative to a root, that the user has allowed; `*` stays within one
    name, `**` crosses directories. `memories`: the guard also asks before files that agents follow
    (such as AGENTS.md) are written. `links` returns the targets of protected names that are links at the
    top of a root. `exists` is used to detect directories that git treats as a repository.
    """

    def __init__(
        self,
        roots: Sequence[str],
        *,
        own: Sequence[str] = (),
        allowed: Sequence[str] = (),
        memories: bool = True,
        links: LinkTargets | None = None,
        exists: Exists | None = None,
    ) -> None:
        self._tops = tuple(_with_slash(root) for root in roots)
        self._own = tuple(_with_slash(path) for path in own)
        self._allowed = tuple(map(split_glob, allowed))
        self._obeyed = OBEYED_NAMES if memories else None
        self._links = links
        self._exists = exists

    ignores_reads: Final = True
    only_writes: Final = True

    def __call__(self, subject: PolicyInput) -> Verdict | None:
        """ASK for the first protected name that the call would write; else no opinion."""
        if subject.reads_only:
            return None
        # Without duplicates: a path is usually both an argument of the call and part of its plan.
        written = list(dict.fromkeys(subject.written_paths()))
        for absolute in dict.fromkeys([*written, *self._further_names(subject, written)]):
            verdict = self._judge(absolute)
            if verdict is not None:
                return verdict
        return self._judge_repositories(written)

    def _further_names(self, subject: PolicyInput, written: Sequence[str]) -> Iterator[str]:
        """Yield the other names of written paths: aliases, and links to them."""
        yield from subject.written_aliases()
        leads = self._links() if self._links is not None else {}
        for link, target in leads.items():
            top = _with_slash(target)
            for absolute in written:
                if f"{absolute}/".startswith(top):
                    yield f"{link}/{absolute[len(top) :]}".rstrip("/")

    def _judge(self, absolute: str) -> Verdict | None:
        relative = self._relative(absolute)
        if f"{absolute}/".startswith(self._own):
            template = messages.PROTECTED_HANDRAIL_PATH
            return Verdict.from_template(Effect.ASK, template, "protected:own", path=relative)
        if self._is_allowed(relative):
            return None
        reason = PROTECTED_NAMES.reason(relative)
        if reason is not None:
            return _verdict(relative, reason, "name")
        memory = None if self._obeyed is None else self._obeyed.reason(relative)
        if memory is not None:
            return Verdict.from_template(
                Effect.ASK,
                messages.INSTRUCTION_FILE,
                "protected:memory",
                path=relative,
                reason=memory,
            )
        return None

    def _judge_repositories(self, written: Sequence[str]) -> Verdict | None:
        """ASK for a write in a directory that git treats as a repository, or would after the write."""
        exists = self._exists
        if exists is None:
            return None
        for folder, made in _made_entries(written).items():
            if not f"{folder}/".startswith(self._tops):
                continue
            needed = [name for name, folded in _REPOSITORY_ENTRIES if folded not in made]
            if all(exists(f"{folder}/{name}") for name in needed):
                for absolute in written:
                    relative = self._relative(absolute)
                    if absolute.startswith(f"{folder}/") and not self._is_allowed(relative):
                        return _verdict(relative, REPOSITORY_REASON, "repository")
        return None

    def _is_allowed(self, relative: str) -> bool:
        if not self._allowed:
            return False
        parts = relative.split("/")
        return any(fits(parts, glob) for glob in self._allowed)

    def _relative(self, absolute: str) -> str:
        for top in self._tops:
            if absolute.startswith(top):
                return absolute[len(top) :]
        return absolute


Guard = Callable[[PolicyInput], Verdict | None]


def protected_reason(relative: str) -> str | None:
    """Why a path below a root is protected, None if it is not."""
    return PROTECTED_NAMES.reason(relative)


def _verdict(relative: str, reason: str, rule: str) -> Verdict:
    return Verdict.from_template(
        Effect.ASK, messages.PROTECTED_NAME, f"protected:{rule}", path=relative, reason=reason
    )


def _made_entries(written: Iterable[str]) -> dict[str, set[str]]:
    """The directories above the written paths, with the folded names that are written in each."""
    made: dict[str, set[str]] = {}
    for absolute in written:
        above, _, name = absolute.rpartition("/")
        while above:
            made.setdefault(above, set()).add(fold_name(name))
            above, _, name = above.rpartition("/")
    return made


def _with_slash(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"
