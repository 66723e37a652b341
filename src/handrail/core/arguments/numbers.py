"""Numbers that a model wrote as text."""

from __future__ import annotations

import math
import re
from typing import Final

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,30}(\.0{1,30})?", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", re.ASCII)


def read_number(text: str) -> int | float | None:
    """Parse a number, a whole one as an int; None if the text is not a finite number."""
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return int(text.partition(".")[0])
    if not _NUMBER.fullmatch(text):
        return None
    return number if math.isfinite(number := float(text)) else None
