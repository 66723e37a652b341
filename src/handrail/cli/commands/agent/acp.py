"""`handrail acp`: the agent for an editor that uses the Agent Client Protocol."""

from __future__ import annotations

from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command, parse_count
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.acp.editor_session import EditorServices, RuntimeRequest
    from handrail.agent.agent import Agent
    from handrail.assembly.extras.record_reader import RecordReader
    from handrail.assembly.runtime_opener import RuntimeOpener
    from handrail.engine.runtime import Runtime
    from handrail.models.scripted.script_model import ScriptModel

_EPILOG: Final = """\
Your editor starts this command and talks to it over standard input and output;
see docs/acp.md for the settings of editors. The editor names the directory of
each session. Questions are asked in the editor and can also be answered with
`handrail approvals`; the first answer counts.

examples:
  handrail acp
  handrail acp --model anthropic:MODEL --mode default"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "acp", epilog=_EPILOG)
    parser.add_argument("--model", metavar="NAME", help="model of the sessions (default: the setting `model`)")  # fmt: skip
    parser.add_argument("--budget", metavar="LIMITS", help="of each prompt, such as tokens=200k,usd=1,minutes=10")  # fmt: skip
    parser.add_argument("--max-steps", metavar="N", type=parse_count, help="limit on model responses per prompt")  # fmt: skip
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Serve the editor until it disconnects."""
    import asyncio
    import logging

    from handrail.cli.workspace import refuse_session

    refuse_session(options, "the editor names the sessions")
    if find_spec("acp") is None:
        raise messages.ACP_NOT_INSTALLED.error()
    if options.workspace != ".":
        raise messages.WORKSPACE_FROM_EDITOR.error(field="workspace")
    from handrail.acp.server import serve_editor

    # The library logs to the root logger; nothing must be printed twice.
    output.install_log_handler("root")
    logging.getLogger("handrail").propagate = False
    asyncio.run(serve_editor(editor_services(options)))
    return 0


def editor_services(options: Namespace) -> EditorServices:
    """Return how the sessions of an editor are opened with these options."""
    from handrail.acp.editor_session import EditorServices
    from handrail.cli.commands.agent.run import main_agent, read_mentions
    from handrail.cli.commands.setup.overview import MODE_MEANINGS

    # A script continues where it was when the runtime of its session is opened again.
    scripts: dict[str, ScriptModel | None] = {}

    def make_agent(rt: Runtime, session: str) -> Agent:
        return main_agent(options, rt, session)

    return EditorServices(
        lambda asked: _open(options, asked, scripts),
        make_agent,
        read_mentions,
        lambda root: _record(options, root),
        lambda root: _find_mode(_options_for(options, root)),
        MODE_MEANINGS,
    )


def _options_for(options: Namespace, root: Path, **more: str) -> Namespace:
    return Namespace(**{**vars(options), "workspace": str(root), **more})


def _open(
    options: Namespace, request: RuntimeRequest, scripts: dict[str, ScriptModel | None]
) -> RuntimeOpener:
    from handrail.cli.commands.agent.run import scripted_model
    from handrail.cli.workspace import open_session

    if request.session not in scripts:
        scripts[request.session] = scripted_model(options.model)
    return open_session(
        _options_for(options, request.root, mode=request.mode),
        session=request.session,
        model=scripts[request.session] or options.model,
        approver=request.approver,
    )


def _record(options: Namespace, root: Path) -> RecordReader:
    from handrail.assembly.extras.record_reader import RecordReader
    from handrail.cli.workspace import find_workspace, load_settings

    here = _options_for(options, root)
    return RecordReader(root, load_settings(here).directories, find_workspace(here).home)


def _find_mode(options: Namespace) -> str:
    """Return the mode of the options or settings; by default that of `handrail run`."""
    from handrail.cli.workspace import is_set, load_settings

    if options.mode is None and not is_set(options, "mode"):
        return "sandboxed"
    return str(load_settings(options).mode)
