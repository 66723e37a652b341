"""`handrail verify`: checks the record's hashes offline and names the first broken row."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.core.records import Integrity

_HASH_DIGITS: Final = 64


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "verify", "check that the record was not changed")
    parser.add_argument(
        "--anchor",
        metavar="HASH",
        type=_hash,
        help="a head noted earlier; fails if it is not in the record",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Check every chain; 1 if one is broken or the anchor is missing."""
    from handrail.cli.workspace import look_at, refuse_session
    from handrail.store.verify import verify

    refuse_session(options, "the chains of all sessions hang together and are checked together")
    found = verify(look_at(options).home.store, options.anchor)
    if options.json:
        output.say_json(asdict(found))
    else:
        tell(found)
    return 1 if found.broken or found.anchored is False else 0


def tell(found: Integrity) -> None:
    """What the check found, for a person: the verdict first, and only one."""
    from handrail.cli.render.screen import counted, one_line

    for line in _verdict(found):
        output.say(line)
    if found.purged_payloads:
        output.say(f"{counted(found.purged_payloads, 'payload')} purged; their rows still hold")
    if found.missing_payloads:
        missing = counted(found.missing_payloads, "payload")
        output.say(f"{missing} missing since before purges were recorded; nobody can tell why")
    if found.open_sessions:
        output.say(f"not closed: {', '.join(map(one_line, found.open_sessions))}")
    output.say(f"head {found.head}")
    if found.anchored is None and not found.broken:
        output.say("note the head elsewhere and give it back with --anchor: only that shows")
        output.say("whether somebody rewrote the record or put an older copy in its place")


def _verdict(found: Integrity) -> Iterator[str]:
    from handrail.cli.render.screen import Style, counted, one_line, paint

    checked = f"{counted(found.rows, 'row')} in {counted(found.sessions, 'session')}"
    if found.broken:
        yield paint(f"BROKEN: {one_line(found.broken)}", Style.BAD)
        yield f"{checked} hold up to there"
        if found.anchored is False:
            yield "the anchor is not in what holds"
    elif found.anchored is False:
        yield paint("BROKEN: the anchor is not in the record", Style.BAD)
        yield f"the hashes of {checked} fit each other, so the record was rewritten or cut"
        yield "since the anchor was noted, or the anchor is of another store"
    else:
        with_anchor = ", and the anchor is in the record" if found.anchored else ""
        yield paint(f"unbroken: {checked}{with_anchor}", Style.GOOD)


def _hash(text: str) -> str:
    digits = text.strip().lower()
    if len(digits) != _HASH_DIGITS or not set(digits) <= set("0123456789abcdef"):
        raise ArgumentTypeError(
            f"{text!r} is not a head: give all {_HASH_DIGITS} hex digits that `verify` printed"
        )
    return digits
