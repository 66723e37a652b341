"""The wording of problems of fleets, their tasks and the sources of workspaces."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

TASKS_UNREADABLE: Final = ProblemTemplate(
    "invalid_arguments",
    "the tasks in {path!r} cannot be read: {reason}",
    hint="name a file with one JSON object per line",
)
INVALID_TASK: Final = ProblemTemplate(
    "invalid_arguments",
    "{where}: {reason}",
    hint="nothing was started; correct the line and run again",
)
TASK_WITHOUT_MODEL: Final = ProblemTemplate(
    "invalid_arguments",
    "{where}: no model is configured",
    hint="nothing was started; name one with --model or the key 'model', or in the settings: `handrail config init` asks for it",
)
NO_TASKS: Final = ProblemTemplate(
    "invalid_arguments",
    "there are no tasks in {path!r}",
    hint="write one JSON object per line",
)
DUPLICATE_TASK: Final = ProblemTemplate(
    "duplicate_id",
    "{where}: the id {id!r} is already used in line {first}",
    hint="give each task its own id",
)
TASK_CHANGED: Final = ProblemTemplate(
    "conflict",
    "{where}: the task {id!r} differs from the one that was started in {state!r}",
    hint="give it a new id, or name another state directory with --state",
)
TASK_WITHOUT_LINE: Final = ProblemTemplate(
    "conflict",
    "the task {id!r} was started in {state!r} and has not ended, but its line is missing",
    hint="add the line again, or name another state directory with --state",
)
INVALID_LIMITS: Final = ProblemTemplate(
    "invalid_arguments",
    "the limits {text!r} of a tenant are not valid: {reason}",
    hint='write NAME:agents=4,processes=2,tokens=2m,usd=20; "*" is every tenant without limits',
)
INVALID_SIZE: Final = ProblemTemplate(
    "invalid_arguments",
    "{text!r} is not a size",
    hint="write a number of bytes, such as 500m or 2g",
)
STATE_IN_USE: Final = ProblemTemplate(
    "unavailable",
    "another fleet uses {state!r}",
    hint="wait until it has ended, or end it with `handrail fleet stop`",
    retryable=True,
)
NO_STATE: Final = ProblemTemplate(
    "not_found",
    "there is no fleet in {state!r}",
    hint="start one with `handrail fleet run`, or name its directory with --state",
)
JOURNAL_FAILED: Final = ProblemTemplate(
    "store_unavailable",
    "the journal of the fleet in {state!r} failed: {reason}",
    hint="correct the cause, then run again: what has ended stays recorded",
)
STORE_FAILED: Final = ProblemTemplate(
    "store_unavailable",
    "the fleet was stopped: {reason}",
    hint="correct the cause, then run again: the tasks continue",
    retryable=True,
)
UNKNOWN_KEEP: Final = ProblemTemplate(
    "invalid_arguments",
    "{name!r} cannot be kept of a task",
    hint="use one of: {known}",
)
NO_MEMORY_STORE: Final = ProblemTemplate(
    "invalid_arguments",
    "a fleet cannot continue without the records of its tasks",
    hint="name a file with --store, or leave it out",
)
NOT_RUNNING: Final = ProblemTemplate(
    "not_found",
    "no fleet runs in {state!r}",
)
RUNS_ELSEWHERE: Final = ProblemTemplate(
    "unavailable",
    "the fleet in {state!r} runs on the machine {host!r}",
    hint="stop it there",
)
WORKER_FAILED: Final = ProblemTemplate(
    "unavailable",
    "a worker process cannot be started: {reason}",
    hint="see workers.log in the state directory",
)
WORKER_LOST: Final = ProblemTemplate(
    "cancelled",
    "{count} worker processes ended while they worked on this task",
    hint="what it did is in its record; give the task a new id to run it again",
)
OVER_QUOTA: Final = ProblemTemplate(
    "too_large",
    "the task uses {used:,} bytes of disk, {limit:,} are allowed",
    hint="allow more with --disk",
)
TASK_HELD: Final = ProblemTemplate(
    "unavailable",
    "a worker that the fleet cannot reach still works on this task",
    hint="what it did is in its record; give the task a new id to run it again",
)
TASK_UNSAVED: Final = ProblemTemplate(
    "store_unavailable",
    "the state of the task cannot be stored: {reason}",
    hint="correct the cause, then give the task a new id to run it again",
)
TASK_CRASHED: Final = ProblemTemplate(
    "internal",
    "the task failed because of a bug in Handrail: {error}",
    hint="see workers.log in the state directory",
)
UNKNOWN_AGENT_TYPE: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no agent {name!r}",
    hint="`handrail agents` lists the types of agents",
)

STATE_IN_WORKSPACE: Final = ProblemTemplate(
    "invalid_arguments",
    "the state of the fleet {state!r} is inside the workspace, where tools could change it",
    hint="name a directory elsewhere with --state",
)
SOURCE_MISSING: Final = ProblemTemplate("not_found", "there is no {what} {path!r}")
SOURCE_FAILED: Final = ProblemTemplate(
    "unavailable", "the workspace source {source!r} cannot be read: {reason}"
)
SOURCE_UNSAFE: Final = ProblemTemplate(
    "untrusted",
    "the workspace source {source!r} was refused: {reason}",
    hint="nothing of it is kept",
)
SOURCE_TOO_LARGE: Final = ProblemTemplate(
    "too_large",
    "the workspace source {source!r} has more than {limit:,} {what}",
    hint="allow more with --disk",
)
NO_RAY: Final = ProblemTemplate(
    "unavailable",
    "Ray is not installed",
    hint="install it with: pip install 'handrail[ray]'",
)
NO_CLUSTER: Final = ProblemTemplate(
    "unavailable",
    "no Ray cluster can be reached: {reason}",
    hint="start one with `ray start --head`, or name it with RAY_ADDRESS",
)
OTHER_VERSION: Final = ProblemTemplate(
    "unavailable",
    "the machine {host!r} has version {found} of Handrail, the fleet has {wanted}",
    hint="install the same version on every machine",
)
STATE_NOT_SHARED: Final = ProblemTemplate(
    "unavailable",
    "the machine {host!r} does not share the state directory {state!r}: {reason}",
    hint="name a directory with --state on a file system that all machines share, with its locks",
)
NO_FSSPEC: Final = ProblemTemplate(
    "unavailable",
    "fsspec is not installed",
    hint='pip install "handrail[fsspec]"',
)
NO_COMMIT: Final = ProblemTemplate(
    "invalid_arguments",
    "the task cannot be collected as a commit: its source is not a git repository",
    hint="collect it as a patch or as files",
)
GIT_FAILED: Final = ProblemTemplate("unavailable", "git {action} failed: {reason}")
PAGE_FAILED: Final = ProblemTemplate("unavailable", "{path!r} cannot be written: {reason}")
