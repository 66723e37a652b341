"""What permission rules, dialects and the command line need to know about a tool."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class RuleFamily(StrEnum):
    """Tools that permission rules treat alike: a deny or an ask about one tool of a family
    binds every tool of the family, and every command with the same effect.
    """

    READ = "read"
    WRITE = "write"
    RUN = "run"
    # Tools whose calls reach hosts; a pattern is `domain:HOST`.
    WEB = "web"


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
    # A plan of the tool reverts what earlier calls changed.
    reverts_changes: bool = False
    # A call writes a whole file, as the redirect of a command does.
    writes_whole_files: bool = False
    # The built-in read-only agent profiles whose agents may call the tool.
    agent_profiles: tuple[str, ...] = ()
    # No dialect shows the tool unless its name or its group is asked for.
    hidden_by_default: bool = False
    # A model that is shown this tool may call the tool as well, although it is not declared.
    reached_by: str | None = None
    # A call names another tool, whose name begins with this, and the engine runs that call
    # instead: permission rules, hooks and agents see only the named tool.
    forwards_to: str | None = None

    @property
    def matches_commands(self) -> bool:
        """Whether the pattern of a rule about the tool is compared with the words of a command."""
        return self.family is RuleFamily.RUN and self.takes_pattern


# Agent profiles that never change files.
READ_ONLY_PROFILES: Final = ("explore", "review", "plan", "test")
# The built-in types of subagents.
AGENT_TYPES: Final = (*READ_ONLY_PROFILES, "general", "shell")
