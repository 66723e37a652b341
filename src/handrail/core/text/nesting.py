"""Measures how deeply brackets are nested, in one pass and without recursion. Text is checked with it
before a recursive parser reads the text.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

MAX_JSON_DEPTH: Final = 500

# Possessive, so that a long string costs no memory; an unclosed one runs to the end.
_STRINGS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_OTHERS: Final = re.compile(r"[^()\[\]{}]+")
_OPENING: Final = frozenset("([{")


def nested_deeper(text: str, limit: int, *, strings: bool = True) -> bool:
    """Whether more than `limit` brackets are open at once.

    With `strings`, brackets between double quotes do not count, which is exact for JSON. Without it,
    every bracket counts, which is an estimate.
    """
    if text.count("[") + text.count("{") + text.count("(") <= limit:
        return False
    depth = 0
    for bracket in _OTHERS.sub("", _STRINGS.sub("", text) if strings else text):
        depth = depth + 1 if bracket in _OPENING else max(depth - 1, 0)
        if depth > limit:
            return True
    return False


def parse_json(text: str | bytes | bytearray, *, strict: bool = True) -> Any:
    """Parse JSON that another program sent; raises ValueError, also if it is nested too deeply.

    `json.loads` refuses deep nesting too, but only at the interpreter's limit for recursion, where
    a finalizer that happens to run fails as well.
    """
    if not isinstance(text, str):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    if nested_deeper(text, MAX_JSON_DEPTH):
        raise ValueError(f"nested deeper than {MAX_JSON_DEPTH} levels")
    return json.loads(text, strict=strict)
