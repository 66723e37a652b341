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
NOT_AN_ADDRESS: Final = ProblemTemplate(
    "invalid_arguments",
    "{address!r} is not HOST:PORT",
    hint="write 127.0.0.1:7331, or 127.0.0.1:0 for any free port",
)
UNKNOWN_HOST: Final = ProblemTemplate(
    "invalid_arguments", "cannot resolve the address {host!r}: {error}"
)
EXPOSED_ADDRESS: Final = ProblemTemplate(
    "invalid_arguments",
    "{host!r} can be reached from other machines, and the connection is not encrypted",
    hint="use 127.0.0.1, or add --expose if a proxy in front of it provides TLS",
)
CANNOT_LISTEN: Final = ProblemTemplate("unavailable", "cannot listen on {address}: {error}")
TOKEN_UNUSABLE: Final = ProblemTemplate(
    "unavailable",
    "the token in {path!r} cannot be used: {reason}",
    hint="remove the file or start with --new-token, and give your clients the new token",
)
