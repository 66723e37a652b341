"""Text that is cut inside of a character, which some servers send, made valid JSON again."""

from __future__ import annotations

import re
from typing import Final

# The escapes of a string: both halves of a character, one half alone, any other.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)"
)


def repair_message(line: bytes) -> bytes:
    """The line with a replacement character for each half of one, and for bytes that are no UTF-8."""
    valid = line.decode("utf-8", "replace").encode()
    return _ESCAPE.sub(lambda one: one[0] if one[1] is None else rb"\ufffd", valid)
