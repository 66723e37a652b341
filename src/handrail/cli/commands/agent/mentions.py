"""Files that a task mentions as `@path`: they are read under the rules and appended to the task."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from handrail.core.call import call_owner
from handrail.core.results import Status

if TYPE_CHECKING:
    from handrail.engine.runtime import Runtime

# `@` at the beginning of a word, then a path, in quotes if it contains spaces.
_MENTION: Final = re.compile(r'(?<!\S)@(?:"(?P<quoted>[^"\n]+)"|(?P<plain>[^\s"]+))')
# Unlike `@dataclass` and `@user`.
_LIKE_A_PATH: Final = re.compile(r"[^/]/|\.\w")
_PUNCTUATION: Final = ".,;:!?)]}'"
_MOST_FILES: Final = 20


async def add_mentioned_files(
    rt: Runtime, agent: str, task: str, note: Callable[[str], None]
) -> str:
    """Return the task with the content of the files that it mentions. A word such as `@dataclass`
    that is not a file of the workspace stays unchanged. `note` gets the files that were read or
    refused, and mentions that look like paths without being files.
    """
    parts = [task]
    paths, missing = _mentioned_paths(rt, task)
    for path in missing:
        note(f"@{path}: there is no such file in the workspace, so nothing was added")
    for path in paths:
        if len(parts) > _MOST_FILES:
            note(f"only the first {_MOST_FILES} mentioned files were read")
            break
        result = await rt.call(
            "read_file",
            {"path": path},
            id=f"{call_owner(rt.session.id)}.mention-{uuid.uuid4().hex[:12]}",
            agent=agent,
        )
        if result.status is Status.OK:
            note(f"read {path}")
            parts.append(f"<file path={path!r}>\n{result.text}\n</file>")
        elif result.problem is not None:
            note(f"{path} was not read: {result.problem.message}")
    return "\n\n".join(parts)


def _mentioned_paths(rt: Runtime, task: str) -> tuple[list[str], list[str]]:
    """Return the mentioned files, and the mentions that look like paths without being files."""
    paths: dict[str, None] = {}
    missing: dict[str, None] = {}
    for match in _MENTION.finditer(task):
        quoted, plain = match["quoted"], match["plain"] or ""
        bare = plain.rstrip(_PUNCTUATION)
        existing = rt.agent_services.existing([quoted] if quoted else [plain, bare])
        if existing:
            paths[existing[0]] = None
        elif quoted or _LIKE_A_PATH.search(bare):
            missing[quoted or bare] = None
    return list(paths), list(missing)
