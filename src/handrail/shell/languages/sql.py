"""Statements of SQL without what they only mention."""

from __future__ import annotations

import re
from typing import Final

# Literals and comments of SQL: what they say is not done.
# `tag` begins a literal that ends with the same tag. A comment without an end ends with the text.
_DATA: Final = re.compile(r"'[^']*+'|(?P<tag>\$\w*+\$)|--[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TAG: Final = re.compile(r"(?=(?P<tag>\$\w*+\$))")


def without_literals(text: str) -> str:
    """The statements of a text of SQL, without literals and comments."""
    tags = {match["tag"]: match.start() for match in _TAG.finditer(text)}
    kept: list[str] = []
    at = 0
    while match := _DATA.search(text, at):
        start, end = match.span()
        if tag := match["tag"]:
            if tags[tag] < end:
                # Nothing ends what it would begin.
                kept.append(text[at : start + 1])
                at = start + 1
                continue
            end = text.index(tag, end) + len(tag)
        kept += (text[at:start], "''")
        at = end
    return "".join((*kept, text[at:]))
