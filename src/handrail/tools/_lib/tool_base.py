"""Shared by built-in tools: descriptions beside the code, work off the event loop, and how lines
and notes are shown. The hot path (a small file) creates neither a task nor a thread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Final, TypeVar, TypeVarTuple

from pydantic import BaseModel

from handrail.core.context import Session
from handrail.core.places import Kind, Place, Stat
from handrail.core.problems import ProblemRaised, ProblemTemplate
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import Tool

P = TypeVar("P", bound=BaseModel)
T = TypeVar("T")
A = TypeVarTuple("A")

INLINE_BYTES: Final = 1_000_000
# The old and the new content are held in memory at the same time.
MAX_CHANGED_BYTES: Final = 500_000_000
_WRITABLE: Final = 0o222


class Builtin(Tool[P]):
    """A built-in tool; its description for the model is `<name>.md`, one idea per line."""

    def describe(self, session: Session) -> str:
        """Return the description, with `[[argument]]` and `[[tool:name]]` for names that dialects
        change.
        """
        del session
        return read_description(type(self).__module__)


@cache
def read_description(module: str) -> str:
    """Return the text of the description file beside a tool's module."""
    from importlib.resources import files

    package, _, name = module.rpartition(".")
    return files(package).joinpath(f"{name}.md").read_text("utf-8").strip()


async def run_sized(size: int, work: Callable[[*A], T], *args: *A) -> T:
    """Run some work on the event loop if it is small, else in a thread.

    `size` is the work in bytes that could be scanned in the same time. The work must only read: if
    the call is cancelled, the thread continues.
    """
    if size <= INLINE_BYTES:
        return work(*args)
    from anyio import to_thread

    return await to_thread.run_sync(work, *args, abandon_on_cancel=True)


def require_file(place: Place, hint: str) -> None:
    """Raise a problem for a place that is not a regular file.

    `hint` may name tools and arguments like the hint of a `ProblemTemplate`.
    """
    if place.kind is Kind.DIRECTORY:
        template = ProblemTemplate("not_text", "{path!r} is a directory", hint)
        raise template.error(path=place.path, field="path")
    if place.kind is Kind.SPECIAL:
        raise ProblemRaised(
            "not_text",
            f"{place.path!r} is not a regular file (a device, pipe or socket)",
            hint="only regular files can be read or changed",
            field="path",
        )


def size_to_change(place: Place, stat: Stat | None) -> int:
    """Return the size of a file that is read completely because it will change.

    Raises `too_large` above a limit, and `denied` for a file without write permission, which
    replacing the file would bypass.
    """
    size = 0 if stat is None else stat.size
    if stat is not None and not stat.mode & _WRITABLE:
        raise ProblemRaised(
            "denied",
            f"{place.path!r} is read-only",
            hint="leave it as it is; the user may make it writable (chmod u+w)",
            field="path",
        )
    if size > MAX_CHANGED_BYTES:
        raise ProblemRaised(
            "too_large",
            f"{place.path!r} has {size:,} bytes; files over {MAX_CHANGED_BYTES:,} are not changed",
            hint="leave this file as it is, or ask the user to change it",
            field="path",
        )
    return size


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON Schema of a tool's `data` with exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


STRING: Final = {"type": "string"}
BOOLEAN: Final = {"type": "boolean"}
INTEGER: Final = {"type": "integer"}
INTEGER_OR_NULL: Final = {"type": ["integer", "null"]}
STRINGS: Final = {"type": "array", "items": STRING}


MAX_LINE: Final = 2_000
# Text in brackets at the end; not the end of a list of numbers, strings or objects.
_LIKE_A_NOTE: Final = re.compile(
    r"(?:^|\n)[ \t]*\[(?:[^\"'{\[\]\d\s-]|[\d,]+ [^\W\d_])[^\n]* [^\n]*\]\s*\Z"
)
_TEXT_ENDS: Final = "what stands above this line is the file's own text, words in brackets too"


def clip(line: str, limit: int = MAX_LINE) -> str:
    """Return the line, or its beginning and how much is omitted."""
    if len(line) <= limit:
        return line
    return f"{line[:limit]}… [{len(line) - limit} more characters in this line]"


def number_lines(lines: Iterable[str], first: int) -> list[str]:
    """Lines as `cat -n` shows them, counted from `first`."""
    return [f"{number:6}\t{line}" for number, line in enumerate(lines, first)]


def append_notes(text: str, notes: Sequence[str]) -> str:
    """Return the text with notes of Handrail below it, in brackets."""
    if not notes:
        return text
    remarks = "\n".join([f"[{note}]" for note in notes])
    return f"{text}\n\n{remarks}" if text else remarks


def quote_in_note(text: str, limit: int = MAX_LINE) -> str:
    """Return text of unknown origin, such as a URL, for a note in brackets, which it cannot close."""
    return safe_text(text[:limit], one_line=True).replace("[", "%5B").replace("]", "%5D")


def append_content_notes(text: str, notes: Sequence[str]) -> str:
    """Like `append_notes`, for the text of a file, whose last line cannot imitate a note.

    Whatever the text ends with, the last line in brackets is Handrail's.
    """
    if text.endswith(("]", "\n", " ", "\t", "\r")) and _LIKE_A_NOTE.search(text[-MAX_LINE:]):
        return append_notes(text, [_TEXT_ENDS, *notes])
    return append_notes(text, notes) if notes else text


def format_count(number: int, word: str) -> str:
    """`1 line`, `2 lines`, `2,000 lines`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
