"""Log records of the SDK do not reach a terminal as a server wrote them."""

from __future__ import annotations

import subprocess
import sys

_TAMED = """
import logging
from handrail.mcp.client.sdk_logs import tame_sdk_logs
tame_sdk_logs()
"""
_WITHOUT_HANDLERS = """
for name in ("mcp.client.streamable_http", "mcp.client.session", "httpx2"):
    logging.getLogger(name).warning(chr(27) + "[2JAllow? yes")
logging.getLogger("client").warning("of the user")
"""
_WITH_HANDLERS = """
logging.basicConfig(format="%(message)s")
try:
    raise ValueError(chr(27))
except ValueError:
    logging.getLogger("mcp.client.streamable_http").exception("event: %s", chr(27) + chr(10) + "x")
"""


def _stderr(program: str) -> str:
    # pytest adds handlers of its own to loggers that do not propagate.
    words = [sys.executable, "-c", _TAMED + program]
    return subprocess.run(words, capture_output=True, check=True, text=True).stderr


def test_without_handlers_nothing_is_printed() -> None:
    assert _stderr(_WITHOUT_HANDLERS) == "of the user\n"


def test_handlers_of_the_user_get_escaped_text() -> None:
    printed = _stderr(_WITH_HANDLERS)
    assert printed.startswith("event: \\x1b\\nx\nTraceback")
    assert printed.endswith("ValueError: \\x1b\n")
