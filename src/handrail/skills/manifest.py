"""Parses SKILL.md: frontmatter by the rules of agentskills with known additions of other programs, and
the instructions below it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from handrail.config.files.frontmatter import InvalidFrontmatter, split_frontmatter
from handrail.skills.templates import ToolTemplate, read_templates

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1_024
MAX_COMPATIBILITY: Final = 500
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# The fields of agentskills.
_STANDARD: Final = frozenset(
    {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
)
# Fields of other programs; those that Handrail does not use are ignored.
_ADDITIONS: Final = frozenset(
    {
        *("argument-hint", "disable-model-invocation", "user-invocable", "model", "context"),
        *("agent", "trigger", "triggers", "globs", "type", "tools", "tags", "arguments"),
        *("tool_defs", "version"),
    }
)


class InvalidSkill(Exception):
    """Raised for a skill that breaks a rule; the text says which."""


@dataclass(frozen=True, slots=True)
class SkillManifest:
    """The parsed SKILL.md."""

    name: str
    description: str
    body: str
    allowed_tools: tuple[str, ...] = ()
    model_may_load: bool = True
    user_may_load: bool = True
    templates: tuple[ToolTemplate, ...] = ()


def parse_manifest(text: str, folder: str) -> SkillManifest:
    """Parse the manifest of a skill, whose name must be that of its folder; raises `InvalidSkill`."""
    try:
        values, body = split_frontmatter(text, "SKILL.md")
    except InvalidFrontmatter as error:
        raise InvalidSkill(str(error)) from error
    unknown = sorted(set(values) - _STANDARD - _ADDITIONS)
    if unknown:
        raise InvalidSkill(f"unknown field in the frontmatter: {unknown[0][:MAX_NAME]!r}")
    name = _check_name(values.get("name"), folder)
    description = _text(values, "description", MAX_DESCRIPTION)
    if not description.strip():
        raise InvalidSkill("the description is missing")
    if "compatibility" in values:
        _text(values, "compatibility", MAX_COMPATIBILITY)
    return SkillManifest(
        name,
        " ".join(description.split()),
        body.strip(),
        _names(values.get("allowed-tools", "")),
        not _flag(values, "disable-model-invocation", default=False),
        _flag(values, "user-invocable", default=True),
        _templates(values.get("tool_defs", [])),
    )


def _check_name(given: Any, folder: str) -> str:
    if not isinstance(given, str) or not given.strip():
        raise InvalidSkill("the name is missing")
    name = given.strip()
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise InvalidSkill(
            "a name has at most 64 lowercase letters, digits and single hyphens between them"
        )
    if name != folder:
        raise InvalidSkill(f"the folder is named {folder[:MAX_NAME]!r}, the skill {name!r}")
    return name


def _text(values: Mapping[str, Any], field: str, limit: int) -> str:
    given = values.get(field, "")
    if not isinstance(given, str):
        raise InvalidSkill(f"{field} is not text")
    if len(given) > limit:
        raise InvalidSkill(f"{field} has more than {limit:,} characters")
    return given


def _flag(values: Mapping[str, Any], field: str, *, default: bool) -> bool:
    given = values.get(field, default)
    if not isinstance(given, bool):
        raise InvalidSkill(f"{field} is neither true nor false")
    return given


def _names(given: Any) -> tuple[str, ...]:
    words = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(words, list) or not all(isinstance(one, str) for one in words):
        raise InvalidSkill("allowed-tools is not a list of names")
    return tuple(words)


def _templates(given: Any) -> tuple[ToolTemplate, ...]:
    try:
        return read_templates(given)
    except ValueError as error:
        raise InvalidSkill(f"tool_defs: {error}") from error
