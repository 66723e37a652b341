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
_ADVICE: Final = (
    "what to do: keep a copy of the store, then restore a backup, or move the store away to start a "
    'new one; see "Verifying" in docs/operations.md'
)


def add_parser(subparsers: Subparsers[Parser]) -> None:
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
    integrity = verify(find_workspace(options).home.store, options.anchor)
    if options.json:
        output.print_json(integrity._asdict())
    else:
        print_integrity(integrity)
    return 1 if integrity.broken or integrity.anchored is False else 0


def print_integrity(integrity: Integrity) -> None:
    """Print the result of the check, the verdict first."""
    from handrail.cli.render.screen import count_noun, one_line

    for line in _verdict(integrity):
        output.print_text(line)
    if integrity.broken or integrity.anchored is False:
        output.print_text(_ADVICE)
    if integrity.purged_payloads:
        deleted = count_noun(integrity.purged_payloads, "payload")
        output.print_text(
            f"{deleted} deleted, by `handrail gc` or with a session; their rows are intact"
        )
    if integrity.missing_payloads:
        missing = count_noun(integrity.missing_payloads, "payload")
        output.print_text(
            f"{missing} missing for an unknown reason, from before deletions were recorded"
        )
    if integrity.open_sessions:
        output.print_text(f"not closed: {', '.join(map(one_line, integrity.open_sessions))}")
    output.print_text(f"head {integrity.head}")
    if integrity.anchored is None and not integrity.broken:
        output.print_text(
            "to detect a rewritten or replaced record later, store the head elsewhere and pass it to "
            "`handrail verify --anchor`"
        )


def _verdict(integrity: Integrity) -> Iterator[str]:
    from handrail.cli.render.screen import TextStyle, count_noun, one_line, paint

    checked = f"{count_noun(integrity.rows, 'row')} in {count_noun(integrity.sessions, 'session')}"
    if integrity.broken:
        yield paint(f"BROKEN: {one_line(integrity.broken)}", TextStyle.BAD)
        yield f"{checked} are intact before it"
        if integrity.anchored is False:
            yield "the anchor is not in the intact part"
    elif integrity.anchored is False:
        yield paint("BROKEN: the anchor is not in the record", TextStyle.BAD)
        yield f"the hashes of {checked} are consistent, so the record was rewritten or truncated"
        yield "after the anchor was stored, or the anchor is from another store"
    else:
        with_anchor = ", and the anchor is in the record" if integrity.anchored else ""
        yield paint(f"intact: {checked}{with_anchor}", TextStyle.GOOD)


def _parse_hash(text: str) -> str:
    digits = text.strip().lower()
    if len(digits) != _HASH_DIGITS or not set(digits) <= set("0123456789abcdef"):
        raise ArgumentTypeError(
            f"{text!r} is not a head: give all {_HASH_DIGITS} hex digits printed by `verify`"
        )
    return digits
