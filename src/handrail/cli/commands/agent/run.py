"""`handrail run`: a model works on a task in the workspace."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.exit_codes import ExitCode
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.cli.workspace import add_ask_option
from handrail.core.text.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.agent.agent import Agent
    from handrail.cli.commands.agent.line_reader import LineReader
    from handrail.cli.commands.agent.view import RunView
    from handrail.core.agent_results import AgentResult
    from handrail.engine.runtime import Runtime
    from handrail.models.scripted.script_model import ScriptModel

_MAX_STDIN_CHARS: Final = 200_000
_EPILOG: Final = """\
At a terminal this is a conversation: type a task, watch it, type the next one.
A line typed while the model works reaches it before its next step; Ctrl-C stops
the task; /help lists commands. With --once, or without a terminal, it ends
after the task.

examples:
  handrail run "Fix the failing test" --model anthropic:MODEL
  git diff | handrail run "Review this change" --once
  handrail run -c "And update the docs"
  handrail run --once --model script:task.jsonl "Try it"   # no network, no key"""
TASK_EXIT_CODES: Final[Mapping[str, ExitCode]] = {
    "done": ExitCode.DONE,
    "failed": ExitCode.FAILED,
    "refused": ExitCode.REFUSED,
    "needs_person": ExitCode.USER_NEEDED,
    "budget": ExitCode.BUDGET,
    "max_steps": ExitCode.BUDGET,
    "aborted": ExitCode.ABORTED,
}


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """Add the parser of this command."""
    parser = add_command(subparsers, "run", epilog=_EPILOG)
    parser.add_argument("task", metavar="TASK", nargs="?", help="what to do; - reads it from stdin")
    parser.add_argument(
        "--model", metavar="NAME", help="model to use (default: the setting `model`)"
    )
    parser.add_argument("--agent", metavar="NAME", default="main", help="name of the agent (default: main)")  # fmt: skip
    parser.add_argument("--budget", metavar="LIMITS", help="such as tokens=200k,usd=1,minutes=10,steps=50,calls=200")  # fmt: skip
    parser.add_argument("--max-steps", metavar="N", type=int, help="limit on model responses per task (default: 50)")  # fmt: skip
    going_on = parser.add_mutually_exclusive_group()
    going_on.add_argument("-c", "--continue", dest="go_on", action="store_true", help="continue the newest session of this workspace")  # fmt: skip
    going_on.add_argument("--resume", metavar="SESSION", help="continue this session, with its unfinished task if there is one")  # fmt: skip
    parser.add_argument(
        "--once", action="store_true", help="end after the task, also at a terminal"
    )
    parser.add_argument("--quiet", action="store_true", help="print only the final answer")
    parser.add_argument("--output-schema", metavar="FILE", help="JSON Schema that the final answer must satisfy")  # fmt: skip
    add_ask_option(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run a task, or a conversation; return the exit code of the last task."""
    import asyncio

    from handrail.cli.commands.agent.sessions import choose_session

    task = _read_task(options)
    session = choose_session(options)
    one_task = options.once or options.json or options.quiet or options.output_schema is not None
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and not one_task
    if task is None and not interactive and (options.output_schema or not options.resume):
        raise messages.NO_TASK.error(field="task")
    return asyncio.run(_run(options, task, session, interactive=interactive))


async def _run(
    options: Namespace, task: str | None, session: str, *, interactive: bool
) -> ExitCode:
    from handrail.cli.commands.agent.line_reader import LineReader
    from handrail.cli.commands.agent.view import RunView

    view = RunView()
    reader = LineReader() if interactive else None
    try:
        return await _work(options, task, session, view, reader)
    finally:
        if reader is not None:
            reader.close()


async def _work(
    options: Namespace, task: str | None, session: str, view: RunView, reader: LineReader | None
) -> ExitCode:
    from handrail.cli.commands.agent.conversation import converse
    from handrail.cli.commands.agent.instructions import offer_instructions

    async with _open(options, session, reader) as rt:
        agent = _agent(options, rt, session)
        if not (options.json or options.quiet):
            view.line(_heading(options, rt, session))
        if reader is not None:
            if not (options.resume or options.go_on):
                await offer_instructions(rt, options.agent, view, reader)
            return await converse(agent, rt, view, task, reader, resume=bool(options.resume))
        result = await _one_task(options, agent, view, task)
    if options.json:
        output.print_json(result.to_dict())
    elif options.quiet:
        output.print_line(safe_text(result.text))
    else:
        view.receipt(result, session)
    if result.problem is not None and not options.json:
        output.print_problem(result.problem)
    return TASK_EXIT_CODES[result.status]


async def _one_task(
    options: Namespace, agent: Agent, view: RunView, task: str | None
) -> AgentResult:
    def listener(event: Any) -> None:
        if options.json:
            output.print_json(event.to_dict())
        elif not options.quiet:
            view.on_event(event)

    if task is None:
        return await agent.resume(on_event=listener)
    schema = None if options.output_schema is None else _read_schema(options.output_schema)
    return await agent.run(task, output=schema, on_event=listener)


def _open(options: Namespace, session: str, reader: LineReader | None) -> Any:
    from handrail.cli.commands.agent.line_reader import PausingApprover
    from handrail.cli.commands.agent.script_answers import ScriptApprover
    from handrail.cli.workspace import choose_approver, is_set, open_session

    options.session = session
    if options.mode is None and not is_set(options, "mode"):
        # Asks where the sandbox of this machine does not enforce enough.
        options.mode = "sandboxed"
    approver = choose_approver(options)
    if approver is not None and reader is not None:
        approver = PausingApprover(approver, reader)
    model = _scripted_model(options.model)
    if model is not None:
        approver = ScriptApprover(model, approver)
    return open_session(options, model=model or options.model, approver=approver)


def _scripted_model(name: str | None) -> ScriptModel | None:
    """The model of a script, whose answers to questions are used too; None for any other."""
    if name is None or not name.startswith("script:"):
        return None
    from handrail.assembly.models import model_services
    from handrail.models.opening import open_model
    from handrail.models.scripted.script_model import ScriptModel

    model = open_model(name, {}, model_services())
    return model if isinstance(model, ScriptModel) else None


def _agent(options: Namespace, rt: Runtime, session: str) -> Agent:
    from handrail.agent.agent import DEFAULT_MAX_STEPS, Agent
    from handrail.agent.budget import Budget

    return Agent(
        rt,
        name=options.agent,
        budget=None if options.budget is None else Budget.parse(options.budget),
        max_steps=options.max_steps or DEFAULT_MAX_STEPS,
        session=session,
    )


def _heading(options: Namespace, rt: Runtime, session: str) -> str:
    from handrail.cli.render.screen import TextStyle, one_line, paint

    model = options.model or "the configured model"
    scripted = " (scripted)" if str(model).startswith(("script:", "replay:")) else ""
    text = f"session {session} · {one_line(model)}{scripted} · mode {rt.session.mode}"
    return paint(text, TextStyle.FAINT)


def _read_task(options: Namespace) -> str | None:
    """The task, with piped standard input after it; raises `invalid_arguments`."""
    if options.task == "-":
        return _stdin_text()
    if options.task is None:
        return None if sys.stdin.isatty() else (_stdin_text() or None)
    piped = "" if sys.stdin.isatty() else _stdin_text()
    if not piped.strip():
        return str(options.task)
    return f"{options.task}\n\n<standard-input>\n{piped}\n</standard-input>"


def _stdin_text() -> str:
    try:
        text = sys.stdin.buffer.read(4 * _MAX_STDIN_CHARS).decode("utf-8", "replace")
    except OSError:
        return ""
    if len(text) > _MAX_STDIN_CHARS:
        return f"{text[:_MAX_STDIN_CHARS]}\n[cut off after {_MAX_STDIN_CHARS:,} characters]"
    return text


def _read_schema(name: str) -> Any:
    import json
    from pathlib import Path

    from handrail.core.arguments.model_builder import model_from_schema

    try:
        schema = json.loads(Path(name).expanduser().read_text("utf-8"))
        return model_from_schema("Answer", schema)
    except (OSError, ValueError, TypeError) as error:
        raise messages.SCHEMA_UNUSABLE.error(
            path=name, error=error, field="output_schema"
        ) from error
