"""`handrail serve`: the tools of a workspace for any client that speaks MCP."""

from __future__ import annotations

import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import output
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.app import Opening
    from handrail.core.ports import Approver
    from handrail.mcp.offer import Offer

_EPILOG: Final = """\
--config with a client's name prints what that client needs and serves nothing:
  claude-code, claude-desktop, cursor, vscode, codex, gemini, zed, generic"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "serve", "serve the tools to an MCP client", epilog=_EPILOG)
    parser.add_argument("--tools", metavar="NAMES", help="only these tools, with commas between")
    parser.add_argument("--read-only", action="store_true", help="only tools that change nothing")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Serve until the client goes away."""
    need_extra()
    import asyncio

    from handrail.mcp.serve import serve_stdio

    if sys.stdin.isatty():
        output.warn("waiting for an MCP client on standard input (Ctrl-D ends)")
    asyncio.run(serve_stdio(offer_of(options, Path(options.workspace))))
    return 0


def need_extra() -> None:
    """Raise `unavailable` if what serving needs is not installed."""
    if find_spec("mcp") is None:
        raise ProblemRaised(
            "unavailable",
            "serving MCP needs packages that are not installed",
            hint='install "handrail[mcp]"',
        )


def offer_of(options: Namespace, root: Path, fallback: Approver | None = None) -> Offer:
    """What the options offer of one workspace."""
    from handrail.app import open as open_runtime
    from handrail.cli.workspace import config_of, settings_of
    from handrail.dialects.known import vocabulary_of
    from handrail.mcp.offer import Offer

    output.take_over_log()
    config, settings = config_of(options), settings_of(options)
    vocabulary = vocabulary_of(settings.dialect)

    def opens(*, approver: Approver, directories: Sequence[str], session: str | None) -> Opening:
        more: dict[str, Any] = {}
        if directories:
            more["directories"] = [*settings.directories, *directories]
        return open_runtime(
            root,
            mode=options.mode,
            dialect=options.dialect,
            dry_run=options.dry_run,
            store=options.store,
            config=config,
            approver=approver,
            session=session,
            **more,
        )

    tools = None
    if options.tools is not None:
        given = [name.strip() for name in options.tools.split(",") if name.strip()]
        views = [vocabulary.resolve(name) for name in given]
        tools = [view.tool if view else name for view, name in zip(views, given, strict=True)]
    return Offer(
        open=opens,
        tools=tools,
        read_only=options.read_only,
        client_roots=settings.client_roots,
        dry_run=settings.dry_run,
        session=options.session,
        fallback=fallback,
    )
