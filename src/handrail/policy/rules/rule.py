"""Rules as values: what they decide, about which calls, and who wrote them.

In doubt a deny or an ask is read wide, an allow narrow: that is the one idea behind matching.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from handrail.core.verdicts import Effect


class RuleSource(IntEnum):
    """Who wrote a rule, the nearest first; decides what is reported and who may widen."""

    SESSION = 0
    COMMAND_LINE = 1
    LOCAL = 2
    PROJECT = 3
    USER = 4

    @property
    def word(self) -> str:
        """The name that people read."""
        return self.name.lower().replace("_", " ")


class RuleOrigin(NamedTuple):
    """Where a rule stands, for messages."""

    source: RuleSource
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.file is None:
            return f"the {self.source.word} rules"
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Rule(NamedTuple):
    """One rule. `tool` is canonical, or `*`, or `mcp__server__*`; `pattern` None: every call.

    `spelled` is the rule as it was written. `examples` are calls that it must match, or with
    `not ` before them must not. `confined`: it covers only what runs inside the sandbox.
    """

    effect: Effect
    tool: str
    pattern: str | None
    spelled: str
    origin: RuleOrigin
    examples: tuple[str, ...] = ()
    confined: bool = False

    @property
    def text(self) -> str:
        """The rule as a person would write it, with its effect."""
        return f"{self.effect.value} {self.spelled}"

    @property
    def name(self) -> str:
        """How the audit calls it."""
        return f"rule:{self.origin.source.word}:{self.text}"


# A deny or an ask about one of a family binds all of it, and every command that does the same.
WRITERS: Final = frozenset(
    ("write_file", "edit_file", "apply_patch", "delete_file", "notebook_edit")
)
READERS: Final = frozenset(("read_file", "grep", "list_files", "find_files", "file_info"))
RUNNERS: Final = frozenset(("run_command", "execute_code"))
# They plan from what the file holds, and their answers quote it.
QUOTERS: Final = frozenset(("edit_file", "apply_patch", "notebook_edit"))
# They tell names, never contents.
LISTERS: Final = frozenset(("list_files", "find_files"))
# Without paths and without words, so without patterns.
PATTERNLESS: Final = frozenset(("execute_code", "job_output", "job_kill", "job_list", "undo", "*"))
ANY_TOOL: Final = "*"
MCP_PREFIX: Final = "mcp__"
