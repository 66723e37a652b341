"""What a function's docstring says: the text, and what it says about each argument."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_SECTION: Final = re.compile(
    r"(args|arguments|parameters|returns?|yields?|raises?|examples?|notes?):\s*", re.IGNORECASE
)
_ARGUMENTS: Final = frozenset({"args", "arguments", "parameters"})
_ITEM: Final = re.compile(r"(?P<name>\w+)\s*(\([^)]*\))?:\s*(?P<text>.*)")


class Docstring(NamedTuple):
    """The text before the first section, and the argument descriptions."""

    text: str
    arguments: dict[str, str]


def parse_docstring(docstring: str) -> Docstring:
    """Read a docstring (already without common indentation) with an `Args:` section."""
    text: list[str] = []
    items: list[str] = []
    section: str | None = None
    for line in docstring.splitlines():
        head = _SECTION.fullmatch(line)
        if head:
            section = head[1].lower()
        elif section is None:
            text.append(line)
        elif section in _ARGUMENTS:
            items.append(line)
    return Docstring("\n".join(text).strip(), _items(items))


def _items(lines: list[str]) -> dict[str, str]:
    filled = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in filled:
        item = _ITEM.fullmatch(line.strip()) if line[margin : margin + 1].strip() else None
        if item:
            current = found.setdefault(item["name"], [])
            current.append(item["text"].strip())
        else:
            current.append(line.strip())
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}
