"""Checks YAML by parsing it into events: no objects are constructed, so any tag is accepted.

The C loader is not used, because deep nesting can crash it; nor is the composer, which recurses.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from handrail.core.ports.syntax import SyntaxFault
from handrail.core.text.nesting import nested_deeper
from handrail.host.syntax.source import Faults, SourceText

MAX_BYTES: Final = 256_000
_MAX_DEPTH: Final = 100
_MAX_S: Final = 1.0


def faults(source: SourceText) -> Faults:
    """The first error of a YAML file; None if it cannot be checked in time."""
    import yaml

    if nested_deeper(source.text, _MAX_DEPTH, strings=False):
        return None
    try:
        fault = _first_fault(source, yaml.parse(source.text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark is not None else (0, 0)
        fault = source.fault(line + 1, column + 1, error.problem or "invalid YAML")
    except yaml.reader.ReaderError as error:
        fault = _unreadable(source, error.position)
    # An escape for a character outside Unicode, a version of many digits, or a timeout.
    except (ValueError, OverflowError, TimeoutError):
        return None
    return [] if fault is None else [fault]


def _first_fault(source: SourceText, events: Iterable[Any]) -> SyntaxFault | None:
    until = time.monotonic() + _MAX_S
    anchors: set[str] = set()
    for event in events:
        if time.monotonic() > until:
            raise TimeoutError
        fault = _unknown_alias(source, event, anchors)
        if fault is not None:
            return fault
    return None


def _unreadable(source: SourceText, position: int) -> SyntaxFault:
    line = source.text.count("\n", 0, position) + 1
    column = position - source.text.rfind("\n", 0, position)
    code = ord(source.text[position])
    return source.fault(line, column, f"the character U+{code:04X} is not allowed in YAML")


def _unknown_alias(source: SourceText, event: Any, anchors: set[str]) -> SyntaxFault | None:
    anchor = getattr(event, "anchor", None)
    if type(event).__name__ == "DocumentStartEvent":
        anchors.clear()
    elif type(event).__name__ != "AliasEvent":
        anchors.update(() if anchor is None else (anchor,))
    elif anchor not in anchors:
        place = event.start_mark
        return source.fault(place.line + 1, place.column + 1, f"found undefined alias {anchor!r}")
    return None
