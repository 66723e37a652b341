"""`handrail trust`: review and trust the settings of a project.

The bytes that are shown are the bytes that are trusted, and the question is only asked at a
terminal.
"""

from __future__ import annotations

import os
import select
import termios
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.cli import messages
from handrail.cli.commands.setup.config import claim_row, claim_text, load_layers
from handrail.cli.exit_codes import ExitCode
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.config.layers.load import LoadedSettings, ProjectClaim
    from handrail.core.ports.skills import SkillSummary
    from handrail.core.ports.subagents import AgentSummary
    from handrail.host.processes.helpers.bundled import HelperProgram


_TERMINAL: Final = "/dev/tty"
_USUAL_WIDTH: Final = 80
_NARROWEST: Final = 20
_QUESTION: Final = "Trust these files until they change? [y/n] "
_RUNS: Final = ("hooks", "guardrails", "programs")


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "trust")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--show", action="store_true", help="only show what trust would enable")
    group.add_argument("--revoke", action="store_true", help="end trust")
    group.add_argument(
        "--programs",
        action="store_true",
        help="accept changed helper programs of this environment, for example after an upgrade",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Show the settings, ask, and record the answer; return 5 if the user refuses."""
    from handrail.assembly.settings_files import trust_book
    from handrail.cli.workspace import refuse_session, workspace_directory

    refuse_session(options, "settings apply to all sessions")
    root = workspace_directory(options)
    if options.programs:
        return trust_programs(root, ask_at_terminal, dry_run=options.dry_run, as_json=options.json)
    book = trust_book()
    if options.revoke and not options.dry_run:
        return _print_revoked(root, revoked=book.revoke(root), as_json=options.json)
    # Loaded without trust, to list what trust would enable.
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
        output.print_text("trusted until these files change" if yes else "not trusted")
    return ExitCode.DONE if yes else ExitCode.REFUSED


def _print_trust(root: Path, loaded: LoadedSettings, *, trusted: bool, as_json: bool) -> None:
    if as_json:
        output.print_json(_report(root, loaded, trusted=trusted))
        return
    for line in _lines(root, loaded):
        output.print_text(line)
    if loaded.digest is None:
        output.print_text("this workspace has no settings files; there is nothing to trust")
    elif trusted:
        output.print_text("trusted until these files change; `handrail trust --revoke` ends it")
    elif not _untrusted_claims(loaded):
        output.print_text("nothing here needs trust")
    else:
        output.print_text("not trusted")


def _lines(root: Path, loaded: LoadedSettings) -> Iterator[str]:
    from handrail.cli.render.screen import one_line
    from handrail.config.layers.load import ClaimStatus

    for file in loaded.files:
        yield f"settings file: {one_line(file.relative_to(root))}"
    # The most important list is printed last, next to the question.
    count = len(_untrusted_claims(loaded))
    heads = {
        ClaimStatus.RESERVED: "never read from a project, trusted or not:",
        ClaimStatus.APPLIES: "in effect without trust, because it is stricter:",
        ClaimStatus.UNTRUSTED: f"enabled by trust ({count}):",
    }
    for fate, head in heads.items():
        claims = [claim for claim in loaded.claims if claim.status is fate]
        if claims:
            yield head
            yield from (f"  {one_line(claim_text(claim, root))}" for claim in claims)
    if any(claim.key.startswith(_RUNS) for claim in _untrusted_claims(loaded)):
        yield "programs of the workspace that these settings run are not checked: they may change later"


def _untrusted_claims(loaded: LoadedSettings) -> list[ProjectClaim]:
    from handrail.config.layers.load import ClaimStatus

    return [claim for claim in loaded.claims if claim.status is ClaimStatus.UNTRUSTED]


def _report(root: Path, loaded: LoadedSettings, *, trusted: bool) -> dict[str, Any]:
    return {
        "workspace": str(root),
        "files": [str(file) for file in loaded.files],
        "digest": loaded.digest,
        "trusted": trusted,
        "claims": [claim_row(claim) for claim in loaded.claims],
    }


def _print_revoked(root: Path, *, revoked: bool, as_json: bool) -> int:
    if as_json:
        output.print_json({"workspace": str(root), "revoked": revoked})
    else:
        output.print_text("trust ended" if revoked else "nothing was trusted here")
    return 0


class DefinitionTrust(NamedTuple):
    """How the user trusts one definition of a project; `until` describes when the trust ends."""

    command: str
    kind: str
    until: str
    grant: Callable[[Path, str], None]
    revoke: Callable[[Path], bool]

    def change(
        self, action: str, definition: AgentSummary | SkillSummary, details: Iterable[str]
    ) -> int:
        """Revoke the trust, or ask for it at the terminal after showing the details."""
        if action == "revoke":
            self.revoke(Path(definition.path))
            output.print_line(f"{definition.name} is no longer trusted")
            return ExitCode.DONE
        if not definition.trusted:
            commands = (
                f"{self.command} trust {definition.name}",
                f"{self.command} show {definition.name}",
            )
            question = f"Trust this {self.kind} until {self.until}? [y/n] "
            if not ask_at_terminal([*details, ""], question, *commands):
                output.print_line("not trusted")
                return ExitCode.REFUSED
            self.grant(Path(definition.path), definition.digest)
        output.print_line(f"{definition.name} is trusted until {self.until}")
        return ExitCode.DONE


def ask_at_terminal(
    lines: list[str], question: str, command: str = "trust", show: str = "trust --show"
) -> bool:
    """Print the lines on the terminal, wrapped, even if standard output is redirected, and wait for
    y or n. Raises `needs_approval` without a terminal; the hint names the `command` to type at one
    and the command that only shows the lines.
    """
    from handrail.cli.render.screen import fold_line

    terminal = open_terminal()
    if terminal is None:
        raise messages.TRUST_NEEDS_A_TERMINAL.error(command=command, show=show)
    try:
        # A terminal of unknown size reports zero.
        width = max(os.get_terminal_size(terminal).columns or _USUAL_WIDTH, _NARROWEST)
        folded = [row for line in lines for row in fold_line(line, width)]
        write_all(terminal, "\n".join(folded))
        while True:
            # Discard what was typed before the question.
            termios.tcflush(terminal, termios.TCIFLUSH)
            write_all(terminal, question)
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


def open_terminal() -> int | None:
    """Return a descriptor of the user's terminal; None if there is none."""
    from handrail.cli.workspace import choose_approver

    if choose_approver() is None:
        return None
    return os.open(_TERMINAL, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)


def write_all(terminal: int, text: str) -> None:
    """Write text to the terminal."""
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(terminal, data) :]


_PROGRAM_QUESTION: Final = "Use these programs as installed now? [y/n] "


def trust_programs(
    root: Path, ask: Callable[[list[str], str], bool], *, dry_run: bool, as_json: bool
) -> int:
    """Show changed programs, ask, and accept them; return 5 if one stays unused."""
    from handrail.cli.render.screen import one_line
    from handrail.host.processes.helpers.bundled import DISTRIBUTIONS, find_helper

    programs = [find_helper(name, [str(root)]) for name in DISTRIBUTIONS]
    changed = [
        program
        for program in programs
        if program.problem is not None and program.source is not None
    ]
    if changed and not dry_run:
        lines = [
            one_line(program.problem.message) for program in changed if program.problem is not None
        ]
        if ask([*lines, ""], _PROGRAM_QUESTION):
            changed = [_accept(program) for program in changed]
    if as_json:
        output.print_json(
            {"workspace": str(root), "programs": [_row(program) for program in changed]}
        )
    elif not changed:
        output.print_text("no helper program has changed")
    else:
        for program in changed:
            output.print_text(one_line(_line(program)))
    unused = any(program.problem is not None for program in changed)
    return ExitCode.REFUSED if unused else ExitCode.DONE


def _accept(program: HelperProgram) -> HelperProgram:
    from handrail.host.processes.helpers.bundled import accept_helper

    return accept_helper(program.name) or program


def _line(program: HelperProgram) -> str:
    if program.problem is None:
        return f"{program.name}: accepted, runs from {program.path}"
    return f"{program.name}: not accepted: {program.problem.message}"


def _row(program: HelperProgram) -> dict[str, Any]:
    problem = program.problem
    return {
        "name": program.name,
        "path": program.path,
        "source": program.source,
        "problem": None if problem is None else problem.to_dict(),
    }
