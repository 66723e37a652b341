"""`handrail show`: the record of one call."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.cli.workspace import Workspace
    from handrail.core.ports.records import CallRecord
    from handrail.history.call_diffs import CallDiffs, FileDiff
    from handrail.store.sql import SqlConnection

_MOST_OF_ONE_ID = 10


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "show")
    parser.add_argument(
        "call_id",
        metavar="CALL_ID",
        nargs="?",
        help="id of the call, as in `handrail log` (default: the last)",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the record of a call; raises `not_found` for an unknown id."""
    from handrail.cli.commands.record.log import call_json
    from handrail.cli.render.screen import fold_coloured
    from handrail.cli.workspace import find_workspace, open_record, read_session_name
    from handrail.store.records.calls import list_calls

    place = find_workspace(options)
    with open_record(place) as db:
        most = _MOST_OF_ONE_ID if options.call_id else 1
        session, talk = read_session_name(db, options.session)
        calls = list_calls(db, session, options.call_id, most, None, conversation=talk)
        diffs = [_diffs(options, place, db, call) for call in calls]
    if not calls:
        what = f"call {options.call_id!r}" if options.call_id else "call"
        raise messages.CALL_NOT_FOUND.error(what=what)
    for number, (call, changed) in enumerate(zip(calls, diffs, strict=True)):
        if options.json:
            output.print_json({**call_json(call), "diffs": [diff._asdict() for diff in changed]})
            continue
        if number:
            output.print_line()
        for line in render_call(call, changed):
            for row in fold_coloured(line):
                output.print_line(row)
    return 0


def _diffs(
    options: Namespace, place: Workspace, db: SqlConnection, call: CallRecord
) -> list[FileDiff]:
    """Return the diffs of a call, from the stored contents."""
    from handrail.history.undo.recorded_changes import CallKey

    if call.intent is None or call.completed is None:
        return []
    with open_diffs(options, place, db) as again:
        return again.diffs(CallKey(call.session, call.call_id))


@contextmanager
def open_diffs(options: Namespace, place: Workspace, db: SqlConnection) -> Iterator[CallDiffs]:
    """Open the stored contents of recorded changes."""
    from handrail.cli.commands.record.file_log import open_files
    from handrail.history.call_diffs import CallDiffs
    from handrail.host.state.blobs import DirectoryBlobs
    from handrail.store.records.calls import find_completed
    from handrail.store.records.traces import list_traces, load_contents

    blobs = None if place.home.blobs is None else DirectoryBlobs(place.home.blobs)
    files = open_files(options, place)
    try:
        yield CallDiffs(
            list_traces(db),
            lambda row: load_contents(db, row),
            blobs,
            files,
            lambda key: find_completed(db, key.session, key.call_id),
        )
    finally:
        files.close()


def render_call(call: CallRecord, diffs: Sequence[FileDiff] = ()) -> Iterator[str]:
    """Yield the record as lines of text."""
    from handrail.cli.commands.record.log import reverted_calls
    from handrail.cli.render.screen import TextStyle, format_time, one_line, paint

    requested, completed = call.requested, call.completed or {}
    yield paint(f"{one_line(call.tool)}: {one_line(call.status)}", TextStyle.HEADING)
    facts = {
        "call": call.call_id,
        "session": f"{call.session}, turn {call.turn}",
        "asked": f"{format_time(call.requested_ns)} by {requested.get('agent', 'main')}{_dialect_text(requested)}",
        "ended": _ended_text(call),
        "cleared": _clearance_text(requested, completed),
        "repaired": "; ".join(map(str, requested.get("coerced", ()))),
        "ignored": ", ".join(map(str, requested.get("ignored", ()))),
        "failed": _failed_hooks(completed),
        **reverted_calls(call),
    }
    for name, fact in facts.items():
        if fact:
            yield f"  {name:<9} {one_line(fact)}"
    yield from _arguments(requested)
    yield from _changes(completed, diffs)
    yield from _outcome(completed)
    yield from _diff_section(diffs, str(completed.get("text")))


def _failed_hooks(completed: Mapping[str, Any]) -> str:
    failures = completed.get("hook_failures", ())
    return "; ".join(
        f"hook {failure['hook']} ({failure['event']}): {failure['reason']}" for failure in failures
    )


def _dialect_text(requested: Mapping[str, Any]) -> str:
    called, dialect = requested.get("called"), requested.get("dialect")
    if called in (None, requested.get("tool")):
        return ""
    return f", as {called} ({dialect} dialect)"


def _ended_text(call: CallRecord) -> str:
    from handrail.cli.render.screen import format_time

    if call.completed is None or call.completed_ns is None:
        return "unknown: it is still running, or its process ended first"
    seconds = (call.completed_ns - call.requested_ns) / 1e9
    return f"{format_time(call.completed_ns)}, after {max(seconds, 0):.3f} s"


def _clearance_text(requested: Mapping[str, Any], completed: Mapping[str, Any]) -> str:
    cleared = completed.get("cleared")
    if not cleared:
        return ""
    effect, rule = cleared
    return (
        f"{effect} by {rule} (risk {requested.get('risk', 'unknown')}){_approval_text(completed)}"
    )


def _approval_text(completed: Mapping[str, Any]) -> str:
    """Describe the answer of the approver."""
    answered = completed.get("answered_by")
    if not isinstance(answered, dict):
        return "; approved" if completed.get("asked") else ""
    who = answered.get("who") or "user"
    rule = f", which allows {answered['rule']}" if "rule" in answered else ""
    return f"; answered {answered.get('answer')} by {who} ({answered.get('via')}){rule}"


def _arguments(requested: Mapping[str, Any]) -> Iterator[str]:
    arguments = requested.get("arguments")
    if not isinstance(arguments, dict):
        yield "  the arguments were deleted, by `handrail gc` or with their session"
        return
    for name, value in arguments.items():
        yield from _block(f"{name} =", value if isinstance(value, str) else output.to_json(value))


def _changes(completed: Mapping[str, Any], diffs: Sequence[FileDiff]) -> Iterator[str]:
    from handrail.cli.render.screen import one_line

    undone = {diff.path for diff in diffs if not diff.standing}
    for path, operation, before, after in completed.get("changes", ()):
        hashes = f"{_short_hash(before)} → {_short_hash(after)}"
        since = ", later undone" if path in undone else ""
        yield f"  changed   {one_line(path)} ({one_line(operation)}, {hashes}{since})"


def _diff_section(diffs: Sequence[FileDiff], text: str) -> Iterator[str]:
    from handrail.cli.render.screen import colour_diff, one_line
    from handrail.history.undo.messages import has_no_lines

    for diff in sorted(diffs, key=lambda diff: has_no_lines(diff.diff or "")):
        # The text of an edit already contains its diff.
        if diff.diff is None:
            yield f"{one_line(diff.path)}: {diff.reason}"
        elif diff.diff not in f"{text}\n":
            yield ""
            yield from colour_diff(diff.diff.removesuffix("\n"))


def _outcome(completed: Mapping[str, Any]) -> Iterator[str]:
    from handrail.cli.render.screen import colour_diff

    problem = completed.get("problem")
    if problem:
        yield from _block(f"{problem['code']}:", str(problem["message"]))
        if problem.get("hint"):
            yield from _block("hint:", str(problem["hint"]))
    # A failed command has output; for other failures the text is the problem.
    if completed.get("text") and (not problem or completed.get("data") is not None):
        yield ""
        yield from colour_diff(str(completed["text"]).removesuffix("\n"))


def _block(title: str, text: str) -> Iterator[str]:
    """Format a one-line text beside its title, a longer text below it."""
    from handrail.cli.render.screen import one_line
    from handrail.core.text.safe_text import safe_text

    if "\n" not in text:
        yield f"  {one_line(title)} {safe_text(text)}"
        return
    yield f"  {one_line(title)}"
    for line in safe_text(text).split("\n"):
        yield f"    {line}"


def _short_hash(digest: str | None) -> str:
    return digest[:12] if digest else "nothing"
