"""t. The first definition from a language server that does not run yet, beside a client that starts
the same program and sends the same messages, without a sandbox, rules or a record.
"""

from __future__ import annotations

import errno
import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import handrail
from bench.figure import Figure, Scale, Times, figure
from handrail.assembly.calls import server_catalog
from handrail.config.model import LanguageServerSettings
from handrail.lsp.catalog import ServerProgram, language_id
from handrail.lsp.server import CAPABILITIES

# Of servers that need longer than this alone, and of the quicker ones.
SLOW_MS, SLOW_BAR, QUICK_BAR = 200.0, 1.2, 1.5
MODULES = 50
PYTHON = """\
import dataclasses
import json
import subprocess
from pathlib import Path

from package.module7 import Shape7

@dataclasses.dataclass
class Report:
    shape: Shape7
    place: Path

def write(report: Report) -> int:
    report.place.write_text(json.dumps({"area": report.shape.area()}))
    return subprocess.run(["true"], check=False).returncode
"""
MODULE = """\
from __future__ import annotations
import math

class Shape{number}:
    radius: float = {number}

    def area(self) -> float:
        return math.pi * self.radius**2
"""
C = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t measure(const char *text) { return strlen(text); }

int main(void) { printf("%zu\\n", measure("text")); return EXIT_SUCCESS; }
"""


class Question(NamedTuple):
    """The position of a name, and the file and line of its definition; all from 1."""

    server: str
    path: str
    line: int
    column: int
    defined: tuple[str, int]


QUESTIONS = (
    Question("ty", "report.py", 14, 62, ("package/module7.py", 7)),
    Question("clangd", "main.c", 7, 34, ("main.c", 5)),
)


def write_workspace(folder: Path) -> None:
    """A project of a few files, which use the standard library as most do."""
    (folder / "report.py").write_text(PYTHON)
    (folder / "main.c").write_text(C)
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")
    for number in range(MODULES):
        text = MODULE.format(number=number)
        (folder / "package" / f"module{number}.py").write_text(text)


class BareClient:
    """Exchanges messages with a server over its pipes and does nothing else."""

    def __init__(self, program: ServerProgram, folder: Path) -> None:
        self._spec = program.spec
        self._folder = folder
        self._process = subprocess.Popen(
            (program.path or "", *program.spec.command[1:]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )

    def define(self, question: Question) -> Any:
        """Send `initialize`, open the document and ask."""
        folder, file = self._folder.as_uri(), self._folder / question.path
        self._send(
            1,
            "initialize",
            {
                "processId": None,
                "rootUri": folder,
                "workspaceFolders": [{"uri": folder, "name": "workspace"}],
                "capabilities": CAPABILITIES,
                "initializationOptions": dict(self._spec.options),
            },
        )
        self._wait(1)
        self._send(None, "initialized", {})
        item = {
            "uri": file.as_uri(),
            "languageId": language_id(self._spec, question.path),
            "version": 1,
            "text": file.read_text(),
        }
        self._send(None, "textDocument/didOpen", {"textDocument": item})
        at = {"line": question.line - 1, "character": question.column - 1}
        asked = {"textDocument": {"uri": file.as_uri()}, "position": at}
        self._send(2, "textDocument/definition", asked)
        return self._wait(2)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _send(self, number: int | None, method: str, params: Mapping[str, Any]) -> None:
        message: dict[str, Any] = {"method": method, "params": params}
        self._write(message if number is None else {"id": number, **message})

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _wait(self, number: int) -> Any:
        while True:
            message = self._read()
            if "method" not in message:
                if message.get("id") == number:
                    return message["result"]
            elif "id" in message:
                asked = message.get("params") or {}
                answer = [None] * len(asked["items"]) if "items" in asked else None
                self._write({"id": message["id"], "result": answer})

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        size = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        message: dict[str, Any] = json.loads(self._process.stdout.read(size))
        return message


def time_bare(program: ServerProgram, question: Question, folder: Path) -> float:
    began = time.perf_counter()
    client = BareClient(program, folder)
    try:
        found = client.define(question)
        taken = time.perf_counter() - began
    finally:
        client.close()
    # A location, or a link to one.
    place = found[0] if isinstance(found, list) else found
    span = place.get("targetSelectionRange") or place["range"]
    assert span["start"]["line"] == question.defined[1] - 1
    return taken


async def time_ours(question: Question, folder: Path, *, used: bool) -> float:
    """Return the time of the first answer in a new runtime; `used`: it has run a command before."""
    async with handrail.open(folder, store=":memory:", mode="sandboxed") as rt:
        if used:
            assert (await rt.call("run_command", {"command": "true"})).ok
        at = {"path": question.path, "line": question.line, "column": question.column}
        began = time.perf_counter()
        found = await rt.call("lsp", {"operation": "goto_definition", **at})
        taken = time.perf_counter() - began
    [item] = found.unwrap().data["items"]
    assert (item["path"], item["line"]) == question.defined
    return taken


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    write_workspace(folder)
    catalog = server_catalog(LanguageServerSettings(), [str(folder)])
    assert catalog is not None
    return [
        row
        for question in QUESTIONS
        for row in await measure_one(catalog.for_file(question.path), question, folder, scale)
    ]


async def measure_one(
    program: ServerProgram, question: Question, folder: Path, scale: Scale
) -> list[Figure]:
    """Return the figure of a runtime in use, and of one whose first call it is."""
    if program.path is None:
        raise FileNotFoundError(errno.ENOENT, program.reason, question.server)
    bare: list[float] = []
    used: list[float] = []
    first: list[float] = []
    # The first round fills the caches of the machine.
    for _ in range(max(7, scale.rounds) + 1):
        bare.append(time_bare(program, question, folder))
        used.append(await time_ours(question, folder, used=True))
        first.append(await time_ours(question, folder, used=False))
    in_use: Times = {"limit": bare[1:], "ours": used[1:]}
    at_once: Times = {"limit": bare[1:], "ours": first[1:]}
    what = f"first definition of {question.server}"
    row = figure("t", what, in_use, bar=QUICK_BAR, goal=1.1)
    if row.limit > SLOW_MS:
        row = figure("t", what, in_use, bar=SLOW_BAR, goal=1.1)
    return [row, figure("t", f"{what}, first call of all", at_once, bar=None, goal=None)]
