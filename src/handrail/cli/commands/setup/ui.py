"""`handrail ui`: a page in the browser to watch sessions, answer questions and start tasks."""

from __future__ import annotations

import sys
from argparse import Namespace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command, parse_count
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.assembly.runtime_opener import RuntimeOpener
    from handrail.ui.pages.reports import SettingRow
    from handrail.ui.server import PageSource

_EPILOG: Final = """\
The address that is printed works once, in one browser, and only on this machine.
Questions of every process in this workspace are shown and can be answered there,
those of `handrail run --ask approvals` and of MCP servers too; the first answer
counts.

examples:
  handrail ui
  handrail ui --port 8080 --model anthropic:MODEL"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "ui", epilog=_EPILOG)
    parser.add_argument("--port", metavar="PORT", type=int, default=0, help="port on this machine (default: any free one)")  # fmt: skip
    parser.add_argument("--model", metavar="NAME", help="model of tasks started in the page (default: the setting `model`)")  # fmt: skip
    parser.add_argument("--budget", metavar="LIMITS", help="of each task, such as tokens=200k,usd=1,minutes=10")  # fmt: skip
    parser.add_argument("--max-steps", metavar="N", type=parse_count, help="limit on model responses per task")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Serve the page until Ctrl-C."""
    import asyncio

    from handrail.cli.workspace import refuse_session

    refuse_session(options, "it shows all sessions")
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise messages.UI_NOT_INSTALLED.error()
    asyncio.run(_serve(options))
    return 0


async def _serve(options: Namespace) -> None:
    from handrail.host.http_serving import listen
    from handrail.ui.server import serve_page

    source = page_source(options)
    with listen(f"127.0.0.1:{options.port}") as listening:
        await serve_page(source, listening, _announce)


def _announce(address: str) -> None:
    output.print_line(f"open {address}")
    output.print_line("the address works once; stop with Ctrl-C")
    sys.stdout.flush()


def page_source(options: Namespace) -> PageSource:
    """Return the source of the page for this workspace; raises if the settings are invalid."""
    from handrail.assembly.commands import open_background_jobs
    from handrail.cli.commands.agent.run import main_agent, read_mentions
    from handrail.cli.commands.setup.doctor import build_report
    from handrail.cli.workspace import (
        find_workspace,
        find_workspace_or_problem,
        is_set,
        load_settings,
    )
    from handrail.ui.app import PageReports
    from handrail.ui.conversations import ConversationServices
    from handrail.ui.server import PageSource

    if options.mode is None and not is_set(options, "mode"):
        # As in `handrail run`: asks if the sandbox does not enforce enough.
        options.mode = "sandboxed"
    place, settings = find_workspace(options), load_settings(options)
    return PageSource(
        place.root,
        settings.directories,
        place.home,
        open_background_jobs(place.home),
        ConversationServices(
            lambda session: _open(options, session),
            lambda rt, session: main_agent(options, rt, session),
            read_mentions,
        ),
        PageReports(
            lambda: build_report(find_workspace_or_problem(options), options),
            lambda: _setting_rows(options),
        ),
    )


def _open(options: Namespace, session: str) -> RuntimeOpener:
    from handrail.cli.workspace import open_session

    return open_session(options, session=session, model=options.model, approver="approvals")


def _setting_rows(options: Namespace) -> list[SettingRow]:
    from handrail.cli.commands.setup.config import load_layers, setting_rows
    from handrail.cli.workspace import workspace_directory
    from handrail.ui.pages.reports import SettingRow

    rows = setting_rows(load_layers(options), workspace_directory(options))
    return [SettingRow(*row) for row in rows]
