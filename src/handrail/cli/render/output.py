"""What leaves the command line: text for a person, JSON for a program, problems for both.

Text that is not ours passes `safe_text` before a person sees it; JSON is ASCII, so that no
control character reaches a terminal that way either.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from handrail.core.problems import Problem
from handrail.core.safe_text import safe_text


def prepare_streams() -> None:
    """Let no character be unprintable (an odd locale shows escapes instead of failing), and
    no stream be missing (a shell can close them).
    """
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def print_line(text: str = "") -> None:
    """One of our own lines, or text that is safe already."""
    print(text)


def print_untrusted(text: str) -> None:
    """A piece of a text that is not ours, seen at once."""
    print(safe_text(text), end="", flush=True)


def warn(text: str) -> None:
    """A line beside the output, for the person only."""
    # After what was said so far, also where both streams are one file.
    sys.stdout.flush()
    print(safe_text(text), file=sys.stderr)


def warn_titled(title: str, text: object) -> None:
    """A title and what stands behind it. Lines of a text that is not ours stay behind an
    indent, so that none can pass for one of our own.
    """
    warn(f"{title}: {text}".replace("\n", "\n    "))


def print_json(value: Any) -> None:
    """One value as one line of JSON."""
    print(to_json(value))


def to_json(value: Any) -> str:
    """The value as JSON without a single control character."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def install_log_handler() -> None:
    """Show our own log as plain lines: no traceback, and nothing that moves the cursor."""
    import logging

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warn_titled(record.levelname.lower(), record.getMessage())
            if record.exc_info and is_debug():
                warn(logging.Formatter().formatException(record.exc_info))

    log = logging.getLogger("handrail")
    if not log.handlers:
        log.addHandler(Lines(logging.WARNING))


def is_debug() -> bool:
    """Whether whoever looks wants to see where a bug is."""
    return bool(os.environ.get("HANDRAIL_DEBUG"))


def print_problem(problem: Problem, *, as_json: bool = False) -> None:
    """Say what went wrong and what to do next."""
    if as_json:
        print_json({"problem": problem.to_dict()})
        return
    warn_titled(problem.code, problem.message)
    if problem.hint:
        warn_titled("hint", problem.hint)


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
