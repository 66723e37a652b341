"""What confines commands here, for `doctor` and the overview: measured, property by property."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.cli.workspace import Workspace
    from handrail.config.model import Settings

_MEANINGS: Final = {
    "fs_write": "no writing outside the roots",
    "fs_read": "no reading outside the roots, the system and toolchains",
    "fs_hide": "no reading of what rules withhold inside the roots",
    "tcp": "no TCP connection to the outside",
    "udp": "no UDP packet to the outside, so no question to a name server",
    "mptcp": "no multipath TCP connection to the outside",
    "unix_path": "no daemon reached by its socket's path",
    "unix_abstract": "no daemon reached by its socket's name",
    "signals": "no signal to programs outside",
    "proc_view": "no view of programs outside",
    "ptrace": "no looking into other programs",
    "userns": "no user namespace of its own",
    "protected_names": "no lasting change of what others execute later",
    "kill_tree": "no process that outlives its command",
    "memory_limit": "a limit on the memory of each process",
    "pids_limit": "a limit on the number of processes",
}


def measure_confinement(place: Workspace, settings: Settings) -> dict[str, Any]:
    """The backend and its table, as JSON; with a `problem` if a forced one does not work."""
    from handrail.assembly.commands import sandbox_for

    roots = [str(place.root), *settings.directories]
    home = place.home
    if home.directory is not None and not home.directory.is_dir():
        # Looking must not make anything.
        home = type(home)(home.store, None)
    sandbox = sandbox_for(roots, (), settings, home)
    try:
        return {"problem": None, **sandbox.describe()}
    except ProblemRaised as raised:
        return {"problem": raised.problem.to_dict(), "backend": settings.sandbox, "measured": {}}
    finally:
        sandbox.close()


def group_by_strength(measured: Mapping[str, str]) -> dict[str, list[str]]:
    """Strength → properties, strongest first, none that is empty."""
    order = ("enforced", "repaired", "partial", "absent")
    found = {one: [name for name in measured if measured[name] == one] for one in order}
    return {one: names for one, names in found.items() if names}


def doctor_rows(confinement: Mapping[str, Any]) -> dict[str, str]:
    """The lines of `doctor`: what it is made of, then a line for each property."""
    rows = {"backend": _backend(confinement)}
    rows |= {
        name: str(confinement[name])
        for name in ("path", "sha256", "landlock_abi", "proc")
        if name in confinement
    }
    for name, why in confinement.get("passed_over", {}).items():
        rows[f"not {name}"] = why
    for name, strength in confinement["measured"].items():
        rows[name] = f"{strength:<9} {_MEANINGS.get(name, '')}".rstrip()
    if unasked := _nothing_unasked(confinement):
        rows["unasked"] = unasked
    return rows


def _nothing_unasked(confinement: Mapping[str, Any]) -> str | None:
    """Why no mode runs a command that may change something without a question, and what would
    help; None if the sandbox is strong enough.
    """
    from handrail.policy.confinement import REQUIRED_FOR_AUTO_RUN

    measured = confinement["measured"]
    lacking = [
        name for name in REQUIRED_FOR_AUTO_RUN if measured.get(name) not in ("enforced", "repaired")
    ]
    if not measured or not lacking:
        return None
    told = (
        f"no mode runs commands that may change something ({', '.join(lacking)} not enforced), "
        "unless accept_no_sandbox is set"
    )
    if "bubblewrap" in confinement.get("passed_over", {}) and sys.platform == "linux":
        told += "; install bubblewrap to change that"
    return told


def overview_rows(confinement: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The lines of the overview: the backend, then the properties by how far they hold."""
    yield "commands", _backend(confinement)
    for strength, names in group_by_strength(confinement["measured"]).items():
        yield from zip(_labels(strength), _wrapped(names), strict=False)


def _backend(confinement: Mapping[str, Any]) -> str:
    backend = confinement["backend"]
    return "none: nothing confines them" if backend == "none" else f"confined by {backend}"


def _labels(first: str) -> Iterator[str]:
    yield f"  {first}"
    while True:
        yield ""


def _wrapped(names: Sequence[str], width: int = 72) -> Iterator[str]:
    line = ""
    for name in names:
        if line and len(line) + len(name) + 2 > width:
            yield f"{line},"
            line = name
        else:
            line = f"{line}, {name}" if line else name
    yield line
