"""`handrail failed-calls`: list, retry or discard calls that failed because of a bug."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING, Final

from handrail.cli import messages
from handrail.cli.exit_codes import results_exit_code
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.core.failed_calls import FailedCall
    from handrail.engine.recording.failed_call_retry import FailedCalls

_EPILOG: Final = """\
actions:
  list           list pending failed calls (default); --all: closed ones too
  show ID        show everything recorded about one
  retry ID       make the call again, with all checks and approvals;
                 for tools of your own program: rt.dead_letters.retry(ID)
  abandon ID     discard it"""
_ACTIONS: Final = ("list", "show", "retry", "abandon")


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(
        subparsers, "failed-calls", epilog=_EPILOG,
    )  # fmt: skip
    parser.add_argument(
        "action", nargs="?", choices=_ACTIONS, default="list", metavar="ACTION",
        help="list (default), show, retry or abandon",
    )  # fmt: skip
    parser.add_argument("letter", nargs="?", metavar="ID", help="ID of the failed call")
    parser.add_argument("--all", action="store_true", help="list closed ones too")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run the action; return the exit code of a retried call."""
    import asyncio

    if options.all and options.action != "list":
        raise messages.ALL_NEEDS_LIST.error()
    if (options.letter is None) != (options.action == "list"):
        needs = "takes no ID" if options.action == "list" else "needs the ID of a failed call"
        raise messages.FAILED_CALL_ID.error(action=options.action, needs=needs, field="letter")
    return asyncio.run(_act(options))


async def _act(options: Namespace) -> int:
    from handrail.cli.workspace import open_session

    async with open_session(options) as rt:
        failed_calls = rt.dead_letters
        if options.action == "list":
            _list(await failed_calls.items(None if options.all else "pending"), options)
            return 0
        number = _parse_number(options.letter)
        if options.action == "retry":
            return await _retry(failed_calls, number, options)
        if options.action == "abandon":
            await failed_calls.abandon(number)
        _show(await failed_calls.get(number), options)
    return 0


async def _retry(failed_calls: FailedCalls, number: int, options: Namespace) -> int:
    from handrail.cli.commands.calls.call import print_result

    result = await failed_calls.retry(number)
    if options.json:
        output.print_json(result.to_dict())
    else:
        print_result(result)
        output.print_text(
            f"failed call {number} is now {(await failed_calls.get(number)).state.value}"
        )
    return results_exit_code([result])


def _list(failed_calls: Sequence[FailedCall], options: Namespace) -> None:
    from handrail.cli.render.screen import one_line, table, truncate

    if options.json:
        for failed_call in failed_calls:
            output.print_json(failed_call.to_dict())
    elif not failed_calls:
        output.print_text("no failed calls")
    else:
        rows = [
            (
                str(failed_call.id),
                failed_call.state.value,
                str(failed_call.attempts),
                one_line(failed_call.tool),
                truncate(one_line(str(failed_call.error.get("message", ""))), 60),
            )
            for failed_call in failed_calls
        ]
        for line in table(rows, ("id", "state", "attempts", "tool", "error")):
            output.print_text(line)


def _show(failed_call: FailedCall, options: Namespace) -> None:
    from handrail.cli.render.screen import one_line

    if options.json:
        output.print_json(failed_call.to_dict())
        return
    secret = " (a secret was removed)" if failed_call.redacted else ""
    for name, value in (
        (
            "id",
            f"{failed_call.id}, {failed_call.state.value}, {_attempts_text(failed_call.attempts)}",
        ),
        ("operation", failed_call.operation),
        ("arguments", json.dumps(failed_call.arguments, ensure_ascii=False) + secret),
        ("error", f"{failed_call.error.get('code')}: {failed_call.error.get('message')}"),
        (
            "call",
            f"{failed_call.call_id} of session {failed_call.session}, agent {failed_call.agent}",
        ),
        ("workspace", failed_call.workspace),
    ):
        output.print_text(one_line(f"{name:10} {value}"))


def _attempts_text(times: int) -> str:
    return "failed once" if times == 1 else f"failed {times} times"


def _parse_number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise messages.NOT_A_FAILED_CALL_ID.error(text=text, field="letter")
    return int(text)
