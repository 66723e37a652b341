"""Which sandbox properties commands need, and approval for commands outside the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from handrail.core.ports.processes import Strength
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Effect, Verdict
from handrail.policy import messages
from handrail.policy.policy_input import PolicyInput

# Where these are enforced, a command can neither write outside the workspace, nor use the
# network, nor plant a program that is started later.
REQUIRED_FOR_AUTO_RUN: Final = ("fs_write", "tcp", "udp", "mptcp", "unix_path", "protected_names")
# Each property, and what holds where it is enforced.
PROPERTIES: Final = {
    "fs_write": "no writes outside the workspace",
    "fs_read": "no reads outside the workspace, the system and toolchains",
    "fs_hide": "no reads of files in the workspace that rules deny",
    "tcp": "no TCP connections",
    "udp": "no UDP packets, including DNS queries",
    "mptcp": "no multipath TCP connections",
    "unix_path": "no connections to Unix sockets by path",
    "unix_abstract": "no connections to abstract Unix sockets",
    "signals": "no signals to processes outside the sandbox",
    "proc_view": "processes outside the sandbox are not visible",
    "ptrace": "no tracing of other processes",
    "userns": "no new user namespaces",
    "protected_names": "no lasting changes to files that are executed later",
    "kill_tree": "all processes end with the command",
    "memory_limit": "memory limit for each process",
    "pids_limit": "limit on the number of processes",
}
_EFFECTIVE: Final = (Strength.ENFORCED, Strength.REPAIRED)

Measured = Callable[[], Mapping[str, Strength]]


def unenforced_properties(measured: Mapping[str, Strength]) -> tuple[str, ...]:
    """The properties that are missing for commands to run without approval."""
    return tuple(name for name in REQUIRED_FOR_AUTO_RUN if measured.get(name) not in _EFFECTIVE)


def sandbox_confines_commands(measured: Mapping[str, Strength]) -> bool:
    """Whether commands may run without approval in the modes that allow it."""
    return not unenforced_properties(measured)


def describe_gap(unenforced: Sequence[str]) -> str:
    """What a sandbox lacks and what follows, for users."""
    if set(unenforced) >= set(REQUIRED_FOR_AUTO_RUN):
        return messages.NO_SANDBOX
    listed = ", ".join(f"{name} ({PROPERTIES[name]})" for name in unenforced)
    return messages.SANDBOX_GAP.format(properties=listed)


def sandbox_hides_paths(measured: Mapping[str, Strength], *, looks_only: bool) -> bool:
    """Whether a command cannot read hidden paths. Partial hiding is sufficient for a command that
    can write nothing.
    """
    strength = measured.get("fs_hide")
    return strength is Strength.ENFORCED or (looks_only and strength is Strength.PARTIAL)


def check_properties(required: Sequence[str]) -> None:
    """Raise `invalid_arguments` for a property that the sandbox does not have."""
    unknown = sorted(set(required) - set(PROPERTIES))
    if unknown:
        raise ProblemRaised(
            "invalid_arguments",
            f"the sandbox has no property {unknown[0]!r}",
            hint=f"sandbox_require knows: {', '.join(PROPERTIES)}",
            field="sandbox_require",
        )


class SandboxGuard:
    """Refuses commands where a required sandbox property is missing, and asks in every mode before
    a command runs outside the sandbox.
    """

    ignores_reads: Final = True

    def __init__(self, required: Sequence[str], measured: Measured) -> None:
        self._required = tuple(required)
        self._measured = measured

    def __call__(self, subject: PolicyInput) -> Verdict | None:
        """DENY or ASK for a command; else no opinion."""
        analysis = subject.command
        if analysis is None:
            return None
        if self._required:
            measured = self._measured()
            missing = [name for name in self._required if measured.get(name) not in _EFFECTIVE]
            if missing or analysis.unconfined:
                listed = ", ".join(missing)
                return Verdict.from_template(
                    Effect.DENY,
                    messages.SANDBOX_REQUIRED,
                    "commands:require",
                    required=", ".join(self._required),
                    reason=f"the sandbox on this machine does not enforce {listed}"
                    if missing
                    else "the command would run outside the sandbox",
                )
        if analysis.unconfined:
            return Verdict.from_template(
                Effect.ASK, messages.UNCONFINED_COMMAND, "commands:unconfined"
            )
        return None
