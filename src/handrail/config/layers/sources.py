"""Where a value of the settings comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from handrail.config.files.document import place


class Layer(StrEnum):
    """Who says it, the later over the earlier."""

    DEFAULT = "default"
    USER = "user"
    PROJECT = "project"
    LOCAL = "local"
    KEYWORD = "keyword"
    SESSION = "session"


# Those that come with a workspace, so that whoever wrote the workspace wrote them.
FOREIGN: Final = frozenset({Layer.PROJECT, Layer.LOCAL})


@dataclass(frozen=True, slots=True)
class Source:
    """A layer, and the place in a file if it was one."""

    layer: Layer
    file: Path | None = None
    line: int | None = None

    def __str__(self) -> str:
        return self.layer.value if self.file is None else place(self.file, self.line)

    def to_dict(self) -> dict[str, Any]:
        """The shape that `--json` output carries."""
        file = None if self.file is None else str(self.file)
        return {"layer": self.layer.value, "file": file, "line": self.line}
