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
            own = f"{call_owner(talk)}."
            changes = (one for one in changes if one.session == talk or one.call_id.startswith(own))
        wanted = (one for one in changes if _is_under(one.path, paths))
        found = list(islice(_in_this_folder(wanted, folders), options.limit))
    if options.json:
        for one, where in found:
            output.print_json({**one._asdict(), "folder": where.value})
    else:
        _print_table(found, paths)


def open_files(options: Namespace, place: Workspace) -> LocalFiles:
    """Open the files of a workspace for reading."""
    from handrail.assembly.machine import named_directory
    from handrail.cli.workspace import load_settings, workspace_as_given
    from handrail.host.files.local_files import LocalFiles

    more = [one for one in load_settings(options).directories if Path(one).is_dir()]
    return LocalFiles([named_directory(workspace_as_given(options)), *more])


def current_folders(openings: Sequence[Any], root: Path) -> WorkspaceFolders:
    """Return the folders that calls were made in, relative to this one."""
    from handrail.history.workspace_match import WorkspaceFolder, WorkspaceFolders
    from handrail.host.state.identities import folder_identity

    return WorkspaceFolders(openings, WorkspaceFolder(str(root), folder_identity(str(root))))


def _is_under(path: str, paths: Sequence[str]) -> bool:
    """Return whether the path is one of these or below one of them."""
    if path in paths or any(path.startswith(f"{one}/") for one in paths):
        return True
    # "." is the workspace; absolute paths are in additional roots.
    return "." in paths and not path.startswith("/")


def _in_this_folder(changes: Any, folders: WorkspaceFolders) -> Any:
    from handrail.history.workspace_match import WorkspaceMatch

    for one in changes:
        where = folders.where(one.session, one.at_ns)
        if where is not WorkspaceMatch.ELSEWHERE:
            yield one, where


def _print_table(
    found: Sequence[tuple[UndoableChange, WorkspaceMatch]], paths: Sequence[str]
) -> None:
    from handrail.cli.render.screen import TextStyle, column_times, one_line, table, truncate

    if not found:
        output.print_line(f"no recorded changes of {one_line(paths[0])}")
        return
    several = any(one.path not in paths for one, _ in found)
    times = column_times([one.at_ns for one, _ in found])
    rows = [
        (
            at,
            one_line(one.call_id),
            f"{truncate(one_line(one.session), 20)}:{one.turn}",
            one_line(one.tool),
            one_line(one.operation),
            _state(one, where),
            *([one_line(one.path)] if several else ()),
        )
        for at, (one, where) in zip(times, found, strict=True)
    ]
    heads = ("TIME", "CALL", "TURN", "TOOL", "CHANGE", "STATE", *(["FILE"] if several else ()))
    for line in table(rows, heads, {"undone": TextStyle.FAINT}):
        output.print_line(line)


def _state(one: UndoableChange, where: WorkspaceMatch) -> str:
    words = [_state_word(one)]
    if not one.attributed:
        words.append("possibly not by this call")
    if where == "before":
        words.append("in an earlier folder at this path")
    return ", ".join(words)


def _state_word(one: UndoableChange) -> str:
    """Return the state of a change; for undo and redo, the calls they affected."""
    from handrail.cli.render.screen import one_line, truncate

    if not one.calls:
        return "current" if one.standing else "undone"
    redo = one.tool == "redo"
    text = f"{'redid' if redo else 'undid'} {truncate(one_line(', '.join(one.calls)), 40)}"
    if one.standing:
        return text
    return f"{text}, {'undone' if redo else 'redone'}"
