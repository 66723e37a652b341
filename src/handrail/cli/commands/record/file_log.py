"""`handrail log --path`: the history of a file or folder, over all sessions."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.cli.workspace import Workspace
    from handrail.core.ports.undo import UndoableChange
    from handrail.history.workspace_match import WorkspaceFolders, WorkspaceMatch
    from handrail.host.files.local_files import LocalFiles


def print_file_history(options: Namespace, place: Workspace) -> None:
    """Print the changes of the file, or below the folder, newest first."""
    from itertools import islice

    from handrail.cli.workspace import open_record, read_session_name
    from handrail.core.call import call_owner
    from handrail.history.undo.file_revert import path_spellings
    from handrail.history.undo.recorded_changes import list_changes
    from handrail.store.records.traces import iter_traces, list_openings

    files = open_files(options, place)
    try:
        paths = path_spellings(options.path, files)
    finally:
        files.close()
    with open_record(place) as db:
        folders = current_folders(list_openings(db), place.root)
        session, talk = read_session_name(db, options.session)
        changes = list_changes(iter_traces(db), session=session)
        if talk is not None:
            call_prefix = f"{call_owner(talk)}."
            changes = (
                change
                for change in changes
                if change.session == talk or change.call_id.startswith(call_prefix)
            )
        matching = (change for change in changes if _is_under(change.path, paths))
        rows = list(islice(_in_this_folder(matching, folders), options.limit))
    if options.json:
        for change, where in rows:
            output.print_json({**change._asdict(), "folder": where.value})
    else:
        _print_table(rows, paths)


def open_files(options: Namespace, place: Workspace) -> LocalFiles:
    """Open the files of a workspace for reading."""
    from handrail.assembly.machine import named_directory
    from handrail.cli.workspace import load_settings, workspace_as_given
    from handrail.host.files.local_files import LocalFiles

    more = [
        directory for directory in load_settings(options).directories if Path(directory).is_dir()
    ]
    return LocalFiles([named_directory(workspace_as_given(options)), *more])


def current_folders(openings: Sequence[Any], root: Path) -> WorkspaceFolders:
    """Return the folders that calls were made in, relative to this one."""
    from handrail.history.workspace_match import WorkspaceFolder, WorkspaceFolders
    from handrail.host.state.identities import folder_identity

    return WorkspaceFolders(openings, WorkspaceFolder(str(root), folder_identity(str(root))))


def _is_under(path: str, paths: Sequence[str]) -> bool:
    """Return whether the path is one of these or below one of them."""
    if path in paths or any(path.startswith(f"{parent}/") for parent in paths):
        return True
    # "." is the workspace; absolute paths are in additional roots.
    return "." in paths and not path.startswith("/")


def _in_this_folder(changes: Any, folders: WorkspaceFolders) -> Any:
    from handrail.history.workspace_match import WorkspaceMatch

    for change in changes:
        where = folders.where(change.session, change.at_ns)
        if where is not WorkspaceMatch.ELSEWHERE:
            yield change, where


def _print_table(
    changes: Sequence[tuple[UndoableChange, WorkspaceMatch]], paths: Sequence[str]
) -> None:
    from handrail.cli.render.screen import TextStyle, column_times, one_line, table, truncate

    if not changes:
        output.print_line(f"no recorded changes of {one_line(paths[0])}")
        return
    several = any(change.path not in paths for change, _ in changes)
    times = column_times([change.at_ns for change, _ in changes])
    rows = [
        (
            at,
            one_line(change.call_id),
            f"{truncate(one_line(change.session), 20)}:{change.turn}",
            one_line(change.tool),
            one_line(change.operation),
            _state(change, where),
            *([one_line(change.path)] if several else ()),
        )
        for at, (change, where) in zip(times, changes, strict=True)
    ]
    heads = ("TIME", "CALL", "TURN", "TOOL", "CHANGE", "STATE", *(["FILE"] if several else ()))
    for line in table(rows, heads, {"undone": TextStyle.FAINT}):
        output.print_line(line)


def _state(change: UndoableChange, where: WorkspaceMatch) -> str:
    words = [_state_word(change)]
    if not change.attributed:
        words.append("possibly not by this call")
    if where == "before":
        words.append("in an earlier folder at this path")
    return ", ".join(words)


def _state_word(change: UndoableChange) -> str:
    """Return the state of a change; for undo and redo, the calls they affected."""
    from handrail.cli.render.screen import one_line, truncate

    if not change.calls:
        return "current" if change.standing else "undone"
    redo = change.tool == "redo"
    text = f"{'redid' if redo else 'undid'} {truncate(one_line(', '.join(change.calls)), 40)}"
    if change.standing:
        return text
    return f"{text}, {'undone' if redo else 'redone'}"
