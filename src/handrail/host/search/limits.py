"""The limits of a search, and the notes on what a result lacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

DEADLINE_S: Final = 20.0
MAX_BYTES: Final = 32 << 20
MAX_HITS: Final = 100_000
MAX_LINE: Final = 2000
MAX_PATTERN: Final = 64 << 10

_NARROW: Final = "narrow the path, the glob or the pattern to see the rest"
TOO_SLOW: Final = f"stopped because it took too long: {_NARROW}"


def cut_line(text: str) -> str:
    """Return a line without its ending, short enough to show."""
    text = text.rstrip("\r\n")
    if len(text) <= MAX_LINE:
        return text
    return f"{text[:MAX_LINE]}… [line cut at {MAX_LINE} characters]"


def too_much(found: int, what: str) -> str:
    """Return the note on a search that found too much."""
    return f"stopped at {found:,} {what}: {_NARROW}"


def broke_off(signal: int) -> str:
    """Return the note on a search program that was killed, most likely for lack of memory."""
    return f"the search broke off (signal {signal}): {_NARROW}"


def unreadable(count: int) -> str:
    """Return the note on files that could not be read."""
    return f"{count} {'file' if count == 1 else 'files'} could not be read"


def turned_binary(count: int) -> str:
    """Return the note on files that were searched only up to their first binary data."""
    files = "1 file" if count == 1 else f"{count} files"
    return f"searched {files} only up to where binary data begins"


def unclear(count: int) -> str:
    """Return the note on names with line breaks, which are ambiguous in the output."""
    return f"left out {count} {'file' if count == 1 else 'files'} with a misleading name"


def withheld(count: int, *, whole: bool = True) -> str | None:
    """Return the note on denied paths. If not `whole`, the denied files could not all be listed, so
    files with several names are left out.
    """
    names = f"{count} {'path' if count == 1 else 'paths'} withheld by rule" if count else None
    links = None if whole else "files with several hard links are not searched"
    return join([names, links])


def join(notes: Iterable[str | None]) -> str | None:
    """Return one sentence on what is missing from a result; None if nothing is."""
    return "; ".join(note for note in notes if note) or None
