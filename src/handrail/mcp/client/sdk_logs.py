"""Escapes the log records of the SDK, which may contain text of a server."""

from __future__ import annotations

import logging
from copy import copy
from typing import Final

import mcp.client.session

from handrail.core.text.safe_text import safe_text

_LOGGERS: Final = ("mcp", "httpx2", "httpcore2")
# This logger quotes answers that may contain tokens.
_SILENT: Final = "mcp.client.auth"


class _EscapingHandler(logging.Handler):
    """Passes escaped records to the handlers of the root logger. Without handlers the records are dropped;
    Python would print them.
    """

    def emit(self, record: logging.LogRecord) -> None:
        root = logging.getLogger()
        if not root.handlers:
            return
        escaped = copy(record)
        escaped.msg, escaped.args = safe_text(record.getMessage(), one_line=True), None
        if record.exc_info:
            trace = logging.Formatter().formatException(record.exc_info)
            escaped.exc_info, escaped.exc_text = None, safe_text(trace)
        root.callHandlers(escaped)


def tame_sdk_logs() -> None:
    """Escape the log records of the SDK; a second call does nothing."""
    # The SDK names this logger "client", a name that the user's program may use, too.
    mcp.client.session.logger = logging.getLogger("mcp.client.session")
    silent = logging.getLogger(_SILENT)
    silent.propagate = False
    if not silent.handlers:
        silent.addHandler(logging.NullHandler())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(handler, _EscapingHandler) for handler in logger.handlers):
            logger.addHandler(_EscapingHandler())
        logger.propagate = False
