"""What a workspace's own file may say about each setting.

Whoever wrote the workspace wrote that file. Without the person's trust it may only narrow:
ask more, allow less, record more. A setting without a row here cannot be set by it at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple


class Standing(StrEnum):
    """What happens to a value that does not narrow."""

    FREE = "free"  # there is no such value: either way is harmless
    TRUST = "needs trust"  # it applies once the person trusts the file
    NARROWS = "narrows only"  # it never applies
    NEVER = "never"  # nothing applies, not even what narrows


def _nothing(base: Any, value: Any) -> bool:
    return False


def _no(value: Any) -> bool:
    return False


class Row(NamedTuple):
    """The standing of a setting; `narrows(base, value)` compares with what holds below.

    `reserved` values are the person's alone, whatever is trusted.
    """

    standing: Standing
    narrows: Callable[[Any, Any], bool] = _nothing
    reserved: Callable[[Any], bool] = _no

    def needs_nothing(self, base: Any, value: Any) -> bool:
        """Whether a workspace may say this untrusted."""
        if self.standing is Standing.NEVER:
            return False
        if self.standing is Standing.FREE or value == base:
            return True
        return not self.reserved(value) and self.narrows(base, value)

    def can_be_trusted(self, value: Any) -> bool:
        """Whether the person's trust makes it apply."""
        return self.standing in (Standing.FREE, Standing.TRUST) and not self.reserved(value)


def _only(narrow: Any) -> Callable[[Any, Any], bool]:
    return lambda base, value: bool(value == narrow)


def _among(table: Mapping[str, str]) -> Callable[[Any, Any], bool]:
    return lambda base, value: value in table.get(base, "").split()


def _less(base: Any, value: Any) -> bool:
    return value is not None and (base is None or value <= base)


def _subset(base: Any, value: Any) -> bool:
    return set(value) <= set(base)


def _slower(base: float, value: float) -> bool:
    # Signs of life that come too often would be work without end.
    return value >= base > 0


def _sooner(base: int | None, value: int | None) -> bool:
    # Unset, it is as the dialect says, and 30 seconds is the shortest of those.
    return _less(30 if base is None else base, value)


# As policy/modes.py has them: for every call, what a mode on the right says is at least as
# strict as what the mode on the left says.
_ASKING: Final = "default confirm-all dont-ask plan"
MODES: Final[Mapping[str, str]] = {
    "bypass": f"bypass auto-safe strict sandboxed accept-edits {_ASKING}",
    "sandboxed": f"sandboxed accept-edits {_ASKING}",
    "auto-safe": f"auto-safe strict {_ASKING}",
    "strict": "strict dont-ask plan",
    "accept-edits": f"accept-edits {_ASKING}",
    "default": _ASKING,
    "dont-ask": "dont-ask plan",
    "plan": "plan",
    "confirm-all": "confirm-all",
}
MODE_NAMES: Final[Mapping[str, str]] = {
    "confirm-sensitive": "default",
    "interactive": "default",
    "yolo": "bypass",
    "acceptedits": "accept-edits",
    "dontask": "dont-ask",
    "bypasspermissions": "bypass",
}


def mode_name(text: str) -> str:
    """The mode's own name; one that is not known stays as it is and narrows nothing."""
    name = text.strip().lower().replace("_", "-")
    return MODE_NAMES.get(name, name)


def _mode_narrows(base: str, value: str) -> bool:
    return mode_name(value) in MODES.get(mode_name(base), "").split()


def _is_bypass(value: str) -> bool:
    return mode_name(value) == "bypass"


STANDINGS: Final[Mapping[str, Row]] = {
    "mode": Row(Standing.TRUST, _mode_narrows, _is_bypass),
    # It also decides what `freshness = "auto"` means.
    "dialect": Row(Standing.TRUST),
    "directories": Row(Standing.TRUST, _subset),
    "allow_delete": Row(Standing.TRUST, _only(False)),
    "allow_protected": Row(Standing.TRUST, _subset),
    "break_hard_links": Row(Standing.TRUST, _only(False)),
    "dry_run": Row(Standing.NARROWS, _only(True)),
    "durability": Row(Standing.TRUST, _only("power")),
    "journal": Row(Standing.NARROWS, _only(True)),
    "shadow": Row(Standing.NARROWS, _only(True)),
    "shadow_files": Row(Standing.TRUST),
    "shadow_mb": Row(Standing.TRUST),
    "shadow_file_mb": Row(Standing.TRUST),
    "freshness": Row(
        Standing.TRUST,
        _among({"off": "warn auto strict", "warn": "auto strict", "auto": "strict"}),
    ),
    "most_at_once": Row(Standing.TRUST, _less),
    "heartbeat_s": Row(Standing.TRUST, _slower),
    "loop_guard": Row(Standing.TRUST, _among({"off": "warn stop", "warn": "stop"})),
    "max_chars": Row(Standing.TRUST, _less),
    "truncation_strategy": Row(Standing.FREE),
    "commands": Row(Standing.TRUST, _only(False)),
    "command_policy": Row(
        Standing.TRUST, _among({"blocklist": "classify allowlist", "classify": "allowlist"})
    ),
    "allowed_commands": Row(Standing.TRUST, _subset),
    "allowed_only": Row(Standing.TRUST, _only(True)),
    "blocked_commands": Row(Standing.FREE),
    "programs": Row(Standing.TRUST),
    "command_timeout_s": Row(Standing.TRUST, _sooner),
    "max_output_lines": Row(Standing.FREE),
    "keep_jobs": Row(Standing.TRUST, _only(False)),
    # A sandbox that is named and missing holds nothing: only "none" has something below it.
    "sandbox": Row(Standing.TRUST, _among({"none": "auto bubblewrap landlock"})),
    "sandbox_require": Row(Standing.FREE),
    "accept_no_sandbox": Row(Standing.NARROWS, _only(False)),
    "network": Row(Standing.TRUST, _only(False)),
    "memory_mb": Row(Standing.TRUST, _less),
    "reads_without_store": Row(Standing.NARROWS, _only(False)),
    "store_timeout_s": Row(Standing.NEVER),
    "keep_days": Row(Standing.NEVER),
    "dead_letters": Row(Standing.NARROWS, _only(True)),
    # Whoever wrote the workspace must not widen it by what an editor has open beside it.
    "client_roots": Row(Standing.NARROWS, _only(False)),
    # Of these, each part has a standing of its own: see `PARTS`.
    "permissions": Row(Standing.TRUST),
    "guardrails": Row(Standing.TRUST),
    "hooks": Row(Standing.TRUST),
    "agents": Row(Standing.TRUST),
}
UNKNOWN: Final = Row(Standing.NEVER)

# The parts of a table that can only narrow; every other part of it needs trust.
PARTS: Final[Mapping[str, frozenset[str]]] = {
    "permissions": frozenset({"ask", "deny"}),
    "guardrails": frozenset(
        {
            "protected_files",
            "sensitive_files",
            "blocked_commands",
            "max_files_modified",
            "max_lines_changed",
            "max_commands_executed",
            "require_test_after_edit",
            "git_safety",
            "code_rules",
        }
    ),
    "hooks": frozenset(),
    "agents": frozenset(),
}
