"""How much a search may take and say, and the words for what was left out."""

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
    """A line without its ending, short enough to be shown."""
    text = text.rstrip("\r\n")
    if len(text) <= MAX_LINE:
        return text
    return f"{text[:MAX_LINE]}… [line cut at {MAX_LINE} characters]"


def too_much(found: int, what: str) -> str:
    """The search was stopped because it found too much."""
    return f"stopped at {found:,} {what}: {_NARROW}"


def broke_off(signal: int) -> str:
    """The program died on the way, for want of memory most likely."""
    return f"the search broke off (signal {signal}): {_NARROW}"


def unreadable(count: int) -> str:
    """Some files are not in the answer because they could not be read."""
    return f"{count} {'file' if count == 1 else 'files'} could not be read"


def turned_binary(count: int) -> str:
    """Some files were searched only up to their first binary data."""
    files = "1 file" if count == 1 else f"{count} files"
    return f"searched {files} only up to where binary data begins"


def unclear(count: int) -> str:
    """Some names hold line breaks and can be taken for other files."""
    return f"left out {count} {'file' if count == 1 else 'files'} with a misleading name"


def withheld(count: int, *, whole: bool = True) -> str | None:
    """Some paths are not in the answer because a rule says so. Not `whole`: the withheld files
    could not all be listed, so that files with several names are left out.
    """
    names = f"{count} {'path' if count == 1 else 'paths'} withheld by rule" if count else None
    links = None if whole else "files with several hard links are not searched"
    return join([names, links])


def join(notes: Iterable[str | None]) -> str | None:
    """One sentence of what is missing from an answer; None if nothing is."""
    return "; ".join(note for note in notes if note) or None
