"""h. Cold start: the import and `--version`, each in a new process.

`import handrail` loads next to nothing by itself: that is what its bar is about, and what a
program pays that only imports it. With the door resolved everything is loaded, pydantic among
it; no bar was ever set for that, but it is what a program that uses it pays, so it is shown.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench import peers
from bench.figure import Candidate, Figure, Scale, figure, interleave

PYDANTIC = "from pydantic import BaseModel\nclass Params(BaseModel):\n    path: str"
HANDRAIL = "import handrail"
RESOLVED = "import handrail\nhandrail.open, handrail.tool"
PEERS = {
    peers.DEEPAGENTS: "from deepagents.middleware.filesystem import FilesystemMiddleware",
    peers.PYDANTIC_AI: "from pydantic_ai.toolsets import FunctionToolset",
}


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    del folder
    rounds = max(7, scale.rounds)
    imports: dict[str, Candidate] = {"limit": _python(PYDANTIC), "ours": _python(RESOLVED)}
    imports |= {name: _python(code) for name, code in PEERS.items() if _works(code)}
    loaded = await interleave({**imports, "bare": _python(HANDRAIL)}, rounds=rounds)
    bare = {"limit": loaded["limit"], "ours": loaded.pop("bare")}

    program = str(Path(sys.executable).with_name("handrail"))
    version = await interleave(
        {"limit": _python("pass"), "ours": _command([program, "--version"])}, rounds=rounds * 2
    )
    return [
        figure("h", "import handrail / pydantic", bare, bar=1.5, goal=1.25),
        figure("h", "import handrail, door resolved / pydantic", loaded, bar=None, goal=None),
        figure("h", "handrail --version / bare Python", version, bar=5, goal=3),
    ]


def _python(code: str) -> Candidate:
    return _command([sys.executable, "-c", code])


def _command(command: list[str]) -> Candidate:
    def run() -> object:
        return subprocess.run(command, capture_output=True, check=True)

    return run


def _works(code: str) -> bool:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    return done.returncode == 0
