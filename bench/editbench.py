"""The editing benchmark's adapter: its calls, made through the public tools.

`score.py` of the benchmark loads this file and judges the bytes left on disk:
`score.py dev.edit.jsonl.gz --py bench/editbench.py:edit`, `… dev.patch.jsonl.gz … :patch`.
"""

from __future__ import annotations

import atexit
import os

import handrail.sync

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
