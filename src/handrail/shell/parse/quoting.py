"""Removes quotes and backslashes: unquoted text, `"…"`, `$'…'`, here-documents.

Text whose value depends on the locale is None, never a guess.
"""

from __future__ import annotations

import re
from typing import Final

from handrail.shell.parse.syntax import Text

_SIMPLE: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
# Control characters (\cx), NUL and bytes above 0x7f are left to "cannot be decoded".
_ANSI: Final = re.compile(
    r"\\(?:(?P<simple>[abeEfnrtv\\'\"?])|x(?P<hex>[0-9A-Fa-f]{1,2})|(?P<octal>[0-7]{1,3})"
    r"|u(?P<short>[0-9A-Fa-f]{1,4})|U(?P<long>[0-9A-Fa-f]{1,8})|(?P<other>.|\Z))",
    re.DOTALL,
)
_HIGHEST_BYTE: Final = 0x7F


def unquoted_parts(text: str) -> tuple[Text, ...]:
    """Unquoted text; a backslash quotes the next character, and joins lines."""
    parts: list[Text] = []
    for index, piece in enumerate(re.split(r"\\(.)", text, flags=re.DOTALL)):
        quoted = index % 2 == 1
        # A backslash at the very end stands for itself.
        if piece and not (quoted and piece == "\n"):
            parts.append(Text(piece, quoted))
    return tuple(parts)


def double_quoted_text(text: str) -> str:
    r"""The text inside `"…"`, where a backslash is special only before `$`, `` ` ``, `"`, `\`."""
    return re.sub(r'\\(?:([$`"\\])|\n)', _kept, text)


def here_document_text(text: str) -> str:
    """The text of a here-document: as inside `"…"`, except that `"` is not special."""
    return re.sub(r"\\(?:([$`\\])|\n)", _kept, text)


def _kept(match: re.Match[str]) -> str:
    return match[1] or ""


def ansi_c_text(text: str) -> str | None:
    """The text of `$'…'`; None if a part of it depends on the encoding or is NUL."""
    whole: list[str] = []
    last = 0
    for match in _ANSI.finditer(text):
        letter = _letter(match)
        if letter is None:
            return None
        whole += [text[last : match.start()], letter]
        last = match.end()
    return "".join([*whole, text[last:]])


def _letter(match: re.Match[str]) -> str | None:
    if simple := match["simple"]:
        return _SIMPLE[simple]
    byte = match["hex"] or match["octal"]
    if byte:
        code = int(byte, 16 if match["hex"] else 8)
        return chr(code) if 0 < code <= _HIGHEST_BYTE else None
    if point := match["short"] or match["long"]:
        code = int(point, 16)
        # Outside ASCII the result depends on the locale.
        return chr(code) if 0 < code <= _HIGHEST_BYTE else None
    return None
