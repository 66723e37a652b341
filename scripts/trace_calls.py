"""Print how many functions, files and packages a read, an edit and a command enter.

For each call: distinct functions, distinct files, and switches between packages, over all threads
of the process. The figures depend on the code alone, not on the speed of the machine. One call of
each kind is made before, so that caches are warm; of several traced calls the one with the fewest
files is shown, because the thread of the store may write rows of earlier calls meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
import threading
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import handrail
from handrail.core.results import ToolResult

PACKAGE = Path(handrail.__file__).parent
CALLS = 3


class CallTracer:
    """Counts the functions of the package that are entered while it is active, in every thread."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, int]] = set()
        self.files: dict[str, None] = {}
        self.switches = 0
        self._packages: dict[int, str] = {}
        self._active = False

    def install(self) -> None:
        """Watch this thread and every thread that is started from now on."""
        threading.setprofile(self._enter)
        sys.setprofile(self._enter)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Count from zero inside the block."""
        self.functions, self.files, self.switches, self._packages = set(), {}, 0, {}
        self._active = True
        try:
            yield
        finally:
            self._active = False

    def figures(self) -> dict[str, Any]:
        """The counts, JSON-ready."""
        return {
            "functions": len(self.functions),
            "files": list(self.files),
            "switches": self.switches,
        }

    def _enter(self, frame: FrameType, event: str, argument: Any) -> None:
        del argument
        if event != "call" or not self._active:
            return
        code = frame.f_code
        if not code.co_filename.startswith(f"{PACKAGE}/"):
            return
        path = code.co_filename.removeprefix(f"{PACKAGE}/")
        self.functions.add((path, code.co_firstlineno))
        self.files[path] = None
        package, thread = path.partition("/")[0], threading.get_ident()
        if self._packages.get(thread, package) != package:
            self.switches += 1
        self._packages[thread] = package


def main() -> int:
    """Print the table, or JSON with the files entered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one object per call, with its files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "workspace")
        root.mkdir()
        root.joinpath("a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
        figures = asyncio.run(trace_calls(root, Path(folder, "record.db")))
    if options.json:
        print(json.dumps(figures, indent=2))
        return 0
    print(f"{'call':10} {'functions':>9} {'files':>6} {'switches':>9}")
    for name, one in figures.items():
        print(f"{name:10} {one['functions']:>9} {len(one['files']):>6} {one['switches']:>9}")
    return 0


async def trace_calls(root: Path, store: Path) -> dict[str, dict[str, Any]]:
    """The figures of a read, an edit and a command in the workspace `root`."""
    tracer = CallTracer()
    tracer.install()
    async with handrail.open(root, mode="accept-edits", store=store) as rt:
        edits = itertools.cycle([("two", "2"), ("2", "two")])

        def read() -> Awaitable[ToolResult]:
            return rt.call("read_file", {"path": "a.txt"})

        def edit() -> Awaitable[ToolResult]:
            old, new = next(edits)
            arguments = {"path": "a.txt", "old_string": old, "new_string": new}
            return rt.call("edit_file", arguments)

        def command() -> Awaitable[ToolResult]:
            return rt.call("run_command", {"command": "ls"})

        figures = {}
        for call in (read, edit, command):
            (await call()).unwrap()
            traced = []
            for _ in range(CALLS):
                await rt.store.flush()
                with tracer.active():
                    (await call()).unwrap()
                traced.append(tracer.figures())
            figures[call.__name__] = min(
                traced, key=lambda one: (len(one["files"]), one["switches"])
            )
        return figures


if __name__ == "__main__":
    raise SystemExit(main())
