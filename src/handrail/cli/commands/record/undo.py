"""`handrail undo`: take back what was changed, as the person who asks for it."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.core.results import ToolResult

_MOST_LINES: Final = 100
_EPILOG: Final = """\
TURN  last, session:number as `handrail log` shows it, or the id of a call
WHEN  start (of the session that changed something last), all, 14:30,
      2026-03-01T14:30, 20m (ago), or the id of a call"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "undo", "take back what was changed", epilog=_EPILOG)
    add_selection_options(parser, since=True)
    parser.set_defaults(run=run, redo=False)


def add_selection_options(parser: ArgumentParser, *, since: bool) -> None:
    """What to undo or redo, one of these; and overwriting what others wrote."""
    which = parser.add_mutually_exclusive_group()
    # Suppressed, so that leaving it out does not wipe out --call.
    which.add_argument(
        "call", metavar="CALL_ID", nargs="?", default=SUPPRESS,
        help="one call, as `handrail log` shows it; default: the last",
    )  # fmt: skip
    which.add_argument("--call", metavar="ID", help="the same")
    which.add_argument("--turn", metavar="TURN", help="all calls of a turn")
    which.add_argument("--path", metavar="FILE", help="the last change of a file")
    if since:
        which.add_argument("--since", metavar="WHEN", help="everything from then on")
    parser.add_argument(
        "--force", action="store_true", help="overwrite what changed since; it is kept"
    )


def run(options: Namespace) -> int:
    """Undo or redo, and say what was restored; 1 if somebody changed the files since."""
    import asyncio

    from handrail.cli.commands.calls.call import print_result

    result = asyncio.run(_undo(options))
    if options.json:
        output.print_json(result.to_dict())
    else:
        print_result(_with_cli_hint(_limit_diff(result)))
    return 0 if result.ok else 1


def _limit_diff(result: ToolResult) -> ToolResult:
    """The result with a diff that fits on a few screens; the record has all of it."""
    from dataclasses import replace

    lines = (result.display or "").splitlines()
    if len(lines) <= _MOST_LINES:
        return result
    note = f"[{len(lines) - _MOST_LINES:,} more lines: `handrail show {result.call_id}`]"
    return replace(result, display="\n".join([*lines[:_MOST_LINES], note]))


def _with_cli_hint(result: ToolResult) -> ToolResult:
    """The result with a hint that says what to type here."""
    from dataclasses import replace

    from handrail.history.undo.messages import FORCE, PATH

    problem = result.problem
    if problem is None or problem.hint is None:
        return result
    hint = problem.hint.replace(FORCE, "`--force`").replace(PATH, "`--path FILE`")
    hinted = replace(problem, hint=hint)
    # The text of a problem that is all there is stays its text.
    text = str(hinted) if result.text == str(problem) else result.text
    return replace(result, problem=hinted, text=text)


async def _undo(options: Namespace) -> ToolResult:
    from handrail.cli.render.status_line import ProgressLine
    from handrail.cli.workspace import open_session

    turn = options.turn
    if options.session and turn is not None and turn.isdecimal():
        turn = f"{options.session}:{turn}"
    named = {"turn": turn, "path": options.path, "force": options.force}
    line = ProgressLine("redo" if options.redo else "undo")
    async with open_session(options) as rt:
        try:
            if options.redo:
                return await rt.redo(options.call, on_event=line.on_event, **named)
            return await rt.undo(options.call, since=options.since, on_event=line.on_event, **named)
        finally:
            line.clear()
