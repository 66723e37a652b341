"""b. A text search over a large tree beside the same search by `rg` itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import handrail
from bench import peers
from bench.figure import REPEATING, Candidate, Figure, Scale, figure, interleave
from bench.tree import HITS, NEEDLE, grow

RG = str(Path(sys.executable).with_name("rg"))
REGEX = r"quartz_\w+_\d"


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    workspace = folder / "workspace"
    grow(workspace, scale.files)
    other = peers.deepagents_tools(workspace).get("grep")
    figures = []
    async with handrail.open(workspace, store=folder / "audit.sqlite", config=REPEATING) as rt:
        for what, pattern, literal in (("literal", NEEDLE, True), ("regex", REGEX, False)):
            command = [RG, "-n", "--no-heading", *(["-F"] if literal else []), "-e", pattern, "."]
            arguments = {
                "pattern": pattern,
                "literal": literal,
                "output_mode": "content",
                "limit": 2 * HITS,
            }

            def limit(command: list[str] = command) -> object:
                return subprocess.run(command, cwd=workspace, capture_output=True, check=True)

            async def ours(arguments: dict[str, object] = arguments) -> object:
                return await rt.call("grep", arguments)

            found = (await rt.call("grep", arguments)).unwrap().text
            assert found.count(NEEDLE) == HITS, f"{found.count(NEEDLE)} hits instead of {HITS}"
            candidates: dict[str, Candidate] = {"limit": limit, "ours": ours}
            if other and literal:
                candidates[peers.DEEPAGENTS] = lambda: other({"pattern": NEEDLE, "path": "/"})
            # A few per cent matter here, so there are more rounds than where a factor matters.
            times = await interleave(candidates, rounds=3 * scale.rounds)
            figures.append(
                figure("b", f"grep {what}, {scale.files} files / rg", times, bar=1.1, goal=1.05)
            )
    return figures
