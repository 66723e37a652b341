"""JSON, strict or with comments and trailing commas."""

from __future__ import annotations

import json
import re
from typing import Final

from handrail.core.text.nesting import nested_deeper
from handrail.host.syntax.source import Faults, SourceText

MAX_BYTES: Final = 1_000_000
_MAX_DEPTH: Final = 200
# Numbers are not converted, because the values are discarded: some take long, some are refused.
_DECODER: Final = json.JSONDecoder(parse_int=len, parse_float=len)
_STRING: Final = r'("[^"\\]*+(?:\\.[^"\\]*+)*+"?)'
# An unclosed comment extends to the end; possessive, because a file may be nothing but `/*`.
_COMMENT: Final = re.compile(
    _STRING + r"|//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?", re.DOTALL
)
_LAST_COMMA: Final = re.compile(_STRING + r"|,(?=[ \t\r\n]*+[}\]])", re.DOTALL)
_VISIBLE: Final = re.compile(r"[^\n]")


def faults(source: SourceText) -> Faults:
    """The first error of a JSON file."""
    return _faults(source, source.text)


def faults_with_comments(source: SourceText) -> Faults:
    """The first error of a JSON file that allows comments and trailing commas."""
    text = _COMMENT.sub(_blank, source.text)
    return _faults(source, _LAST_COMMA.sub(_blank, text))


def _faults(source: SourceText, text: str) -> Faults:
    if nested_deeper(text, _MAX_DEPTH):
        return None
    try:
        _DECODER.decode(text)
    except json.JSONDecodeError as error:
        return [source.fault(error.lineno, error.colno, error.msg)]
    except RecursionError:
        return None
    return []


def _blank(found: re.Match[str]) -> str:
    # As long as the comment, so that positions stay the same.
    return found[1] or _VISIBLE.sub(" ", found[0])
