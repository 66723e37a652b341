"""Measures and formats the confinement of commands, for `doctor` and the overview."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.cli.workspace import Workspace
    from handrail.config.model import Settings


def measure_confinement(place: Workspace, settings: Settings) -> dict[str, Any]:
    """Measure the sandbox; return backend and properties as JSON, or a `problem`."""
    from handrail.assembly.commands import sandbox_for
    from handrail.assembly.deferred_commands import SHELL_PATH, find_shell
    from handrail.cli.messages import NO_SHELL

    roots = [str(place.root), *settings.directories]
    home = place.home
    if home.directory is not None and not home.directory.is_dir():
        # Measuring must not create the state directory.
        home = type(home)(home.store, None)
    sandbox = sandbox_for(roots, (), settings, home)
    problem = None
    if find_shell(roots) is None:
        problem = NO_SHELL.error(path=SHELL_PATH).problem.to_dict()
    try:
        return {"problem": problem, "network": settings.network, **sandbox.describe()}
    except ProblemRaised as raised:
        return {"problem": raised.problem.to_dict(), "backend": settings.sandbox, "measured": {}}
    finally:
        sandbox.close()


def group_by_strength(measured: Mapping[str, str]) -> dict[str, list[str]]:
    """Group property names by strength, strongest first."""
    order = ("enforced", "repaired", "partial", "absent")
    groups = {
        strength: [name for name in measured if measured[name] == strength] for strength in order
    }
    return {strength: names for strength, names in groups.items() if names}


def doctor_rows(confinement: Mapping[str, Any]) -> dict[str, str]:
    """Return the rows of `doctor`: the backend, then one row per property."""
    from handrail.policy.confinement import PROPERTIES

    rows = {"backend": _backend(confinement), "network": _network(confinement)}
    rows |= {
        name: str(confinement[name])
        for name in ("path", "sha256", "landlock_abi", "listener", "proc")
        if name in confinement
    }
    for name, why in confinement.get("passed_over", {}).items():
        rows[f"not {name}"] = why
    for name, strength in confinement["measured"].items():
        rows[name] = f"{strength:<9} {PROPERTIES.get(name, '')}".rstrip()
    if note := _approval_note(confinement):
        rows["approval"] = note
    return rows


def _approval_note(confinement: Mapping[str, Any]) -> str | None:
    """Explain why commands that may write always need approval; None if the sandbox suffices."""
    from handrail.policy.command_guard import unenforced_properties
    from handrail.policy.confinement import describe_gap
    from handrail.policy.messages import SANDBOX_REMEDIES

    lacking = unenforced_properties(confinement["measured"])
    if not confinement["measured"] or not lacking:
        return None
    return f"{describe_gap(lacking)}: {SANDBOX_REMEDIES}"


def overview_rows(confinement: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the rows of the overview: the backend, then the properties by strength."""
    yield "commands", _backend(confinement)
    if confinement.get("network"):
        yield " network", _network(confinement)
    for strength, names in group_by_strength(confinement["measured"]).items():
        yield f" {strength}", ", ".join(names)


def _network(confinement: Mapping[str, Any]) -> str:
    """Describe the setting `network`; the properties are measured without it."""
    hosts = confinement.get("network") or ()
    if confinement["backend"] == "none":
        return "not limited: nothing confines commands"
    if hosts is True:
        return "allowed by the setting `network`: commands reach everything"
    if hosts:
        return f"only {', '.join(hosts)}, through a proxy"
    return "off, unless a user approves it for one command"


def _backend(confinement: Mapping[str, Any]) -> str:
    backend = confinement["backend"]
    return "not confined" if backend == "none" else f"confined by {backend}"
