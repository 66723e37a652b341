"""`handrail verify`: check the hash chain of the record and report the first broken row."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.core.ports.records import Integrity

_HASH_DIGITS: Final = 64


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """Add the parser of this command."""
    parser = add_command(subparsers, "verify")
    parser.add_argument(
        "--anchor",
        metavar="HASH",
        type=_parse_hash,
        help="head printed earlier; fails if it is not in the record",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Check every chain; return 1 if one is broken or the anchor is missing."""
    from handrail.cli.workspace import find_workspace, refuse_session
    from handrail.store.chain.verify import verify

    refuse_session(options, "the chains of all sessions are checked together")
    found = verify(find_workspace(options).home.store, options.anchor)
    if options.json:
        output.print_json(found._asdict())
    else:
        print_integrity(found)
    return 1 if found.broken or found.anchored is False else 0


def print_integrity(found: Integrity) -> None:
    """Print the result of the check, the verdict first."""
    from handrail.cli.render.screen import count_noun, one_line

    for line in _verdict(found):
        output.print_text(line)
    if found.purged_payloads:
        deleted = count_noun(found.purged_payloads, "payload")
        output.print_text(
            f"{deleted} deleted, by `handrail gc` or with a session; their rows are intact"
        )
    if found.missing_payloads:
        missing = count_noun(found.missing_payloads, "payload")
        output.print_text(
            f"{missing} missing for an unknown reason, from before deletions were recorded"
        )
    if found.open_sessions:
        output.print_text(f"not closed: {', '.join(map(one_line, found.open_sessions))}")
    output.print_text(f"head {found.head}")
    if found.anchored is None and not found.broken:
        output.print_text(
            "to detect a rewritten or replaced record later, store the head elsewhere and pass it to "
            "`handrail verify --anchor`"
        )


def _verdict(found: Integrity) -> Iterator[str]:
    from handrail.cli.render.screen import TextStyle, count_noun, one_line, paint

    checked = f"{count_noun(found.rows, 'row')} in {count_noun(found.sessions, 'session')}"
    if found.broken:
        yield paint(f"BROKEN: {one_line(found.broken)}", TextStyle.BAD)
        yield f"{checked} are intact before it"
        if found.anchored is False:
            yield "the anchor is not in the intact part"
    elif found.anchored is False:
        yield paint("BROKEN: the anchor is not in the record", TextStyle.BAD)
        yield f"the hashes of {checked} are consistent, so the record was rewritten or truncated"
        yield "after the anchor was stored, or the anchor is from another store"
    else:
        with_anchor = ", and the anchor is in the record" if found.anchored else ""
        yield paint(f"intact: {checked}{with_anchor}", TextStyle.GOOD)


def _parse_hash(text: str) -> str:
    digits = text.strip().lower()
    if len(digits) != _HASH_DIGITS or not set(digits) <= set("0123456789abcdef"):
        raise ArgumentTypeError(
            f"{text!r} is not a head: give all {_HASH_DIGITS} hex digits printed by `verify`"
        )
    return digits
