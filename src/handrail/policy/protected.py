"""Names that a program executes although nobody names them at that moment.

Writing one of these is how text that a model read turns into code that runs later, outside
every question. The table is closed; each row gives its reason. Names are compared
case-folded and normalised, at any depth below a root.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

from handrail.core.globs import fits, split_glob
from handrail.core.verdicts import Effect, Verdict
from handrail.policy.subject import Subject

DIRECTORIES: Final = {
    ".git": "git runs hooks, filters and programs named in its configuration",
    ".husky": "git runs the hooks in it",
    ".vscode": "the editor runs tasks and settings from it",
    ".idea": "the editor runs configurations from it",
    ".direnv": "the shell loads it on entering the folder",
    ".claude": "an agent loads settings and hooks from it",
    ".codex": "an agent loads settings from it",
    ".gemini": "an agent loads settings from it",
    ".cursor": "an agent loads settings and rules from it",
    ".agent": "an agent loads settings from it",
    ".handrail": "Handrail's own settings",
}
FILES: Final = {
    ".envrc": "the shell loads it on entering the folder",
    ".mcp.json": "assistants start the servers it names",
    ".npmrc": "the package manager takes commands and registries from it",
    ".yarnrc": "the package manager runs what it names",
    ".yarnrc.*": "the package manager runs what it names",
    ".pnpmfile.cjs": "the package manager runs it",
    ".ripgreprc": "a search may run the preprocessor it names",
    ".gitmodules": "git fetches and configures what it names",
    ".gitconfig": "git runs programs named in it",
    ".bashrc": "a shell runs it at start",
    ".bash_profile": "a shell runs it at start",
    ".bash_login": "a shell runs it at start",
    ".bash_logout": "a shell runs it at exit",
    ".profile": "a shell runs it at start",
    ".zshrc": "a shell runs it at start",
    ".zshenv": "a shell runs it at start",
    ".zprofile": "a shell runs it at start",
    ".zlogin": "a shell runs it at start",
    ".zlogout": "a shell runs it at exit",
    ".kshrc": "a shell runs it at start",
    ".cshrc": "a shell runs it at start",
    ".tcshrc": "a shell runs it at start",
    ".login": "a shell runs it at start",
    "config.fish": "a shell runs it at start",
    "sitecustomize.py": "every Python start runs it",
    "usercustomize.py": "every Python start runs it",
    "*.pth": "every Python start runs lines of it",
}
PAIRS: Final = {
    (".venv", "bin"): "commands are taken from it before the system's",
    ("venv", "bin"): "commands are taken from it before the system's",
    ("node_modules", ".bin"): "commands are taken from it before the system's",
}
_PLAIN_FILES: Final = {name: why for name, why in FILES.items() if "*" not in name}
_FILE_GLOBS: Final = tuple((glob, why) for glob, why in FILES.items() if "*" in glob)
_MEMORIES: Final = {
    "agents.md": "agents obey what it says in every later session",
    "claude.md": "agents obey what it says in every later session",
    "gemini.md": "agents obey what it says in every later session",
    "skill.md": "agents obey what it says when they use the skill",
}


# The names that are looked up as links, spelled as programs look for them; a link there makes
# an ordinary file or directory act under a protected name.
LINKED: Final = (
    *DIRECTORIES,
    *_PLAIN_FILES,
    *(first for first, _ in PAIRS),
    ".yarnrc.yml",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
)

# Answers which names of `LINKED` are links, by their absolute paths, and what they lead to.
Links = Callable[[], Mapping[str, str]]


class ProtectedNames:
    """The guard over protected names, for one set of roots.

    `own` are Handrail's own places (package, interpreter, state, configuration): protected
    wherever they lie, whatever a person lifts. `allowed` are globs, relative to a root, that
    a person has lifted; `*` stays within one name, `**` crosses directories. `memories` also
    asks for the files that agents obey (AGENTS.md and the like). `links` tells which paths
    are what a protected name at the top of a root is a link to.
    """

    def __init__(
        self,
        roots: Sequence[str],
        *,
        own: Sequence[str] = (),
        allowed: Sequence[str] = (),
        memories: bool = True,
        links: Links | None = None,
    ) -> None:
        self._tops = tuple(_with_slash(root) for root in roots)
        self._own = tuple(own)
        self._allowed = tuple(map(split_glob, allowed))
        self._memories = _MEMORIES if memories else {}
        self._links = links

    ignores_reads: Final = True

    def __call__(self, subject: Subject) -> Verdict | None:
        """ASK for the first protected name that the call would write; else no opinion."""
        if subject.reads_only:
            return None
        # A path stands in the call and in its plan; it is judged once.
        for absolute in dict.fromkeys(self._names(subject)):
            verdict = self._judge(absolute)
            if verdict is not None:
                return verdict
        return None

    def _names(self, subject: Subject) -> Iterator[str]:
        """Every name by which what is written is known: its own, those on the way, and links."""
        yield from subject.written_paths()
        yield from subject.written_ways()
        leads = self._links() if self._links is not None else {}
        for link, target in leads.items():
            top = _with_slash(target)
            for absolute in subject.written_paths():
                if f"{absolute}/".startswith(top):
                    yield f"{link}/{absolute[len(top) :]}".rstrip("/")

    def _judge(self, absolute: str) -> Verdict | None:
        relative = self._relative(absolute)
        if any(f"{absolute}/".startswith(_with_slash(own)) for own in self._own):
            return _verdict(relative, "it belongs to Handrail itself", "own")
        parts = relative.split("/")
        if any(fits(parts, glob) for glob in self._allowed):
            return None
        reason = protected_reason(relative)
        if reason is not None:
            return _verdict(relative, reason, "name")
        memory = self._memories.get(folded(_names_of(relative)[-1]))
        if memory is not None:
            return Verdict(
                Effect.ASK,
                f"{relative!r}: {memory}",
                "protected:memory",
                hint=f"a person may allow it with allow_protected=[{relative!r}]",
            )
        return None

    def _relative(self, absolute: str) -> str:
        for top in self._tops:
            if absolute.startswith(top):
                return absolute[len(top) :]
        return absolute


Guard = Callable[[Subject], Verdict | None]


def protected_reason(relative: str) -> str | None:
    """Why a path below a root is protected, None if it is not."""
    parts = [folded(part) for part in _names_of(relative)]
    for part in parts:
        if part in DIRECTORIES:
            return DIRECTORIES[part]
    for pair in pairwise(parts):
        if pair in PAIRS:
            return PAIRS[pair]
    name = parts[-1]
    if name in _PLAIN_FILES:
        return _PLAIN_FILES[name]
    return next((why for glob, why in _FILE_GLOBS if fnmatchcase(name, glob)), None)


def _names_of(relative: str) -> list[str]:
    """The names in a path, at least one; by hand, because this is on the way of every change."""
    return [part for part in relative.split("/") if part not in ("", ".")] or [""]


def _verdict(relative: str, reason: str, rule: str) -> Verdict:
    lift = f"a person may allow it with allow_protected=[{relative!r}]"
    return Verdict(
        Effect.ASK,
        f"{relative!r} is protected: {reason}",
        f"protected:{rule}",
        code="protected",
        hint=None if rule == "own" else lift,
    )


def _with_slash(path: str) -> str:
    return path if path.endswith("/") else f"{path}/"


# Code points that some file systems ignore in names: `.g<ZWNJ>it` is `.git` there.
_IGNORED: Final = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


def folded(name: str) -> str:
    """The name as names are compared: without case, invisible marks and trailing dots."""
    if name.isascii():
        return name.lower().rstrip(". ")
    return unicodedata.normalize("NFC", name.translate(_IGNORED)).casefold().rstrip(". ")
