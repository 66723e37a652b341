"""The editing benchmark: its calls made through the public tools, judged by its own scorer.

`python -m bench.editbench [FOLDER]` runs it where the benchmark lies (beside the repository by
default). The scorer loads `edit` and `patch` from here and looks at the bytes left on disk.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import handrail.sync

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "editbench"
_SETS = {
    "edit": ("dev.edit.jsonl.gz", "edit", None),
    "unified": ("dev.patch.jsonl.gz", "patch", "unified"),
    "codex": ("dev.patch.jsonl.gz", "patch", "codex"),
}
_opened: dict[str, handrail.sync.SyncRuntime] = {}


def edit(path: str, old: str, new: str, replace_all: bool = False) -> str:
    """One call of `edit_file`; raises on refusal."""
    root, name = os.path.split(path)
    arguments = {"path": name, "old_string": old, "new_string": new, "replace_all": replace_all}
    return _runtime(root).call("edit_file", arguments).unwrap().text


def patch(root: str, patch: str, format: str, path: str | None) -> str:
    """One call of `apply_patch`, which tells the two formats apart itself."""
    del format, path
    return _runtime(root).call("apply_patch", {"patch": patch}).unwrap().text


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else _BESIDE
    if not (folder / "score.py").exists():
        print(f"the editing benchmark is not in {folder}")
        return 1
    scorer = _load(folder / "score.py")
    for name, (file, function, form) in _SETS.items():
        cases = [
            case
            for case in scorer.load(str(folder / file))
            if form in (None, case["call"].get("format"))
        ]
        rows = scorer.run(cases, scorer.Py(f"{__file__}:{function}"))
        scorer.table(rows)
        print(name, scorer.summary(rows), end="\n\n")
    return 0


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("editbench_score", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _runtime(root: str) -> handrail.sync.SyncRuntime:
    if root not in _opened:
        _close()
        _opened[root] = handrail.sync.open(
            root, store=":memory:", config={"mode": "accept-edits", "allow_delete": True}
        )
    return _opened[root]


@atexit.register
def _close() -> None:
    while _opened:
        _opened.popitem()[1].close()


if __name__ == "__main__":
    raise SystemExit(main())
