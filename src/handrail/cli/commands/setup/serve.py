"""`handrail serve`: serve the tools of a workspace to MCP clients."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from handrail.assembly.runtime_opener import RuntimeOpener
    from handrail.core.ports.machine import Approver
    from handrail.core.tool import Tool
    from handrail.mcp.server.config import ServerConfig

CLIENTS: Final = (
    "claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "opencode", "zed",
    "generic",
)  # fmt: skip
_EPILOG: Final = f"""\
--client prints the configuration for a client and does not serve:
  {", ".join(CLIENTS[:6])},
  {", ".join(CLIENTS[6:])}
--config with the name of a client does the same."""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(
        subparsers, "serve", epilog=_EPILOG,
        conflict_handler="resolve",
    )  # fmt: skip
    parser.add_argument("--client", metavar="NAME", help="print the configuration for this client")
    parser.add_argument(
        "--config", action=_ConfigOrClient, default=SUPPRESS, metavar="FILE",
        help="settings file to use instead of your own",
    )  # fmt: skip
    parser.add_argument("--tools", metavar="NAMES", help="serve only these tools (comma-separated)")
    parser.add_argument(
        "--tools-from", metavar="MODULE", action="append", default=[],
        help="also serve the tools defined in this module or .py file; it is executed",
    )  # fmt: skip
    parser.add_argument(
        "--read-only", action="store_true", help="serve only tools that change nothing"
    )
    parser.add_argument(
        "--text-only", action="store_true",
        help="omit structured content, for clients that show it instead of the text",
    )  # fmt: skip
    group = parser.add_argument_group("over HTTP")
    group.add_argument(
        "--http", metavar="HOST:PORT", help="listen on this address, for several clients"
    )
    group.add_argument(
        "--add", metavar="NAME=DIR", action="append", default=[],
        help="serve another workspace at /mcp/NAME",
    )  # fmt: skip
    group.add_argument(
        "--expose", action="store_true", help="allow an address that other machines can reach"
    )
    group.add_argument(
        "--allow-host", metavar="HOST:PORT", action="append", default=[],
        help="accept this Host header, for example from a proxy",
    )  # fmt: skip
    group.add_argument(
        "--allow-origin", metavar="ORIGIN", action="append", default=[],
        help="accept this Origin header of web pages",
    )  # fmt: skip
    group.add_argument("--new-token", action="store_true", help="replace the access tokens")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Serve until the client disconnects, or print the configuration of a client."""
    client = _client(options)
    if client is not None:
        from handrail.cli.commands.setup.clients import client_configuration

        output.print_line(client_configuration(client, options))
        return 0
    check_mcp_installed()
    import asyncio
    import gc

    from handrail.cli.workspace import workspace_as_given

    # Python's defaults; the command line collects garbage less often.
    gc.set_threshold(700, 10, 10)
    root = workspace_as_given(options)
    if options.http is not None:
        return asyncio.run(_serve_http(options, root))
    _refuse_http_options(options)
    from handrail.mcp.server.stdio import serve_stdio

    if sys.stdin.isatty():
        output.warn_text("waiting for an MCP client on standard input; stop with Ctrl-D")
        output.warn_text("`handrail serve --client NAME` prints the configuration for a client")
    asyncio.run(serve_stdio(server_config(options, root)))
    return 0


class _ConfigOrClient(Action):
    """Stores the name of a client as `client` and keeps an earlier --config FILE."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None
    ) -> None:
        """Store the value."""
        del parser, option
        setattr(namespace, "client" if values in CLIENTS else "config", values)


def _client(options: Namespace) -> str | None:
    """Return the client to print the configuration for, or None; raises `invalid_arguments`."""
    if options.config in CLIENTS:
        options.client, options.config = options.config, None
    client: str | None = options.client
    client_name = client or options.config
    no_file = options.config is not None and not Path(options.config).expanduser().is_file()
    if (client is not None and client not in CLIENTS) or (client is None and no_file):
        what = "client" if client is not None else "configuration file or client"
        raise messages.UNKNOWN_CLIENT.error(
            what=what, given=client_name, clients=", ".join(CLIENTS), field="client"
        )
    return client


def check_mcp_installed() -> None:
    """Raise `unavailable` if the packages of the extra `mcp` are missing."""
    if find_spec("mcp") is None or find_spec("uvicorn") is None:
        raise messages.MCP_NOT_INSTALLED.error()


def server_config(options: Namespace, root: Path) -> ServerConfig:
    """Build the server configuration of one workspace; raises if settings are invalid."""
    from handrail.assembly.approver import queue_approver
    from handrail.cli.workspace import collect_if_due, load_settings
    from handrail.mcp.server.config import ServerConfig

    output.install_log_handler()
    here = Namespace(**{**vars(options), "workspace": str(root)})
    settings = load_settings(here)
    return ServerConfig(
        tidy=lambda: collect_if_due(here),
        fallback=queue_approver(root, options.store),
        open=_opener(options, root, settings.directories),
        tools=_tools(options.tools, settings.dialect),
        read_only=options.read_only,
        client_roots=settings.client_roots,
        dry_run=settings.dry_run,
        structured=not options.text_only,
        session=options.session,
    )


def _opener(options: Namespace, root: Path, directories: Sequence[str]) -> Any:
    from handrail.cli.render.recovery import warn_recovered
    from handrail.cli.workspace import config_path

    config, further = config_path(options), list(directories)
    added_tools = [tool for name in options.tools_from for tool in load_tools(name)]

    def opens(
        *, approver: Approver, directories: Sequence[str], session: str | None
    ) -> RuntimeOpener:
        from handrail.assembly.runtime_opener import open as open_runtime

        opening = open_runtime(
            root,
            mode=options.mode,
            dialect=options.dialect,
            dry_run=options.dry_run,
            commands=options.commands,
            store=options.store,
            config=config,
            approver=approver,
            session=session,
            directories=[*further, *directories] if directories else None,
            tools=added_tools,
        )
        opening.on_recovered = warn_recovered
        return opening

    return opens


def load_tools(name: str) -> list[Tool[Any]]:
    """Return the tools of a module: its list `TOOLS`, else every tool that it defines by name.

    `name` is an importable module, or the path of a .py file. Raises `invalid_arguments`.
    """
    from handrail.core.tool import Tool

    try:
        module = _import_file(Path(name)) if name.endswith(".py") else import_module(name)
    except Exception as error:
        raise messages.TOOLS_NOT_LOADED.error(
            name=name, error=f"{type(error).__name__}: {error}", field="tools_from"
        ) from error
    defined = getattr(module, "TOOLS", None)
    if defined is None:
        defined = {
            id(tool): tool for tool in vars(module).values() if isinstance(tool, Tool)
        }.values()
    tools = list(defined)
    if not tools or not all(isinstance(tool, Tool) for tool in tools):
        raise messages.NO_TOOLS_IN_MODULE.error(name=name, field="tools_from")
    return tools


def _import_file(file: Path) -> ModuleType:
    spec = spec_from_file_location(file.stem, file.expanduser())
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = module_from_spec(spec)
    # Annotations of functions are looked up in the module by its name.
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    return module


def _tools(option: str | None, dialect: str) -> list[str] | None:
    """Return the tools given with --tools, by the names of the dialect."""
    if option is None:
        return None
    from handrail.dialects.known import find_vocabulary

    vocabulary = find_vocabulary(dialect)
    names = [name.strip() for name in option.split(",") if name.strip()]
    selected: list[str] = []
    for name in names:
        view = vocabulary.resolve(name)
        if view is None or vocabulary.shows(view):
            selected.append(name if view is None else view.name)
        else:
            selected += [shown.name for shown in vocabulary.views(view.tool)]
    return selected


async def _serve_http(options: Namespace, root: Path) -> int:
    from handrail.host.http_serving import listen, server_url
    from handrail.mcp.server.guard import APPROVALS, CALLS, load_tokens, token_file
    from handrail.mcp.server.http import PATH, HttpAccess, serve_http

    if options.session is not None:
        raise messages.NO_SHARED_SESSION.error(field="session")
    offers = {"": server_config(options, root)}
    for name, place in _parse_added(options.add):
        offers[name] = server_config(options, place)
    tokens = load_tokens(renew=options.new_token)
    with listen(options.http, exposed=options.expose) as listening:
        for name in offers:
            output.print_line(f"serving {server_url(listening, f'{PATH}/{name}'.rstrip('/'))}")
        output.print_line(f"token for calls: in {token_file(CALLS)}")
        output.print_line(f"token for approvals: in {token_file(APPROVALS)}")
        sys.stdout.flush()
        access = HttpAccess(tokens, options.allow_host, options.allow_origin)
        await serve_http(offers, access, listening)
    return 0


def _parse_added(assignments: Sequence[str]) -> list[tuple[str, Path]]:
    added: dict[str, Path] = {}
    for assignment in assignments:
        name, equals, place = assignment.partition("=")
        path = Path(place).expanduser()
        if not equals or not name.isidentifier() or name in added or not path.is_dir():
            raise messages.NOT_NAME_AND_DIRECTORY.error(given=assignment, field="add")
        added[name] = path.absolute()
    return list(added.items())


def _refuse_http_options(options: Namespace) -> None:
    used = [
        flag
        for flag, value in (
            ("--add", options.add),
            ("--expose", options.expose),
            ("--allow-host", options.allow_host),
            ("--allow-origin", options.allow_origin),
            ("--new-token", options.new_token),
        )
        if value
    ]
    if used:
        raise messages.NEEDS_HTTP.error(flag=used[0])
