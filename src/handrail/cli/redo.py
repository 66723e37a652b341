"""`handrail redo`: bring back what was undone."""

from __future__ import annotations

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.undo import run


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "redo", "bring back what was undone")
    parser.add_argument("--call", metavar="ID", help="the undone call (default: the last one)")
    parser.set_defaults(run=run, redo=True)
