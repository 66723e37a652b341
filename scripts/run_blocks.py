"""Run the code blocks of Markdown pages as a reader would: in order, in one new folder per page.

Blocks marked `python` and `sh` are run and must succeed. A block marked `output` after one of them
must equal what it printed; `...` stands for any text. Other blocks are only read.
"""

from __future__ import annotations

import argparse
import doctest
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 60
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block and where it starts."""

    line: int
    language: str
    text: str


def main() -> int:
    """Run every given page; return 1 at the first block that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--bin", type=Path, default=Path(sys.executable).parent, dest="programs")
    options = parser.parse_args()
    for page in options.pages:
        with tempfile.TemporaryDirectory(prefix="handrail-docs-") as folder:
            problem = run_page(page, options.programs, Path(folder))
        if problem:
            print(problem, file=sys.stderr)
            return 1
    return 0


def run_page(page: Path, programs: Path, folder: Path) -> str | None:
    """Return what went wrong on a page; None if nothing did."""
    workspace = folder / "here"
    workspace.mkdir()
    printed = ""
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{page.name}:{block.line}"
        if block.language == "output":
            if not _matches(block.text, printed):
                return f"{where}: expected\n{block.text}\nbut it printed\n{printed}"
            continue
        done = _run(block, programs, folder, workspace)
        if done.returncode != 0:
            return f"{where}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        printed = done.stdout
    return None


def blocks(text: str) -> Iterator[Block]:
    """Return the blocks of a page that are run or compared."""
    for match in _FENCE.finditer(text):
        if match[1] in ("python", "sh", "output"):
            yield Block(text.count("\n", 0, match.start()) + 1, match[1], match[2])


def _run(
    block: Block, programs: Path, folder: Path, workspace: Path
) -> subprocess.CompletedProcess[str]:
    script = folder / f"block_{block.line}.{'py' if block.language == 'python' else 'sh'}"
    script.write_text(block.text, encoding="utf-8")
    command: list[str | Path] = (
        [programs / "python", script]
        if block.language == "python"
        else ["bash", "-euo", "pipefail", script]
    )
    environment = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "LANG": "C.UTF-8",
    }
    return subprocess.run(
        command,
        cwd=workspace,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )


def _matches(wanted: str, printed: str) -> bool:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(wanted, printed, options)


if __name__ == "__main__":
    raise SystemExit(main())
