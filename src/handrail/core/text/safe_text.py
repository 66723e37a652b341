"""Makes untrusted text safe for a terminal.

Control, escape, bidirectional and invisible characters are escaped, so that a file name, a diff or a
model's text cannot move the cursor, hide a part of itself or imitate a prompt.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from handrail.core.text.invisible import INVISIBLE

# Control, format, surrogate, private and unassigned characters; separators of lines and paragraphs.
_WRITTEN_OUT: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_PLAIN: Final = re.compile(r"[\n\t\x20-\x7e]*")
# Limits the memory of the cache; ordinary texts use fewer different characters.
_MAX_KNOWN: Final = 20_000


class _Visible(dict[int, str]):
    """Code point → what is shown for the character; computed on first use."""

    def __missing__(self, code: int) -> str:
        shown = _visible(code)
        if len(self) < _MAX_KNOWN:
            self[code] = shown
        return shown


_LINES: Final = _Visible({ord("\n"): "\n", ord("\t"): "\t"})
_ONE_LINE: Final = _Visible({ord("\n"): "\\n", ord("\t"): "\\t"})


def safe_text(text: str, *, one_line: bool = False) -> str:
    """The text with all characters escaped that are not visible.

    Newlines and tabs are kept, unless `one_line` is set.
    """
    if not one_line and _PLAIN.fullmatch(text):
        return text
    return text.translate(_ONE_LINE if one_line else _LINES)


def _visible(code: int) -> str:
    char = chr(code)
    if code < 0x20 or 0x7F <= code < 0xA0:
        return f"\\x{code:02x}"
    if code in INVISIBLE or unicodedata.category(char) in _WRITTEN_OUT:
        return f"\\u{{{code:x}}}"
    return char
