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

IMAGES_NOT_SAVED: Final = ProblemTemplate(
    "invalid_arguments",
    "the images cannot be saved in {path!r}: {error}",
    hint="name a directory that can be written; the result itself is on record",
)

# gates
NO_MODEL_NAME: Final = ProblemTemplate(
    "invalid_arguments",
    "no model is named",
    hint="write `handrail models test NAME`; `handrail models` lists the names",
)
NO_FLEET_TASKS: Final = ProblemTemplate(
    "invalid_arguments",
    "no tasks are named",
    hint="name the file with the tasks; status, stop and report also accept --state DIR",
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
NOT_A_QUESTION: Final = ProblemTemplate(
    "invalid_arguments",
    "{id} asks whether a call may run; words do not answer it",
    hint="handrail approvals yes {id}, or: no {id} TEXT",
)
ANSWER_TEXTS: Final = ProblemTemplate(
    "invalid_arguments",
    "{id} has {count} questions: give one TEXT for each, in quotes if it contains spaces",
    hint="`handrail approvals show {id}` shows them",
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
NO_SHELL: Final = ProblemTemplate(
    "unavailable",
    "commands cannot run: there is no bash in {path} that belongs to root or to you",
    hint="install bash; in a container, let its user namespace map root, to which the system's files belong",
)
CONFIG_EXISTS: Final = ProblemTemplate(
    "exists",
    "the settings file {path!r} already exists",
    hint='to choose a model, write model = "anthropic:MODEL" above its first table; `handrail config show`'
    " lists all settings",
)
CONFIG_NOT_WRITTEN: Final = ProblemTemplate(
    "unavailable", "the settings file {path!r} cannot be written: {error}"
)
MCP_NEEDS_NAME: Final = ProblemTemplate(
    "invalid_arguments", "`mcp {action}` needs the NAME of a server", hint="see `handrail mcp list`"
)
MCP_LIST_NAME: Final = ProblemTemplate(
    "invalid_arguments",
    "`mcp list` takes no name, but {name!r} was given",
    hint="`handrail mcp test NAME` shows the tools of one server",
)
MCP_ONLY_ADD: Final = ProblemTemplate(
    "invalid_arguments",
    "`mcp {action}` takes only the name of a server",
    hint="a URL, a program and its variables belong to `handrail mcp add`",
)
MCP_NEEDS_TARGET: Final = ProblemTemplate(
    "invalid_arguments",
    "`mcp add` needs a URL or a program",
    hint="for example: handrail mcp add NAME -- /usr/bin/server --stdio",
)
MCP_URL_ALONE: Final = ProblemTemplate(
    "invalid_arguments",
    "a server behind a URL has neither arguments nor environment variables",
    hint="--bearer-env names the variable with its token; --oauth is for a login",
)
MCP_BAD_NAME: Final = ProblemTemplate(
    "invalid_arguments", "{name!r} cannot be the name of a server: {reason}"
)
MCP_BAD_VARIABLE: Final = ProblemTemplate("invalid_arguments", "--env {text!r} is not NAME=VALUE")
LOGIN_NEEDS_A_TERMINAL: Final = ProblemTemplate(
    "needs_approval",
    "a login needs a user at a terminal, and there is none",
    hint="run `handrail mcp login {server}` in a terminal",
)
NOTHING_TO_CHECK: Final = ProblemTemplate(
    "invalid_arguments",
    "you have no settings file yet",
    hint="`handrail config init` writes one; `handrail config check FILE` checks another file",
)
NO_SUCH_FILE: Final = ProblemTemplate("not_found", "there is no file {path!r}")
TRUST_NEEDS_A_TERMINAL: Final = ProblemTemplate(
    "needs_approval",
    "trust must be confirmed at a terminal, and there is none",
    hint="run `handrail {command}` in a terminal; `handrail {show}` shows what it is about",
)
CONFIG_DIRECTORY_UNUSABLE: Final = ProblemTemplate(
    "unavailable",
    "the settings file {path!r} cannot be read: {error}",
    hint="set XDG_CONFIG_HOME to a directory that you own",
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
    hint='pip install "handrail[mcp]"',
)
UI_NOT_INSTALLED: Final = ProblemTemplate(
    "unavailable",
    "the page needs packages that are not installed",
    hint='pip install "handrail[ui]"',
)
ACP_NOT_INSTALLED: Final = ProblemTemplate(
    "unavailable",
    "the editor protocol needs packages that are not installed",
    hint='pip install "handrail[acp]"',
)
WORKSPACE_FROM_EDITOR: Final = ProblemTemplate(
    "invalid_arguments",
    "acp does not accept --workspace: the editor names the directory of each session",
    hint="leave the option out",
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
    hint='describe what to do: handrail run "Fix the failing test"',
)
NO_SESSIONS: Final = ProblemTemplate(
    "not_found",
    "there is no session in this workspace yet",
    hint="start one with `handrail run`",
)
NO_SESSION_NAMED: Final = ProblemTemplate(
    "invalid_arguments", "`session {action}` needs a SESSION", hint="see `handrail session list`"
)
NOT_A_TURN: Final = ProblemTemplate(
    "invalid_arguments",
    "{turn!r} is not a turn",
    hint="give its number as in `handrail log`, or last",
)
NO_SUCH_TURN: Final = ProblemTemplate(
    "not_found",
    "session {session!r} has no turn {turn}; its last turn is {last}",
    hint="`handrail log --session {session}` lists its calls with their turns",
)
NOT_A_MODE_SWITCH: Final = ProblemTemplate(
    "denied",
    "the mode was not changed: {mode} allows more than {current}, and was not confirmed",
    hint="type /mode {mode} again and answer with the name of the mode",
)
SESSION_MISSING: Final = ProblemTemplate(
    "invalid_arguments",
    "--resume without a session offers a choice at a terminal, and none was made",
    hint="name the session: `handrail session list` lists them; -c continues the newest",
)
NO_TURN: Final = ProblemTemplate(
    "invalid_arguments",
    "rewind needs a session and the turn to go back to",
    hint="`handrail session rewind SESSION TURN`; 0 is before the first turn",
)
SKILL_MISSING: Final = ProblemTemplate(
    "invalid_arguments",
    "`skills {action}` needs the name of a skill",
    hint="`handrail skills` lists them",
)
NO_SUCH_SKILL: Final = ProblemTemplate(
    "not_found", "there is no skill {name!r} here", hint="`handrail skills` lists them"
)
AGENT_MISSING: Final = ProblemTemplate(
    "invalid_arguments",
    "`agents {action}` needs the name of an agent",
    hint="`handrail agents` lists them",
)
NO_SUCH_AGENT_TYPE: Final = ProblemTemplate(
    "not_found", "there is no agent {name!r} here", hint="`handrail agents` lists them"
)
UNKNOWN_AGENT: Final = ProblemTemplate(
    "invalid_arguments",
    "no agent {name!r}; {advice}",
    hint="`handrail agents` lists the types of agents; [agents] tables name others",
)
AGENT_NEEDS_NO_TRUST: Final = ProblemTemplate(
    "invalid_arguments",
    "{name!r} is not an agent of the project that trust could enable ({state})",
    hint="see `handrail agents`",
)
NO_SUCH_SUBAGENT: Final = ProblemTemplate(
    "not_found", "there is no subagent {agent!r} in this session", hint="/agents lists them"
)
NO_SUCH_SESSION: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no session {session!r} in this workspace",
    hint="`handrail session list` lists conversations, `handrail log` the sessions of calls",
)
SCHEMA_UNUSABLE: Final = ProblemTemplate(
    "invalid_arguments",
    "the JSON Schema in {path!r} cannot be used: {error}",
    hint="name a file that holds one JSON Schema object",
)
SKILL_NEEDS_NO_TRUST: Final = ProblemTemplate(
    "invalid_arguments",
    "{name!r} is not a skill of the project that trust could enable ({state})",
    hint="see `handrail skills`",
)
