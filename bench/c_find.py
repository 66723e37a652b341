"""c. All Python files of a large tree, newest first, beside scandir + stat + sort."""

from __future__ import annotations

import os
from pathlib import Path

import handrail
from bench import peers
from bench.figure import REPEATING, Candidate, Figure, Scale, figure, interleave
from bench.tree import grow


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    grow(workspace, scale.files)
    wanted = scale.files // 4

    def limit() -> list[str]:
        return newest(str(workspace))

    async with handrail.open(workspace, store=folder / "audit.sqlite", config=REPEATING) as rt:

        async def ours() -> object:
            arguments = {"pattern": "*.py", "sort": "mtime", "limit": scale.files}
            return await rt.call("find_files", arguments)

        result = (await ours()).unwrap()  # type: ignore[attr-defined]
        assert len(limit()) == wanted
        # All files are found and sorted; the text for the model ends at its limit.
        assert result.data["total"] == wanted, f"{result.data['total']} of {wanted}"
        candidates: dict[str, Candidate] = {"limit": limit, "ours": ours}
        if glob := peers.deepagents_tools(workspace).get("glob"):
            candidates[peers.DEEPAGENTS] = lambda: glob({"pattern": "**/*.py", "path": "/"})
        times = await interleave(candidates, rounds=scale.rounds)
    what = f"find_files by mtime, {scale.files} files / scandir+stat+sort"
    return [figure("c", what, times, bar=1.3, goal=1.15)]


def newest(root: str) -> list[str]:
    """The bare way to do it."""
    found: list[tuple[int, str]] = []
    stack = [root]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                elif entry.name.endswith(".py"):
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    found.sort(reverse=True)
    return [path for _, path in found]
