"""The text of the tables, parsed entry by entry when a program is first asked for.

Reading all of it would cost the first command a tenth of a second.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Final

Entry = Mapping[str, Any]
_HEADER: Final = re.compile(r'^\[(?:"([^"\n]+)"|([\w-]+))', re.MULTILINE)


class Tables(Mapping[str, Entry]):
    """Entries by the name of a program; one entry may stand for several programs."""

    def __init__(self, texts: Iterator[str]) -> None:
        self._blocks: dict[str, str] = {}
        self._groups: dict[str, str] = {}
        self._parsed: dict[str, Entry] = {}
        for text in texts:
            self._divide(text)

    def __getitem__(self, name: str) -> Entry:
        """The entry of a program."""
        known = self._parsed.get(name)
        if known is None:
            entries = tomllib.loads(self._blocks[name])
            known = _with_groups(next(iter(entries.values())), self._groups)
            self._parsed[name] = known
        return known

    def __iter__(self) -> Iterator[str]:
        """Every program that has an entry."""
        return iter(self._blocks)

    def __len__(self) -> int:
        """How many programs have one."""
        return len(self._blocks)

    def _divide(self, text: str) -> None:
        """Parts a file at its headers; `[git.sub.log]` belongs to the entry of git."""
        headers = list(_HEADER.finditer(text))
        opening = text[: headers[0].start()] if headers else text
        self._groups.update(tomllib.loads(opening))
        ends = [*(header.start() for header in headers[1:]), len(text)]
        for header, end in zip(headers, ends, strict=True):
            for name in (header[1] or header[2]).split():
                self._blocks[name] = self._blocks.get(name, "") + text[header.start() : end]


@lru_cache(maxsize=1)
def tables() -> Tables:
    """The tables as they ship."""
    folder = resources.files("handrail.shell") / "tables"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return Tables(file.read_text(encoding="utf-8") for file in files if file.name.endswith(".toml"))


def _with_groups(entry: Any, groups: Mapping[str, str]) -> Any:
    """The entry with every `@name` in it replaced by the options of that group."""
    if isinstance(entry, str):
        return " ".join(groups.get(word, word) for word in entry.split()) if "@" in entry else entry
    if isinstance(entry, dict):
        return {key: _with_groups(value, groups) for key, value in entry.items()}
    return entry
