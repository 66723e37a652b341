"""A parsed configuration file: its values and the line of each key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.config import messages
from handrail.config.files.reading import FileText
from handrail.core.problems import ProblemRaised
from handrail.core.text.nesting import nested_deeper
from handrail.core.text.safe_text import safe_text

Key = tuple[str | int, ...]

_MAX_DEPTH: Final = 32
_MAX_DOTS: Final = 300
_LONGEST: Final = 200
_AT_LINE: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_YAML: Final = (".yaml", ".yml")


class Document(NamedTuple):
    """The values of one configuration file."""

    path: Path
    values: dict[str, Any]
    lines: Mapping[Key, int]  # keys whose line is unknown are missing

    def line(self, key: Key) -> int | None:
        """Return the line of a key, or of the closest enclosing table or list."""
        while key:
            if key in self.lines:
                return self.lines[key]
            key = key[:-1]
        return None


def parse_document(file: FileText) -> Document:
    """Parse a file: YAML if its name ends in .yaml or .yml, JSON if in .json, else TOML.

    Raises `invalid_arguments` with the line.
    """
    ending = file.path.suffix.lower()
    parse = _yaml if ending in _YAML else _json if ending == ".json" else _toml
    values, lines = parse(file)
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise _invalid_file(file, 1, "the settings must be a table")
    return Document(file.path, values, lines)


def location(path: Path, line: int | None) -> str:
    """Format a file and a line as `path:line`."""
    return str(path) if line is None else f"{path}:{line}"


def dotted(key: Key) -> str:
    """Format a key as `table.key[index]`."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def key_text(text: str) -> str:
    """Escape and truncate a key for a message: the file may not be trusted."""
    safe = safe_text(text[:_LONGEST], one_line=True)
    return safe if len(text) <= _LONGEST else f"{safe}…"


def _yaml(file: FileText) -> tuple[Any, Mapping[Key, int]]:
    from handrail.config.files import yaml_values

    try:
        return yaml_values.parse(file.text)
    except yaml_values.UnsupportedYaml as error:
        raise _invalid_file(file, error.line, error.why) from error


def _json(file: FileText) -> tuple[Any, Mapping[Key, int]]:
    import json

    # JSON is valid YAML except for tabs, which JSON strings cannot contain. The YAML parser reports the
    # lines and refuses duplicate keys; the JSON parser reads the escapes.
    _, lines = _yaml(file._replace(text=file.text.replace("\t", " ")))
    try:
        values = json.loads(file.text)
    except json.JSONDecodeError as error:
        raise _invalid_file(file, error.lineno, error.msg) from error
    if isinstance(values, dict):
        # A key for editors, not a setting.
        values.pop("$schema", None)
    return values, lines


def _toml(file: FileText) -> tuple[Any, Mapping[Key, int]]:
    import tomllib

    if nested_deeper(file.text, _MAX_DEPTH, strings=False):
        raise _invalid_file(file, None, f"it is nested deeper than {_MAX_DEPTH} levels")
    # tomllib takes quadratic time in the number of parts of a dotted key.
    rows = enumerate(file.text.split("\n"), 1)
    endless = next((number for number, row in rows if row.count(".") > _MAX_DOTS), None)
    if endless is not None:
        raise _invalid_file(file, endless, f"there are more than {_MAX_DOTS} dots in one line")
    try:
        values = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = _AT_LINE.search(message)
        line = int(at[1]) if at is not None and at[1] else file.text.count("\n") + 1
        raise _invalid_file(file, line, _why(_AT_LINE.sub("", message))) from error
    except RecursionError as error:
        raise _invalid_file(file, None, "it is nested too deep") from error
    return values, _lines(file.text)


def _lines(text: str) -> Mapping[Key, int]:
    from handrail.config.files import toml_lines

    try:
        return toml_lines.key_lines(text)
    except (ValueError, IndexError, RecursionError):
        # Messages then have no line numbers.
        return {}


def _why(message: str) -> str:
    unquoted = message == "Invalid value"
    return "invalid value; text needs quotes" if unquoted else message


def _invalid_file(file: FileText, line: int | None, why: str) -> ProblemRaised:
    return messages.INVALID_FILE.error(location=location(file.path, line), reason=why)
