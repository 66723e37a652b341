r"""What quotes and backslashes leave of a text: plain words, `"…"`, `$'…'`, here-documents.

What cannot be decoded for certain is None, never a guess.
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
    """Unquoted letters; a backslash quotes the one after it, and joins lines."""
    parts: list[Text] = []
    for index, piece in enumerate(re.split(r"\\(.)", text, flags=re.DOTALL)):
        quoted = index % 2 == 1
        # A backslash at the very end stands for itself.
        if piece and not (quoted and piece == "\n"):
            parts.append(Text(piece, quoted))
    return tuple(parts)


def double_quoted_text(text: str) -> str:
    r"""The text inside `"…"`, where a backslash counts only before `$`, `` ` ``, `"`, `\`."""
    return re.sub(r'\\(?:([$`"\\])|\n)', _kept, text)


def here_document_text(text: str) -> str:
    r"""A here-document's text: as inside `"…"`, but `"` is nothing special."""
    return re.sub(r"\\(?:([$`\\])|\n)", _kept, text)


def _kept(match: re.Match[str]) -> str:
    return match[1] or ""


def ansi_c_text(text: str) -> str | None:
    """What stands in `$'…'`; None if a part of it depends on encodings or ends the text."""
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
