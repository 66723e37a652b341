"""Permission modes: which calls that no rule matches run without asking."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from handrail.policy import messages


class Mode(StrEnum):
    """The permission mode of a session."""

    DEFAULT = "default"
    CONFIRM_ALL = "confirm-all"
    ACCEPT_EDITS = "accept-edits"
    SANDBOXED = "sandboxed"
    AUTO_SAFE = "auto-safe"
    STRICT = "strict"
    PLAN = "plan"
    DONT_ASK = "dont-ask"
    BYPASS = "bypass"


# Modes that refuse calls for which another mode would ask.
NEVER_ASK: Final = frozenset({Mode.DONT_ASK, Mode.STRICT})
# The code of a call that waits for the user's decision instead of being refused.
QUEUED: Final = "queued"
ALIASES: Final = {
    "confirm-sensitive": Mode.DEFAULT,
    "interactive": Mode.DEFAULT,
    "yolo": Mode.BYPASS,
    "acceptedits": Mode.ACCEPT_EDITS,
    "dontask": Mode.DONT_ASK,
    "bypasspermissions": Mode.BYPASS,
}


def parse_mode(text: str) -> Mode:
    """The mode with this name or alias; raises `invalid_arguments`."""
    name = text.strip().lower().replace("_", "-")
    try:
        return ALIASES[name] if name in ALIASES else Mode(name)
    except ValueError:
        known = ", ".join(Mode)
        raise messages.UNKNOWN_MODE.error(name=text, known=known) from None
