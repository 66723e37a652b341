"""Checks the languages of the `syntax` extra with tree-sitter, in another process.

Not in this process: five kilobytes can keep a grammar busy for ten seconds without a way to stop
it, and deep nesting can crash it. The process reads only its input.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.ports.syntax import SyntaxFault
from handrail.core.ports.workers import WorkerTask
from handrail.host.processes.python_worker import run_python_worker
from handrail.host.syntax.languages import Language
from handrail.host.syntax.source import SourceText

MAX_BYTES: Final = 512_000
_MAX_S: Final = 3.0
_MAX_ANSWER: Final = 100_000
_WORKER: Final = Path(__file__).with_name("treesitter_worker.py")


class GrammarFaults(NamedTuple):
    """The errors of a file now and before; both empty if they could not be determined."""

    now: list[SyntaxFault]
    old: list[SyntaxFault]


_NOTHING: Final = GrammarFaults([], [])


async def faults(language: Language, before: SourceText | None, after: SourceText) -> GrammarFaults:
    """The errors that a language's grammars find; the old version is parsed only if needed."""
    modules = ("tree_sitter", *(grammar.module for grammar in language.grammars))
    new = _bytes(after)
    grammars = [f"{grammar.module}:{grammar.function}" for grammar in language.grammars]
    feed = new if before is None else new + _bytes(before)
    arguments = (",".join(grammars), str(len(new)))
    task = WorkerTask(str(_WORKER), modules, arguments, feed, _MAX_S, _MAX_ANSWER)
    done = await run_python_worker(task)
    if done.failure is not None:
        return _NOTHING
    return _read(done.output.decode("utf-8", "replace"), before, after)


def _read(answer: str, before: SourceText | None, after: SourceText) -> GrammarFaults:
    found = GrammarFaults([], [])
    for line in answer.splitlines():
        which, row, column, message = line.split("\t", 3)
        if which == "now":
            found.now.append(after.fault(int(row), int(column), message))
        elif before is not None:
            found.old.append(before.fault(int(row), int(column), message))
    return found


def _bytes(source: SourceText) -> bytes:
    return source.text.encode("utf-8", "replace")
