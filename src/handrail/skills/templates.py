"""Tools of skills: commands in which `{{name}}` is replaced by the value of an argument as one word.

A placeholder must be a whole word of the command, outside of quotes, here-documents, comments and
arithmetic, so that the shell always reads a value as one argument of the program.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

_PLACEHOLDER: Final = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_ARGUMENT: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TOOL: Final = re.compile(r"[a-z][a-z0-9_]{2,63}")
_SKILL_DIR: Final = re.compile(r"\$\{?SKILL_DIR\}?(?![A-Za-z0-9_])")
_INSERTED: Final = re.compile(f"{_PLACEHOLDER.pattern}|{_SKILL_DIR.pattern}")
_SEPARATOR: Final = re.compile(r"[;&|\n()]")
# Characters with a special meaning between double quotes.
_SPECIAL: Final = re.compile(r"[\\\"$`]")
# Constructs in which a quoted word would be evaluated again, or would not be a word.
_UNSAFE: Final = re.compile(r"<<|\(\(|\[\[|`|\$\[|\$\(|(?:^|[\s;&|(])(?:eval|let|source|\.)\s")
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}
_TOOL_KEYS: Final = frozenset({"name", "description", "cmd", "args", "returns", "timeout_ms"})
_ARG_KEYS: Final = frozenset({"type", "required", "default", "description"})
MAX_VALUE_CHARS: Final = 4_000
_MAX_COMMAND: Final = 2_000
_MAX_TOOLS: Final = 10
_MAX_ARGUMENTS: Final = 10
_MAX_ABOUT: Final = 500
DEFAULT_TIMEOUT_MS: Final = 30_000
MAX_TIMEOUT_MS: Final = 600_000


class TemplateArgument(NamedTuple):
    """One argument of a tool."""

    name: str
    type: str
    required: bool
    default: Any
    description: str


@dataclass(frozen=True, slots=True)
class ToolTemplate:
    """A tool as a skill defines it."""

    name: str
    description: str
    command: str
    arguments: tuple[TemplateArgument, ...]
    timeout_s: float

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        properties = {}
        for one in self.arguments:
            part: dict[str, Any] = {"type": one.type, "description": one.description or one.name}
            if one.type == "string":
                part["maxLength"] = MAX_VALUE_CHARS
            properties[one.name] = part if one.default is None else part | {"default": one.default}
        required = [one.name for one in self.arguments if one.required]
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        return {**schema, "required": required, "additionalProperties": False}

    def expand(self, values: Mapping[str, Any], folder: str) -> str:
        """The command with every value as one quoted word; raises ValueError for a value that a
        program would read as an option.
        """
        given = {one.name: values.get(one.name, one.default) for one in self.arguments}

        def word(found: re.Match[str]) -> str:
            if found[1] is None:
                return _place_folder(folder, self.command[: found.start()], found[0])
            value = given[found[1]]
            text = (
                ""
                if value is None
                else str(value).lower()
                if value is True or value is False
                else str(value)
            )
            if "\0" in text:
                raise ValueError(f"{found[1]} has a null character")
            after_options = _ends_options(self.command[: found.start()])
            if text.startswith("-") and not after_options and not _is_number(value):
                raise ValueError(f"{found[1]} begins with '-' and would be read as an option")
            return shlex.quote(text)

        return _INSERTED.sub(word, self.command)


def _place_folder(folder: str, before: str, name: str) -> str:
    """The replacement of `$SKILL_DIR` after the text `before`: the folder, escaped for its position
    inside or outside of quotes.
    """
    quote, skip = "", False
    for char in before:
        if skip:
            skip = False
        elif char == "\\" and quote != "'":
            skip = True
        elif char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote = char
    if skip or quote == "'":
        return name
    return _SPECIAL.sub(r"\\\g<0>", folder) if quote else shlex.quote(folder)


def _ends_options(before: str) -> bool:
    """Whether the same command contains `--` before this position."""
    try:
        return "--" in shlex.split(_SEPARATOR.split(before)[-1])
    except ValueError:
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_templates(given: Any) -> tuple[ToolTemplate, ...]:
    """Parse the tools in the field `tool_defs`; raises ValueError."""
    if not isinstance(given, list) or len(given) > _MAX_TOOLS:
        raise ValueError(f"a list of at most {_MAX_TOOLS} tools")
    found = tuple(_template(one) for one in given)
    if len({one.name for one in found}) < len(found):
        raise ValueError("two tools have the same name")
    return found


def _template(given: Any) -> ToolTemplate:
    if not isinstance(given, dict) or not set(given) <= _TOOL_KEYS:
        raise ValueError(f"a tool is a table with {', '.join(sorted(_TOOL_KEYS))}")
    name, command = given.get("name"), given.get("cmd")
    if not isinstance(name, str) or not _TOOL.fullmatch(name):
        raise ValueError("the name of a tool has 3 to 64 lowercase letters, digits and _")
    about = given.get("description", "")
    if not isinstance(about, str) or not about.strip() or len(about) > _MAX_ABOUT:
        raise ValueError(f"{name} has no description of at most {_MAX_ABOUT} characters")
    if not isinstance(command, str) or not command.strip() or len(command) > _MAX_COMMAND:
        raise ValueError(f"{name} has no cmd of at most {_MAX_COMMAND:,} characters")
    timeout = given.get("timeout_ms", DEFAULT_TIMEOUT_MS)
    if type(timeout) is not int or not 1 <= timeout <= MAX_TIMEOUT_MS:
        raise ValueError(f"{name}: timeout_ms is not between 1 and {MAX_TIMEOUT_MS:,}")
    arguments = _arguments(name, given.get("args", {}))
    _check_placeholders(name, command, {one.name for one in arguments})
    return ToolTemplate(name, " ".join(about.split()), command, arguments, timeout / 1000)


def _arguments(tool: str, given: Any) -> tuple[TemplateArgument, ...]:
    if not isinstance(given, dict) or len(given) > _MAX_ARGUMENTS:
        raise ValueError(f"{tool}: args is not a table of at most {_MAX_ARGUMENTS} arguments")
    found = []
    for name, about in given.items():
        if not isinstance(about, dict) or not set(about) <= _ARG_KEYS:
            raise ValueError(f"{tool}: an argument has {', '.join(sorted(_ARG_KEYS))}")
        kind, default = about.get("type", "string"), about.get("default")
        if not _ARGUMENT.fullmatch(name) or kind not in _TYPES:
            raise ValueError(f"{tool}: an argument has an invalid name or type")
        fits = isinstance(default, _TYPES[kind]) and isinstance(default, bool) == (
            kind == "boolean"
        )
        if default is not None and not fits:
            raise ValueError(f"{tool}: the default of {name} is not of type {kind}")
        required = about.get("required", default is None)
        text = about.get("description", "")
        if not isinstance(required, bool) or not isinstance(text, str) or len(text) > _MAX_ABOUT:
            raise ValueError(f"{tool}: {name} has an invalid description or required")
        found.append(TemplateArgument(name, kind, required, default, " ".join(text.split())))
    return tuple(found)


def _check_placeholders(tool: str, command: str, known: set[str]) -> None:
    names = _PLACEHOLDER.findall(command)
    for name in names:
        if name not in known:
            raise ValueError(f"{tool}: cmd names the unknown argument {name[:40]!r}")
    rest = _PLACEHOLDER.sub("", command)
    if "{{" in rest or "}}" in rest:
        raise ValueError(f"{tool}: cmd has braces that are no placeholder")
    if names and _UNSAFE.search(command):
        raise ValueError(
            f"{tool}: cmd evaluates text, substitutes a command or has a here-document"
        )
    try:
        words = shlex.split(_PLACEHOLDER.sub(_marker, command))
    except ValueError as error:
        raise ValueError(f"{tool}: cmd has an open quote") from error
    if any(word.startswith("#") for word in words):
        raise ValueError(f"{tool}: cmd has a comment")
    whole = [word for word in words if _MARKER.fullmatch(word)]
    if len(whole) != len(names) or _quoted(command):
        raise ValueError(f"{tool}: a placeholder must be a word of its own, without quotes")


_MARKER: Final = re.compile(r"HANDRAILARGUMENT_[a-z0-9_]+")


def _marker(found: re.Match[str]) -> str:
    return f"HANDRAILARGUMENT_{found[1]}"


def _quoted(command: str) -> bool:
    """Whether a placeholder is next to a quote or a backslash."""
    return any(
        command[found.start() - 1 : found.start()] in ("'", '"', "\\")
        or command[found.end() : found.end() + 1] in ("'", '"')
        for found in _PLACEHOLDER.finditer(command)
        if found.start() > 0 or found.end() < len(command)
    )
