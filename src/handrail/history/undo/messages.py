"""The texts of undo and redo for the model, the user and programs."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Final

from handrail.core.places import Form, shown
from handrail.core.plan import Change
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.core.text.encoding import detect
from handrail.history.undo.file_revert import FileRevert
from handrail.history.undo.recorded_changes import RevertedCall

_SHOWN_BYTES: Final = 64 * 1024
# A line of a text; only the last one may have no line feed.
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_UNENDED: Final = "\\ No newline at end of file"
_LISTED: Final = 8
# The most files that the text of a result names, and that its preview shows.
MOST_LINES: Final = 20
_MOST_DIFFS: Final = 100
# The options as a program writes them; the command line replaces them by its own.
FORCE: Final = "`force=True`"
PATH: Final = "`path=...`"
_BY_PATH: Final = {True: PATH, False: "scope 'path'"}


def summarize_undo(verb: str, names: Sequence[str], what: str, notes: Sequence[str]) -> str:
    """One line about what was undone or redone, and what was left out."""
    if len(names) == 1:
        said = f"{verb} {names[0]}"
    else:
        said = f"{verb} {len(names)} calls ({what}): {_some(names)}"
    return "; ".join([said, *notes[:_LISTED], *_more(notes)])


def count_changes(changes: Sequence[Change]) -> list[str]:
    """The numbers of restored, recreated and removed files and folders; empty for a single change."""
    if len(changes) < 2:
        return []
    files = [one for one in changes if not one.of_folder]
    folders = [one for one in changes if one.of_folder]
    return [*_count("file", files), *_count("folder", folders)]


def change_lines(changes: Sequence[Change], reverts: Sequence[FileRevert]) -> list[str]:
    """A line for each of the first `MOST_LINES` files, and the number of the others."""
    forced = {revert.path for revert in reverts if revert.forced}
    found = [f"  {_what(one)} {_name(one)}{_remark(one, forced)}" for one in changes[:MOST_LINES]]
    left = len(changes) - MOST_LINES
    return [*found, f"  and {left:,} more"] if left > 0 else found


def describe_progress(done: int, total: int, *, redo: bool, user: bool) -> str:
    """The progress of an undo in parts, and for a model how to continue."""
    said = f"{done:,} of {total:,} files are {'redone' if redo else 'undone'} so far"
    return said if user else f"{said}; call undo again with the same target for the others"


def conflict_error(
    what: str,
    verb: str,
    reverts: Sequence[FileRevert],
    blame: Mapping[str, str],
    *,
    person: bool,
    others: bool,
    count: int = 0,
) -> ProblemRaised:
    """The `conflict` for files that were changed since, `count` in total; `others`: other files of the
    undo have no conflict.
    """
    conflicts = [_changed(revert, blame) for revert in reverts]
    advice = list(_advice(reverts, blame, person=person))
    if others:
        advice.append(f"or undo the other files one by one ({_BY_PATH[person]})")
    return ProblemRaised(
        "conflict",
        f"{what} cannot be {verb}: {_some(conflicts, count)}",
        hint=", ".join(["nothing was touched", *advice]).replace(", ", "; ", 1),
    )


def _advice(
    reverts: Sequence[FileRevert], blame: Mapping[str, str], *, person: bool
) -> Iterator[str]:
    ours = any(revert.path in blame for revert in reverts)
    if ours:
        yield "take the later change back first"
    if any(revert.now.unsupported for revert in reverts):
        yield "move what stands there out of the way"
    elif person:
        yield f"{'or ' * ours}overwrite it with {FORCE} (it is kept, and redo brings it back)"
    elif ours:
        yield "or restore the file by edits"
    else:
        yield "what others wrote is not overwritten: restore the file by edits, or ask them"


def describe_reverted(taken: Sequence[RevertedCall]) -> list[dict[str, Any]]:
    """The reverted calls and their files in the form of the record."""
    return [
        {
            "session": one.key.session,
            "call_id": one.key.call_id,
            "tool": one.tool,
            "paths": list(one.paths),
        }
        for one in taken
    ]


def preview_changes(changes: Sequence[Change]) -> str:
    """The diffs of the changes for the user; those that show no lines come last."""
    found = sorted(map(preview_change, changes[:_MOST_DIFFS]), key=has_no_lines)
    left = len(changes) - _MOST_DIFFS
    return "".join([*found, f"and {left:,} more files\n"] if left > 0 else found)


def has_no_lines(text: str) -> bool:
    """Whether a diff shows no lines, because its file is not text or too large."""
    return not text.startswith("--- ")


def preview_change(change: Change) -> str:
    """The diff of a change for the user."""
    if {change.before_form, change.after_form} != {Form.FILE}:
        return f"{_name(change)}: {_became(change)}\n"
    # The diff is empty for an empty file that is created or removed, and for a change of permissions.
    found = text_diff(change.path, change.before, change.after)
    return found or f"{shown(change.path)}: {_unseen(change)}\n"


def text_diff(path: str, before: Content | None, after: Content | None) -> str:
    """A unified diff; for large or binary contents only the sizes."""
    old, new = before or Content(b""), after or Content(b"")
    if max(old.size, new.size) > _SHOWN_BYTES:
        return f"{shown(path)}: {old.size} bytes become {new.size}\n"
    was, became = _text(old), _text(new)
    if was is None or became is None:
        return f"{shown(path)}: {_binary(before, after)}\n" if old != new else ""
    if was == became and old != new:
        return f"{shown(path)}: the same text in another encoding\n"
    found = difflib.unified_diff(
        _LINE.findall(was),
        _LINE.findall(became),
        "/dev/null" if before is None else shown(f"a/{path}"),
        "/dev/null" if after is None else shown(f"b/{path}"),
    )
    return "".join(line if line.endswith("\n") else f"{line}\n{_UNENDED}\n" for line in found)


def form_diff(
    path: str, before: Content | None, after: Content | None, was: Form, became: Form
) -> str:
    """What became of a link or a folder, as a sentence: no lines of it could be applied."""
    if after is None:
        found = f"{_describe(before or Content(b''), was)} was removed"
    elif before is None:
        found = f"{_describe(after, became)} was made"
    elif was is became is Form.FOLDER:
        found = "the folder has other permissions"
    else:
        found = f"{_describe(before, was)} became {_describe(after, became)}"
    return f"{shown(path)}: {found}\n"


def _text(content: Content) -> str | None:
    """The text of a content, None if it is binary."""
    data = content.tobytes()
    form = detect(data)
    if form is None:
        return None
    return form.show(form.decode(data)).replace("\0", "\\x00")


def _binary(before: Content | None, after: Content | None) -> str:
    if after is None:
        return f"binary file removed ({_bytes(before)})"
    if before is None:
        return f"binary file made ({_bytes(after)})"
    return f"binary file changed ({_bytes(before)}, now {_bytes(after)})"


def _bytes(content: Content | None) -> str:
    size = content.size if content is not None else 0
    return f"{size:,} byte{'s' * (size != 1)}"


def _remark(change: Change, forced: Set[str]) -> str:
    if change.of_folder and change.after is None:
        # Known only when the folder is removed, after all other changes.
        return " (unless something else is in it)"
    return " (overwriting what was there)" if change.path in forced else ""


def _count(kind: str, changes: Sequence[Change]) -> list[str]:
    found = Counter(_what(one) for one in changes)
    counts = ", ".join(f"{n} {word}" for word, n in found.items())
    many = f"{kind}s" if len(changes) > 1 else kind
    return [f"{len(changes)} {many}: {counts}"] if changes else []


def _name(change: Change) -> str:
    return shown(f"{change.path}/" if change.of_folder else change.path)


def _became(change: Change) -> str:
    """A description of the change of a link or a folder."""
    before, after = change.before, change.after
    if before is not None and after is None:
        return f"{_describe(before, change.before_form)} is removed"
    now = _describe(after or Content(b""), change.after_form)
    if before is None:
        return f"{now} is recreated"
    if change.of_folder:
        return f"{now} gets the permissions {change.mode or 0:o}"
    return f"{_describe(before, change.before_form)} becomes {now}"


def _describe(content: Content, form: Form) -> str:
    if form is Form.LINK:
        leads = content.tobytes().decode("utf-8", "backslashreplace")
        return f"a link to {shown(leads)}"
    return f"a {form.value}"


def _unseen(change: Change) -> str:
    if change.after is None:
        return "the empty file is removed"
    if change.before is None:
        return "the empty file is recreated"
    return "the same content, with other permissions"


def _what(change: Change) -> str:
    if change.after is None:
        return "removed"
    return "restored" if change.before is not None else "recreated"


def _changed(revert: FileRevert, blame: Mapping[str, str]) -> str:
    if revert.now.unsupported:
        return f"{revert.path!r} is a directory or leads elsewhere now"
    who = f"by {blame[revert.path]}" if revert.path in blame else "from outside"
    conflict = revert.conflict
    if conflict is not None and conflict.above is not None:
        between = f"between {conflict.below.name} and {conflict.above.name}"
        return f"{revert.path!r} was changed {between}, {who}"
    gone = "was removed" if revert.now.content is None and revert.path not in blame else "changed"
    return f"{revert.path!r} {gone} since, {who}"


def _some(names: Sequence[str], count: int = 0) -> str:
    return ", ".join([*names[:_LISTED], *_more(names, count)])


def _more(names: Sequence[str], count: int = 0) -> list[str]:
    left = max(count, len(names)) - _LISTED
    return [f"and {left} more"] if left > 0 else []
