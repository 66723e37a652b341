"""`handrail call`: make one tool call."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.cli import messages
from handrail.cli.exit_codes import ExitCode, results_exit_code
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.cli.workspace import (
    add_ask_option,
    choose_approver,
    collect_if_due,
    new_call_id,
    open_session,
)

if TYPE_CHECKING:
    from handrail.cli.render.status_line import StatusLine
    from handrail.core.approval import ApprovalRequest, Reply
    from handrail.core.ports.machine import Approver
    from handrail.core.ports.questions import QuestionRequest
    from handrail.core.results import ToolResult

_EPILOG: Final = """\
arguments:
  path=a.py limit=20     text; numbers and booleans are converted
  content=@notes.txt     the content of a file
  content=-              standard input
  '{"path": "a.py"}'     all arguments as one JSON object, used as given
  -                      that object on standard input"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "call", epilog=_EPILOG)
    parser.add_argument("tool", metavar="TOOL", help="name of the tool, in any dialect")
    parser.add_argument(
        "arguments", metavar="ARGUMENT", nargs="*", default=[], help="name=value, or JSON"
    )
    add_ask_option(parser)
    parser.add_argument(
        "--images", metavar="DIR",
        help="save the images of the result in this directory; with --json, - adds them as base64",
    )  # fmt: skip
    parser.add_argument("--id", help="id of the call; a repeated id returns the recorded result")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Make the call and print its result; return the exit code of the result."""
    import asyncio

    from handrail.cli.render.status_line import LiveOutputPrinter, StatusLine

    arguments = read_arguments(options.arguments)
    chosen = choose_approver(options, single_call=True, session_ends=True)
    live = None if options.json else LiveOutputPrinter()
    status = live or StatusLine()
    approver = _AskOnceApprover(chosen, status) if chosen is not None else None
    try:
        outcome = asyncio.run(_call(options, arguments, approver, status))
    finally:
        status.clear()
    result = outcome.result
    images = list(_describe_images(result, options.images))
    if options.json:
        output.print_json({**result.to_dict(), **({"images": images} if images else {})})
    elif outcome.aborted:
        output.warn_titled("aborted", "nothing was changed")
    elif approver is not None and approver.refusal is not None and not result.ok:
        said = _describe_refusal(approver.refusal)
        output.warn_titled("denied", f"{said}; nothing was changed")
    else:
        print_result(result if live is None else live.unprinted(result))
        for image in images:
            output.print_text(_image_line(image))
    print_summary(outcome.summary, as_json=options.json)
    sys.stdout.flush()
    collect_if_due(options)
    return ExitCode.ABORTED if outcome.aborted else results_exit_code([result])


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
            # Program output is not folded, as a terminal shows it.
            show = output.print_folded if line.startswith("[handrail: ") else output.print_line
            show(line)
    if result.problem is not None:
        output.print_problem(result.problem)


def _describe_refusal(reply: Reply) -> str:
    """Return who declined, and why."""
    from handrail.cli.render.screen import one_line
    from handrail.host.terminal.approval_queue import VIA

    text = "declined in another terminal" if reply.via == VIA else "you declined"
    return text if reply.reason is None else f"{text}: {one_line(reply.reason)}"


def _describe_images(result: ToolResult, target: str | None) -> Iterator[dict[str, Any]]:
    """Yield the images of a result: type and size, and the file that each was saved to or, for the
    target "-", its bytes as base64. Raises `invalid_arguments` if the directory cannot be written.
    """
    import base64

    for number, image in enumerate(result.images, 1):
        about: dict[str, Any] = {"media_type": image.media_type, "bytes": len(image.data)}
        if target == "-":
            about["data"] = base64.b64encode(image.data).decode("ascii")
        elif target is not None:
            ending = image.media_type.rpartition("/")[2]
            file = Path(target).expanduser() / f"{result.call_id}-{number}.{ending}"
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(image.data)
            except OSError as error:
                raise messages.IMAGES_NOT_SAVED.error(path=target, error=error) from error
            about["file"] = str(file)
        yield about


def _image_line(about: Mapping[str, Any]) -> str:
    from handrail.cli.render.screen import format_size, one_line

    saved = f"saved as {one_line(about['file'])}" if "file" in about else "--images DIR saves it"
    return f"[{about['media_type']}, {format_size(about['bytes'])}: {saved}]"


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
    """Asks the user, without the answer "always"; `refusal` is the reply that declined."""

    def __init__(self, approver: Approver, status: StatusLine) -> None:
        self._approver = approver
        self._status = status
        self.refusal: Reply | None = None

    async def ask(self, request: ApprovalRequest) -> Reply:
        from dataclasses import replace

        from handrail.policy.approval.approvers import parse_reply

        # The process ends after this call, so "always" would have no effect.
        once = replace(request, always=None)
        with self._status.hidden():
            reply = parse_reply(await self._approver.ask(once), self._approver)
        self.refusal = reply if reply.answer == "no" else None
        return reply

    async def ask_questions(self, request: QuestionRequest) -> Any:
        """Forward a question of the model."""
        from handrail.engine.approval import AnswersQuestions

        approver: object = self._approver
        if not isinstance(approver, AnswersQuestions):
            return None
        with self._status.hidden():
            return await approver.ask_questions(request)


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
    async with open_session(options, approver=approver) as rt:
        if status.active:
            rt.subscribe(status.on_event)
        result = await rt.call(
            options.tool, arguments, id=new_call_id() if options.id is None else options.id
        )
        dry = options.dry_run or rt.planned_actions
        return _CallRun(result, rt.aborted, rt.plan_summary() if dry else None)


def _read_value(name: str, value: str) -> str:
    if value == "-":
        return _read_stdin()
    if not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).expanduser().read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise messages.ARGUMENT_FILE_UNREADABLE.error(
            name=name, given=value, error=error, field=name
        ) from error


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise messages.STDIN_NOT_UTF8.error(error=error) from error
