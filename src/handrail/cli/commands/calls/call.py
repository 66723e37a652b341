"""`handrail call`: make one tool call."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.cli import messages
from handrail.cli.exit_codes import ExitCode, results_exit_code
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.cli.workspace import add_ask_option, collect_if_due

if TYPE_CHECKING:
    from handrail.cli.render.status_line import StatusLine
    from handrail.core.approval import ApprovalRequest, Reply
    from handrail.core.ports.machine import Approver
    from handrail.core.results import ToolResult

_EPILOG: Final = """\
arguments:
  path=a.py limit=20     text; numbers and booleans are converted
  content=@notes.txt     the content of a file
  content=-              standard input
  '{"path": "a.py"}'     all arguments as one JSON object, used as given
  -                      that object on standard input"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """Add the parser of this command."""
    parser = add_command(subparsers, "call", epilog=_EPILOG)
    parser.add_argument("tool", metavar="TOOL", help="name of the tool, in any dialect")
    parser.add_argument(
        "arguments", metavar="ARGUMENT", nargs="*", default=[], help="name=value, or JSON"
    )
    add_ask_option(parser)
    parser.add_argument("--id", help="id of the call; a repeated id returns the recorded result")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Make the call and print its result; return the exit code of the result."""
    import asyncio

    from handrail.cli.render.status_line import LiveOutputPrinter, StatusLine
    from handrail.cli.workspace import choose_approver

    arguments = read_arguments(options.arguments)
    chosen = choose_approver(options)
    live = None if options.json else LiveOutputPrinter()
    status = live or StatusLine()
    approver = _AskOnceApprover(chosen, status) if chosen is not None else None
    try:
        done = asyncio.run(_call(options, arguments, approver, status))
    finally:
        status.clear()
    result = done.result
    if options.json:
        output.print_json(result.to_dict())
    elif done.aborted:
        output.warn("aborted: the run was ended; nothing was changed")
    elif approver is not None and approver.declined and not result.ok:
        output.warn("denied: you declined; nothing was changed")
    else:
        print_result(result if live is None else live.unprinted(result))
    print_summary(done.summary, as_json=options.json)
    sys.stdout.flush()
    collect_if_due(options)
    return ExitCode.ABORTED if done.aborted else results_exit_code([result])


def read_arguments(words: Sequence[str]) -> str | dict[str, str]:
    """Return the arguments as JSON text or by name; raises `invalid_arguments`."""
    if len(words) == 1 and words[0] == "-":
        return _read_stdin()
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return words[0]
    arguments: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise messages.NOT_AN_ARGUMENT.error(word=word)
        if name in arguments:
            raise messages.ARGUMENT_TWICE.error(name=name, field=name)
        arguments[name] = _read_value(name, value)
    return arguments


def print_result(result: ToolResult) -> None:
    """Print a result: its text, and its problem on standard error."""
    from handrail.cli.render.screen import colour_diff

    # A failed command also has output; for most problems the text is only the problem.
    if result.problem is None or result.text != str(result.problem):
        for line in colour_diff(_result_text(result).removesuffix("\n")):
            output.print_line(line)
    if result.problem is not None:
        output.print_problem(result.problem)


def print_summary(summary: str | None, *, as_json: bool) -> None:
    """Print the summary of a dry run; on standard error if the output is JSON."""
    from handrail.core.text.safe_text import safe_text

    if summary is not None and as_json:
        output.warn(summary)
    elif summary is not None:
        output.print_line(safe_text(f"\n{summary}"))


def _result_text(result: ToolResult) -> str:
    from handrail.engine.recording.payloads import change_summary

    line = change_summary(result.changes, result.meta, "undo with: handrail undo")
    if line is not None:
        return f"{result.text}\n{line}"
    # The text of a planned call says that it was not carried out; its diff does not.
    if result.display is None or result.status == "planned":
        return result.text
    summary, _, _ = result.text.partition("\n")
    remarks = result.meta.get("remarks", [])
    return "\n".join([summary, result.display, *remarks]) if result.changes else result.display


class _AskOnceApprover:
    """Asks at the terminal, without the answer "always"; `declined` is set by a "no"."""

    def __init__(self, approver: Approver, status: StatusLine) -> None:
        self._approver = approver
        self._status = status
        self.declined = False

    async def ask(self, request: ApprovalRequest) -> Reply:
        from dataclasses import replace

        from handrail.policy.approval.approvers import parse_reply

        # The process ends after this call, so "always" would have no effect.
        once = replace(request, always=None)
        with self._status.hidden():
            reply = parse_reply(await self._approver.ask(once), self._approver)
        self.declined = reply.answer == "no"
        return reply


class _CallRun(NamedTuple):
    """The result, whether the user aborted the run, and the summary of a dry run."""

    result: ToolResult
    aborted: bool
    summary: str | None


async def _call(
    options: Namespace,
    arguments: str | dict[str, str],
    approver: _AskOnceApprover | None,
    status: StatusLine,
) -> _CallRun:
    from handrail.cli.workspace import new_call_id, open_session

    async with open_session(options, approver=approver) as rt:
        rt.subscribe(status.on_event)
        result = await rt.call(
            options.tool, arguments, id=new_call_id() if options.id is None else options.id
        )
        dry = options.dry_run or rt.planned_actions
        return _CallRun(result, rt.aborted, rt.plan_summary() if dry else None)


def _read_value(name: str, given: str) -> str:
    if given == "-":
        return _read_stdin()
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).expanduser().read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise messages.ARGUMENT_FILE_UNREADABLE.error(
            name=name, given=given, error=error, field=name
        ) from error


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise messages.STDIN_NOT_UTF8.error(error=error) from error
