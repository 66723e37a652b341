"""The skills of a workspace; loaded on first use."""

from __future__ import annotations

import logging
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.assembly.settings_files import add_trust, is_inside, trust_book
from handrail.config.model import Settings
from handrail.core.lazy import Lazy
from handrail.core.text.safe_text import safe_text
from handrail.engine.registry import Registry, ToolOrigin
from handrail.host.state.directories import config_home, user_home
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
    """The skills of a workspace and of the user."""
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
    """The folders of skills in the order of precedence: the user's, then the project's."""
    from handrail.core.ports.skills import (
        HOME_FOLDERS,
        PROJECT,
        PROJECT_FOLDERS,
        USER,
        SkillFolder,
    )

    named = [Path(one).expanduser() for one in settings.skills.folders]
    home = [user_home() / one for one in HOME_FOLDERS]
    # If the home directory is the workspace, its folders belong to the project.
    own = [one for one in (*named, config_home() / "skills", *home) if not is_inside(one, root)]
    project = [root / one for one in PROJECT_FOLDERS]
    return [SkillFolder(one, USER) for one in own] + [SkillFolder(one, PROJECT) for one in project]


def skill_trust() -> TrustBook:
    """The user's record of which skills of projects are trusted, by their folders."""
    return trust_book(_TRUST)


def trust_skill(folder: Path, digest: str) -> None:
    """Record that the user trusts the skill in this folder with files of this hash."""
    add_trust(_TRUST, folder, digest)


def register_skill_tools(registry: Registry, settings: Settings, services: Services) -> None:
    """Add the tools of usable skills. Called after all other tools are registered, so that a skill cannot
    replace a tool.
    """
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
