"""`handrail serve`: the tools of a workspace for any client that speaks MCP."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, Action, ArgumentParser, Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.assembly.runtime_opener import RuntimeOpener
    from handrail.core.ports import Approver
    from handrail.mcp.server.config import ServerConfig

CLIENTS: Final = (
    "claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "opencode", "zed",
    "generic",
)  # fmt: skip
_EPILOG: Final = f"""\
--client prints what that client needs to start this, and serves nothing:
  {", ".join(CLIENTS[:6])},
  {", ".join(CLIENTS[6:])}
a client's name after --config does the same"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(
        subparsers, "serve", "serve the tools to an MCP client", epilog=_EPILOG,
        conflict_handler="resolve",
    )  # fmt: skip
    parser.add_argument("--client", metavar="NAME", help="print what this client needs instead")
    parser.add_argument(
        "--config", action=_ConfigOrClient, default=SUPPRESS, metavar="FILE",
        help="settings to use instead of your own file",
    )  # fmt: skip
    parser.add_argument("--tools", metavar="NAMES", help="only these tools, with commas between")
    parser.add_argument("--read-only", action="store_true", help="only tools that change nothing")
    parser.add_argument(
        "--text-only", action="store_true",
        help="results without data, for clients that show a model the data instead of the text",
    )  # fmt: skip
    group = parser.add_argument_group("over HTTP")
    group.add_argument("--http", metavar="HOST:PORT", help="listen there, for several clients")
    group.add_argument(
        "--add", metavar="NAME=DIR", action="append", default=[],
        help="serve a further workspace at /mcp/NAME",
    )  # fmt: skip
    group.add_argument("--expose", action="store_true", help="allow an address others can reach")
    group.add_argument(
        "--allow-host", metavar="HOST:PORT", action="append", default=[],
        help="a further Host to answer to, as a proxy sends it",
    )  # fmt: skip
    group.add_argument(
        "--allow-origin", metavar="ORIGIN", action="append", default=[],
        help="a web page's origin to answer to",
    )  # fmt: skip
    group.add_argument("--new-token", action="store_true", help="make new tokens first")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Serve until the client goes away, or print what a client needs."""
    client = _client(options)
    if client is not None:
        from handrail.cli.commands.setup.clients import client_configuration

        output.print_line(client_configuration(client, options))
        return 0
    check_mcp_installed()
    import asyncio

    from handrail.cli.workspace import workspace_as_given

    root = workspace_as_given(options)
    if options.http is not None:
        return asyncio.run(_serve_http(options, root))
    _refuse_http_options(options)
    from handrail.mcp.server.serve import serve_stdio

    if sys.stdin.isatty():
        output.warn("waiting for an MCP client on standard input (Ctrl-D ends)")
        output.warn("`handrail serve --client NAME` prints what a client needs to start this")
    asyncio.run(serve_stdio(server_config(options, root)))
    return 0


class _ConfigOrClient(Action):
    """A client's name is no file, and must not push out the file that was named before it."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None
    ) -> None:
        """Keep it under the name of what it is."""
        del parser, option
        setattr(namespace, "client" if values in CLIENTS else "config", values)


def _client(options: Namespace) -> str | None:
    """Whose configuration is wanted, None if it is to serve; raises `invalid_arguments`."""
    if options.config in CLIENTS:
        options.client, options.config = options.config, None
    client: str | None = options.client
    given = client or options.config
    no_file = options.config is not None and not Path(options.config).expanduser().is_file()
    if (client is not None and client not in CLIENTS) or (client is None and no_file):
        what = "client" if client is not None else "configuration file and no client"
        raise ProblemRaised(
            "invalid_arguments",
            f"there is no {what} {given!r}",
            hint=f"the clients are {', '.join(CLIENTS)}",
            field="client",
        )
    return client


def check_mcp_installed() -> None:
    """Raise `unavailable` if what serving needs is not installed."""
    if find_spec("mcp") is None or find_spec("uvicorn") is None:
        raise ProblemRaised(
            "unavailable",
            "serving MCP needs packages that are not installed",
            hint='install "handrail[mcp]"',
        )


def server_config(options: Namespace, root: Path) -> ServerConfig:
    """What the options offer of one workspace; raises if it could not be opened."""
    import time

    from handrail.cli.workspace import load_settings
    from handrail.host.terminal.approval_queue import QueueApprover
    from handrail.mcp.server.config import ServerConfig

    output.install_log_handler()
    settings = load_settings(Namespace(**{**vars(options), "workspace": str(root)}))
    return ServerConfig(
        fallback=QueueApprover(root, time.time_ns),
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

    def opens(
        *, approver: Approver, directories: Sequence[str], session: str | None
    ) -> RuntimeOpener:
        from handrail.assembly.runtime_opener import open as open_runtime

        opening = open_runtime(
            root,
            mode=options.mode,
            dialect=options.dialect,
            dry_run=options.dry_run,
            store=options.store,
            config=config,
            approver=approver,
            session=session,
            directories=[*further, *directories] if directories else None,
        )
        opening.hears = warn_recovered
        return opening

    return opens


def _tools(given: str | None, dialect: str) -> list[str] | None:
    """The canonical names of the tools that were named."""
    if given is None:
        return None
    from handrail.dialects.known import vocabulary_of

    vocabulary = vocabulary_of(dialect)
    names = [name.strip() for name in given.split(",") if name.strip()]
    views = [vocabulary.resolve(name) for name in names]
    return [view.tool if view else name for view, name in zip(views, names, strict=True)]


async def _serve_http(options: Namespace, root: Path) -> int:
    from handrail.mcp.server.http import PATH, HttpAccess, listen, serve_http, server_url
    from handrail.mcp.server.tokens import APPROVALS, CALLS, load_tokens, token_file

    if options.session is not None:
        raise ProblemRaised(
            "invalid_arguments",
            "a server for several clients cannot put them all into one session",
            hint="leave --session out; over HTTP every client has a session of its own",
            field="session",
        )
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
        door = HttpAccess(tokens, options.allow_host, options.allow_origin)
        await serve_http(offers, door, listening)
    return 0


def _parse_added(given: Sequence[str]) -> list[tuple[str, Path]]:
    found: dict[str, Path] = {}
    for one in given:
        name, equals, place = one.partition("=")
        path = Path(place).expanduser()
        if not equals or not name.isidentifier() or name in found or not path.is_dir():
            raise ProblemRaised(
                "invalid_arguments",
                f"{one!r} is not NAME=DIR with a new name and a directory",
                hint="write --add docs=../docs",
                field="add",
            )
        found[name] = path.absolute()
    return list(found.items())


def _refuse_http_options(options: Namespace) -> None:
    given = [
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
    if given:
        raise ProblemRaised(
            "invalid_arguments",
            f"{given[0]} means something only over HTTP",
            hint="add --http 127.0.0.1:7331",
        )
