"""Repairs JSON with text that was cut inside a character, which some servers send."""

from __future__ import annotations

import re
from typing import Final

# The escapes of a string: a surrogate pair, a lone surrogate, or any other escape.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


def repair_message(line: bytes) -> bytes:
    """Return the line with U+FFFD in place of lone surrogates and of bytes that are not UTF-8."""
    valid = line.decode("utf-8", "replace").encode()
    return _ESCAPE.sub(lambda one: one[0] if one[1] is None else rb"\ufffd", valid)
