"""Finds the skills of a workspace and of the user in their folders.

Skills of the user are trusted; a skill of the project can be used only while the user trusts exactly the
files in its folder. The folder is checked again at every use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.ports.skills import USER, LoadedSkill, SkillFolder, SkillSummary
from handrail.core.text.safe_text import safe_text
from handrail.skills import messages
from handrail.skills.folders import MANIFEST, FolderCache
from handrail.skills.manifest import InvalidSkill, SkillManifest, parse_manifest

# Names that have another meaning in conversations and lists.
_RESERVED: Final = frozenset(
    {
        *("help", "model", "mode", "diff", "undo", "redo", "compact", "sessions", "exit", "quit"),
        *("agents", "tasks", "skills", "handrail", "system", "user", "assistant", "main", "skill"),
        *("task", "agent", "subagent", "plan"),
        *("approve", "approvals", "yes", "no", "always", "abort", "rewind", "fork", "resume"),
    }
)
_MAX_SKILLS: Final = 200
_MAX_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class SkillOptions:
    """Where skills are found. `reserved` are names that neither a skill nor its tools may have."""

    folders: Sequence[SkillFolder]
    trusts: Callable[[Path, str], bool]
    reserved: Collection[str] = ()
    disabled: Collection[str] = ()
    max_kb: int = 64


class _SkillCandidate(NamedTuple):
    summary: SkillSummary
    manifest: SkillManifest | None


class FolderSkills:
    """Finds and loads skills."""

    def __init__(self, options: SkillOptions) -> None:
        self._options = options
        self._folders = FolderCache(options.max_kb * 1000)
        self._reserved = {_folded(one) for one in (*_RESERVED, *options.reserved)}

    def list(self) -> Sequence[SkillSummary]:
        """All skills in a fixed order, including those that cannot be used."""
        return [one.summary for one in self._candidates()]

    def load(self, name: str, *, by_user: bool = False) -> LoadedSkill:
        """Load a skill from its files; raises `not_found`, `denied` or `untrusted`."""
        found = [one for one in self._candidates() if one.summary.name == name]
        usable = [one for one in found if one.summary.usable and one.manifest is not None]
        if not usable:
            raise self._unusable(name, [one.summary for one in found])
        summary, manifest = usable[0]
        if manifest is None or not (summary.user_may_load if by_user else summary.model_may_load):
            raise messages.NOT_FOR_THIS_CALLER.error(name=name, field="name")
        return LoadedSkill(
            name, manifest.body, summary.digest, summary.path, summary.tools, manifest.allowed_tools
        )

    def templates(self) -> Sequence[tuple[SkillSummary, SkillManifest]]:
        """The usable skills that define tools."""
        return [
            (one.summary, one.manifest)
            for one in self._candidates()
            if one.summary.usable and one.manifest is not None and one.manifest.templates
        ]

    def still_has(self, skill: SkillSummary) -> Callable[[], bool]:
        """Return a function that tells whether a skill is still usable and its files are unchanged."""

        def unchanged() -> bool:
            now = self._read(Path(skill.path), skill.source).summary
            return now.usable and now.digest == skill.digest

        return unchanged

    def _candidates(self) -> Sequence[_SkillCandidate]:
        found: list[_SkillCandidate] = []
        for folder in self._options.folders:
            for path in _skill_folders(folder.path):
                if len(found) < _MAX_SKILLS:
                    found.append(self._resolve_clash(self._read(path, folder.source), found))
        return sorted(found, key=lambda one: (one.summary.name, one.summary.path))

    def _resolve_clash(
        self, new: _SkillCandidate, found: Sequence[_SkillCandidate]
    ) -> _SkillCandidate:
        """The candidate, marked as unusable if an earlier skill has its name or a tool of the same name."""
        for summary, _ in found:
            if summary.problem is None and new.summary.problem is None:
                shared = {summary.name, *summary.tools} & {new.summary.name, *new.summary.tools}
                if shared:
                    name = min(shared)
                    problem = f"{name!r} is also defined by {summary.path}, which comes first"
                    return _SkillCandidate(new.summary._replace(problem=problem), None)
        return new

    def _read(self, path: Path, source: str) -> _SkillCandidate:
        name, digest = path.name, ""
        try:
            content = self._folders.read(path)
            digest = content.digest
            manifest = parse_manifest(content.manifest, name)
            self._check_names(manifest)
        except InvalidSkill as invalid:
            shown = safe_text(name, one_line=True)[:64]
            summary = SkillSummary(
                shown, "", source, str(path), digest, trusted=False, problem=str(invalid)
            )
            return _SkillCandidate(summary, None)
        trusted = source == USER or self._options.trusts(path, digest)
        summary = SkillSummary(
            manifest.name,
            safe_text(manifest.description, one_line=True)[:_MAX_SHOWN],
            source,
            str(path),
            digest,
            trusted,
            model_may_load=manifest.model_may_load,
            user_may_load=manifest.user_may_load,
            tools=tuple(one.name for one in manifest.templates),
        )
        return _SkillCandidate(summary, manifest)

    def _check_names(self, manifest: SkillManifest) -> None:
        if manifest.name in self._options.disabled:
            raise InvalidSkill("it is disabled in the settings")
        for name in (manifest.name, *(one.name for one in manifest.templates)):
            if _folded(name) in self._reserved:
                raise InvalidSkill(f"the name {name!r} is reserved")

    def _unusable(self, name: str, found: Sequence[SkillSummary]) -> Exception:
        for one in found:
            if one.problem is None:
                return messages.UNTRUSTED_SKILL.error(name=name, field="name")
            return messages.UNUSABLE_SKILL.error(name=name, reason=one.problem, field="name")
        usable = ", ".join(one.name for one in self.list() if one.usable) or "none"
        return messages.NO_SUCH_SKILL.error(
            name=safe_text(name, one_line=True)[:64], names=usable, field="name"
        )


def _skill_folders(folder: Path) -> list[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return []
    return [one for one in inside if not one.is_symlink() and (one / MANIFEST).is_file()]


def _folded(name: str) -> str:
    return re.sub(r"[-_]", "", name).casefold()
