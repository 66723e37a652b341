"""Prints text, JSON and problems.

Untrusted text is escaped by `safe_text`. JSON is printed as ASCII, so that it contains no control
characters either.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final, TextIO

from handrail.core.problems import Problem
from handrail.core.text.safe_text import safe_text

_INDENT: Final = "    "


def prepare_streams() -> None:
    """Escape characters that the locale cannot encode, and replace closed streams."""
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def print_line(text: str = "") -> None:
    """Print a line of trusted or escaped text."""
    print(text)


def print_folded(text: str) -> None:
    """Print a line of escaped text that, if wrapped, never continues in the first column."""
    from handrail.cli.render.screen import fold_line

    for row in fold_line(text):
        print(row)


def print_text(text: str = "") -> None:
    """Print a line of trusted or escaped text, wrapped between words on a screen."""
    from handrail.cli.render.screen import wrap_columns

    for row in wrap_columns(text):
        print(row)


def print_command(title: str, command: str) -> None:
    """Print `title: command`; the command is in one piece, to be copied."""
    from handrail.cli.render.screen import has_width, terminal_width
    from handrail.core.text.columns import cells

    line = f"{title}: {command}"
    if not has_width() or cells(line) <= terminal_width():
        print(line)
        return
    print_text(f"{title}:")
    print(f"{_INDENT}{command}")


def print_untrusted(text: str) -> None:
    """Print untrusted text without a newline, and flush."""
    print(safe_text(text), end="", flush=True)


def warn(text: str) -> None:
    """Print a line on standard error."""
    # Keeps the order if both streams go to the same file.
    sys.stdout.flush()
    print(safe_text(text), file=sys.stderr)


def warn_text(text: str) -> None:
    """Print a line of trusted text on standard error, wrapped between words on a screen."""
    from handrail.cli.render.screen import has_width, terminal_width, wrap_columns

    wide = has_width(sys.stderr)
    for row in wrap_columns(text, terminal_width(sys.stderr)) if wide else [text]:
        warn(row)


def warn_titled(title: str, text: object) -> None:
    """Print `title: text` on standard error, wrapped between words on a screen. Further lines are
    indented, so that untrusted text cannot imitate a message of Handrail.
    """
    lines = safe_text(f"{title}: {text}").split("\n")
    from handrail.cli.render.screen import has_width, terminal_width, wrap_columns

    if has_width(sys.stderr):
        room = terminal_width(sys.stderr) - len(_INDENT)
        lines = [row for line in lines for row in wrap_columns(line, room)]
    warn(f"\n{_INDENT}".join(lines))


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(to_json(value))


def to_json(value: Any) -> str:
    """Format a value as JSON without control characters."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def install_log_handler(name: str = "handrail") -> None:
    """Print log records of Handrail, or of another logger, as escaped lines, without tracebacks."""
    import logging

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warn_titled(record.levelname.lower(), record.getMessage())
            if record.exc_info and is_debug():
                warn(logging.Formatter().formatException(record.exc_info))

    log = logging.getLogger(name)
    if not log.handlers:
        log.addHandler(Lines(logging.WARNING))


def is_debug() -> bool:
    """Return whether HANDRAIL_DEBUG is set."""
    return bool(os.environ.get("HANDRAIL_DEBUG"))


def print_problem(problem: Problem, *, as_json: bool = False) -> None:
    """Print a problem and its hint."""
    if as_json:
        print_json({"problem": problem.to_dict()})
        return
    warn_titled(problem.code, problem.message)
    if problem.hint:
        warn_titled("hint", problem.hint)


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")
