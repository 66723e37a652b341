"""What is checked of a task before its fleet starts: its local files exist, and it has a model."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from handrail.assembly.settings_files import load_from
from handrail.scale import messages
from handrail.scale.tasks import FleetTask, TaskLine

_MAIN: Final = "main"
_MAX_SHOWN: Final = 500
_SCRIPTS: Final = ("script", "replay")


class StartCheck:
    """Checks tasks that were never started. `model` and `config` are options of the fleet, `root`
    is a directory without settings of a project.
    """

    def __init__(self, model: str | None, config: str | None, root: Path) -> None:
        self._model = model
        self._config = config
        self._root = str(root)
        self._present: set[str] = set()
        self._configured: dict[str, str | None] = {}

    def check(self, line: TaskLine) -> None:
        """Raise `invalid_arguments` if the task cannot start."""
        source = line.task.source
        # Unlike the methods of `Path`, these return False for a name that is too long.
        if source.kind == "directory":
            self._check_path(line, "directory", source.place, os.path.isdir)
        elif source.kind == "tarball":
            self._check_path(line, "archive", source.place, os.path.exists)
        model = line.task.model or self._model or self._find_configured(line.task)
        if model is None and line.task.agent == _MAIN:
            raise messages.TASK_WITHOUT_MODEL.error(where=line.where, field="model")
        kind, _, place = (model or "").partition(":")
        if kind in _SCRIPTS and place:
            self._check_path(line, kind, str(Path(place).expanduser()), os.path.exists)

    def _check_path(
        self, line: TaskLine, what: str, path: str, exists: Callable[[str], bool]
    ) -> None:
        # Thousands of tasks may have the same source.
        if path in self._present:
            return
        if not exists(path):
            reason = f"there is no {what} {path[:_MAX_SHOWN]!r}"
            raise messages.INVALID_TASK.error(where=line.where, reason=reason)
        self._present.add(path)

    def _find_configured(self, task: FleetTask) -> str | None:
        """Return the model of the settings that apply in the task's workspace."""
        root = task.source.place if task.source.in_place else self._root
        if root not in self._configured:
            self._configured[root] = load_from(root, self._config, {}).settings.model
        return self._configured[root]
