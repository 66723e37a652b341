"""Truncates results that are too long for a model: the full text is saved, a window is shown.

Cuts are at line boundaries where one is near, never inside a character.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, Final, Literal, NamedTuple

from handrail.core.context import Session
from handrail.core.names.sensitive import is_sensitive
from handrail.core.outputs import output_handle
from handrail.core.ports.machine import Artifacts
from handrail.core.problems import ProblemRaised
from handrail.core.tool import Keep
from handrail.engine.prepare.prepared_call import PreparedCall

_log = logging.getLogger("handrail")


class TruncationOptions(NamedTuple):
    """The maximum length of a result and which part is kept; without `keep`, the tool decides."""

    max_chars: int = sys.maxsize
    # Which part is kept.
    keep: Keep | None = None


DEFAULT_TRUNCATION: Final = TruncationOptions()


class TruncatedText(NamedTuple):
    """A text that fits, how many characters it lacks, and where the full text is saved."""

    text: str
    cut: int
    saved: str | None


def truncate(
    text: str, limit: int, keep: Keep, artifacts: Artifacts | None, name: str
) -> TruncatedText:
    """Return the text itself, or a window of at most about `limit` characters with a marker that
    names the handle of the full text; `name` is the call's id. Without `artifacts` the rest is not
    saved.
    """
    if len(text) <= limit:
        return TruncatedText(text, 0, None)
    saved = None if artifacts is None else _save(artifacts, name, text)
    handle = output_handle(name)
    where = f"full text kept as {handle}" if saved else "the full text could not be kept"
    head, tail = _window(text, limit, keep)
    cut = len(text) - len(head) - len(tail)
    marker = f"[{cut} characters cut here; {where}]"
    shown = "\n".join(part for part in (head.rstrip("\n"), marker, tail.lstrip("\n")) if part)
    return TruncatedText(shown, cut, saved)


def truncate_result(
    prepared: PreparedCall,
    text: str,
    options: TruncationOptions,
    session: Session,
    meta: dict[str, Any],
) -> str:
    """Return the text of a result, truncated because it is too long; `meta` gets how much is
    missing. The full text is saved, unless the call reads a file that may contain secrets.
    """
    tool, command = prepared.tool, prepared.footprint.command
    named = [place.rel for place in prepared.places.values()]
    named += command.effects.reads if command is not None else ()
    artifacts = None if any(map(is_sensitive, named)) else session.artifacts
    limit, keep = min(tool.max_chars, options.max_chars), options.keep or tool.keep
    truncated = truncate(text, limit, keep, artifacts, prepared.call.id)
    meta["oversize"] = {"cut": truncated.cut, "saved": truncated.saved}
    return truncated.text


def _window(text: str, limit: int, keep: Keep) -> tuple[str, str]:
    match keep:
        case "start":
            return _whole_lines(text[:limit], "end"), ""
        case "end":
            return "", _whole_lines(text[len(text) - limit :], "start")
        case "both":
            half = limit // 2
            return (
                _whole_lines(text[:half], "end"),
                _whole_lines(text[len(text) - half :], "start"),
            )


def _whole_lines(part: str, ragged: Literal["start", "end"]) -> str:
    """Drop the partial line at one end, unless that would cost more than a tenth."""
    if ragged == "end":
        at = part.rfind("\n") + 1
        return part[:at] if at > len(part) * 0.9 else part
    at = part.find("\n") + 1
    return part[at:] if 0 < at < len(part) * 0.1 else part


def _save(artifacts: Artifacts, name: str, text: str) -> str | None:
    # A full disk must not turn a result that exists into a failure.
    try:
        return artifacts.save(f"{name}.txt", text.encode("utf-8", "surrogatepass"))
    except (OSError, ProblemRaised):
        _log.warning("the full text of %s could not be kept", name, exc_info=True)
        return None
