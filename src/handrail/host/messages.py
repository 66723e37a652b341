"""The wording of problems that the machine causes."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

BACKEND_FAILED: Final = ProblemTemplate(
    "unavailable",
    "the sandbox {forced!r} does not work here: {reason}",
    hint="set sandbox to 'auto', or install what is missing; see `handrail doctor`",
)
HIDDEN_PATH_MOVED: Final = ProblemTemplate(
    "stale",
    "{path!r} must be hidden from the command, and was moved or replaced meanwhile",
    hint="call it again",
    retryable=True,
)
NO_TEMP_DIRECTORY: Final = ProblemTemplate(
    "unavailable",
    "no temporary directory for commands could be created: {reason}",
)
UNKNOWN_BACKEND: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no sandbox {backend!r}",
    hint="sandbox is one of: auto, {names}",
)
# Shown by `handrail doctor`.
NO_LISTENER: Final = (
    "not available: commands cannot change modes, owners, times and attributes of files, and have no"
    " /dev/shm (the kernel refuses a second seccomp listener)"
)

ARTIFACT_GONE: Final = ProblemTemplate(
    "not_found",
    "there is no artifact {reference!r}",
    hint="old artifacts are removed to make room; run the call again",
)
ARTIFACT_NOT_KEPT: Final = ProblemTemplate(
    "unavailable",
    "{name!r} could not be kept: {reason}",
)
ARTIFACT_TOO_LARGE: Final = ProblemTemplate(
    "too_large",
    "{count} bytes are too many to keep",
)
BLOB_DAMAGED: Final = ProblemTemplate(
    "not_found",
    "the content kept as {digest} is damaged",
)
BLOB_MISSING: Final = ProblemTemplate(
    "not_found",
    "no content with hash {digest} is kept",
)
BLOB_NOT_KEPT: Final = ProblemTemplate(
    "unavailable",
    "the old content could not be kept in {directory!r}: {reason}",
    hint="free some space, or run with journal=false and do without undo",
)
LOCKS_UNAVAILABLE: Final = ProblemTemplate(
    "unavailable",
    "files cannot be locked in {directory!r}: {reason}",
    hint="check that this directory exists and can be written",
)
STATE_UNTRUSTED: Final = ProblemTemplate(
    "unavailable",
    "Handrail cannot keep its state in {path!r}: {reason}",
    hint="set XDG_STATE_HOME or store= to a directory of your own, or use store=':memory:'",
)
UNKNOWN_STORE: Final = ProblemTemplate(
    "invalid_arguments",
    "there is no store of the kind '{scheme}'",
    hint="name a file, or a database: postgresql://user@host/database",
)
BLOB_UNREADABLE: Final = ProblemTemplate(
    "unavailable",
    "the disk could not read the old content kept in {path!r}: {reason}",
    hint="check the disk, then call again",
)

ALREADY_ANSWERED: Final = ProblemTemplate(
    "conflict",
    "{id} has been answered already: {answer} (from {via}, by {who})",
)
AMBIGUOUS_ID: Final = ProblemTemplate(
    "ambiguous",
    "{count} questions begin with {name!r}",
    hint="give more of the id",
)
NO_LONGER_ASKED: Final = ProblemTemplate(
    "not_found",
    "{id} is no longer pending",
    hint="see `handrail approvals`",
)
NEEDS_WORDS: Final = ProblemTemplate(
    "invalid_arguments",
    "{id} is a question of the model, which needs words",
    hint="handrail approvals answer {id} TEXT; `no` declines to answer",
)
NO_NARROW_RULE: Final = ProblemTemplate(
    "invalid_arguments",
    "no rule is narrow enough to allow {id} always",
    hint="`handrail approvals yes {id}` allows it once",
)
NO_SUCH_APPROVAL: Final = ProblemTemplate(
    "not_found",
    "no pending question has the id {name!r}",
    hint="`handrail approvals` lists the pending ones; a changed call is asked again with a new id",
)

CHANNEL_CLOSED: Final = ProblemTemplate(
    "unavailable",
    "the program has ended or reads no more{details}",
)
DIRECTORY_NOT_ENTERED: Final = ProblemTemplate(
    "unavailable",
    "the directory {cwd!r} cannot be entered: {reason}",
    hint="start in another directory",
)
FRAME_TOO_LARGE: Final = ProblemTemplate(
    "too_large",
    "the program sent a message of more than {limit:,} bytes",
)
JOB_OVER: Final = ProblemTemplate(
    "conflict",
    "job {number!r} has already ended: {state}",
)
LOCK_NOT_CREATED: Final = ProblemTemplate(
    "unavailable",
    "the lock file of a program could not be created in {path}: {reason}",
)
NO_INTERPRETER: Final = ProblemTemplate(
    "unavailable",
    "{interpreter!r} is not a Python interpreter, so no helper can be started",
    hint="run Handrail from an ordinary Python interpreter",
)
PLATFORM_UNSUPPORTED: Final = ProblemTemplate(
    "unavailable",
    "programs can only be run on Linux with process handles (kernel 5.4 or later)",
    hint="work with the file tools, or run Handrail inside a Linux container",
)
PROGRAM_NOT_STARTED: Final = ProblemTemplate(
    "unavailable",
    "{program!r} could not be started: {reason}",
)
RUNTIME_CLOSED: Final = ProblemTemplate(
    "unavailable",
    "the runtime is closed: nothing can be started",
)
SUPERVISOR_NOT_STARTED: Final = ProblemTemplate(
    "unavailable",
    "no helper process could be started: {reason}",
)
NO_JOB_INPUT: Final = ProblemTemplate(
    "conflict",
    "job {number!r} takes no input, or no more",
    hint='start it with {arg[input]} "pipe" or "terminal"',
)
NO_SUCH_JOB: Final = ProblemTemplate("not_found", "there is no job {number!r}", hint="{hint}")
RUNNER_LOST: Final = ProblemTemplate(
    "unavailable",
    "the helper process that supervised the program was killed, and the program with it{details}",
    hint="check what the program has done before you run it again",
)

# Why a command's connection was refused.
HOST_NOT_LISTED: Final = "not in the list of allowed hosts; the entry that allows it is {entry!r}"
HOST_NOT_RESOLVED: Final = "its name cannot be resolved ({error})"
HOST_IS_LOCAL: Final = (
    "its address belongs to this machine or its network, which only an entry with the port "
    "allows: {entry!r}"
)
HOST_NOT_REACHED: Final = "it cannot be reached"
ONLY_PROXY: Final = "only the proxy can be reached, see HTTPS_PROXY"

# Why "always" is no answer to a question.
NO_ALWAYS: Final = "there is no rule to allow this always; it can be allowed once"
ALWAYS_ENDS: Final = (
    "always is not offered here: the session ends with this call; a rule in the list allow under "
    "[permissions] of your own configuration makes it permanent"
)

# Why a command probably failed.
NETWORK_CLOSED: Final = (
    "commands have no network access, which is probably why this failed; the user can "
    "allow it with the setting network = true, or for one command by approving that"
)
OWN_LOOPBACK: Final = (
    "commands have a loopback network of their own and cannot reach a server outside this "
    "command; the user can change that with the setting network = true"
)
PROXY_NOT_USED: Final = (
    "the program probably did not use the proxy in HTTP_PROXY and HTTPS_PROXY; only programs that "
    "use it reach the hosts that the setting network lists"
)

ROOT_REPLACED: Final = ProblemTemplate(
    "outside_workspace",
    "{path!r} is no longer the directory that was opened: it was moved, or something "
    "else was put or mounted in its place, so no command is run there",
    hint="move it back, or open the workspace again at its new path",
)
READ_DENIED: Final = ProblemTemplate(
    "denied",
    "{path!r} is denied by a rule",
    hint="leave it; only the user can change the rule",
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
