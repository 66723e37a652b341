"""Frontmatter: the table between two lines `---` at the top of a Markdown file."""

from __future__ import annotations

from typing import Any, Final

from handrail.config.files.yaml_values import UnsupportedYaml, parse

_FENCE: Final = "---"
_MAX_CHARS: Final = 16_000


class InvalidFrontmatter(Exception):
    """Raised for frontmatter that cannot be read; the text says why."""


def split_frontmatter(text: str, file: str) -> tuple[dict[str, Any], str]:
    """The table, and the text below it; raises `InvalidFrontmatter`."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _FENCE:
        raise InvalidFrontmatter(f"{file} does not begin with frontmatter ({_FENCE})")
    size = 0
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            return _parse("\n".join(lines[1:number])), "\n".join(lines[number + 1 :])
        size += len(line) + 1
        if size > _MAX_CHARS:
            raise InvalidFrontmatter(f"the frontmatter has more than {_MAX_CHARS:,} characters")
    raise InvalidFrontmatter(f"the frontmatter does not end ({_FENCE})")


def _parse(text: str) -> dict[str, Any]:
    try:
        values, _ = parse(text)
    except UnsupportedYaml as error:
        place = "" if error.line is None else f" (line {error.line + 1})"
        raise InvalidFrontmatter(f"the frontmatter cannot be read{place}: {error.why}") from error
    if not isinstance(values, dict):
        raise InvalidFrontmatter("the frontmatter is not a table")
    return values
