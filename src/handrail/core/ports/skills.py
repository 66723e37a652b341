"""Skills: folders with instructions that a model loads when a task needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

USER: Final = "user"
PROJECT: Final = "project"
# Relative to the root of the workspace, in the order of precedence.
PROJECT_FOLDERS: Final = (
    ".handrail/skills",
    ".agents/skills",
    ".claude/skills",
    ".codex/skills",
)
# Relative to the user's home; the folder in the user's configuration precedes them.
HOME_FOLDERS: Final = (".agents/skills", ".claude/skills", ".codex/skills")


class SkillFolder(NamedTuple):
    """A folder with one folder per skill; `source` is "user" or "project"."""

    path: Path
    source: str


class SkillSummary(NamedTuple):
    """A skill as lists show it. `source` is "user" or "project"; `problem` says why it cannot be
    used, None if it can.
    """

    name: str
    description: str
    source: str
    path: str
    digest: str
    trusted: bool
    problem: str | None = None
    model_may_load: bool = True
    user_may_load: bool = True
    tools: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether the skill is valid and trusted."""
        return self.problem is None and self.trusted


@dataclass(frozen=True, slots=True)
class LoadedSkill:
    """The instructions of a skill, and the tools that it adds."""

    name: str
    body: str
    digest: str
    path: str
    tools: tuple[str, ...] = ()
    requested_tools: tuple[str, ...] = ()


class SkillLibrary(Protocol):
    """The skills of a session."""

    def list(self) -> Sequence[SkillSummary]:
        """All skills in a fixed order, including those that cannot be used."""

    def load(self, name: str, *, by_user: bool = False) -> LoadedSkill:
        """Load a skill from its files; raises `not_found`, or `untrusted` if the user has not trusted
        exactly these files.
        """


def summary_dict(one: SkillSummary) -> dict[str, Any]:
    """The JSON form of a summary."""
    return {**one._asdict(), "tools": list(one.tools)}
