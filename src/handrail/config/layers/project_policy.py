"""Which settings a project file may change, with and without the user's trust.

Without trust a project file can only make the settings stricter: ask more, allow less, record
more. A project file cannot change a setting that has no rule here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final, NamedTuple


class ProjectSettingPolicy(StrEnum):
    """What happens to a value that is not stricter."""

    FREE = "free"  # always applies: no value is harmful
    TRUST = "needs trust"  # applies once the user trusts the file
    NARROWS = "narrows only"  # never applies
    NEVER = "never"  # never applies, and neither does a stricter value


class SettingRule(NamedTuple):
    """The rule for one setting."""

    policy: ProjectSettingPolicy
    # Whether a value is stricter than the base.
    narrows: Callable[[Any, Any], bool] = lambda base, value: False
    # Whether only the user can set a value, even if the file is trusted.
    reserved: Callable[[Any], bool] = lambda value: False

    def applies_untrusted(self, base: Any, value: Any) -> bool:
        """Return whether the value applies without trust."""
        if self.policy is ProjectSettingPolicy.NEVER:
            return False
        if self.policy is ProjectSettingPolicy.FREE or value == base:
            return True
        return not self.reserved(value) and self.narrows(base, value)

    def can_be_trusted(self, value: Any) -> bool:
        """Return whether the value applies once the file is trusted."""
        return self.policy in (
            ProjectSettingPolicy.FREE,
            ProjectSettingPolicy.TRUST,
        ) and not self.reserved(value)


def _only(narrow: Any) -> Callable[[Any, Any], bool]:
    return lambda base, value: bool(value == narrow)


def _among(table: Mapping[str, str]) -> Callable[[Any, Any], bool]:
    return lambda base, value: value in table.get(base, "").split()


def _less(base: Any, value: Any) -> bool:
    return value is not None and (base is None or value <= base)


def _smaller_budget(base: Any, value: Any) -> bool:
    given = vars(value)
    return all(limit is None or _less(limit, given.get(name)) for name, limit in vars(base).items())


def _subset(base: Any, value: Any) -> bool:
    return set(value) <= set(base)


def _fewer_hosts(base: Any, value: Any) -> bool:
    """Whether the value gives commands no more network access than the base."""
    if isinstance(value, bool):
        return not value
    return base is True or (not isinstance(base, bool) and _subset(base, value))


def _narrower_web(base: Any, value: Any) -> bool:
    """Whether the value lets the web tools reach no more hosts, within the limits of the base."""
    hosts = _subset(base.allow, value.allow) and _subset(value.deny, base.deny)
    limits = all(
        getattr(value, name) <= getattr(base, name)
        for name in ("max_bytes", "first_byte_s", "body_s", "cache_s")
    )
    slower = value.per_host_s >= base.per_host_s and value.robots >= base.robots
    same = (value.search, value.browser) == (base.search, base.browser)
    return hosts and limits and slower and same


def join_web(base: Any, value: Any, written: Collection[str]) -> Any:
    """The user's table with the values that a project file writes; denied hosts are added."""
    given = {name: getattr(value, name) for name in vars(value) if name in written}
    if "deny" in given:
        given["deny"] = tuple(dict.fromkeys((*base.deny, *given["deny"])))
    return replace(base, **given)


def _slower(base: float, value: float) -> bool:
    # A shorter interval would cause more work.
    return value >= base > 0


def _sooner(base: int | None, value: int | None) -> bool:
    # Unset means the default of the dialect; the shortest default is 30 seconds.
    return _less(30 if base is None else base, value)


def _switched_off(base: Any, value: Any) -> bool:
    return bool(value.enabled == "off")


# As in policy/modes.py: each mode on the right is at least as strict, for every call, as the
# mode on the left.
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
    """Resolve an alias of a mode; an unknown name is returned unchanged."""
    name = text.strip().lower().replace("_", "-")
    return MODE_NAMES.get(name, name)


def _mode_narrows(base: str, value: str) -> bool:
    return mode_name(value) in MODES.get(mode_name(base), "").split()


def _is_bypass(value: str) -> bool:
    return mode_name(value) == "bypass"


SETTING_RULES: Final[Mapping[str, SettingRule]] = {
    "mode": SettingRule(ProjectSettingPolicy.TRUST, _mode_narrows, _is_bypass),
    # The dialect also determines the meaning of `freshness = "auto"`.
    "dialect": SettingRule(ProjectSettingPolicy.TRUST),
    "directories": SettingRule(ProjectSettingPolicy.TRUST, _subset),
    "allow_delete": SettingRule(ProjectSettingPolicy.TRUST, _only(False)),
    "allow_protected": SettingRule(ProjectSettingPolicy.TRUST, _subset),
    "break_hard_links": SettingRule(ProjectSettingPolicy.TRUST, _only(False)),
    "dry_run": SettingRule(ProjectSettingPolicy.NARROWS, _only(True)),
    "durability": SettingRule(ProjectSettingPolicy.TRUST, _only("power")),
    "journal": SettingRule(ProjectSettingPolicy.NARROWS, _only(True)),
    "shadow": SettingRule(ProjectSettingPolicy.NARROWS, _only(True)),
    "shadow_files": SettingRule(ProjectSettingPolicy.TRUST),
    "shadow_mb": SettingRule(ProjectSettingPolicy.TRUST),
    "shadow_file_mb": SettingRule(ProjectSettingPolicy.TRUST),
    "freshness": SettingRule(
        ProjectSettingPolicy.TRUST,
        _among({"off": "warn auto strict", "warn": "auto strict", "auto": "strict"}),
    ),
    "most_at_once": SettingRule(ProjectSettingPolicy.TRUST, _less),
    "heartbeat_s": SettingRule(ProjectSettingPolicy.TRUST, _slower),
    "loop_guard": SettingRule(
        ProjectSettingPolicy.TRUST, _among({"off": "warn stop", "warn": "stop"})
    ),
    "max_chars": SettingRule(ProjectSettingPolicy.TRUST, _less),
    "truncation_strategy": SettingRule(ProjectSettingPolicy.FREE),
    "commands": SettingRule(ProjectSettingPolicy.TRUST, _only(False)),
    "command_policy": SettingRule(
        ProjectSettingPolicy.TRUST,
        _among({"blocklist": "classify allowlist", "classify": "allowlist"}),
    ),
    "allowed_commands": SettingRule(ProjectSettingPolicy.TRUST, _subset),
    "allowed_only": SettingRule(ProjectSettingPolicy.TRUST, _only(True)),
    "blocked_commands": SettingRule(ProjectSettingPolicy.FREE),
    "programs": SettingRule(ProjectSettingPolicy.TRUST),
    "command_timeout_s": SettingRule(ProjectSettingPolicy.TRUST, _sooner),
    "max_output_lines": SettingRule(ProjectSettingPolicy.FREE),
    "keep_jobs": SettingRule(ProjectSettingPolicy.TRUST, _only(False)),
    # Naming a sandbox that is not installed is not stricter, except compared with "none".
    "sandbox": SettingRule(
        ProjectSettingPolicy.TRUST, _among({"none": "auto bubblewrap landlock"})
    ),
    "sandbox_require": SettingRule(ProjectSettingPolicy.FREE),
    "accept_no_sandbox": SettingRule(ProjectSettingPolicy.NARROWS, _only(False)),
    "network": SettingRule(ProjectSettingPolicy.TRUST, _fewer_hosts),
    "memory_mb": SettingRule(ProjectSettingPolicy.TRUST, _less),
    "reads_without_store": SettingRule(ProjectSettingPolicy.NARROWS, _only(False)),
    "store_timeout_s": SettingRule(ProjectSettingPolicy.NEVER),
    "keep_days": SettingRule(ProjectSettingPolicy.NEVER),
    "keep_conversations_days": SettingRule(ProjectSettingPolicy.NEVER),
    "auto_gc": SettingRule(ProjectSettingPolicy.NEVER),
    "dead_letters": SettingRule(ProjectSettingPolicy.NARROWS, _only(True)),
    # A project must not gain directories that the editor has open beside it.
    "client_roots": SettingRule(ProjectSettingPolicy.NARROWS, _only(False)),
    # Each part has a rule of its own: see `UNTRUSTED_PARTS`.
    # A project must not cause names and paths to be sent elsewhere.
    "telemetry": SettingRule(ProjectSettingPolicy.NEVER),
    "permissions": SettingRule(ProjectSettingPolicy.TRUST),
    "guardrails": SettingRule(ProjectSettingPolicy.TRUST),
    "hooks": SettingRule(ProjectSettingPolicy.TRUST),
    "agents": SettingRule(ProjectSettingPolicy.TRUST),
    # A project must not choose where the conversation and the user's keys are sent.
    "model": SettingRule(ProjectSettingPolicy.NEVER),
    "small_model": SettingRule(ProjectSettingPolicy.NEVER),
    "models": SettingRule(ProjectSettingPolicy.NEVER),
    "budget": SettingRule(ProjectSettingPolicy.NARROWS, _smaller_budget),
    "max_steps": SettingRule(ProjectSettingPolicy.NARROWS, _less),
    "web": SettingRule(ProjectSettingPolicy.NARROWS, _narrower_web),
    # A project must not name folders whose skills count as the user's own.
    "skills": SettingRule(ProjectSettingPolicy.NEVER),
    # A project must not start programs or name hosts.
    "mcp": SettingRule(ProjectSettingPolicy.NEVER),
    # A project must not choose programs or their settings; it may do without them.
    "lsp": SettingRule(ProjectSettingPolicy.NARROWS, _switched_off),
}
UNKNOWN_RULE: Final = SettingRule(ProjectSettingPolicy.NEVER)

# Parts that can only be stricter; every other part needs trust.
UNTRUSTED_PARTS: Final[Mapping[str, frozenset[str]]] = {
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
