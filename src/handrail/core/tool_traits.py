"""What permission rules, dialects and the command line need to know about a tool."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class RuleFamily(StrEnum):
    """Tools that permission rules treat alike: a deny or an ask about one tool of a family
    binds every tool of the family, and every command with the same effect.
    """

    READ = "read"
    WRITE = "write"
    RUN = "run"


class ToolTraits(NamedTuple):
    """Facts about a tool, declared by the tool itself."""

    # The family of the tool in permission rules; None: rules that name the tool bind only it.
    family: RuleFamily | None = None
    # Results quote the old content of the files that a call changes, so a call also reads them.
    quotes_content: bool = False
    # Results hold names of files, never their content.
    lists_names: bool = False
    # A call searches the content of every file beneath a directory.
    searches_content: bool = False
    # A rule may follow the tool's name with a pattern: `read_file(src/**)`.
    takes_pattern: bool = True
    # A plan of the tool brings back what earlier calls changed.
    reverts_changes: bool = False
    # No dialect shows the tool unless its name or its group is asked for.
    hidden_by_default: bool = False
