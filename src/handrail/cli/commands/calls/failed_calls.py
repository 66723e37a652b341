"""`handrail letters`: the calls that failed by a defect, and the person's word on them."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING, Final

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.core.dead_letters import DeadLetter
    from handrail.engine.recording.dead_letters import DeadLetters

_EPILOG: Final = """\
actions:
  list           the calls that wait (default); --all: those that are over too
  show ID        everything that is kept of one
  retry ID       make the call anew, checked and asked about like any other;
                 in your program for your own tools: rt.dead_letters.retry(ID)
  abandon ID     give it up"""
_ACTIONS: Final = ("list", "show", "retry", "abandon")


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(
        subparsers, "letters", "list, retry or abandon calls that failed by a defect",
        epilog=_EPILOG,
    )  # fmt: skip
    parser.add_argument(
        "action", nargs="?", choices=_ACTIONS, default="list", metavar="ACTION",
        help="list (default), show, retry or abandon",
    )  # fmt: skip
    parser.add_argument("letter", nargs="?", metavar="ID", help="the number of the letter")
    parser.add_argument("--all", action="store_true", help="list those that are over as well")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Do it as the person; 1 if the call that was made anew failed or was refused."""
    import asyncio

    if options.all and options.action != "list":
        raise ProblemRaised("invalid_arguments", "--all goes with `letters list`")
    if (options.letter is None) != (options.action == "list"):
        needs = "takes no number" if options.action == "list" else "needs the number of a letter"
        raise ProblemRaised(
            "invalid_arguments",
            f"`letters {options.action}` {needs}",
            hint="`handrail letters` lists them, `handrail letters show ID` shows one",
            field="letter",
        )
    return asyncio.run(_act(options))


async def _act(options: Namespace) -> int:
    from handrail.cli.workspace import open_session

    async with open_session(options) as rt:
        letters = rt.dead_letters
        if options.action == "list":
            _list(await letters.items(None if options.all else "pending"), options)
            return 0
        number = _parse_number(options.letter)
        if options.action == "retry":
            return await _retry(letters, number, options)
        if options.action == "abandon":
            await letters.abandon(number)
        _show(await letters.get(number), options)
    return 0


async def _retry(letters: DeadLetters, number: int, options: Namespace) -> int:
    from handrail.cli.commands.calls.call import print_result

    result = await letters.retry(number)
    if options.json:
        output.print_json(result.to_dict())
    else:
        print_result(result)
        output.print_line(f"letter {number} is {(await letters.get(number)).state.value}")
    return 0 if result.ok else 1


def _list(letters: Sequence[DeadLetter], options: Namespace) -> None:
    from handrail.cli.render.screen import one_line, table, truncate

    if options.json:
        for letter in letters:
            output.print_json(letter.to_dict())
    elif not letters:
        output.print_line("no dead letters")
    else:
        rows = [
            (
                str(one.id),
                one.state.value,
                str(one.attempts),
                one_line(one.tool),
                truncate(one_line(str(one.error.get("message", ""))), 60),
            )
            for one in letters
        ]
        for line in table(rows, ("letter", "state", "failed", "tool", "error")):
            output.print_line(line)


def _show(letter: DeadLetter, options: Namespace) -> None:
    from handrail.cli.render.screen import one_line

    if options.json:
        output.print_json(letter.to_dict())
        return
    secret = " (a secret in them is not kept)" if letter.redacted else ""
    for name, value in (
        ("letter", f"{letter.id}, {letter.state.value}, {_attempts_text(letter.attempts)}"),
        ("operation", letter.operation),
        ("arguments", json.dumps(letter.arguments, ensure_ascii=False) + secret),
        ("error", f"{letter.error.get('code')}: {letter.error.get('message')}"),
        ("call", f"{letter.call_id} of session {letter.session}, agent {letter.agent}"),
        ("workspace", letter.workspace),
    ):
        output.print_line(one_line(f"{name:10} {value}"))


def _attempts_text(times: int) -> str:
    return "failed once" if times == 1 else f"failed {times} times"


def _parse_number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise ProblemRaised(
            "invalid_arguments", f"{text!r} is not the number of a letter", field="letter"
        )
    return int(text)
