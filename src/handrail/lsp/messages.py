"""The wording of problems with language servers."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

SERVERS_OFF: Final = ProblemTemplate(
    "unavailable",
    "language servers are switched off (setting lsp.enabled)",
    hint="use {tool_name[grep]} and {tool_name[read_file]}",
)
NO_SERVER: Final = ProblemTemplate(
    "unavailable",
    "no language server is used for {path!r}: {reason}",
    hint="use {tool_name[grep]} and {tool_name[read_file]}; `handrail doctor` lists the servers",
)
NONE_RUNNING: Final = ProblemTemplate(
    "invalid_arguments",
    "no language server runs yet, so path must name a file of the language",
)
SERVER_ENDED: Final = ProblemTemplate(
    "unavailable",
    "the language server {server} has ended{details}",
    hint="call again to start it anew, or use {tool_name[grep]} and {tool_name[read_file]}",
)
NO_ANSWER: Final = ProblemTemplate(
    "timeout",
    "the language server {server} did not answer {method} within {seconds:g} s",
    hint="it may still be reading the project: call again later, or use {tool_name[grep]}",
)
NOT_READ: Final = ProblemTemplate(
    "timeout",
    "the language server {server} did not read {method} within {seconds:g} s",
    hint="call again to start it anew, or use {tool_name[grep]} and {tool_name[read_file]}",
)
SERVER_ERROR: Final = ProblemTemplate(
    "command_failed",
    "the language server {server} answered {method} with an error: {message}",
)
NOT_OFFERED: Final = ProblemTemplate(
    "unavailable",
    "the language server {server} does not offer {method}",
    hint="use {tool_name[grep]} and {tool_name[read_file]}",
)
BAD_MESSAGE: Final = ProblemTemplate(
    "unavailable",
    "the language server {server} sent something that is no message of the protocol: {reason}",
)

# Why a server is not used.
NOT_INSTALLED: Final = "{name} is not installed outside of the workspace"
UNKNOWN_TYPE: Final = "no known server is for files that end in {ending!r}"
NEEDS_SETTING: Final = (
    "{name} runs build scripts of the project, so it is used only if the user's settings name it"
    " under [lsp.servers]"
)
ONLY_CONFIGURED: Final = 'only servers of the settings are used (lsp.enabled = "configured")'
