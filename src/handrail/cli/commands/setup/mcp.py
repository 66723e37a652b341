"""`handrail mcp`: list, add, test and approve the MCP servers whose tools are used."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli.exit_codes import ExitCode
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.config.model import Settings
    from handrail.mcp.client.manifest import ServerManifest
    from handrail.mcp.client.server_spec import RemoteServerSpec

_ACTIONS: Final = ("list", "add", "remove", "test", "approve", "revoke", "login", "logout", "logs")
_STATES: Final = {"configured": "not approved", "known": "approved", "changed": "changed"}
_EPILOG: Final = """\
list                      the servers, and whether their tools are approved
add NAME URL              add a server to your settings file,
add NAME -- PROGRAM ARG   or to the one that --config names
remove NAME               remove it from there, with its approval and log
test NAME                 start it once and show its tools
approve NAME              the same, then ask whether to use these tools
revoke NAME               withdraw the approval
login NAME                log in to a server with `oauth = true`
logout NAME               delete the tokens of the login
logs NAME                 the end of what its program wrote to stderr"""
# How much of a tool's description is shown before it is approved.
_SHOWN_CHARS: Final = 500
_START_QUESTION: Final = "Start it to see its tools? [y/n] "
_QUESTION: Final = "Approve these tools until one of them changes? [y/n] "


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "mcp", epilog=_EPILOG)
    parser.add_argument(
        "action", nargs="?", choices=_ACTIONS, default="list",
        metavar="ACTION", help=f"{_ACTIONS[0]} (default), {', '.join(_ACTIONS[1:])}",
    )  # fmt: skip
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of the server")
    parser.add_argument(
        "target", nargs="*", default=[], metavar="TARGET", help="for add: a URL, or a program and its arguments",
    )  # fmt: skip
    for flag, metavar, text in (
        ("--env", "NAME=VALUE", "for add: a variable of the program; not for secrets"),
        ("--env-from", "NAME", "for add: a variable of yours that the program gets"),
    ):
        parser.add_argument(flag, action="append", default=[], metavar=metavar, help=text)
    parser.add_argument(
        "--bearer-env", metavar="NAME", help="for add: the variable with the token for a URL"
    )
    parser.add_argument("--oauth", action="store_true", help="for add: the URL needs a login")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """List the servers, or act on one."""
    from handrail.assembly.extras.remote_servers import server_specs
    from handrail.cli.commands.setup import server_settings
    from handrail.cli.workspace import load_settings, refuse_session, workspace_directory

    refuse_session(options, "MCP servers belong to your settings")
    server_settings.check_options(options)
    if options.action in ("add", "remove"):
        return server_settings.change(options)
    settings = load_settings(options)
    specs = server_specs(settings, workspace_directory(options))
    if options.action == "list":
        return _print_list(options, specs, _roots(options, settings))
    spec = specs.get(options.name)
    if spec is None:
        from handrail.mcp.client import messages

        raise messages.NO_SUCH_SERVER.error(server=options.name, field="name")
    if options.action in ("login", "logout"):
        from handrail.cli.commands.setup import server_login

        return server_login.change(options, spec, settings)
    return _act(options, spec)


def _act(options: Namespace, spec: RemoteServerSpec) -> int:
    """Run the action on one server."""
    from handrail.assembly.extras.server_records import server_records
    from handrail.cli.commands.setup.server_settings import print_log

    if options.action == "logs":
        return print_log(options, spec)
    if options.action == "revoke":
        known = server_records().remove(spec.pin_name)
        output.print_line(f"{spec.name} is {'no longer' if known else 'not'} approved")
        return ExitCode.DONE
    if spec.project and not _may_start(spec, options.action):
        output.print_line("not started")
        return ExitCode.REFUSED
    manifest, log = _start(options, spec)
    if options.action == "test":
        return _print_test(options, spec, manifest, log)
    return _approve(spec, manifest)


def _roots(options: Namespace, settings: Settings) -> list[str]:
    from handrail.cli.workspace import workspace_directory

    named = [str(workspace_directory(options)), *map(str, settings.directories)]
    return [str(Path(root).expanduser().absolute()) for root in named]


def _may_start(spec: RemoteServerSpec, action: str) -> bool:
    """Ask before starting anything of a project, even confined."""
    from handrail.cli.commands.setup.trust import ask_at_terminal
    from handrail.cli.render.screen import one_line

    target = spec.url or " ".join(spec.command)
    shown = f"A file of this project names the MCP server {spec.name}: {one_line(target)}"
    variables = ", ".join(sorted(spec.env))
    lines = [shown, *([f"with the variables {one_line(variables)}"] if variables else []), ""]
    return ask_at_terminal(lines, _START_QUESTION, f"mcp {action} {spec.name}", "mcp list")


def _start(options: Namespace, spec: RemoteServerSpec) -> tuple[ServerManifest, str]:
    """Start a server once; return its tools, and the end of its stderr."""
    import asyncio

    from handrail.assembly.extras.remote_servers import server_host
    from handrail.assembly.machine import open_machine
    from handrail.cli.workspace import load_settings, workspace_directory
    from handrail.core.problems import ProblemRaised
    from handrail.mcp.client.connection import RemoteConnection

    async def start() -> tuple[ServerManifest, str]:
        roots = [workspace_directory(options)]
        settings = load_settings(options)
        machine = await open_machine(roots, settings, None, ":memory:")
        try:
            connection = RemoteConnection(spec, server_host(machine, settings))
            try:
                return await connection.open(), connection.log
            except ProblemRaised:
                for line in _log_lines(connection.log):
                    output.print_folded(line)
                raise
            finally:
                await connection.close()
        finally:
            await machine.ends.aclose()

    return asyncio.run(start())


def _print_list(
    options: Namespace, specs: Mapping[str, RemoteServerSpec], roots: Sequence[str]
) -> int:
    from handrail.cli.render.screen import one_line, table

    rows = [_list_row(spec, roots) for spec in specs.values()]
    if options.json:
        for row in rows:
            output.print_json(row)
        return ExitCode.DONE
    if not rows:
        output.print_line("no MCP servers; `handrail mcp add NAME -- PROGRAM` adds one")
        return ExitCode.DONE
    cells = [
        (
            row["name"],
            _STATES[row["state"]] + (" (project)" if row["source"] == "project" else ""),
            "" if row["tools"] is None else str(row["tools"]),
            one_line(row["target"]),
        )
        for row in rows
    ]
    for line in table(cells, ("server", "state", "tools", "program or URL")):
        output.print_line(line)
    for row in rows:
        if row["state"] == "configured":
            output.print_line(
                f"{row['name']} is not used before `handrail mcp approve {row['name']}`"
            )
        elif row["state"] == "changed":
            change = one_line(row["change"])
            output.print_line(f"{row['name']} is no longer what you approved: {change}")
            output.print_line(f"  its calls are refused until `handrail mcp approve {row['name']}`")
    return ExitCode.DONE


def _list_row(spec: RemoteServerSpec, roots: Sequence[str]) -> dict[str, Any]:
    from handrail.assembly.extras.remote_servers import find_change
    from handrail.assembly.extras.server_records import server_records

    approved = server_records().load(spec.pin_name)
    change = "" if approved is None else find_change(spec, approved, roots)
    return {
        "name": spec.name,
        "source": "project" if spec.project else "user",
        "state": "configured" if approved is None else "changed" if change else "known",
        "tools": None if approved is None else len(approved.tools),
        "target": spec.url or " ".join(spec.command),
        "change": change or None,
    }


def _print_test(
    options: Namespace, spec: RemoteServerSpec, manifest: ServerManifest, log: str
) -> int:
    if options.json:
        report = {"name": spec.name, "ok": True, "digest": manifest.digest, **manifest.to_dict()}
        output.print_json(report)
        return ExitCode.DONE
    for line in (*_tool_lines(spec, manifest), *_log_lines(log)):
        output.print_folded(line)
    return ExitCode.DONE


def _approve(spec: RemoteServerSpec, manifest: ServerManifest) -> int:
    from handrail.assembly.extras.server_records import server_records
    from handrail.cli.commands.setup.trust import ask_at_terminal
    from handrail.mcp.client.manifest import describe_differences

    records = server_records()
    approved = records.load(spec.pin_name)
    lines = [*_tool_lines(spec, manifest)]
    if approved is not None:
        differences = describe_differences(approved, manifest)
        if not differences:
            records.note_change(spec.pin_name, "")
            output.print_line(f"{spec.name} is approved already, and nothing has changed")
            return ExitCode.DONE
        lines.append(f"since the last approval: {differences}")
    if not ask_at_terminal(
        [*lines, ""], _QUESTION, f"mcp approve {spec.name}", f"mcp test {spec.name}"
    ):
        output.print_line("not approved")
        return ExitCode.REFUSED
    records.save(spec.pin_name, manifest)
    output.print_line(f"{spec.name} is approved until its program or one of its tools changes")
    return ExitCode.DONE


def _tool_lines(spec: RemoteServerSpec, manifest: ServerManifest) -> Iterator[str]:
    from handrail.cli.render.screen import MARGIN, count_noun, one_line
    from handrail.mcp.client.manifest import find_obstacle

    yield f"{spec.name}: {one_line(spec.url or ' '.join(spec.command))}"
    program = spec.command[0].rpartition("/")[2] if spec.command else ""
    if program in ("npx", "uvx", "bunx", "pipx"):
        yield f"note: {program} may fetch other code at each start"
    for tool in manifest.tools:
        problem = find_obstacle(spec.name, tool, spec.allow)
        yield f"{MARGIN}{one_line(tool.name[:100])}: {one_line(tool.description[:_SHOWN_CHARS])}"
        hidden = len(tool.description) - _SHOWN_CHARS
        if hidden > 0:
            yield f"  {hidden} more characters: see `handrail mcp test {spec.name} --json`"
        if problem is not None:
            yield f"  not used: {one_line(problem)}"
    yield count_noun(len(manifest.tools), "tool")


def _log_lines(log: str) -> Iterator[str]:
    from handrail.cli.render.screen import MARGIN, one_line

    for line in log.splitlines()[-20:]:
        yield f"{MARGIN}{one_line(line[:300])}"
