"""The wording of the problems that agents report."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

ABORTED: Final = ProblemTemplate("cancelled", "the user aborted the task")
BUDGET_OVERDRAWN: Final = ProblemTemplate(
    "budget_exceeded",
    "the provider billed more than was left of the budget: {kind}",
    hint="raise the limit with --budget or Budget(...), or start a smaller task",
)
BUDGET_USED_UP: Final = ProblemTemplate(
    "budget_exceeded",
    "the budget is used up: {kind} (limit {limit})",
    hint="raise the limit with --budget or Budget(...), or start a smaller task",
)
CALL_NOT_RUN: Final = ProblemTemplate(
    "cancelled",
    "the process ended before this call completed; no effect of it is on record",
    hint="call it again if it is still needed",
)
CALL_STOPPED: Final = ProblemTemplate(
    "cancelled",
    "the user stopped the task before this call completed",
    hint="call it again only if the user still wants it",
)
CONVERSATION_IN_USE: Final = ProblemTemplate(
    "unavailable",
    "the session {session!r} is in use by another process ({holder})",
    hint="close the other process, or start a new session; `handrail session show` works meanwhile",
)
EMPTY_TASK: Final = ProblemTemplate(
    "invalid_arguments", "the task is empty", hint="describe what to do"
)
INVALID_BUDGET: Final = ProblemTemplate(
    "invalid_arguments",
    "{part!r} is not a valid limit of a budget",
    hint="write for example tokens=200k,usd=1,minutes=10; limits: {names}",
)
INVALID_MAX_STEPS: Final = ProblemTemplate(
    "invalid_arguments",
    "max_steps is {steps}; a task needs at least one response of the model",
    hint="leave it out for the setting `max_steps`, which is 50 by default",
)
MODEL_FAILED: Final = ProblemTemplate(
    "unavailable",
    "the model {model!r} failed ({code}): {reason}",
    hint="{advice}",
)
MODEL_OVER_LIMIT: Final = ProblemTemplate(
    "blocked",
    "the model {model!r} was stopped: {reason}",
    hint="none of its calls that change something was run; give a smaller task; the conversation can continue",
)
MODEL_REFUSED: Final = ProblemTemplate(
    "denied",
    "the model refused to answer ({reason})",
    hint="change the task; the conversation can continue",
)
NO_MODEL: Final = ProblemTemplate(
    "invalid_arguments",
    "no model is configured",
    hint="`handrail config init` writes a settings file and asks for one; or name it: the setting `model`, "
    "--model NAME, or model= in Python",
)
NO_PRICE: Final = ProblemTemplate(
    "invalid_arguments",
    "a budget in usd needs the price of the model, and none is configured",
    hint="set price = {{ input = ..., output = ... }} (US dollars per million tokens) in [models.NAME]",
)
NO_SUCH_TURN: Final = ProblemTemplate(
    "not_found",
    "the conversation has no turn {turn}; its last turn is {last}",
    hint="0 is before the first turn; `handrail session show` lists the turns",
)
NOT_A_SESSION_FILE: Final = ProblemTemplate(
    "invalid_arguments",
    "the file cannot be imported: {reason}",
    hint="`handrail session export` writes such files",
)
NO_TASK_TO_UNDO: Final = ProblemTemplate(
    "not_found",
    "the session {session!r} has no task to undo",
    hint="`handrail undo` reverts single calls",
)
NOTHING_TO_RESUME: Final = ProblemTemplate(
    "not_found",
    "the session {session!r} has no unfinished task",
    hint="give it a new task instead",
)
OUTPUT_INVALID: Final = ProblemTemplate(
    "invalid_arguments",
    "the model's answer does not have the requested form after {rounds} attempts: {reason}",
    hint="simplify the type, or ask for the answer in smaller parts",
)
PROMPT_TRUNCATED: Final = ProblemTemplate(
    "unavailable",
    "the server used {used:,} tokens of a prompt of about {sent:,}: it truncated the prompt",
    hint="raise the context size of the server (for Ollama: num_ctx), or set context_tokens to "
    "what it really has",
)
REQUEST_BLOCKED: Final = ProblemTemplate(
    "blocked",
    "the request to the model was blocked: {reason}",
    hint="a hook of the event pre_llm_call stopped it; see `handrail config show`",
)
RESPONSE_TRUNCATED_TWICE: Final = ProblemTemplate(
    "unavailable",
    "the model's message was cut off at {limit:,} tokens twice in a row",
    hint="raise max_output_tokens of the model, or ask for a smaller step",
)
RUN_IN_PROGRESS: Final = ProblemTemplate(
    "conflict",
    "this agent is already working on a task",
    hint="use agent.steer(text) to add a message, or agent.new() for another conversation",
)
TOO_MANY_STEPS: Final = ProblemTemplate(
    "budget_exceeded",
    "the task was stopped after {steps:,} steps",
    hint="continue with another task in the same session, or raise max_steps",
)
USER_NEEDED: Final = ProblemTemplate(
    "needs_approval",
    "no user could be asked, so calls that need approval were refused: {count}",
    hint="resume the session where a user can answer, or allow these calls in your settings",
)
