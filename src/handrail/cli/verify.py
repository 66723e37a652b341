"""`handrail verify`: checks the record's hashes offline and names the first broken row."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from handrail.cli import output
from handrail.cli.parser import Parser, Subparsers, add_command

if TYPE_CHECKING:
    from handrail.core.ports import Integrity


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "verify", "check that the record was not changed")
    parser.add_argument(
        "--anchor", metavar="HASH", help="a head noted earlier; fails if it is not in the record"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Check every chain; 1 if one is broken or the anchor is missing."""
    from handrail.cli.workspace import look_at
    from handrail.store.verify import verify

    found = verify(look_at(options).home.store, options.anchor)
    if options.json:
        output.say_json(asdict(found))
    else:
        tell(found)
    return 1 if found.broken or found.anchored is False else 0


def tell(found: Integrity) -> None:
    """What the check found, for a person."""
    from handrail.cli.screen import Style, counted, one_line, paint

    checked = f"{counted(found.rows, 'row')} in {counted(found.sessions, 'session')}"
    if found.broken:
        output.say(paint(f"BROKEN: {one_line(found.broken)}", Style.BAD))
        output.say(f"{checked} hold up to there")
    else:
        output.say(paint(f"unbroken: {checked}", Style.GOOD))
    if found.purged_payloads:
        output.say(f"{counted(found.purged_payloads, 'payload')} purged; their rows still hold")
    if found.open_sessions:
        output.say(f"not closed: {', '.join(map(one_line, found.open_sessions))}")
    if found.anchored is not None:
        _tell_anchor(anchored=found.anchored)
    output.say(f"head {found.head}")
    if found.anchored is None and not found.broken:
        output.say("note the head elsewhere and give it back with --anchor: only that shows")
        output.say("whether somebody rewrote the whole record")


def _tell_anchor(*, anchored: bool) -> None:
    from handrail.cli.screen import Style, paint

    if anchored:
        output.say(paint("the anchor is in the record", Style.GOOD))
    else:
        output.say(paint("BROKEN: the anchor is not in the record", Style.BAD))
        output.say("the record was rewritten or cut since, or the anchor is of another store")
