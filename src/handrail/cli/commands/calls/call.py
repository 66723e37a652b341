"""`handrail call`: one tool call, as a model would make it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.cli.runner import ABORTED
from handrail.cli.workspace import add_ask_option
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.cli.render.status_line import StatusLine
    from handrail.core.approval import ApprovalRequest, Reply
    from handrail.core.ports import Approver
    from handrail.core.results import ToolResult

_EPILOG: Final = """\
arguments:
  path=a.py limit=20     text; numbers and booleans are understood
  content=@notes.txt     the text of a file of yours
  content=-              the text on standard input
  '{"path": "a.py"}'     all of them as one JSON object, taken literally
  -                      that object on standard input"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "call", "call one tool", epilog=_EPILOG)
    parser.add_argument("tool", metavar="TOOL", help="a tool's name, in any dialect")
    parser.add_argument(
        "arguments", metavar="ARGUMENT", nargs="*", default=[], help="JSON, or name=value"
    )
    add_ask_option(parser)
    parser.add_argument("--id", help="the call's id; repeating one repeats its recorded result")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Make the call and print what came of it; 1 if it failed or was refused."""
    import asyncio

    from handrail.cli.render.status_line import StatusLine
    from handrail.cli.workspace import choose_approver

    arguments = read_arguments(options.arguments)
    somebody = choose_approver(options)
    status = StatusLine()
    asked = _AskOnceApprover(somebody, status) if somebody is not None else None
    try:
        done = asyncio.run(_call(options, arguments, asked, status))
    finally:
        status.clear()
    result = done.result
    if options.json:
        output.print_json(result.to_dict())
    elif done.aborted:
        output.warn("aborted: you ended the run, and nothing was done")
    elif asked is not None and asked.said_no and not result.ok:
        # What the model is told to do next is nothing to tell the person who said no.
        output.warn("denied: you said no, and nothing was done")
    else:
        print_result(result)
    print_summary(done.summary, as_json=options.json)
    if done.aborted:
        return ABORTED
    return 0 if result.ok else 1


def read_arguments(words: Sequence[str]) -> str | dict[str, str]:
    """The arguments as JSON text, or by name; raises `invalid_arguments`."""
    if len(words) == 1 and words[0] == "-":
        return _read_stdin()
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return words[0]
    arguments: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise ProblemRaised(
                "invalid_arguments",
                f"{word!r} is neither name=value nor a JSON object",
                hint='write path=a.py, or all arguments as one object: \'{"path": "a.py"}\'',
            )
        if name in arguments:
            raise ProblemRaised("invalid_arguments", f"{name!r} is given twice", field=name)
        arguments[name] = _read_value(name, value)
    return arguments


def print_result(result: ToolResult) -> None:
    """A result for a person: its text, or on standard error what went wrong."""
    from handrail.cli.render.screen import colour_diff

    # A command that failed has something to show for it; most problems are all there is.
    if result.problem is None or result.text != str(result.problem):
        for line in colour_diff(_result_text(result).removesuffix("\n")):
            output.print_line(line)
    if result.problem is not None:
        output.print_problem(result.problem)


def print_summary(summary: str | None, *, as_json: bool) -> None:
    """What a dry run would have done, at its end; beside the output if that is JSON."""
    from handrail.core.safe_text import safe_text

    if summary is not None and as_json:
        output.warn(summary)
    elif summary is not None:
        output.print_line(safe_text(f"\n{summary}"))


def _result_text(result: ToolResult) -> str:
    from handrail.engine.recording.change_summary import change_summary

    line = change_summary(result.changes, result.meta, "undo with: handrail undo")
    if line is not None:
        return f"{result.text}\n{line}"
    # What was only planned says so in its text; what is shown of it could be taken for done.
    if result.display is None or result.status == "planned":
        return result.text
    summary, _, _ = result.text.partition("\n")
    remarks = result.meta.get("remarks", [])
    return "\n".join([summary, result.display, *remarks]) if result.changes else result.display


class _AskOnceApprover:
    """The person at the terminal, and whether they said no."""

    def __init__(self, person: Approver, status: StatusLine) -> None:
        self._person = person
        self._status = status
        self.said_no = False

    async def ask(self, request: ApprovalRequest) -> Reply:
        from dataclasses import replace

        from handrail.policy.approval.approvers import parse_reply

        # One call is all that happens here: what "always" grants would end with it.
        once = replace(request, always=None)
        with self._status.hidden():
            reply = parse_reply(await self._person.ask(once), self._person)
        self.said_no = reply.answer == "no"
        return reply


class _CallRun(NamedTuple):
    """What came of the call, whether the person ended everything, and the plan of a dry run."""

    result: ToolResult
    aborted: bool
    summary: str | None


async def _call(
    options: Namespace,
    arguments: str | dict[str, str],
    asked: _AskOnceApprover | None,
    status: StatusLine,
) -> _CallRun:
    from handrail.cli.workspace import new_call_id, open_session

    async with open_session(options, approver=asked) as rt:
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
        raise ProblemRaised(
            "invalid_arguments",
            f"{name}={given}: the file cannot be read: {error}",
            hint="@ reads a UTF-8 file; for text that begins with @ give the arguments as JSON",
            field=name,
        ) from error


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProblemRaised(
            "invalid_arguments", f"standard input is not UTF-8 text: {error}"
        ) from error
