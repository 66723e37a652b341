"""TOML, by the standard library."""

from __future__ import annotations

import re
import tomllib
from typing import Final

from handrail.core.ports.syntax import SyntaxFault
from handrail.core.text.nesting import nested_deeper
from handrail.host.syntax.source import Faults, SourceText

MAX_BYTES: Final = 256_000
_MAX_DEPTH: Final = 50
# tomllib takes quadratic time in the number of parts of a key: minutes for some kilobytes.
_MAX_DOTS: Final = 40
_PLACE: Final = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


def faults(source: SourceText) -> Faults:
    """The first error of a TOML file; None if it cannot be checked."""
    if nested_deeper(source.text, _MAX_DEPTH, strings=False):
        return None
    if any(line.count(".") > _MAX_DOTS for line in source.lines):
        return None
    try:
        tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        return [_fault(source, str(error))]
    # ValueError: a number with more digits than Python accepts, which is not a mistake.
    except (RecursionError, ValueError):
        return None
    return []


def _fault(source: SourceText, message: str) -> SyntaxFault:
    found = _PLACE.fullmatch(message)
    if found is None:
        return source.fault(1, 1, message)
    last = len(source.lines)
    return source.fault(int(found[2] or last), int(found[3] or 1), found[1])
