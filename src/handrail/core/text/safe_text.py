"""Text of unknown origin, made safe for a terminal.

Control, escape, bidirectional and invisible characters are made visible, so that a file
name, a diff or a model's sentence cannot move the cursor, hide a part or forge a prompt.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Zero-width and layout characters that change how the rest of a line reads.
_INVISIBLE: Final = frozenset(
    {
        *(0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
        *range(0x180B, 0x1810),
        *range(0x200B, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFE00, 0xFE10),
        *range(0xFFF0, 0xFFFC),
        *range(0xE0000, 0xE1000),
    }
)
_PLAIN: Final = re.compile(r"[\n\t\x20-\x7e]*")


def safe_text(text: str, *, one_line: bool = False) -> str:
    """The text with every character that is not plainly visible written out.

    Newlines and tabs stay unless `one_line`; then they are written out as well.
    """
    if not one_line and _PLAIN.fullmatch(text):
        return text
    return "".join(_visible(char, one_line=one_line) for char in text)


def _visible(char: str, *, one_line: bool) -> str:
    code = ord(char)
    if 0x20 <= code < 0x7F:
        return char
    if char in "\n\t":
        return char if not one_line else {"\n": "\\n", "\t": "\\t"}[char]
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    if code in _INVISIBLE or unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return f"\\u{{{code:x}}}"
    return char
