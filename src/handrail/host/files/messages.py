"""The wording of problems of files and paths."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

BINARY_FILE: Final = ProblemTemplate(
    "not_text",
    "{path} is a binary file",
    hint="{way}",
)
CHANGED_MEANWHILE: Final = ProblemTemplate(
    "conflict",
    "{path} was changed by another process in the meantime",
)
CHANGED_SINCE_READ: Final = ProblemTemplate(
    "stale",
    "{path} was changed by another process: {reason}",
    hint="read the file again and make the change on its current content",
)
CHANGED_WHILE_READ: Final = ProblemTemplate(
    "stale",
    "{path} changed while it was read",
    retryable=True,
)
COPY_FAILED: Final = ProblemTemplate(
    "unavailable",
    "{path!r} could not be copied: {reason}",
    hint="nothing was left in the new directory; correct the cause and try again",
)
COPY_INTO_CURRENT: Final = ProblemTemplate(
    "invalid_arguments",
    "{path!r} is the current directory, which the copy would replace",
    hint="name a directory that does not exist",
)
COPY_INTO_ITSELF: Final = ProblemTemplate(
    "invalid_arguments",
    "{path!r} lies in the workspace",
    hint="name a directory outside of it",
)
COPY_NOT_EMPTY: Final = ProblemTemplate(
    "exists",
    "{path!r} is not an empty directory",
    hint="name a directory that is empty or does not exist",
)
FILE_GROWS: Final = ProblemTemplate(
    "unavailable",
    "{path} grows while it is read",
    retryable=True,
)
FILE_TOO_LARGE: Final = ProblemTemplate(
    "too_large",
    "{path} has {size} bytes, more than the {max_bytes} that are read at once",
    hint="read a part of it with {arg[offset]} and {arg[limit]}",
)
FILE_UNUSABLE: Final = ProblemTemplate(
    "unavailable",
    "{path} could not be used: {reason}",
)
HARD_LINKS: Final = ProblemTemplate(
    "conflict",
    "{path} has other names (hard links); a write would either change them too or "
    "separate the file from them",
    hint="write to another path; the user can allow it with break_hard_links = true",
)
INVALID_PATH: Final = ProblemTemplate(
    "invalid_arguments",
    "{path} is not a valid path: {reason}",
    hint="give a path relative to the workspace, such as 'src/main.py'",
)
KIND_CHANGED: Final = ProblemTemplate(
    "conflict",
    "{path} is a {before_form} now, and cannot become a {after_form} again",
    hint="undo the calls one by one, or move it away first",
)
LINE_NOT_REACHED: Final = ProblemTemplate(
    "timeout",
    "line {first} of {path} was not reached in {counting_s:.0f} s",
    hint="call again to continue from there, or search with grep",
    retryable=True,
)
LINKS_KEEP_CHANGING: Final = ProblemTemplate(
    "stale",
    "{path!r} cannot be resolved: another process keeps replacing links on the way",
    hint="find out which process does that, then call it again",
    retryable=True,
)
LINK_LOOP: Final = ProblemTemplate(
    "not_found",
    "{path} cannot be resolved: too many levels of symbolic links",
)
NAME_NOT_UTF8: Final = ProblemTemplate(
    "invalid_arguments",
    "{path} leads to a name that is not valid UTF-8",
)
NOT_A_DIRECTORY_NAME: Final = ProblemTemplate(
    "invalid_arguments",
    "{path} ends like a directory, but there is none of that name",
    hint="leave out the slash at the end to name a file",
)
NOT_A_DIRECTORY_TO_LIST: Final = ProblemTemplate(
    "not_found",
    "{path} is not a directory",
    hint="use {tool_name[read_file]} to read a file",
)
NOT_REGULAR: Final = ProblemTemplate(
    "not_text",
    "{path} is {what}, not a regular file",
)
PARENT_NOT_A_DIRECTORY: Final = ProblemTemplate(
    "not_found",
    "{path} does not exist: {where} is not a directory",
)
ROOT_HAS_NUL: Final = ProblemTemplate(
    "invalid_arguments",
    "{given} is not a directory: it contains a NUL character",
)
ROOT_KEEPS_CHANGING: Final = ProblemTemplate(
    "stale",
    "a part of {given} keeps being exchanged for a symbolic link",
    hint="find out which process does that, then open the directory again",
    retryable=True,
)
ROOT_MISSING: Final = ProblemTemplate(
    "not_found",
    "the directory {path} does not exist",
    hint="create it first, or open another directory as the workspace",
)
ROOT_NOT_A_DIRECTORY: Final = ProblemTemplate(
    "not_found",
    "{path} is not a directory",
)
ROOT_NOT_UTF8: Final = ProblemTemplate(
    "invalid_arguments",
    "the directory {path!r} has a name that is not valid UTF-8",
)
RUNTIME_PATH: Final = ProblemTemplate(
    "outside_workspace",
    "{absolute} belongs to Handrail and cannot be accessed",
    hint="work on other files of {root!r}",
)
UP_FROM_MISSING: Final = ProblemTemplate(
    "not_found",
    "{path} goes up from a directory that does not exist",
    hint="give the path without '..'",
)
MISSING: Final = ProblemTemplate(
    "not_found",
    "{path} does not exist",
)
PART_IS_A_FILE: Final = ProblemTemplate(
    "not_found",
    "a part of {path} is a file, not a directory",
)
IS_A_DIRECTORY: Final = ProblemTemplate(
    "not_found",
    "{path} is a directory, not a file",
    hint="use {tool_name[list_files]} to see it",
)
PART_BECAME_A_LINK: Final = ProblemTemplate(
    "stale",
    "{path} no longer leads where it did: a part of it became a symbolic link",
    hint="list its directory again before you continue",
)
LEADS_OUTSIDE: Final = ProblemTemplate(
    "outside_workspace",
    "{path} leads outside the workspace",
)
ACCESS_DENIED: Final = ProblemTemplate(
    "denied",
    "the operating system denies access to {path}",
    hint="its permissions or owner would have to change; continue without it or ask",
)
NOT_A_FILE: Final = ProblemTemplate(
    "not_text",
    "{path} is a socket or device, not a regular file",
)
NAME_TOO_LONG: Final = ProblemTemplate(
    "invalid_arguments",
    "a name in {path} is too long",
)
INVALID_NAME: Final = ProblemTemplate(
    "invalid_arguments",
    "{path} is not a valid name on this file system",
)
DISK_FULL: Final = ProblemTemplate(
    "unavailable",
    "the disk is full; {path} is unchanged",
    hint="free some space",
)
QUOTA_EXCEEDED: Final = ProblemTemplate(
    "unavailable",
    "the disk quota is used up; {path} is unchanged",
    hint="free some space",
)
READ_ONLY_FILE_SYSTEM: Final = ProblemTemplate(
    "unavailable",
    "{path} is on a read-only file system",
)
DISK_ERROR: Final = ProblemTemplate(
    "unavailable",
    "the disk reported an error for {path}",
)
FILE_LIMIT_EXCEEDED: Final = ProblemTemplate(
    "too_large",
    "{path} would be larger than this file system allows",
)
TOO_MANY_OPEN_FILES: Final = ProblemTemplate(
    "unavailable",
    "too many files are open to reach {path}",
    hint="try again later",
    retryable=True,
)
OUTSIDE_WORKSPACE: Final = ProblemTemplate(
    "outside_workspace",
    "{path} is outside the workspace",
    hint="stay inside {root!r}{also}; relative paths start there",
)
LINK_OUTSIDE_WORKSPACE: Final = ProblemTemplate(
    "outside_workspace",
    "{path} leads outside the workspace through a symbolic link",
    hint="stay inside {root!r}{also}; relative paths start there",
)
FILE_MISSING: Final = ProblemTemplate(
    "not_found", "{path} does not exist", hint="{tool_name[list_files]} shows what is there"
)
FILE_MISNAMED: Final = ProblemTemplate(
    "not_found", "{path} does not exist", hint="did you mean {names}?"
)
