"""The properties of the sandbox, and which of them commands need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from handrail.core.problems import ProblemRaised
from handrail.policy import messages

if TYPE_CHECKING:
    from handrail.core.ports.processes import Strength

# If these are enforced, a command can neither write outside the workspace, nor use the network, nor
# leave a program that is started later.
REQUIRED_FOR_AUTO_RUN: Final = ("fs_write", "tcp", "udp", "mptcp", "unix_path", "protected_names")
# Each property, and what its enforcement guarantees.
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


def describe_gap(unenforced: Sequence[str]) -> str:
    """A sentence for users about the missing properties of the sandbox and the consequence."""
    if set(unenforced) >= set(REQUIRED_FOR_AUTO_RUN):
        return messages.NO_SANDBOX
    listed = ", ".join(f"{name} ({PROPERTIES[name]})" for name in unenforced)
    return messages.SANDBOX_GAP.format(properties=listed)


def sandbox_hides_paths(measured: Mapping[str, Strength], *, looks_only: bool) -> bool:
    """Whether a command cannot read hidden paths. Partial enforcement is sufficient for a command that
    cannot write (`looks_only`).
    """
    from handrail.core.ports.processes import Strength

    strength = measured.get("fs_hide")
    return strength is Strength.ENFORCED or (looks_only and strength is Strength.PARTIAL)


def sandbox_hides_processes(measured: Mapping[str, Strength]) -> bool:
    """Whether commands cannot see processes outside the sandbox."""
    from handrail.core.ports.processes import Strength

    return measured.get("proc_view") is Strength.ENFORCED


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
