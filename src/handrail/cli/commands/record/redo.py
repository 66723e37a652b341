"""`handrail redo`: restore changes that were undone."""

from __future__ import annotations

from handrail.cli.commands.record.undo import add_selection_options, run
from handrail.cli.parser import Parser, Subparsers, add_command


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "redo")
    add_selection_options(parser, since=False)
    parser.set_defaults(run=run, redo=True)
