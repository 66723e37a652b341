"""`handrail mcp add`, `remove` and `logs`: servers of the user's settings file."""

from __future__ import annotations

import re
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.exit_codes import ExitCode
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.mcp.client.server_spec import RemoteServerSpec

_URL: Final = re.compile(r"https?://\S+", re.IGNORECASE)
_LOG_LINES: Final = 200


def check_options(options: Namespace) -> None:
    """Raise `invalid_arguments` for arguments that the action does not use, or that are missing."""
    arguments = (options.target, options.env, options.env_from, options.bearer_env, options.oauth)
    if options.action != "add" and any(arguments):
        raise messages.MCP_ONLY_ADD.error(action=options.action)
    if options.action == "list" and options.name:
        raise messages.MCP_LIST_NAME.error(name=options.name)
    if options.action != "list" and not options.name:
        raise messages.MCP_NEEDS_NAME.error(action=options.action)
    if options.action == "add" and not options.target:
        raise messages.MCP_NEEDS_TARGET.error()


def change(options: Namespace) -> int:
    """Add a server to the settings file, or remove it with its stored data."""
    from handrail.assembly.extras.server_records import server_records
    from handrail.assembly.settings_files import config_file
    from handrail.cli.render.screen import one_line
    from handrail.config.user_file import add_server, remove_server

    name, dry_run = options.name, options.dry_run
    file = config_file(options.config).expanduser()
    if options.action == "add":
        _check_name(name)
        add_server(file, name, _table(options), dry_run=dry_run)
        text = f"{'would add' if dry_run else 'added'} {name} to {one_line(file)}"
    else:
        remove_server(file, name, dry_run=dry_run)
        text = f"{'would remove' if dry_run else 'removed'} {name} from {one_line(file)}"
        if not dry_run:
            server_records().forget(name)
    if options.json:
        output.print_json({"file": str(file), "name": name, "written": not dry_run})
        return ExitCode.DONE
    output.print_line(text)
    if options.action == "add":
        first = f"`handrail mcp login {name}` and " if options.oauth else ""
        output.print_line(f"it is used after {first}`handrail mcp approve {name}`")
    return ExitCode.DONE


def _check_name(name: str) -> None:
    from handrail.config.remote_server_tables import check_server_name

    try:
        check_server_name(name)
    except ValueError as error:
        raise messages.MCP_BAD_NAME.error(name=name, reason=error, field="name") from None


def _table(options: Namespace) -> dict[str, Any]:
    """Return the table of a new server."""
    first, *rest = options.target
    table: dict[str, Any] = {}
    if _URL.fullmatch(first):
        if rest or options.env or options.env_from:
            raise messages.MCP_URL_ALONE.error()
        table["url"] = first
    else:
        # A relative path would mean something else in another directory.
        table["command"] = str(Path(first).absolute()) if "/" in first else first
        if rest:
            table["args"] = rest
    if options.env:
        table["env"] = dict(map(_variable, options.env))
    if options.env_from:
        table["env_from"] = options.env_from
    if options.bearer_env:
        table["bearer_env"] = options.bearer_env
    if options.oauth:
        table["oauth"] = True
    return table


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise messages.MCP_BAD_VARIABLE.error(text=name[:200])
    return name, value


def print_log(options: Namespace, spec: RemoteServerSpec) -> int:
    """Print the end of the stderr of a server's program."""
    from handrail.assembly.extras.server_records import server_records
    from handrail.cli.render.screen import one_line

    log = server_records().load_log(spec.pin_name)
    if options.json:
        output.print_json({"name": spec.name, "log": log})
        return ExitCode.DONE
    if spec.url is not None:
        output.print_line(f"{spec.name} is behind a URL and has no log here")
    elif not log:
        output.print_line(f"nothing was kept of {spec.name}: it was not started, or wrote nothing")
    for line in (log or "").splitlines()[-_LOG_LINES:]:
        output.print_line(one_line(line[:1000]))
    return ExitCode.DONE
