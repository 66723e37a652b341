"""`handrail` without a command: an overview of the workspace and suggested commands."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli.exit_codes import ExitCode
from handrail.cli.render import output
from handrail.core.problems import Problem, ProblemRaised

if TYPE_CHECKING:
    from handrail.cli.workspace import Workspace
    from handrail.config.model import Settings

_MOST_COUNTED: Final = 500
MODE_MEANINGS: Final = {
    "default": "reads run, changes need approval",
    "confirm-all": "every call needs approval",
    "accept-edits": "reads and edits inside the workspace run",
    "sandboxed": "reads and edits run, and commands inside the sandbox",
    "auto-safe": "only dangerous calls need approval",
    "strict": "dangerous calls are refused, all others run",
    "plan": "changes are queued for `handrail plan`",
    "dont-ask": "calls that need approval are refused",
    "bypass": "all calls run; protected names still apply",
}
# Preferred sample files, then any file with a text extension.
_FIRST: Final = ("README.md", "README.rst", "README.txt", "README", "pyproject.toml")
_TEXT: Final = (".md", ".txt", ".rst", ".py", ".js", ".ts", ".go", ".rs", ".c", ".java", ".toml")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,39}")
_MOST_LOOKED_AT: Final = 1000


def run(options: Namespace) -> int:
    """Print the overview; return 6 if the record is unreadable. Opens no session."""
    from handrail.cli.workspace import find_workspace_or_problem, load_settings

    facts = collect_facts(find_workspace_or_problem(options), load_settings(options))
    if options.json:
        output.print_json(facts)
    else:
        for line in render_overview(facts):
            output.print_text(line)
    return ExitCode.RECORD_UNUSABLE if facts["store"]["problem"] else ExitCode.DONE


def collect_facts(place: Workspace, settings: Settings) -> dict[str, Any]:
    """Return the overview as one JSON object."""
    from handrail import __version__
    from handrail.policy.modes import parse_mode

    last, problem = None, place.problem
    try:
        last = _last_session(place)
    except ProblemRaised as raised:
        problem = raised.problem
    return {
        "version": __version__,
        "workspace": str(place.root),
        "directories": list(settings.directories),
        "mode": parse_mode(settings.mode).value,
        "dialect": settings.dialect,
        "enforced": enforcement([str(place.root), *settings.directories]),
        "commands": _commands(place, settings),
        "store": _store(place, problem),
        "last_session": last,
        "model": settings.model,
    }


def enforcement(roots: Sequence[str]) -> dict[str, str]:
    """Describe how file access and searches are confined to the workspace."""
    from handrail.host.files.roots import kernel_has_openat2

    opens = "openat2" if kernel_has_openat2() else "one component at a time, no links"
    beneath = f"opened relative to the workspace directory ({opens})"
    return {"files": beneath, "search": _search(roots) or beneath}


def _commands(place: Workspace, settings: Settings) -> dict[str, Any] | None:
    """Measure the confinement of commands; None if commands are off."""
    from handrail.cli.render.confinement import measure_confinement

    return measure_confinement(place, settings) if settings.commands else None


def _search(roots: Sequence[str]) -> str | None:
    """Describe the confinement of ripgrep; None if the Python search is used."""
    from handrail.host.processes import spawn
    from handrail.host.processes.helpers.bundled import find_helper
    from handrail.host.processes.landlock import abi

    if not spawn.supported() or find_helper("rg", roots).path is None:
        return None
    if abi():
        return f"ripgrep, confined by Landlock (ABI {abi()})"
    return "ripgrep, not confined; matches are reopened and checked"


def render_overview(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the overview as lines of text."""
    from handrail.cli.render.screen import TextStyle, count_noun, format_size, one_line, paint

    yield paint(
        f"Handrail {facts['version']}, the tool runtime for coding agents", TextStyle.HEADING
    )
    yield ""
    yield f"workspace  {one_line(facts['workspace'])}"
    for directory in facts["directories"]:
        yield f"           {one_line(directory)}"
    yield f"mode       {facts['mode']}: {MODE_MEANINGS[facts['mode']]}"
    if facts["dialect"] != "canonical":
        yield f"dialect    {one_line(facts['dialect'])}"
    yield ""
    for name, fact in [*facts["enforced"].items(), *_command_rows(facts["commands"])]:
        yield f"{name:<10} {fact}"
    yield ""
    store = facts["store"]
    size = f" ({format_size(store['bytes'])})" if store["exists"] else " (empty)"
    yield f"record     {one_line(store['path'])}{size}"
    problem = store["problem"]
    if problem:
        yield paint(f"problem    {one_line(problem['message'])}", TextStyle.BAD)
        if problem["hint"]:
            yield f"hint       {one_line(problem['hint'])}"
    last = facts["last_session"]
    if last:
        more = "more than " if last["capped"] else ""
        yield (
            f"last       session {one_line(last['id'])}, {last['when']}: "
            f"{more}{count_noun(last['calls'], 'call')}, {count_noun(last['changes'], 'file change')}"
        )
    yield ""
    yield paint("next", TextStyle.HEADING)
    proposed = _suggestions(Path(facts["workspace"]), facts["model"])
    room = max(len(words) for words in proposed)
    for words, about in proposed.items():
        yield f"  {words:<{room}}  {paint(about, TextStyle.FAINT)}"


def _command_rows(commands: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    from handrail.cli.render.confinement import overview_rows

    if commands is None:
        yield "commands", "disabled by the setting commands"
        return
    yield from overview_rows(commands)
    if commands["problem"]:
        yield "problem", commands["problem"]["message"]


def _suggestions(root: Path, model: str | None) -> dict[str, str]:
    file = _sample_file(root)
    call = "list_files" if file is None else f"read_file path={file}"
    choose = {} if model else {"handrail config init": "choose a model"}
    return {
        "handrail demo": "watch a scripted model repair a sample project",
        **choose,
        "handrail run": "give a model a task in this workspace",
        "handrail tools": "list the tools",
        f"handrail call {call}": "make one call",
        "handrail log": "list recent calls",
        "handrail --help": "list all commands",
    }


def _sample_file(root: Path) -> str | None:
    """Return a file for the suggested call, or None."""
    import os
    from itertools import islice

    try:
        with os.scandir(root) as entries:
            names = [entry.name for entry in islice(entries, _MOST_LOOKED_AT) if entry.is_file()]
    except OSError:
        return None
    # Only names that need no quotes, so that the line can be copied.
    plain = sorted(name for name in names if _PLAIN.fullmatch(name))
    return next(
        (name for name in _FIRST if name in plain),
        next((name for name in plain if name.endswith(_TEXT)), None),
    )


def _store(place: Workspace, problem: Problem | None) -> dict[str, Any]:
    from handrail.cli.workspace import open_record
    from handrail.core.names.store_location import is_store_url, shown_location
    from handrail.store.opening import measure_size
    from handrail.store.sqlite.connection import file_bytes

    location, size = place.home.store, 0
    if is_store_url(location):
        with open_record(place) as db:
            size = measure_size(location, db)
    elif place.recorded:
        size = file_bytes(location)
    return {
        "path": shown_location(location),
        "exists": place.recorded,
        "bytes": size,
        "problem": problem.to_dict() if problem else None,
    }


def _last_session(place: Workspace) -> dict[str, Any] | None:
    from handrail.cli.render.screen import format_time
    from handrail.cli.workspace import open_record
    from handrail.store.records.calls import list_calls

    if not place.recorded:
        return None
    with open_record(place) as db:
        # The last session with calls.
        newest = list_calls(db, None, None, 1, None)
        if not newest:
            return None
        calls = list_calls(db, newest[0].session, None, _MOST_COUNTED + 1, None)
    counted_calls = calls[:_MOST_COUNTED]
    return {
        "id": newest[0].session,
        "when": format_time(calls[0].requested_ns),
        "calls": len(counted_calls),
        "capped": len(calls) > _MOST_COUNTED,
        "changes": sum(len((call.completed or {}).get("changes", ())) for call in counted_calls),
    }
