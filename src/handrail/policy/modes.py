"""Modes: the verdict on a call that no rule matches.

A mode never overrides a DENY; it decides between allowing, asking and refusing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from handrail.core.commands import CommandClass
from handrail.core.verdicts import Effect, Risk, Verdict
from handrail.policy import messages
from handrail.policy.confinement import describe_gap
from handrail.policy.policy_input import PolicyInput


class Mode(StrEnum):
    """What runs without asking."""

    DEFAULT = "default"
    CONFIRM_ALL = "confirm-all"
    ACCEPT_EDITS = "accept-edits"
    SANDBOXED = "sandboxed"
    AUTO_SAFE = "auto-safe"
    STRICT = "strict"
    PLAN = "plan"
    DONT_ASK = "dont-ask"
    BYPASS = "bypass"


# These refuse what they would otherwise ask about.
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


def mode_verdict(mode: Mode, subject: PolicyInput) -> Verdict:
    """The verdict of the mode on a call."""
    if mode is Mode.CONFIRM_ALL:
        reason = "this mode asks before every call"
        return Verdict(Effect.ASK, reason, f"mode:{mode}", hint=_suggest_mode(subject))
    if _runs_without_asking(mode, subject):
        return _ALLOWED[mode]
    if mode is Mode.PLAN:
        return Verdict(
            Effect.DENY,
            "plan mode is read-only",
            f"mode:{mode}",
            QUEUED,
            hint=_suggest_mode(subject, asks=False),
        )
    hint = messages.SANDBOX_REMEDIES if _lacks_sandbox(mode, subject) else _suggest_mode(subject)
    if mode in NEVER_ASK:
        reason = f"{_mode_reason(mode, subject)}, and this mode never asks"
        return Verdict(Effect.DENY, reason, f"mode:{mode}", hint=hint)
    return Verdict(Effect.ASK, _mode_reason(mode, subject), f"mode:{mode}", hint=hint)


def _runs_without_asking(mode: Mode, subject: PolicyInput) -> bool:
    if subject.risk is Risk.SAFE and (subject.reads_only or subject.changes_only_session):
        return True
    if subject.command is not None:
        return _command_runs_without_asking(mode, subject)
    match mode:
        case Mode.BYPASS:
            return True
        case Mode.ACCEPT_EDITS | Mode.SANDBOXED:
            return subject.edits_files
        case Mode.AUTO_SAFE | Mode.STRICT:
            return subject.risk < Risk.DANGEROUS
        case _:
            return False


def _command_runs_without_asking(mode: Mode, subject: PolicyInput) -> bool:
    """Commands run without asking only inside the sandbox: the text of a command is not a boundary."""
    match mode:
        case Mode.BYPASS | Mode.SANDBOXED:
            return subject.confined
        case Mode.AUTO_SAFE | Mode.STRICT:
            return subject.confined and subject.risk < Risk.DANGEROUS
        case _:
            return False


def _mode_reason(mode: Mode, subject: PolicyInput) -> str:
    analysis = subject.command
    if analysis is None:
        return _tool_reason(mode, subject)
    if _lacks_sandbox(mode, subject):
        return describe_gap(subject.unenforced)
    if analysis.safety_class is CommandClass.DEV:
        return "the command builds or tests the project, so it needs approval in this mode"
    why = f": {analysis.reasons[0].text}" if analysis.reasons else ""
    return f"the command is {analysis.safety_class.word}{why}"


def _lacks_sandbox(mode: Mode, subject: PolicyInput) -> bool:
    """Whether only a sandbox is missing for the command to run without asking."""
    if subject.command is None or subject.confined:
        return False
    return _command_runs_without_asking(mode, subject._replace(confined=True))


def _tool_reason(mode: Mode, subject: PolicyInput) -> str:
    if mode in NEVER_ASK:
        does = "changes files" if subject.edits_files else f"is {subject.risk.word}"
        return f"{subject.tool} {does}"
    if mode is Mode.AUTO_SAFE:
        return f"the mode {mode} asks before {subject.tool}, which is {subject.risk.word}"
    what = (
        "files are changed" if subject.edits_files else f"{subject.tool}, which changes something"
    )
    return f"the mode {mode} asks before {what}"


def _suggest_mode(subject: PolicyInput, *, asks: bool = True) -> str | None:
    """The narrowest mode that runs the call without asking. Bypass is never suggested, nor an
    approver where the mode never asks.
    """
    for mode in (Mode.DEFAULT, Mode.ACCEPT_EDITS, Mode.SANDBOXED, Mode.AUTO_SAFE):
        if _runs_without_asking(mode, subject):
            otherwise = ", or give an approver" if asks else ""
            return f"allow it with --mode {mode} (mode={mode.value!r}){otherwise}"
    return None


_ALLOWED: Final = {
    mode: Verdict(Effect.ALLOW, "nothing restricts it", f"mode:{mode}") for mode in Mode
}
