"""The wording of problems that the command line reports."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

# The workspace and the common options
SESSION_NOT_ACCEPTED: Final = ProblemTemplate(
    "invalid_arguments",
    "`{command}` does not accept --session: {reason}",
    hint="omit --session; `handrail log --session NAME` lists the calls of one session",
)
STORE_IN_MEMORY: Final = ProblemTemplate(
    "store_unavailable",
    "a store in memory ends with its process, so it cannot be read later",
    hint="omit --store, or name a file",
)
WORKSPACE_NOT_A_DIRECTORY: Final = ProblemTemplate(
    "invalid_arguments",
    "the workspace {path!r} is not a directory",
    hint="name an existing directory with -w DIR",
)
NO_CONFIG_FILE: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no configuration file {path!r}",
    hint="omit --config to use your own settings",
)
NO_TERMINAL: Final = ProblemTemplate(
    "needs_approval",
    "there is no terminal to ask at",
    hint="use --ask approvals and answer with `handrail approvals` in another terminal",
)

# call, batch, explain
NOT_AN_ARGUMENT: Final = ProblemTemplate(
    "invalid_arguments",
    "{word!r} is neither name=value nor a JSON object",
    hint='write path=a.py, or all arguments as one JSON object: \'{{"path": "a.py"}}\'',
)
ARGUMENT_TWICE: Final = ProblemTemplate("invalid_arguments", "{name!r} is given twice")
ARGUMENT_FILE_UNREADABLE: Final = ProblemTemplate(
    "invalid_arguments",
    "{name}={given}: the file cannot be read: {error}",
    hint="@ reads a UTF-8 file; to pass text that begins with @, give the arguments as JSON",
)
STDIN_NOT_UTF8: Final = ProblemTemplate(
    "invalid_arguments", "standard input is not UTF-8 text: {error}"
)
LINES_UNREADABLE: Final = ProblemTemplate(
    "invalid_arguments",
    "cannot read {file!r}: {error}",
    hint="name a file of JSON lines, or - for standard input",
)
INVALID_BATCH_LINE: Final = ProblemTemplate(
    "invalid_arguments",
    "Invalid arguments: {reason}",
    hint='example: {{"id": "1", "name": "read_file", "arguments": {{"path": "a.py"}}}}',
)
INVALID_EXPLAIN_LINE: Final = ProblemTemplate("invalid_arguments", "{reason}")
EXPLAIN_NEEDS_A_COMMAND: Final = ProblemTemplate(
    "invalid_arguments",
    "`explain` needs one command, or --jsonl FILE",
    hint="quote the command: handrail explain 'git status'",
)
NOT_A_VARIABLE: Final = ProblemTemplate(
    "invalid_arguments", "{given!r} is not NAME=VALUE", hint="example: --env CI=1"
)

# gates
NO_MODEL_NAME: Final = ProblemTemplate(
    "invalid_arguments",
    "no model is named",
    hint="write `handrail models test NAME`; `handrail models` lists the names",
)
NO_GATES: Final = ProblemTemplate(
    "invalid_arguments",
    "no quality gates are configured for this workspace",
    hint="define them under guardrails.quality_gates in the settings",
)

# tools
TOOL_DISABLED: Final = ProblemTemplate(
    "unavailable",
    "the tool {name!r} is disabled here, so it is not offered to models",
    hint="`handrail config show` lists the settings that enable tools, such as allow_delete",
)
UNKNOWN_TOOL: Final = ProblemTemplate(
    "unknown_tool", "there is no tool named {name!r}", hint="{suggestion}"
)

# approvals, plan, jobs, failed-calls
APPROVAL_ID_MISSING: Final = ProblemTemplate(
    "invalid_arguments",
    "`approvals {action}` needs the ID of a request",
    hint="`handrail approvals` lists the requests",
)
REASON_NEEDS_NO: Final = ProblemTemplate(
    "invalid_arguments",
    "`approvals {action}` takes one ID and no text",
    hint="to refuse a call with a reason: approvals no ID TEXT",
)
WATCH_ALONE: Final = ProblemTemplate(
    "invalid_arguments", "--watch asks at the terminal; it takes no action and no --json"
)
PLAN_TAKES_NO_IDS: Final = ProblemTemplate(
    "invalid_arguments", "`plan {action}` takes no IDs", hint="to approve one call: plan approve ID"
)
FIRST_NEEDS_APPROVE: Final = ProblemTemplate(
    "invalid_arguments", "--first can only be used with `plan approve`"
)
JOB_ID_MISSING: Final = ProblemTemplate(
    "invalid_arguments", "`jobs {action}` needs a job ID", hint="`handrail jobs` lists the jobs"
)
ALL_NEEDS_LIST: Final = ProblemTemplate(
    "invalid_arguments", "--all can only be used with `failed-calls list`"
)
FAILED_CALL_ID: Final = ProblemTemplate(
    "invalid_arguments",
    "`failed-calls {action}` {needs}",
    hint="`handrail failed-calls` lists them, `handrail failed-calls show ID` shows one",
)
NOT_A_FAILED_CALL_ID: Final = ProblemTemplate(
    "invalid_arguments", "{text!r} is not the ID of a failed call"
)

# recover, gc, show
NO_DRY_RECOVER: Final = ProblemTemplate(
    "invalid_arguments",
    "recover has no dry run: opening the workspace already recovers it",
    hint="omit --dry-run",
)
MOVED_FROM_WITH_STORE: Final = ProblemTemplate(
    "invalid_arguments",
    "--moved-from cannot be combined with --store",
    hint="omit --moved-from: a named store is used wherever the workspace is",
)
ALL_WITH_STORE: Final = ProblemTemplate(
    "invalid_arguments",
    "--all cannot be combined with --store",
    hint="omit --all to collect the named store",
)
NOTHING_RECORDED: Final = ProblemTemplate(
    "not_found",
    "there is no record of a workspace at {path!r}",
    hint="give the path at which the workspace was last opened",
)
DIFFERENT_DIRECTORY: Final = ProblemTemplate(
    "conflict",
    "{root!r} is not the directory that was recorded at {old!r}",
    hint="it is a copy or was created again; `--store {store}` reads the old record",
)
RECORD_EXISTS: Final = ProblemTemplate(
    "conflict",
    "{root!r} already has a record",
    hint="two records cannot be merged; `--store {old}` uses the old one",
)
CALL_NOT_FOUND: Final = ProblemTemplate(
    "not_found", "no {what} is on record here", hint="`handrail log` lists the newest calls"
)

# config, trust, doctor
SHOW_TAKES_NO_FILE: Final = ProblemTemplate(
    "invalid_arguments",
    "`config show` takes no FILE",
    hint="use `config check FILE`, or `config show --config FILE`",
)
INIT_TAKES_NO_FILE: Final = ProblemTemplate(
    "invalid_arguments",
    "`config init` takes no FILE",
    hint="to write another file than your own: config init --config FILE",
)
CONFIG_EXISTS: Final = ProblemTemplate(
    "exists",
    "the settings file {path!r} already exists",
    hint="`handrail config show` lists all settings; move the file away to start again",
)
CONFIG_NOT_WRITTEN: Final = ProblemTemplate(
    "unavailable", "the settings file {path!r} cannot be written: {error}"
)
CHECK_NEEDS_A_FILE: Final = ProblemTemplate(
    "invalid_arguments", "`config check` needs a FILE", hint="name the file to check"
)
NO_SUCH_FILE: Final = ProblemTemplate("not_found", "there is no file {path!r}")
TRUST_NEEDS_A_TERMINAL: Final = ProblemTemplate(
    "needs_approval",
    "trust must be confirmed at a terminal, and there is none",
    hint="run `handrail trust` in a terminal; `handrail trust --show` lists what it would enable",
)
CONFIG_DIRECTORY_UNUSABLE: Final = ProblemTemplate(
    "unavailable",
    "the settings file {path!r} cannot be read: {error}",
    hint="set XDG_CONFIG_HOME to a directory of your own",
)

# demo, serve, doctor --mcp
DIRECTORY_NOT_EMPTY: Final = ProblemTemplate(
    "invalid_arguments",
    "{path!r} is not empty",
    hint="name a directory that is empty or does not exist",
)
DIRECTORY_UNUSABLE: Final = ProblemTemplate("invalid_arguments", "{path!r} cannot be used: {error}")
UNKNOWN_CLIENT: Final = ProblemTemplate(
    "invalid_arguments", "there is no {what} {given!r}", hint="the clients are {clients}"
)
MCP_NOT_INSTALLED: Final = ProblemTemplate(
    "unavailable",
    "serving MCP needs packages that are not installed",
    hint='install "handrail[mcp]"',
)
NO_SHARED_SESSION: Final = ProblemTemplate(
    "invalid_arguments",
    "--session cannot be used over HTTP: every client has its own session",
    hint="omit --session",
)
NOT_NAME_AND_DIRECTORY: Final = ProblemTemplate(
    "invalid_arguments",
    "{given!r} is not NAME=DIR with a new name and an existing directory",
    hint="example: --add docs=../docs",
)
TOOLS_NOT_LOADED: Final = ProblemTemplate(
    "invalid_arguments",
    "the tools of {name!r} cannot be loaded: {error}",
    hint="name a module that can be imported, or the path of a .py file",
)
NO_TOOLS_IN_MODULE: Final = ProblemTemplate(
    "invalid_arguments",
    "{name!r} defines no tools",
    hint="define them with @handrail.tool, or list them in TOOLS",
)
NEEDS_HTTP: Final = ProblemTemplate(
    "invalid_arguments", "{flag} can only be used with --http", hint="add --http 127.0.0.1:7331"
)
SERVER_UNUSABLE: Final = ProblemTemplate(
    "unavailable",
    "a client cannot use the server: {error}",
    hint="to start it by hand: {command}",
)

# Agents
NO_TASK: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no task",
    hint='write what is to be done: handrail run "Fix the failing test"',
)
NO_SESSIONS: Final = ProblemTemplate(
    "not_found",
    "there is no session to continue in this workspace",
    hint="start one with `handrail run`",
)
NO_SUCH_SESSION: Final = ProblemTemplate(
    "not_found",
    "there is no session {session!r} in this workspace",
    hint="`handrail session list` lists them",
)
SCHEMA_UNUSABLE: Final = ProblemTemplate(
    "invalid_arguments",
    "the JSON Schema in {path!r} cannot be used: {error}",
    hint="name a file that holds one JSON Schema object",
)
