"""The table of invisible characters, for code that removes or escapes them."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

# Zero-width and bidirectional characters: they join, separate or reorder adjacent characters.
FORMAT_CHARACTERS: Final = frozenset(
    {0x00AD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF}
)
# All default-ignorable characters of Unicode, including fillers, variation selectors and tags.
IGNORABLE: Final = FORMAT_CHARACTERS | {
    *(0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0xFE00, 0xFE10),
    *range(0xFFF0, 0xFFF9),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE1000),
}
# The blank braille pattern and annotation characters are invisible although they are not ignorable.
INVISIBLE: Final = IGNORABLE | {0x2800, *range(0xFFF9, 0xFFFC)}


def drop_invisible(text: str) -> tuple[str, int]:
    """The text without invisible characters, and how many there were."""
    return (text, 0) if text.isascii() else _pattern().subn("", text)


@cache
def _pattern() -> re.Pattern[str]:
    ranges: list[list[int]] = []
    for code in sorted(INVISIBLE):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in ranges)}]")


def format_invisible(count: int) -> str:
    """A note about characters that were removed."""
    characters = (
        "1 invisible character was" if count == 1 else f"{count:,} invisible characters were"
    )
    return f"{characters} left out"
