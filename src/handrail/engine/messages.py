"""The wording of the problems that the engine reports."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

AGENT_CANNOT_BE_CONFINED: Final = ProblemTemplate(
    "denied",
    "the agent {agent!r} may not change files, and nothing here keeps the command "
    "from that (see `handrail doctor`)",
    hint="only look, and say what should be run",
)
AGENT_MAY_NOT_WRITE: Final = ProblemTemplate(
    "denied",
    "the agent {agent!r} may not change files, and the command would {would}",
    hint="only look, and say what should be changed",
)
APPROVER_FAILED: Final = ProblemTemplate(
    "denied",
    "the approver failed, which counts as no: {kind}",
    hint="this is a defect in the program around the tools, not in the call",
)
ARGUMENTS_NOT_OBJECT: Final = ProblemTemplate(
    "invalid_arguments",
    "Invalid arguments: expected an object, got {kind}",
)
ARGUMENTS_TOO_LARGE: Final = ProblemTemplate(
    "invalid_arguments",
    "Invalid arguments: they are larger than {limit:,} bytes",
    hint="send large content in several calls",
)
RAN_ON_A_COPY: Final = "the command ran on a private copy of the workspace; what it wrote is gone"
WORKSPACE_READ_ONLY: Final = (
    "the workspace was read-only for the command, without a private copy: {reason}"
)
COPYING_FILES: Final = "copying files, to be able to undo the command: {files:,} so far"
CALL_CANCELLED: Final = ProblemTemplate(
    "cancelled",
    "{tool} was cancelled{happened}",
)
CALL_INCOMPLETE: Final = ProblemTemplate(
    "blocked",
    "not run: the message {why}, so this call may be incomplete",
    hint="make the call again, complete; make large changes in several smaller calls",
)
CALL_WITHOUT_ID: Final = ProblemTemplate(
    "invalid_arguments",
    "a tool call in the response has no id or no name (id {call_id!r:.100}, name {name!r:.100})",
    hint="hand over the complete response, not a part of a stream",
)
COMMANDS_UNAVAILABLE: Final = ProblemTemplate(
    "unavailable",
    "commands cannot be run here",
    hint="see the setting `commands`",
)
COMMAND_TAMPERED: Final = ProblemTemplate(
    "tampered",
    "the command {what}",
    hint="the user may allow them with allow_protected, or approve a command that names them",
)
DUPLICATE_ID: Final = ProblemTemplate(
    "duplicate_id",
    "a call with id {call_id!r} was made before, with other arguments or by another agent",
    hint="give every call an id of its own",
)
FOOTPRINT_EXCEEDS_EFFECTS: Final = ProblemTemplate(
    "internal",
    "{tool} cannot be called: its footprint goes beyond the effects it states: {excess}",
    hint="this is a defect in the tool, not in your arguments; try another way",
)
GLOB_OUTSIDE_WORKSPACE: Final = ProblemTemplate(
    "outside_workspace",
    "{glob!r} lies outside the workspace",
)
HOOKS_DISAGREE: Final = ProblemTemplate(
    "blocked",
    "Blocked by hook: two hooks want different arguments for this call",
    hint="the user can change their order, or make one of the two",
)
INVALID_GLOB: Final = ProblemTemplate(
    "invalid_arguments",
    "{glob!r:.200} is not a valid path",
)
MESSAGE_NOT_FINISHED: Final = ProblemTemplate(
    "blocked",
    "not run: the message {why}, and this call changes something",
    hint="make the call again in a message that ends with its tool calls",
)
NOT_READ: Final = ProblemTemplate(
    "stale",
    "{path!r} has not been read in this session",
    hint="read the file first, then change it",
)
NOBODY_ANSWERS: Final = ProblemTemplate(
    "needs_answer",
    "{tool} needs an answer of the user, and no user can be asked here",
    hint="decide yourself and say what you assumed, or end with the question as your answer",
)
NO_FAILED_CALL: Final = ProblemTemplate(
    "not_found",
    "there is no failed call {id}",
    hint="`handrail failed-calls` lists them",
)
NO_RULE_FOR_ALWAYS: Final = ProblemTemplate(
    "denied",
    "User denied permission: no rule was proposed that could hold always",
    hint="this call can only be allowed once; the approver must answer yes or no",
)
NO_SUCH_OUTPUT: Final = ProblemTemplate(
    "not_found",
    "no call with the id {call_id!r:.300} has ended in this session",
    hint="the note in a cut result names its handle; a file of this name is ./output:…",
)
NO_SUCH_TODO: Final = ProblemTemplate(
    "not_found", "there is no task {id!r}", hint="the tasks are:\n{todos}"
)
NO_TOOL_NAME: Final = ProblemTemplate(
    "invalid_arguments",
    "the call names no tool",
    hint='give it a "name"',
)
OUTPUT_DENIED: Final = ProblemTemplate(
    "denied",
    "the output of the call {call_id!r} cannot be read: {why}",
    hint="make the call again under a new id; it is then judged by the rules of now",
)
OUTPUT_HANDLE_AS_PATH: Final = ProblemTemplate(
    "invalid_arguments",
    "{given!r:.300} names the output of a call, not a file",
    hint="only tools that read or search files take it; a file of this name is ./{given:.300}",
)
OUTPUT_NOT_KEPT: Final = ProblemTemplate(
    "not_found",
    "the full output of the call {call_id!r} is no longer kept: {why}",
    hint="make the call again",
)
OUTPUT_OF_OTHER_SESSION: Final = ProblemTemplate(
    "denied",
    "the output of the call {call_id!r:.300} belongs to another session",
    hint="make the call again here",
)
PARTLY_READ: Final = ProblemTemplate(
    "stale",
    "only a part of {path!r} has been read, and all of it would be replaced",
    hint="read the whole file first, or change the part with an edit",
)
FILES_KEEP_CHANGING: Final = ProblemTemplate(
    "conflict",
    "the files changed {count} times between the approval and the change",
    hint="read them again, and find out what writes to them",
)
PATH_LEASED: Final = ProblemTemplate(
    "conflict",
    "{shown!r} is reserved by {who} for another {seconds} s",
    hint="work on something else, or try again when it is free",
    retryable=True,
)
PATH_NOT_SEARCHABLE: Final = ProblemTemplate(
    "not_found",
    "{path!r} cannot be searched",
)
QUOTED_OUTPUT_GONE: Final = ProblemTemplate(
    "denied",
    "the output of the call {call_id!r} quotes another one that is no longer kept",
    hint="make the call again",
)
RESULT_GONE: Final = ProblemTemplate(
    "not_found",
    "the call with id {call_id!r} was made before, and its result {why}",
    hint="it was not run again; to run it again, give it a new id",
)
RESULT_UNKNOWN: Final = ProblemTemplate(
    "conflict",
    "the call with id {call_id!r} was begun before and has no recorded end; it may "
    "have changed something, so it was not run again",
    hint="look at what it changes; to run it again, give it a new id",
)
RUNNING_ELSEWHERE: Final = ProblemTemplate(
    "conflict",
    "the call with id {call_id!r} was begun by another process and has not ended yet",
    hint="call again later for its result, or give the call a new id",
    retryable=True,
)
RUNTIME_CLOSED: Final = ProblemTemplate(
    "unavailable",
    "this runtime is closed",
    hint="open a new one",
)
RUN_ABORTED: Final = ProblemTemplate(
    "cancelled",
    "the user aborted the run; {tool} was not carried out",
    hint="stop here: nothing more will be done until the user starts again",
)
RUN_ABORTED_AT_QUESTION: Final = ProblemTemplate(
    "cancelled",
    "the user aborted the run at this question; {tool} was not carried out",
    hint="stop here: nothing more will be done until the user starts again",
)
TOOL_DEFECT: Final = ProblemTemplate(
    "internal",
    "{tool} failed: {kind} (reference {reference})",
    hint="this is a defect in the tool, not in your arguments; try another way",
)
NO_SUCH_TOOL: Final = ProblemTemplate(
    "unknown_tool", "there is no tool named {tool!r:.200}", hint="{hint}"
)
TOOL_SWITCHED_OFF: Final = ProblemTemplate(
    "unknown_tool", "the tool {tool!r:.200} is switched off here", hint="{hint}"
)
TOOL_NOT_PREPARED: Final = ProblemTemplate(
    "internal",
    "{tool} cannot be prepared: {kind} (reference {reference})",
    hint="this is a defect in the tool, not in your arguments; try another way",
)
NOT_FORWARDED: Final = ProblemTemplate(
    "unknown_tool",
    "there is no tool named {tool!r} that {door} can call",
    hint="find the name of a tool with {tool_name[tool_search]}",
)
TOOL_DISABLED: Final = ProblemTemplate(
    "unavailable",
    "{tool!r} is disabled in current context",
    hint="use another tool",
)
TOO_MANY_TODOS: Final = ProblemTemplate(
    "too_large",
    "a to-do list has at most {limit} items; nothing was changed",
    hint="drop items that are completed; the list is still:\n{todos}",
)
TWO_TODOS_IN_PROGRESS: Final = ProblemTemplate(
    "conflict",
    "only one item of {owner} may be in progress at a time; nothing was changed",
    hint="complete one first, or set it back to pending; the list is still:\n{todos}",
)
TOO_MANY_CALLS: Final = ProblemTemplate(
    "blocked",
    "not run: the message has {count:,} calls, and at most {limit} of one message are run",
    hint="make the further calls in the next message",
)
UNKNOWN_MESSAGE_FORMAT: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no message format for {provider!r}",
    hint="formats: {formats}, anthropic",
)
STREAM_CUT_OFF: Final = ProblemTemplate(
    "unavailable",
    "the response was cut off: {reason}",
    hint="send the request again; no call that changes something was run",
    retryable=True,
)
STREAM_OVER_LIMIT: Final = ProblemTemplate(
    "blocked",
    "the response was refused: {reason}",
    hint="ask for smaller steps; no call that changes something was run",
)
UNKNOWN_STREAM_SHAPE: Final = ProblemTemplate(
    "invalid_arguments",
    "an event of the stream ({kind}) has no known format",
    hint="give provider as one of {formats}",
)
UNKNOWN_RESPONSE_SHAPE: Final = ProblemTemplate(
    "invalid_arguments",
    "this {kind} is not of the shape of a response that can be answered",
    hint="hand over an OpenAI chat completion, its message or the calls in it, an "
    "OpenAI response or its output list, or an Anthropic message; as object or "
    "dict, complete, not streamed",
)
UNSERIALIZABLE_RESULT: Final = ProblemTemplate(
    "internal",
    "{tool} returned a {kind}, which cannot be shown: {error}",
    hint="a tool returns text, an Output, or something that JSON can hold",
)
USER_DENIED: Final = ProblemTemplate(
    "denied",
    "User denied permission",
    hint="the user refused this call; ask what they want instead",
)
USER_DENIED_WITH_REASON: Final = ProblemTemplate(
    "denied",
    "User denied permission. The user says: {reason}",
    hint="follow what the user says",
)
ALWAYS_WITHOUT_RULE: Final = ProblemTemplate(
    "invalid_arguments",
    "no rule is narrow enough to answer the question {question!r} with always",
    hint="answer yes or no",
)
INVALID_ANSWER: Final = ProblemTemplate(
    "invalid_arguments", "{given} is not an answer", hint="answers: {names}"
)
NO_SUCH_QUESTION: Final = ProblemTemplate(
    "not_found",
    "there is no question {question!r}",
    hint='rt.questions lists the questions; only a runtime with approver="events" has any',
)
QUESTION_ANSWERED: Final = ProblemTemplate(
    "conflict", "the question {question!r} is answered or withdrawn", hint="the first answer counts"
)

# What a command can reach by the network, in the question about it.
NETWORK_OFF: Final = "without network access"
NETWORK_ON: Final = "with network access"
NETWORK_IF_APPROVED: Final = "with network access, if you say yes"
NETWORK_LISTED: Final = "only the hosts of the setting `network` can be reached: {hosts}"
NETWORK_REFUSES: Final = "not in that list, so the connection will be refused: {hosts}"
