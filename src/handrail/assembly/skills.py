"""The skills of a workspace, opened when they are first needed."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.config.model import Settings
from handrail.core.lazy import Lazy
from handrail.core.text.safe_text import safe_text
from handrail.engine.registry import Registry, ToolOrigin
from handrail.host.state.directories import (
    config_home,
    private_directory,
    state_home,
    user_home,
)
from handrail.tools.builtin import BUILTIN_NAMES

if TYPE_CHECKING:
    from handrail.assembly.machine import Machine
    from handrail.config.trust import TrustBook
    from handrail.core.ports.skills import SkillFolder, SkillLibrary
    from handrail.core.tool import Tool
    from handrail.dialects.base import Vocabulary
    from handrail.skills.library import FolderSkills
    from handrail.tools._lib.services import Services

_log = logging.getLogger("handrail")
_TRUST: Final = "skills"


def open_skills(
    machine: Machine, settings: Settings, vocabulary: Vocabulary, tools: Collection[Tool[Any]]
) -> Lazy[SkillLibrary]:
    """The skills of a workspace and of the user; nothing is read before the first use."""
    root = Path(machine.files.roots[0])
    reserved = {*vocabulary.names, *BUILTIN_NAMES, *(one.name for one in tools)}
    return Lazy(lambda: find_skills(root, settings, reserved))


def find_skills(root: Path, settings: Settings, reserved: Collection[str]) -> FolderSkills:
    """The same, at once."""
    from handrail.skills.library import FolderSkills, SkillOptions

    chosen = settings.skills
    options = SkillOptions(
        skill_folders(root, settings),
        skill_trust().trusts,
        reserved,
        chosen.disabled,
        chosen.max_kb,
    )
    return FolderSkills(options)


def skill_folders(root: Path, settings: Settings) -> list[SkillFolder]:
    """Where skills are looked for, by precedence: the user's folders, then the project's."""
    from handrail.core.ports.skills import (
        HOME_FOLDERS,
        PROJECT,
        PROJECT_FOLDERS,
        USER,
        SkillFolder,
    )

    named = [Path(one).expanduser() for one in settings.skills.folders]
    home = [user_home() / one for one in HOME_FOLDERS]
    # A home that is the workspace itself holds folders of the project.
    own = [one for one in (*named, config_home() / "skills", *home) if not _inside(one, root)]
    project = [root / one for one in PROJECT_FOLDERS]
    return [SkillFolder(one, USER) for one in own] + [SkillFolder(one, PROJECT) for one in project]


def _inside(folder: Path, root: Path) -> bool:
    return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root))


def skill_trust() -> TrustBook:
    """The user's record of which skills of projects are trusted, by their folders."""
    from handrail.config.trust import TrustBook

    return TrustBook(state_home() / _TRUST)


def trust_skill(folder: Path, digest: str) -> None:
    """Record that the user trusts the skill in this folder while its files have this hash."""
    private_directory(state_home())
    private_directory(state_home() / _TRUST)
    skill_trust().add(folder, digest)


def register_skill_tools(registry: Registry, settings: Settings, services: Services) -> None:
    """Add the tools of usable skills, after all others: none of them can replace a tool."""
    root = Path(services.files.roots[0])
    if services.skills is None or not any(
        one.path.is_dir() for one in skill_folders(root, settings)
    ):
        return
    from handrail.skills.library import FolderSkills
    from handrail.skills.skill_tool import SkillTool
    from handrail.tools.commands.run_command import RunCommand

    library = services.skills.value
    if not isinstance(library, FolderSkills):
        return
    commands = RunCommand(services.files, services.shell)
    for summary, manifest in library.templates():
        unchanged = library.still_has(summary)
        for template in manifest.templates:
            if registry.find(template.name) is not None:
                text = (
                    f"the tool {template.name} of the skill {summary.name} has the name of another"
                )
                _log.warning("%s", safe_text(text, one_line=True))
                continue
            tool = SkillTool(template, summary.name, summary.path, commands, unchanged)
            registry.register(tool, origin=ToolOrigin.SKILL)
