"""User-defined agents: in Markdown files with frontmatter, or in tables of the settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from handrail.agent.budget import Budget
from handrail.core.text.safe_text import safe_text
from handrail.policy.agents import DEFAULT, MAIN
from handrail.subagents.agent_types import ALIASES, BUILT_IN_TYPES, AgentType

SUFFIX: Final = ".md"
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1_024
MAX_PROMPT: Final = 48_000
MAX_STEPS: Final = 1_000
SETTINGS: Final = "settings"
_SHOWN: Final = 200
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# The form of the ids of running agents.
_LIKE_AN_ID: Final = re.compile(r".*-[0-9a-f]{8}")
_OWN_KEYS: Final = frozenset({"description", "tools", "model", "mode", "max_steps", "policy"})
# Fields of `.claude/agents` that have a counterpart.
_SAME_MEANING: Final = {"permissionMode": "mode", "maxTurns": "max_steps"}
# Fields without a counterpart: they are ignored and listed.
_IGNORED: Final = frozenset(
    {
        *("color", "skills", "hooks", "mcpServers", "memory", "background", "effort"),
        *("isolation", "initialPrompt"),
    }
)
_INHERITED: Final = "inherit"
# Names that have another meaning in questions, lists and settings.
_RESERVED: Final = frozenset(
    {
        *BUILT_IN_TYPES,
        *ALIASES,
        *(MAIN, DEFAULT, "at_once", "build", "agent", "agents", "subagent", "task", "handrail"),
        *("system", "user", "assistant", "developer", "tool", "human", "person", "admin", "root"),
        *("you", "me", "yes", "no", "always", "abort", "approve", "approved", "none", "all"),
    }
)


class InvalidDefinition(Exception):
    """Raised for a definition that breaks a rule; the text says which."""


class DefinitionFile(NamedTuple):
    """A Markdown file that defines an agent: its frontmatter (`values`) and the text below, or why it
    cannot be used. `source` is "user" or "project", `digest` is the hash of `text`, the whole file.
    """

    path: str
    source: str
    text: str = ""
    digest: str = ""
    values: Mapping[str, Any] = MappingProxyType({})
    body: str = ""
    problem: str | None = None

    @property
    def stem(self) -> str:
        """The name of the file without its suffix."""
        return self.path.rpartition("/")[2].removesuffix(SUFFIX)


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """The definition of an agent from a file or a table. `access` has the keys that limit it: `tools`,
    `policy`, `mode` and `type`.
    """

    name: str
    description: str = ""
    prompt: str = ""
    access: Mapping[str, Any] | None = None
    model: str | None = None
    max_steps: int | None = None
    budget: Mapping[str, Any] | None = None
    # Fields that Handrail does not use.
    ignored: tuple[str, ...] = ()

    @property
    def base(self) -> str | None:
        """The built-in type that the agent is based on."""
        base_type = (self.access or {}).get("type")
        return (
            base_type
            if base_type is not None
            else self.name
            if self.name in BUILT_IN_TYPES
            else None
        )

    def make_type(self, source: str) -> AgentType:
        """Return the type of agent that this defines; a definition with the name of a built-in type
        changes that type.
        """
        base = None if self.base is None else BUILT_IN_TYPES[self.base]
        shown = safe_text(self.description, one_line=True)[:_SHOWN]
        if base is None:
            base = AgentType(self.name, "", "")
        texts = [self.prompt] if self.base == self.name else [base.instructions, self.prompt]
        return replace(
            base,
            name=self.name,
            description=shown or base.description,
            instructions="\n\n".join(text for text in texts if text) or base.instructions,
            profile=self.name,
            max_steps=base.max_steps if self.max_steps is None else self.max_steps,
            model=self.model,
            budget=self.budget,
            source=source,
        )


def check_name(name: Any) -> str:
    """Return the name of an agent; raises `InvalidDefinition` if it is invalid, reserved or looks like
    an id.
    """
    if not isinstance(name, str) or len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise InvalidDefinition(
            f"a name has at most {MAX_NAME} lowercase letters, digits and single hyphens between them"
        )
    folded = name.replace("-", "")
    if folded in {reserved.replace("-", "").replace("_", "") for reserved in _RESERVED}:
        raise InvalidDefinition(f"the name {name!r} is reserved")
    if _LIKE_AN_ID.fullmatch(name):
        raise InvalidDefinition("the name ends like the id of a running agent")
    return name


def read_file(file: DefinitionFile) -> AgentDefinition:
    """Return the agent that a file defines; raises `InvalidDefinition`."""
    if file.problem is not None:
        raise InvalidDefinition(file.problem)
    values = dict(file.values)
    name = check_name(values.pop("name", None))
    if name != file.stem:
        raise InvalidDefinition(f"the file is named {file.stem[:MAX_NAME]!r}, the agent {name!r}")
    for foreign_key, own_key in _SAME_MEANING.items():
        if foreign_key in values and own_key not in values:
            values[own_key] = values.pop(foreign_key)
    ignored = tuple(sorted(set(values) & _IGNORED))
    table = {key: value for key, value in values.items() if key not in _IGNORED}
    unknown = sorted(set(table) - _OWN_KEYS)
    if unknown:
        # Not ignored: an unknown field may be meant to limit the agent.
        raise InvalidDefinition(f"unknown field in the frontmatter: {unknown[0][:MAX_NAME]!r}")
    for listed in ("tools", "policy"):
        if isinstance(table.get(listed), str):
            table[listed] = table[listed].replace(",", " ").split()
    if table.get("model") == _INHERITED:
        del table["model"]
    if not str(table.get("description") or "").strip():
        raise InvalidDefinition("the description is missing")
    return replace(read_definition(name, {**table, "prompt": file.body}), ignored=ignored)


def read_definition(
    name: str, table: Mapping[str, Any], read_prompt: Callable[[str], str] | None = None
) -> AgentDefinition:
    """Return the agent that a table defines; raises `InvalidDefinition`. `read_prompt` reads the
    file that `prompt_file` names.
    """
    prompt, file = table.get("prompt"), table.get("prompt_file")
    if prompt is not None and file is not None:
        raise InvalidDefinition("prompt and prompt_file are given; write one")
    if file is not None:
        path = _text(file, "prompt_file", 4_096)
        if read_prompt is None:
            raise InvalidDefinition("prompt_file is not possible here")
        prompt = read_prompt(path)
    steps = table.get("max_steps")
    if steps is not None and (type(steps) is not int or not 1 <= steps <= MAX_STEPS):
        raise InvalidDefinition(f"max_steps is not a number from 1 to {MAX_STEPS:,}")
    access = {key: table[key] for key in _ACCESS_KEYS if key in table}
    return AgentDefinition(
        name,
        " ".join(_text(table.get("description", ""), "description", MAX_DESCRIPTION).split()),
        _text(prompt or "", "the prompt", MAX_PROMPT).strip(),
        access,
        None if table.get("model") is None else _text(table["model"], "model", 200),
        steps,
        _budget(table.get("budget")),
    )


_ACCESS_KEYS: Final = ("tools", "allowed_tools", "policy", "mode", "type")
_LIMITS: Final = tuple(one.name for one in fields(Budget))


def _budget(table: Any) -> Mapping[str, Any] | None:
    if table is None:
        return None
    if not isinstance(table, Mapping) or not set(table) <= set(_LIMITS):
        raise InvalidDefinition(f"budget is not a table with {', '.join(_LIMITS)}")
    for name, value in table.items():
        integral = name in ("tokens", "steps", "calls")
        fits = type(value) is int or (not integral and isinstance(value, float))
        if not fits or value < 0:
            raise InvalidDefinition(f"budget.{name} is not a number that fits")
    return dict(table)


def _text(value: Any, field: str, limit: int) -> str:
    if not isinstance(value, str):
        raise InvalidDefinition(f"{field} is not text")
    if len(value) > limit:
        raise InvalidDefinition(f"{field} has more than {limit:,} characters")
    return value
