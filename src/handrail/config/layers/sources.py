"""Where the value of a setting comes from."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.config.files.document import location


class Layer(StrEnum):
    """The layers of settings, lowest precedence first."""

    DEFAULT = "default"
    USER = "user"
    PROJECT = "project"
    LOCAL = "local"
    KEYWORD = "keyword"
    SESSION = "session"


# Layers read from the workspace itself, so their author may not be the user.
PROJECT_LAYERS: Final = frozenset({Layer.PROJECT, Layer.LOCAL})


class SettingSource(NamedTuple):
    """A layer, with file and line if the value was read from a file."""

    layer: Layer
    file: Path | None = None
    line: int | None = None

    def __str__(self) -> str:
        return self.layer.value if self.file is None else location(self.file, self.line)

    def to_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        file = None if self.file is None else str(self.file)
        return {"layer": self.layer.value, "file": file, "line": self.line}
