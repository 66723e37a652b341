"""`handrail doctor`: report on the installation, the machine and the workspace.

The checks are independent: a failing check is reported and the others continue.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.problems import Problem, ProblemRaised

if TYPE_CHECKING:
    from handrail.cli.workspace import Workspace

# The parts of the state directory and their labels.
_PARTS: Final = {
    "blobs": "file contents",
    "oversized": "long results",
    "shadow": "snapshots",
    "jobs": "jobs",
    "quarantine": "quarantine",
    "tmp": "temporary files",
    "copies": "protected files",
}

_HELPERS: Final = {"rg": "ripgrep", "shfmt": "shfmt"}
_INSTEAD: Final = {
    "rg": "searches use the slower Python implementation",
    "shfmt": "commands cannot be parsed, so most of them need approval",
}


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "doctor")
    parser.add_argument(
        "--mcp", action="store_true", help="start the MCP server and connect to it as a client"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the report; return 1 if there are problems."""
    if options.mcp:
        from handrail.cli.commands.setup import mcp_check

        return mcp_check.run(options)
    from handrail.cli.workspace import find_workspace_or_problem

    report = build_report(find_workspace_or_problem(options), options)
    if options.json:
        output.print_json(report)
    else:
        for line in render_report(report):
            output.print_text(line)
    return 1 if report["problems"] else 0


def build_report(place: Workspace, options: Namespace) -> dict[str, Any]:
    """Return the report as one JSON object."""
    problems = [place.problem] if place.problem else []
    roots = [place.root, *_directories(options, problems)]
    return {
        "handrail": _installation(),
        "kernel": _kernel(),
        "programs": _programs(roots, problems),
        "commands": _commands(place, options, problems),
        "language_servers": _language_servers(roots, options),
        "config": _config(options.config, problems),
        "state": _state(place),
        "store": _store(place, problems),
        "warnings": _warnings(roots),
        "notices": _rule_notices(options),
        "problems": [problem.to_dict() for problem in problems],
    }


def _directories(options: Namespace, problems: list[Problem]) -> list[Path]:
    from handrail.cli.workspace import load_settings

    try:
        return [Path(directory).resolve() for directory in load_settings(options).directories]
    except ProblemRaised as raised:
        problems.append(raised.problem)
    except OSError:
        # `_config` reports this error.
        pass
    return []


def _installation() -> dict[str, str]:
    import platform

    import handrail

    return {
        "version": handrail.__version__,
        "package": str(Path(handrail.__file__).parent),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "interpreter": sys.executable,
        "system": f"{platform.system()} {platform.release()} ({platform.machine()})",
    }


def _kernel() -> dict[str, str | int]:
    from handrail.host.files.roots import kernel_has_openat2
    from handrail.host.processes import seccomp, spawn

    return {
        "openat2": "used" if kernel_has_openat2() else "absent",
        "seccomp": "available (not used for searches)" if seccomp.supported() else "absent",
        **spawn.enforcement(),
    }


def _programs(roots: Sequence[Path], problems: list[Problem]) -> dict[str, dict[str, Any] | None]:
    """Return the helper programs; None for a missing one."""
    import asyncio

    from handrail.host.processes.helpers.bundled import DISTRIBUTIONS

    programs = {name: _program(name, roots, problems) for name in DISTRIBUTIONS}
    rg = programs["rg"]
    if rg is not None and rg["used"]:
        rg["version"] = asyncio.run(_version(roots[0], rg["path"]))
    return programs


def _program(name: str, roots: Sequence[Path], problems: list[Problem]) -> dict[str, Any] | None:
    from handrail.host.processes.binaries import sha256
    from handrail.host.processes.helpers.bundled import check_installed, find_helper

    program = find_helper(name, [str(root) for root in roots])
    problem = program.problem
    if program.path is not None and program.source is None:
        problem = check_installed(name, program.path)
    if problem is not None:
        problems.append(problem)
    if program.path is None:
        return None if program.source is None else {"path": program.source, "used": False}
    copied = {} if program.source is None else {"copy_of": program.source}
    return {"path": program.path, "used": True, **copied, "sha256": sha256(program.path)}


def _commands(
    place: Workspace, options: Namespace, problems: list[Problem]
) -> dict[str, Any] | None:
    """Measure the confinement of commands; None if commands are off or settings are invalid."""
    from handrail.cli.render.confinement import measure_confinement
    from handrail.cli.workspace import load_settings

    try:
        settings = load_settings(options)
    except (ProblemRaised, OSError):
        # `_directories` reports this error.
        return None
    if not settings.commands:
        return None
    confinement = measure_confinement(place, settings)
    if confinement["problem"] is not None:
        problems.append(Problem(**confinement["problem"]))
    return confinement


def _language_servers(roots: Sequence[Path], options: Namespace) -> list[dict[str, Any]]:
    """Return every known language server; an empty list if they are off."""
    from handrail.assembly.calls import server_catalog
    from handrail.cli.workspace import load_settings

    try:
        settings = load_settings(options)
    except (ProblemRaised, OSError):
        # `_directories` reports this error.
        return []
    catalog = server_catalog(settings.lsp, [str(root) for root in roots])
    if catalog is None or not settings.commands:
        return []
    return [
        {
            "name": program.spec.name,
            "state": "not used" if program.path is None else "available",
            "path": program.path,
            "version": "" if program.path is None else _server_version(program.path),
            "reason": program.reason,
        }
        for program in catalog.all()
    ]


def _server_version(path: str) -> str:
    """Return what a program prints as its version, with access to nothing else; "" if nothing."""
    from handrail.host.processes import spawn

    try:
        result = spawn.run_now([path, "--version"], feed=b"", deadline_s=5.0, max_bytes=4096)
    except OSError:
        return ""
    return result.stdout.decode("utf-8", "replace").partition("\n")[0].strip()


async def _version(root: Path, path: str) -> str:
    from handrail.host.search.ripgrep.ripgrep_search import RipgrepSearch

    search = RipgrepSearch([str(root)], path)
    try:
        return await search.version()
    except ProblemRaised as raised:
        return raised.problem.message
    finally:
        search.close()


def _config(path: str | None, problems: list[Problem]) -> dict[str, Any]:
    from handrail.host.state.directories import config_home

    file = Path(path) if path else config_home() / "config.toml"
    exists = False
    try:
        file.stat()
        exists = file.is_file()
    except FileNotFoundError:
        pass
    except OSError as error:
        problems.append(
            messages.CONFIG_DIRECTORY_UNUSABLE.fill(path=str(file), error=error.strerror or error)
        )
    return {"file": str(file), "exists": exists}


def _state(place: Workspace) -> dict[str, Any] | None:
    from handrail.host.state.state_gc import measure_state

    directory = place.home.directory
    if directory is None or not directory.is_dir():
        return None
    return {
        "directory": str(directory),
        "permissions": f"{directory.stat().st_mode & 0o777:04o}",
        **{f"{part}_bytes": count for part, count in measure_state(directory).items()},
    }


def _store(place: Workspace, problems: list[Problem]) -> dict[str, Any]:
    from dataclasses import asdict

    from handrail.cli.workspace import open_record
    from handrail.core.names.store_location import shown_location
    from handrail.store.records.purge import measure_record

    location, exists = place.home.store, place.recorded
    about: dict[str, Any] = {"path": shown_location(location), "exists": exists}
    if not exists:
        return about
    try:
        with open_record(place) as db:
            about["schema_version"] = db.execute("PRAGMA user_version").fetchone()[0]
            about.update(asdict(measure_record(location, db)))
    except ProblemRaised as raised:
        problems.append(raised.problem)
    return about


def _rule_notices(options: Namespace) -> list[str]:
    """Return notices about rules without effect, such as rules for unknown tools."""
    from handrail.assembly.resolved_settings import resolve_settings
    from handrail.cli.commands.setup.config import load_layers
    from handrail.cli.workspace import workspace_directory

    try:
        return list(resolve_settings(load_layers(options), workspace_directory(options)).notices)
    except (ProblemRaised, OSError):
        # Invalid settings are reported by other checks.
        return []


def _warnings(roots: Sequence[Path]) -> list[str]:
    """Return warnings about locations that weaken the protection."""
    import handrail
    from handrail.host.state.directories import state_home

    own_paths = {
        "the Python that runs Handrail": Path(sys.prefix),
        "Handrail's own code": Path(handrail.__file__).parent,
        "Handrail's state": state_home(),
    }
    return [
        f"{what} is inside the workspace: {path}"
        for what, path in own_paths.items()
        if any(path.resolve().is_relative_to(root) for root in roots)
    ]


def render_report(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the report as lines of text."""
    from handrail.cli.render.screen import TextStyle, one_line, paint

    yield from _section("installation", report["handrail"])
    yield from _section("confinement of searches", report["kernel"])
    for name, title in _HELPERS.items():
        yield from _section(title, _program_rows(name, report["programs"][name]))
    yield from _section(
        "confinement of commands (measured, with network access off)", _command_rows(report)
    )
    yield from _section("language servers", _server_rows(report["language_servers"]))
    config, store = report["config"], report["store"]
    missing = "" if config["exists"] else " (not found, using defaults)"
    storage = {"config": f"{config['file']}{missing}", **_state_rows(report["state"], store)}
    yield from _section("stored data", {**storage, **_store_rows(store)})
    for warning in report["warnings"]:
        yield paint(f"warning: {one_line(warning)}", TextStyle.CAUTION)
    if report["warnings"]:
        yield "tools cannot write there, but programs that you run can: better install it elsewhere"
    for notice in report["notices"]:
        yield f"notice: {one_line(notice)}"
    for problem in report["problems"]:
        yield paint(f"problem: {one_line(problem['message'])}", TextStyle.BAD)
        if problem["hint"]:
            yield f"hint: {one_line(problem['hint'])}"
    if not report["warnings"] and not report["problems"]:
        yield paint("no problems found", TextStyle.GOOD)


def _section(title: str, facts: Mapping[str, Any]) -> Iterator[str]:
    from handrail.cli.render.screen import TextStyle, one_line, paint

    yield paint(title, TextStyle.HEADING)
    # Two blanks follow the longest name: wrapped lines continue below what they separate.
    width = 1 + max(11, *map(len, facts))
    for name, fact in facts.items():
        yield f"  {name.replace('_', ' '):<{width}} {one_line(fact)}"
    yield ""


def _command_rows(report: Mapping[str, Any]) -> dict[str, str]:
    from handrail.cli.render.confinement import doctor_rows

    commands = report["commands"]
    return {"commands": "disabled"} if commands is None else doctor_rows(commands)


def _server_rows(servers: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    if not servers:
        return {"servers": "switched off"}
    rows = {}
    for server in servers:
        version = f", {server['version']}" if server["version"] else ""
        known = f"{server['state']}{version}: "
        rows[server["name"]] = known + (server["path"] or server["reason"])
    return rows


def _program_rows(name: str, program: Mapping[str, Any] | None) -> dict[str, Any]:
    instead = _INSTEAD[name]
    if program is None:
        return {"path": f"not found; {instead}"}
    if not program["used"]:
        where = program["path"]
        return {"path": f"found at {where}, but not used (see below); {instead}"}
    return {name: fact for name, fact in program.items() if name != "used"}


def _state_rows(state: Mapping[str, Any] | None, store: Mapping[str, Any]) -> dict[str, str]:
    from handrail.cli.render.screen import format_size
    from handrail.core.names.store_location import MEMORY

    if state is None:
        in_memory = store["path"] == MEMORY
        return {"state": "none: this store is in memory" if in_memory else "none"}
    return {
        "state": f"{state['directory']} (permissions {state['permissions']})",
        **{name: format_size(state[f"{part}_bytes"]) for part, name in _PARTS.items()},
    }


def _store_rows(store: Mapping[str, Any]) -> dict[str, str]:
    from handrail.cli.render.screen import count_noun, format_size

    if "rows" not in store:
        return {
            "store": f"{store['path']} ({'unreadable' if store['exists'] else 'not created yet'})"
        }
    return {
        "store": store["path"],
        "content": f"{count_noun(store['calls'], 'call')} of {count_noun(store['sessions'], 'session')}, "
        f"{format_size(store['file_bytes'])}, schema version {store['schema_version']}",
    }
