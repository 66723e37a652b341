"""The wording of the problems about subagents."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

CYCLE: Final = ProblemTemplate(
    "denied",
    "an agent of the type {agent!r} is already at work above this one: {chain}",
    hint="do this part of the task yourself, or use another type",
)
DUPLICATE: Final = ProblemTemplate(
    "conflict",
    "the agent {agent_id!r} got the same task less than {seconds} seconds ago",
    hint="use its answer, or give another task",
)
MAY_NOT_DELEGATE: Final = ProblemTemplate(
    "denied",
    "the agent {agent!r} may not start other agents",
    hint="the setting `policy` of the agent would have to contain Delegate",
)
MODEL_NOT_LISTED: Final = ProblemTemplate(
    "invalid_arguments",
    "an agent cannot use the model {model!r}",
    hint="models that the user's settings name: {names}; leave it out for the default",
)
NO_SUCH_AGENT: Final = ProblemTemplate(
    "not_found",
    "there is no agent {agent_id!r} in this session",
    hint="agents: {known}",
)
NO_SUCH_TOOL: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no tool {tool!r} that the agent could be allowed",
    hint="name tools that you have, or leave this out",
)
NO_SUCH_TYPE: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no type of agent {agent!r}",
    hint="types: {known}",
)
NOT_RUNNING: Final = ProblemTemplate(
    "conflict",
    "the agent {agent_id!r} has ended: {status}",
    hint="its output can still be read; resume continues it",
)
OTHER_CHAIN: Final = ProblemTemplate(
    "denied",
    "the agent {agent_id!r} belongs to another agent or conversation",
    hint="an agent may use only the agents that it started",
)
STILL_RUNNING: Final = ProblemTemplate(
    "conflict",
    "the agent {agent_id!r} is still at work",
    hint="wait for its end, or end it, before you give it another task",
)
STOPPED: Final = ProblemTemplate(
    "cancelled",
    "the agent was ended before its task was done",
    hint="resume continues it",
)
TOO_DEEP: Final = ProblemTemplate(
    "denied",
    "agents may be {limit} levels deep, and {chain} are there already",
    hint="do this part of the task yourself",
)
FAILED: Final = ProblemTemplate(
    "internal", "the agent failed because of a defect: {error}", hint="resume continues it"
)
UNTRUSTED_TYPE: Final = ProblemTemplate(
    "untrusted",
    "the user does not trust the file that defines the agent {agent!r}",
    hint="the user can allow it with: handrail agents trust {agent}",
)
UNUSABLE_TYPE: Final = ProblemTemplate(
    "invalid_arguments",
    "the definition of the agent {agent!r} cannot be used: {reason}",
    hint="`handrail agents` lists all definitions",
)
