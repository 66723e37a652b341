"""`handrail trust`: let a workspace's own settings switch on what they ask for, after a look.

What is shown, judged and trusted are the same bytes, and only a person at a terminal can
say yes.
"""

from __future__ import annotations

import os
import select
import termios
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli.commands.setup.config import claim_row, claim_text, load_layers
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.config.layers.load import LoadedSettings, ProjectClaim
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handrail.host.processes.helpers.bundled import HelperProgram


_TERMINAL: Final = "/dev/tty"
_QUESTION: Final = "Trust these files as long as they stay exactly as they are? [y/n] "
_RUNS: Final = ("hooks", "guardrails", "programs")


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "trust", "trust a workspace's own settings")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--show", action="store_true", help="only show what trust would switch on")
    group.add_argument("--revoke", action="store_true", help="trust them no longer")
    group.add_argument(
        "--programs",
        action="store_true",
        help="accept the helper programs installed in this environment now, after an upgrade",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Show, ask, record; 1 if the person says no or cannot be asked."""
    from handrail.assembly.settings_files import trust_book
    from handrail.cli.workspace import refuse_session, workspace_directory

    refuse_session(options, "settings hold for all sessions")
    root = workspace_directory(options)
    if options.programs:
        return trust_programs(root, ask_at_terminal, dry_run=options.dry_run, as_json=options.json)
    book = trust_book()
    if options.revoke and not options.dry_run:
        return _print_revoked(root, revoked=book.revoke(root), as_json=options.json)
    # Seen as without trust: what waits for it is what the person must look at.
    loaded = load_layers(options, trusted=lambda digest: False)
    trusted = loaded.digest is not None and book.trusts(root, loaded.digest)
    if options.show or options.dry_run or trusted or not _untrusted_claims(loaded):
        _print_trust(root, loaded, trusted=trusted, as_json=options.json)
        return 0
    return _ask_and_record(root, loaded, as_json=options.json)


def _ask_and_record(root: Path, loaded: LoadedSettings, *, as_json: bool) -> int:
    from handrail.assembly.settings_files import trust_book
    from handrail.host.state.directories import private_directory, state_home

    book = trust_book()
    yes = ask_at_terminal([*_lines(root, loaded), ""], _QUESTION)
    if yes and loaded.digest is not None:
        private_directory(state_home())
        private_directory(book.folder)
        book.add(root, loaded.digest)
    if as_json:
        output.print_json(_report(root, loaded, trusted=yes))
    else:
        output.print_line("trusted; any change to these files ends it" if yes else "not trusted")
    return 0 if yes else 1


def _print_trust(root: Path, loaded: LoadedSettings, *, trusted: bool, as_json: bool) -> None:
    if as_json:
        output.print_json(_report(root, loaded, trusted=trusted))
        return
    for line in _lines(root, loaded):
        output.print_line(line)
    if loaded.digest is None:
        output.print_line("this workspace has no settings of its own; there is nothing to trust")
    elif trusted:
        output.print_line(
            "trusted; any change to these files ends it (`handrail trust --revoke` too)"
        )
    elif not _untrusted_claims(loaded):
        output.print_line("nothing here needs your trust")
    else:
        output.print_line("not trusted")


def _lines(root: Path, loaded: LoadedSettings) -> Iterator[str]:
    from handrail.cli.render.screen import one_line
    from handrail.config.layers.load import ClaimStatus

    for file in loaded.files:
        yield f"settings of this workspace: {one_line(file.relative_to(root))}"
    # What matters most stands last, next to the question.
    count = len(_untrusted_claims(loaded))
    heads = {
        ClaimStatus.RESERVED: "never taken from a workspace, trusted or not:",
        ClaimStatus.APPLIES: "in force without trust, because it only narrows:",
        ClaimStatus.UNTRUSTED: f"switched on by your trust ({count}):",
    }
    for fate, head in heads.items():
        claims = [one for one in loaded.claims if one.status is fate]
        if claims:
            yield head
            yield from (f"  {one_line(claim_text(one, root))}" for one in claims)
    if any(one.key.startswith(_RUNS) for one in _untrusted_claims(loaded)):
        yield "a program of the workspace that they name is run as it is then, not as it is now"


def _untrusted_claims(loaded: LoadedSettings) -> list[ProjectClaim]:
    from handrail.config.layers.load import ClaimStatus

    return [one for one in loaded.claims if one.status is ClaimStatus.UNTRUSTED]


def _report(root: Path, loaded: LoadedSettings, *, trusted: bool) -> dict[str, Any]:
    return {
        "workspace": str(root),
        "files": [str(file) for file in loaded.files],
        "digest": loaded.digest,
        "trusted": trusted,
        "claims": [claim_row(one) for one in loaded.claims],
    }


def _print_revoked(root: Path, *, revoked: bool, as_json: bool) -> int:
    if as_json:
        output.print_json({"workspace": str(root), "revoked": revoked})
    else:
        output.print_line("trusted no longer" if revoked else "nothing was trusted here")
    return 0


def ask_at_terminal(lines: list[str], question: str) -> bool:
    """Show the lines and wait for y or n, on the terminal itself: what is agreed to must be
    seen, wherever standard output goes.
    """
    from handrail.cli.workspace import choose_approver

    if choose_approver() is None:
        raise ProblemRaised(
            "needs_approval",
            "trust is given by a person at a terminal, and there is none here",
            hint="run `handrail trust` in a terminal; `handrail trust --show` shows what it is about",
        )
    terminal = os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _write_all(terminal, "\n".join(lines))
        while True:
            # Before each question: an answer to it can only be typed after it.
            termios.tcflush(terminal, termios.TCIFLUSH)
            _write_all(terminal, question)
            select.select([terminal], [], [])
            line = os.read(terminal, 1024)
            match line.decode("utf-8", "replace").strip().lower():
                case "y" | "yes":
                    return True
                case "n" | "no":
                    return False
            if not line:
                return False
    finally:
        os.close(terminal)


def _write_all(terminal: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(terminal, data) :]


_PROGRAM_QUESTION: Final = "Use these programs as they are installed now? [y/n] "


def trust_programs(
    root: Path, ask: Callable[[list[str], str], bool], *, dry_run: bool, as_json: bool
) -> int:
    """Show the programs that have a problem, ask, and pin them; 1 if one stays unused."""
    from handrail.cli.render.screen import one_line
    from handrail.host.processes.helpers.bundled import DISTRIBUTIONS, find_helper

    found = [find_helper(name, [str(root)]) for name in DISTRIBUTIONS]
    changed = [one for one in found if one.problem is not None and one.source is not None]
    if changed and not dry_run:
        lines = [one_line(one.problem.message) for one in changed if one.problem is not None]
        if ask([*lines, ""], _PROGRAM_QUESTION):
            changed = [_accept(one) for one in changed]
    if as_json:
        output.print_json({"workspace": str(root), "programs": [_row(one) for one in changed]})
    elif not changed:
        output.print_line("no helper program has changed")
    else:
        for one in changed:
            output.print_line(one_line(_line(one)))
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
