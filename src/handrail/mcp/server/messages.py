"""The wording of problems that the MCP server reports."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

UNKNOWN_TOOL: Final = ProblemTemplate(
    "invalid_arguments", "there is no tool {name!r} to serve", hint="tools: {tools}"
)
CLIENT_CANNOT_ASK: Final = ProblemTemplate(
    "needs_approval",
    "{tool} needs approval, and this client cannot ask the user. Reason: {reason}",
    hint="{ways}",
)
TOKEN_UNUSABLE: Final = ProblemTemplate(
    "unavailable",
    "the token in {path!r} cannot be used: {reason}",
    hint="remove the file or start with --new-token, and give your clients the new token",
)
