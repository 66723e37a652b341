"""`handrail run`: a model works on a task in the workspace."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.commands.agent.session_choice import PICK, choose_session
from handrail.cli.exit_codes import ExitCode
from handrail.cli.parser import Parser, Subparsers, add_command, parse_count, suggest_name
from handrail.cli.render import output
from handrail.cli.render.screen import TextStyle, count_noun, one_line
from handrail.cli.workspace import add_ask_option, collect_if_due
from handrail.core.text.safe_text import safe_text

if TYPE_CHECKING:
    from handrail.agent.agent import Agent
    from handrail.cli.commands.agent.line_reader import LineReader
    from handrail.cli.commands.agent.live_terminal import LiveTerminal
    from handrail.cli.commands.agent.terminal_conversation import TerminalConversation
    from handrail.cli.commands.agent.view import RunView
    from handrail.core.agent_results import AgentResult
    from handrail.core.ports.subagents import DefinedAgent
    from handrail.engine.runtime import Runtime
    from handrail.models.scripted.script_model import ScriptModel

_MAIN: Final = "main"
_MAX_STDIN_CHARS: Final = 200_000
# Offered in addition to the default tools of the dialect.
CONVERSATION_TOOLS: Final = (
    "todo_write",
    "ask_user",
    "skill",
    "subagent",
    "enter_plan_mode",
    "exit_plan_mode",
)
# Offered if the settings have this table.
CONFIGURED_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "web": ("web_fetch", "web_search"),
    "lsp": ("lsp", "lsp_rename"),
}
_EPILOG: Final = """\
At a terminal this is a conversation: type a task, watch it, type the next one.
A line typed while the model works reaches it before its next step; Ctrl-C stops
the task; /help lists commands. With --once, or without a terminal, it ends
after the task.

The model is offered tools for files, searches and commands. Web and language
server tools are offered if your settings have a table [web] or [lsp], or with
--tools web_fetch,web_search,lsp,lsp_rename.

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
    parser = add_command(subparsers, "run", epilog=_EPILOG)
    parser.add_argument("task", metavar="TASK", nargs="?", help="what to do; - reads it from stdin")
    parser.add_argument(
        "--model", metavar="NAME", help="model to use (default: the setting `model`)"
    )
    parser.add_argument("--agent", metavar="NAME", default=_MAIN, help="agent to run, such as one that you have defined (default: main)")  # fmt: skip
    parser.add_argument("--budget", metavar="LIMITS", help="such as tokens=200k,usd=1,minutes=10,steps=50,calls=200")  # fmt: skip
    parser.add_argument("--max-steps", metavar="N", type=parse_count, help="limit on model responses per task (default: the setting `max_steps`, 50)")  # fmt: skip
    going_on = parser.add_mutually_exclusive_group()
    going_on.add_argument("-c", "--continue", dest="go_on", action="store_true", help="continue the newest session of this workspace")  # fmt: skip
    going_on.add_argument("--resume", metavar="SESSION", nargs="?", const=PICK, help="continue this session, with its unfinished task if there is one; without SESSION choose one")  # fmt: skip
    parser.add_argument(
        "--once", action="store_true", help="end after the task, also at a terminal"
    )
    parser.add_argument("--plain", action="store_true", help="at a terminal: plain lines, without a status line and a prompt that stays at the bottom")  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="print only the final answer")
    parser.add_argument("--output-schema", metavar="FILE", help="JSON Schema that the final answer must satisfy")  # fmt: skip
    parser.add_argument("--tools", metavar="NAMES", help="also offer these tools (comma-separated), such as web_fetch")  # fmt: skip
    add_ask_option(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run a task, or a conversation; return the exit code of the last task."""
    import asyncio

    task = _read_task(options)
    session = choose_session(options)
    one_task = options.once or options.json or options.quiet or options.output_schema is not None
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and not one_task
    if task is None and not interactive and (options.output_schema or not options.resume):
        raise messages.NO_TASK.error(field="task")
    code = asyncio.run(_run(options, task, session, interactive=interactive))
    collect_if_due(options)
    return code


async def _run(
    options: Namespace, task: str | None, session: str, *, interactive: bool
) -> ExitCode:
    import asyncio

    from handrail.agent.budget import Budget
    from handrail.cli.commands.agent.line_reader import LineReader
    from handrail.cli.commands.agent.live_terminal import LiveTerminal, is_usable
    from handrail.cli.commands.agent.run_status import RunStatus
    from handrail.cli.commands.agent.terminal_conversation import TerminalConversation
    from handrail.cli.commands.agent.view import RunView
    from handrail.host.stop_signals import end_by_signal

    model = scripted_model(options.model)
    if not interactive:
        running = asyncio.ensure_future(_run_once(options, task, session, RunView(), model))
        with end_by_signal(running.cancel):
            return await running
    status = RunStatus(None if options.budget is None else Budget.parse(options.budget))
    live = not options.plain and is_usable()
    reader: LineReader | LiveTerminal = LiveTerminal(status.text) if live else LineReader()
    talk = TerminalConversation(options, RunView(status=status), reader)
    with end_by_signal(talk.leave):
        try:
            return await _converse(options, task, session, talk, model)
        finally:
            reader.close()


async def _run_once(
    options: Namespace, task: str | None, session: str, view: RunView, model: ScriptModel | None
) -> ExitCode:
    import asyncio

    async with _open(options, session, view, model, None) as rt:
        agent = make_agent(options, rt, session)
        if not (options.json or options.quiet):
            view.text(_heading(options, rt, session), TextStyle.FAINT)
            await _note_continued(view, agent)
        try:
            result = await _one_task(options, rt, agent, view, task)
        except asyncio.CancelledError:
            if not options.quiet and (stopped := await agent.stopped_result()) is not None:
                await _print_result(options, stopped, view, agent, rt)
            raise
        await _print_result(options, result, view, agent, rt)
        if rt.planned_actions and (options.json or options.quiet):
            output.warn(rt.plan_summary())
    if result.problem is not None and not options.json:
        output.print_problem(result.problem)
    return TASK_EXIT_CODES[result.status]


async def _print_result(
    options: Namespace, result: AgentResult, view: RunView, agent: Agent, rt: Runtime
) -> None:
    if options.json:
        output.print_json(result.to_dict())
    elif options.quiet:
        output.print_line(safe_text(result.text))
    else:
        await view.receipt(result, agent, rt)


async def _converse(
    options: Namespace,
    task: str | None,
    session: str,
    talk: TerminalConversation,
    model: ScriptModel | None,
) -> ExitCode:
    from handrail.cli.commands.agent.instruction_files import offer_instructions

    view = talk.view
    resume, fresh = bool(options.resume), not (options.resume or options.go_on)
    shown: object = None
    with talk.interruptible():
        while True:
            talk.begin_opening()
            async with _open(options, session, view, model, talk.reader) as rt:
                # Fails immediately if there is no model.
                rt.agent_services.resolve_model(None)
                agent = make_agent(options, rt, session)
                talk.attach(agent, rt)
                if rt.session.mode != shown:
                    first, shown = shown is None, rt.session.mode
                    view.show_idle(f"mode {shown} · /help lists commands · {talk.model_name}")
                    view.text(_heading(options, rt, session), TextStyle.FAINT)
                    if first:
                        await _note_continued(view, agent)
                if fresh and not await offer_instructions(rt, options.agent, view, talk):
                    task = None
                code = await talk.run(task, resume=resume)
            if talk.next_mode is None:
                return code
            options.mode, task, resume, fresh = str(talk.next_mode), None, False, False


async def _one_task(
    options: Namespace, rt: Runtime, agent: Agent, view: RunView, task: str | None
) -> AgentResult:
    from handrail.cli.commands.agent.mentions import add_mentioned_files

    def listener(event: Any) -> None:
        if options.json:
            output.print_json(event.to_dict())
        elif not options.quiet:
            view.on_event(event)

    if task is None:
        return await agent.resume(on_event=listener)
    schema = None if options.output_schema is None else _read_schema(options.output_schema)
    note = _print_nothing if options.json or options.quiet else view.note
    whole = await add_mentioned_files(rt, options.agent, task, note)
    return await agent.run(whole, output=schema, on_event=listener)


def _open(
    options: Namespace,
    session: str,
    view: RunView,
    model: ScriptModel | None,
    reader: LineReader | LiveTerminal | None,
) -> Any:
    from handrail.cli.commands.agent.line_reader import PausingApprover
    from handrail.cli.commands.agent.script_answers import ScriptApprover
    from handrail.cli.workspace import choose_approver, is_set, open_session

    options.session = session
    if options.mode is None and not is_set(options, "mode"):
        # Asks if the sandbox of this machine does not enforce enough.
        options.mode = "sandboxed"
    approver = choose_approver(options)
    if approver is not None:
        approver = PausingApprover(approver, reader, view)
    if model is not None:
        silent = options.json or options.quiet
        approver = ScriptApprover(model, approver, _print_nothing if silent else view.line)
    return open_session(options, model=model or options.model, approver=approver)


def _print_nothing(_: str) -> None:
    return


def scripted_model(name: str | None) -> ScriptModel | None:
    """Return the model of a script, whose answers to questions are used too; None for any other."""
    if name is None or not name.startswith("script:"):
        return None
    from handrail.assembly.models import model_services
    from handrail.models.opening import open_model
    from handrail.models.scripted.script_model import ScriptModel

    model = open_model(name, {}, model_services())
    return model if isinstance(model, ScriptModel) else None


def make_agent(options: Namespace, rt: Runtime, session: str) -> Agent:
    """Return the agent that the options of `run` describe."""
    from handrail.agent.agent import Agent
    from handrail.agent.budget import Budget

    defined = _definition(options, rt)
    budget = None if options.budget is None else Budget.parse(options.budget)
    if budget is None and defined.budget is not None:
        budget = Budget(**defined.budget)
    return Agent(
        rt,
        model=defined.model if options.model is None else None,
        name=options.agent,
        instructions=defined.instructions or None,
        allowed=_offered_tools(options, rt),
        budget=budget,
        max_steps=options.max_steps or defined.max_steps,
        session=session,
    )


def main_agent(options: Namespace, rt: Runtime, session: str) -> Agent:
    """Return the agent of a session that another program serves, such as a page or an editor."""
    here = Namespace(**{**vars(options), "agent": _MAIN, "tools": None})
    return make_agent(here, rt, session)


async def read_mentions(rt: Runtime, text: str) -> str:
    """Return a task of that agent, with the files that it mentions."""
    from handrail.cli.commands.agent.mentions import add_mentioned_files

    return await add_mentioned_files(rt, _MAIN, text, output.warn)


def _definition(options: Namespace, rt: Runtime) -> DefinedAgent:
    """Return the definition of the agent that --agent names; raises `invalid_arguments` for an
    unknown name.
    """
    from handrail.cli.workspace import load_settings
    from handrail.core.ports.subagents import DefinedAgent

    if options.agent == _MAIN:
        return DefinedAgent("")
    subagents = rt.agent_services.subagents.value
    types = [agent_type.name for agent_type in subagents.list_types()]
    known = {_MAIN, *types, *load_settings(options).agents}
    if options.agent not in known:
        raise messages.UNKNOWN_AGENT.error(
            name=options.agent, advice=suggest_name(options.agent, sorted(known)), field="agent"
        )
    return subagents.become(options.agent) or DefinedAgent("")


def _offered_tools(options: Namespace, rt: Runtime) -> list[str]:
    """Return the default tools, those that only a conversation with a user needs, and those that
    the settings or --tools add.
    """
    from handrail.cli.workspace import is_set

    names = [tool["name"] for tool in rt.declare("mcp", agent=options.agent)]
    names += CONVERSATION_TOOLS
    for table, tools in CONFIGURED_TOOLS.items():
        names += tools if is_set(options, table) else ()
    named = (options.tools or "").split(",")
    return list(dict.fromkeys([*names, *(name.strip() for name in named if name.strip())]))


def _heading(options: Namespace, rt: Runtime, session: str) -> str:
    from handrail.cli.render.screen import one_line

    model = options.model or rt.agent_services.resolve_model(None).model.name
    scripted = " (scripted)" if str(model).startswith(("script:", "replay:")) else ""
    return f"session {session} · {one_line(model)}{scripted} · mode {rt.session.mode}"


async def _note_continued(view: RunView, agent: Agent) -> None:
    """Print which conversation is continued, unless it is new."""
    conversation = await agent.load()
    if conversation.turn_count:
        title = one_line(str(conversation.state.get("title", "")).partition("\n")[0])
        view.note(f"continued after {count_noun(conversation.turn_count, 'turn')}: {title}")


def _read_task(options: Namespace) -> str | None:
    """Return the task, with piped standard input after it; raises `invalid_arguments`."""
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

    from handrail.core.arguments.model_builder import model_from_schema

    try:
        schema = json.loads(Path(name).expanduser().read_text("utf-8"))
        return model_from_schema("Answer", schema)
    except (OSError, ValueError, TypeError) as error:
        raise messages.SCHEMA_UNUSABLE.error(
            path=name, error=error, field="output_schema"
        ) from error
