"""Checks Python with the parser of the running Python; nothing is executed.

A file may be meant for a newer Python: errors that a newer version would accept are not reported.
"""

from __future__ import annotations

import ast
import re
import sys
import threading
import warnings
from typing import Final, NamedTuple

from handrail.host.syntax.source import Faults, SourceText

MAX_BYTES: Final = 512_000
# The parser limits its nesting, and needs most of this stack for the deepest nesting that it
# allows.
_LEAST_STACK: Final = 1 << 20
_NAME: Final = "<handrail syntax check>"


class _Newer(NamedTuple):
    """Syntax that is new in `since`: the message of an older parser, and the form of the line."""

    since: tuple[int, int]
    message: re.Pattern[str]
    line: re.Pattern[str]


_ANY: Final = re.compile("")
_INVALID: Final = re.compile(r"invalid syntax|expected '\('")
_NEWER: Final = (
    # Backslashes, comments, quotes of the same kind and line breaks inside f-strings.
    _Newer((3, 12), re.compile("f-string expression part cannot include"), _ANY),
    _Newer(
        (3, 12),
        re.compile(
            r"f-string: (expecting '}'|unmatched)|invalid syntax"
            r"|unexpected character after line|unterminated string"
        ),
        re.compile(r"""[fF][rR]?(["'])[^"']*\{.*\1.*\1.*\1"""),
    ),
    _Newer(
        (3, 12),
        re.compile("unterminated string literal"),
        re.compile(r"""[fF][rR]?["'].*\{[^}]*$"""),
    ),
    # Type aliases and type parameters.
    _Newer(
        (3, 12),
        _INVALID,
        re.compile(r"\s*(type\s+\w+\s*[\[=]|(async\s+)?def\s+\w+\s*\[|class\s+\w+\s*\[)"),
    ),
    _Newer((3, 14), re.compile("multiple exception types must be parenthesized"), _ANY),
    _Newer((3, 14), _INVALID, re.compile(r""".*\b([tT][rR]?|[rR][tT])["']""")),
    _Newer((3, 15), _INVALID, re.compile(r"\s*lazy\s+(import|from)\b")),
    _Newer((3, 15), re.compile(r"(iterable|dict) unpacking cannot be used in"), _ANY),
)


def faults(source: SourceText) -> Faults:
    """The first error of a Python file; None if it cannot be checked."""
    if b"\0" in source.data or 0 < threading.stack_size() < _LEAST_STACK:
        return None
    _silence_warnings()
    try:
        compile(source.data, _NAME, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        message = error.msg.replace(f" in file {_NAME}", "")
        fault = source.fault(error.lineno or 1, error.offset or 1, message)
        return None if _is_newer(message, fault.text) else [fault]
    # Nesting beyond the parser's limit, which is not a typing mistake.
    except (RecursionError, MemoryError, ValueError):
        return None
    return []


def _is_newer(message: str, line: str) -> bool:
    return any(
        sys.version_info < one.since and one.message.match(message) and one.line.search(line)
        for one in _NEWER
    )


def _silence_warnings() -> None:
    """Suppress warnings of the parser, for example about escapes: where warnings are errors, it
    would refuse valid files. A filter for the checker's file name is used, because `catch_warnings`
    is not thread-safe.
    """
    pattern = re.compile(re.escape(_NAME))
    if not any(one[0] == "ignore" and one[3] == pattern for one in warnings.filters):
        warnings.filterwarnings("ignore", module=pattern.pattern)
