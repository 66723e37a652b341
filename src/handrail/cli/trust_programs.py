"""`handrail trust --programs`: accept helper programs that changed since they were first used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import output

if TYPE_CHECKING:
    from handrail.host.processes.helpers.bundled import HelperProgram

_QUESTION: Final = "Use these programs as they are installed now? [y/n] "


def run(root: Path, ask: Callable[[list[str], str], bool], *, dry_run: bool, as_json: bool) -> int:
    """Show the programs that have a problem, ask, and pin them; 1 if one stays unused."""
    from handrail.cli.screen import one_line
    from handrail.host.processes.helpers.bundled import DISTRIBUTIONS, find_helper

    found = [find_helper(name, [str(root)]) for name in DISTRIBUTIONS]
    changed = [one for one in found if one.problem is not None and one.source is not None]
    if changed and not dry_run:
        lines = [one_line(one.problem.message) for one in changed if one.problem is not None]
        if ask([*lines, ""], _QUESTION):
            changed = [_accept(one) for one in changed]
    if as_json:
        output.say_json({"workspace": str(root), "programs": [_row(one) for one in changed]})
    elif not changed:
        output.say("no helper program has changed")
    else:
        for one in changed:
            output.say(one_line(_line(one)))
    return 1 if any(one.problem is not None for one in changed) else 0


def _accept(program: HelperProgram) -> HelperProgram:
    from handrail.host.processes.helpers.bundled import accept_helper

    return accept_helper(program.name) or program


def _line(program: HelperProgram) -> str:
    if program.problem is None:
        return f"{program.name}: accepted, run from {program.path}"
    return f"{program.name}: not accepted: {program.problem.message}"


def _row(program: HelperProgram) -> dict[str, Any]:
    problem = program.problem
    return {
        "name": program.name,
        "path": program.path,
        "source": program.source,
        "problem": None if problem is None else problem.to_dict(),
    }
