"""Names that a program executes although nobody names them at that moment.

Writing one of these is how text that a model read turns into code that runs later, outside
every question. The table is closed; each row gives its reason. Names are compared
case-folded and normalised, at any depth below a root.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from handrail.core.verdicts import Effect, Verdict
from handrail.policy.subject import Subject

_DIRECTORIES: Final = {
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
_FILES: Final = {
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
_PAIRS: Final = {
    (".venv", "bin"): "commands are taken from it before the system's",
    ("venv", "bin"): "commands are taken from it before the system's",
    ("node_modules", ".bin"): "commands are taken from it before the system's",
}
_MEMORIES: Final = {
    "agents.md": "agents obey what it says in every later session",
    "claude.md": "agents obey what it says in every later session",
    "gemini.md": "agents obey what it says in every later session",
    "skill.md": "agents obey what it says when they use the skill",
}


class ProtectedNames:
    """The guard over protected names, for one set of roots.

    `own` are Handrail's own places (package, interpreter, state, configuration): protected
    wherever they lie. `allowed` are globs, relative to a root, that a person has lifted.
    `memories` also asks for the files that agents obey (AGENTS.md and the like).
    """

    def __init__(
        self,
        roots: Sequence[str],
        *,
        own: Sequence[str] = (),
        allowed: Sequence[str] = (),
        memories: bool = True,
    ) -> None:
        self._roots = roots
        self._own = tuple(own)
        self._allowed = tuple(allowed)
        self._memories = _MEMORIES if memories else {}

    def __call__(self, subject: Subject) -> Verdict | None:
        """ASK for the first protected name that the call would write; else no opinion."""
        if subject.reads_only:
            return None
        for absolute in subject.written_paths():
            verdict = self._judge(absolute)
            if verdict is not None:
                return verdict
        return None

    def _judge(self, absolute: str) -> Verdict | None:
        relative = self._relative(absolute)
        if any(fnmatchcase(relative, glob) for glob in self._allowed):
            return None
        if any(absolute == own or absolute.startswith(own + "/") for own in self._own):
            return _verdict(relative, "it belongs to Handrail itself", "own")
        reason = protected_reason(relative)
        if reason is not None:
            return _verdict(relative, reason, "name")
        memory = self._memories.get(_folded(PurePosixPath(relative).name))
        if memory is not None:
            return Verdict(
                Effect.ASK,
                f"{relative!r}: {memory}",
                "protected:memory",
                hint=f"a person may allow it with allow_protected=[{relative!r}]",
            )
        return None

    def _relative(self, absolute: str) -> str:
        for root in self._roots:
            if absolute.startswith(root + "/"):
                return absolute[len(root) + 1 :]
        return absolute


Guard = Callable[[Subject], Verdict | None]


def protected_reason(relative: str) -> str | None:
    """Why a path below a root is protected, None if it is not."""
    parts = [_folded(part) for part in PurePosixPath(relative).parts]
    for part in parts:
        if part in _DIRECTORIES:
            return _DIRECTORIES[part]
    for pair in pairwise(parts):
        if pair in _PAIRS:
            return _PAIRS[pair]
    if not parts:
        return None
    return next((why for glob, why in _FILES.items() if fnmatchcase(parts[-1], glob)), None)


def _verdict(relative: str, reason: str, rule: str) -> Verdict:
    return Verdict(
        Effect.ASK,
        f"{relative!r} is protected: {reason}",
        f"protected:{rule}",
        code="protected",
        hint=f"a person may allow it with allow_protected=[{relative!r}]",
    )


# Code points that some file systems ignore in names: `.g<ZWNJ>it` is `.git` there.
_IGNORED: Final = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name.translate(_IGNORED)).casefold().rstrip(". ")
