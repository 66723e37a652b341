"""`handrail store`: copy the record to another store."""

from __future__ import annotations

from argparse import Namespace
from typing import Final

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

_EPILOG: Final = """\
actions:
  copy FROM TO    copy a record into an empty store and verify the copy

FROM and TO are files or URLs (postgresql://user@host/database). End the
processes that write to FROM first: what they record later is not copied.
Give passwords in PGPASSWORD or ~/.pgpass."""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "store", epilog=_EPILOG)
    parser.add_argument("action", choices=("copy",), metavar="ACTION", help="copy")
    parser.add_argument("source", metavar="FROM", help="file or URL of the record")
    parser.add_argument("target", metavar="TO", help="file or URL of an empty store")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Copy and verify; raises `store_unavailable` or `conflict`."""
    from handrail.cli.render.screen import count_noun
    from handrail.cli.workspace import refuse_session
    from handrail.store.copying import copy_store

    refuse_session(options, "a record is copied with all its sessions")
    copied = copy_store(options.source, options.target)
    if options.json:
        output.print_json({"rows": copied.rows, "sessions": copied.sessions, "head": copied.head})
        return 0
    rows, sessions = count_noun(copied.rows, "row"), count_noun(copied.sessions, "session")
    output.print_text(f"copied and verified: {rows} in {sessions}")
    output.print_text(f"head {copied.head}")
    return 0
