"""The wording of problems with MCP servers."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

MISSING_EXTRA: Final = ProblemTemplate(
    "unavailable",
    "the MCP servers of the settings need packages that are not installed",
    hint='pip install "handrail[mcp]", or remove [mcp.servers] from the settings',
)
NO_SUCH_SERVER: Final = ProblemTemplate(
    "not_found",
    "there is no MCP server named {server!r} in the settings",
    hint="`handrail mcp list` shows the servers",
)
AMBIGUOUS_NAME: Final = ProblemTemplate(
    "invalid_arguments", "{name!r} may mean {names}", hint="use the full name"
)
NOT_APPROVED: Final = ProblemTemplate(
    "not_found", "the MCP server {server} has no approved tool named {tool!r}"
)
NO_PROGRAMS: Final = ProblemTemplate(
    "unavailable",
    "the MCP server {server} cannot be started: programs cannot be run here",
)
NOT_INSTALLED: Final = ProblemTemplate(
    "unavailable",
    "the program {program!r} of the MCP server {server} was not found",
    hint="install it, or write its absolute path in the settings",
)
MISSING_VARIABLE: Final = ProblemTemplate(
    "unavailable",
    "the MCP server {server} needs the environment variable {variable}, which is not set",
)
NOT_AUTHORIZED: Final = ProblemTemplate(
    "unavailable",
    "the MCP server {server} refused the request: it answered with HTTP status {status}",
    hint="`bearer_env` in its settings names the variable with its token",
)
SESSION_LOST: Final = ProblemTemplate(
    "unavailable",
    "the MCP server {server} no longer knows the session of this runtime: it may have been restarted",
    hint="call again: the next call begins a new session",
)
NOT_LOGGED_IN: Final = ProblemTemplate(
    "unavailable",
    "the MCP server {server} needs a login: {reason}",
    hint="the user can log in with `handrail mcp login {server}`",
)
NO_LOGIN: Final = ProblemTemplate(
    "invalid_arguments",
    "the MCP server {server} is used without a login",
    hint="write `oauth = true` in its settings",
)
LOGIN_FAILED: Final = ProblemTemplate(
    "unavailable", "the login to the MCP server {server} failed: {reason}"
)
LOGIN_TIMEOUT: Final = ProblemTemplate(
    "timeout", "the login to the MCP server {server} was not completed within {seconds:g} s"
)
TOKENS_UNSAFE: Final = ProblemTemplate(
    "untrusted",
    "the token of the MCP server {server} is not used: other users could read or change {file!r}",
    hint="`handrail mcp logout {server}` deletes it; then log in again",
)
NOT_CONFINED: Final = ProblemTemplate(
    "denied",
    "the MCP server {server} is not started: its program or an argument lies in the workspace, and"
    " no sandbox on this machine keeps it from writing",
    hint="install bubblewrap (see `handrail doctor`), or a copy of the server elsewhere",
)
NOT_STARTED: Final = ProblemTemplate(
    "unavailable",
    "the MCP server {server} could not be started: {reason}",
    hint="`handrail mcp logs {server}` shows what it printed",
)
START_TIMEOUT: Final = ProblemTemplate(
    "timeout",
    "the MCP server {server} did not answer within {seconds:g} s of its start",
    hint="`handrail mcp logs {server}` shows what it printed",
)
WAITING: Final = ProblemTemplate(
    "unavailable",
    "the MCP server {server} has failed {failures} times; it is not started again for {seconds:.0f} s",
    hint="use other tools meanwhile",
)
ENDED: Final = ProblemTemplate(
    "unavailable",
    "the MCP server {server} ended during the call, so it is unknown whether the call had effects",
    hint="check what has changed before calling again",
)
CALL_TIMEOUT: Final = ProblemTemplate(
    "timeout",
    "the MCP server {server} did not answer {tool} within {seconds:g} s; it is unknown whether"
    " the call had effects",
    hint="check what has changed before calling again",
)
SERVER_ERROR: Final = ProblemTemplate(
    "command_failed", "the MCP server {server} answered {tool} with an error: {message}"
)
NOT_OFFERED: Final = ProblemTemplate(
    "command_failed",
    "the MCP server {server} asked for {method}, which is not offered to servers",
)
TOOL_FAILED: Final = ProblemTemplate(
    "command_failed", "{tool} of the MCP server {server} reported an error"
)
CHANGED: Final = ProblemTemplate(
    "untrusted",
    "the MCP server {server} no longer offers the tools that were approved: {differences}",
    hint="the user can look at them with `handrail mcp approve {server}`",
)
BAD_MANIFEST: Final = ProblemTemplate(
    "unavailable", "the tools of the MCP server {server} cannot be used: {reason}"
)
