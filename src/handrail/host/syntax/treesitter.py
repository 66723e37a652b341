"""Languages of the `syntax` extra, by tree-sitter in a process of its own.

Not in this process: five kilobytes can keep a grammar busy for ten seconds without a way to stop
it, and deep nesting can crash it. The process reads only its input.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.ports.syntax import SyntaxFault
from handrail.host.processes import spawn
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
    """The errors that a language's grammars find; `old` is parsed only if needed."""
    places = _places(("tree_sitter", *(grammar.module for grammar in language.grammars)))
    if places is None:
        return _NOTHING
    new = _bytes(after)
    grammars = [f"{grammar.module}:{grammar.function}" for grammar in language.grammars]
    command = [_interpreter(), "-I", "-S", str(_WORKER)]
    command += [os.pathsep.join(places), ",".join(grammars), str(len(new))]
    feed = new if before is None else new + _bytes(before)
    here = os.open(_WORKER.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        done = await spawn.run(
            command,
            cwd_fd=here,
            read=[*_standard_library(), str(_WORKER.parent), *places],
            deadline_s=_MAX_S,
            max_bytes=_MAX_ANSWER,
            feed=feed,
        )
    except OSError:
        return _NOTHING
    finally:
        os.close(here)
    if done.exit_code or done.timed_out or done.cut:
        return _NOTHING
    return _read(done.stdout.decode("utf-8", "replace"), before, after)


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


def _interpreter() -> str:
    # Resolved: with -S the virtual environment is not used.
    return os.path.realpath(sys.executable)


def _standard_library() -> tuple[str, ...]:
    library = sysconfig.get_path("stdlib")
    return str(Path(library).parent), sysconfig.get_path("platstdlib")


@lru_cache(maxsize=64)
def _places(modules: tuple[str, ...]) -> tuple[str, ...] | None:
    """The directories from which these modules are imported; None if one is not installed."""
    if not (spawn.supported() and Path(sys.executable).name.startswith("python")):
        return None
    folders: list[str] = []
    for module in modules:
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            return None
        folders.append(str(Path(spec.origin).parent.parent))
    return tuple(dict.fromkeys(folders))
