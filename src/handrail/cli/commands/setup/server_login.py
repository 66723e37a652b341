"""`handrail mcp login` and `logout`: the user's login to a server with a URL."""

from __future__ import annotations

import asyncio
import os
from argparse import Namespace
from typing import TYPE_CHECKING

from handrail.cli import messages
from handrail.cli.exit_codes import ExitCode
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.config.model import Settings
    from handrail.mcp.client.server_spec import RemoteServerSpec


def change(options: Namespace, spec: RemoteServerSpec, settings: Settings) -> int:
    """Log in to a server, or delete the tokens of the login."""
    from handrail.assembly.extras.server_records import server_records

    name = spec.name
    if options.action == "logout":
        known = not options.dry_run and server_records().remove_tokens(name)
        text = f"the tokens of {name} are deleted" if known else f"no tokens of {name} were deleted"
        return _report(options, name, text, logged_in=False)
    _log_in(spec, settings, dry_run=options.dry_run)
    if options.dry_run:
        return _report(options, name, f"would log in to {name}", logged_in=False)
    return _report(options, name, f"logged in to {name}", logged_in=True)


def _log_in(spec: RemoteServerSpec, settings: Settings, *, dry_run: bool) -> None:
    from handrail.assembly.extras.remote_servers import check_client_extra
    from handrail.cli.commands.setup.trust import open_terminal, write_all

    check_client_extra()
    from handrail.assembly.extras.server_http import log_in_to_server
    from handrail.cli.render.screen import one_line
    from handrail.mcp.client import messages as server_messages
    from handrail.mcp.client.oauth import LOGIN_S

    if not spec.oauth:
        raise server_messages.NO_LOGIN.error(server=spec.name)
    terminal = open_terminal()
    if terminal is None:
        raise messages.LOGIN_NEEDS_A_TERMINAL.error(server=spec.name)

    def show(host: str, page: str) -> None:
        lines = [
            f"{spec.name}: {one_line(spec.url)}",
            f"To log in at {one_line(host)}, open this page in a browser of this machine:",
            "",
            one_line(page),
            "",
            f"Waiting for the browser, at most {LOGIN_S / 60:.0f} minutes. Ctrl+C ends the login.",
            "",
        ]
        write_all(terminal, "\n".join(lines))

    try:
        if not dry_run:
            asyncio.run(log_in_to_server(spec, settings.web, show))
    finally:
        os.close(terminal)


def _report(options: Namespace, name: str, text: str, *, logged_in: bool) -> int:
    if options.json:
        output.print_json({"name": name, "logged_in": logged_in})
    else:
        output.print_line(text)
    return ExitCode.DONE
