"""`handrail undo`: undo recorded changes on behalf of the user."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from typing import TYPE_CHECKING, Final

from handrail.cli import messages
from handrail.cli.exit_codes import results_exit_code
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.core.results import ToolResult

_MOST_LINES: Final = 100
_EPILOG: Final = """\
TURN  last, session:number as in `handrail log`, or the id of a call
WHEN  start (of the last session with changes), all, 14:30,
      2026-03-01T14:30, 20m (ago), or the id of a call;
      with --session, undo selects changes of that session only"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "undo", epilog=_EPILOG)
    add_selection_options(parser, since=True)
    parser.set_defaults(run=run, redo=False)


def add_selection_options(parser: ArgumentParser, *, since: bool) -> None:
    """Add the options that select changes, and --force."""
    scope = parser.add_mutually_exclusive_group()
    # Suppressed: a default would overwrite the value of --call.
    scope.add_argument(
        "call", metavar="CALL_ID", nargs="?", default=SUPPRESS,
        help="id of a call, as in `handrail log` (default: the last)",
    )  # fmt: skip
    scope.add_argument("--call", metavar="ID", help="id of a call, as an option")
    scope.add_argument("--turn", metavar="TURN", help="all changes of a turn")
    scope.add_argument("--path", metavar="FILE", help="the last change of a file")
    if since:
        scope.add_argument("--since", metavar="WHEN", help="all changes since then")
        scope.add_argument("--agent", metavar="ID", help="all changes of a subagent and those below it")  # fmt: skip
    parser.add_argument(
        "--force",
        action="store_true",
        help="overwrite later changes; they can be restored with redo",
    )


def run(options: Namespace) -> int:
    """Undo or redo; return 1 on a conflict with later changes."""
    import asyncio

    from handrail.cli.commands.calls.call import print_result

    result = asyncio.run(_undo(options))
    if options.json:
        output.print_json(result.to_dict())
    else:
        print_result(_with_cli_hint(_limit_diff(result)))
    return results_exit_code([result])


def _limit_diff(result: ToolResult) -> ToolResult:
    """Limit the number of diff lines; `handrail show` prints all of them."""
    from dataclasses import replace

    lines = (result.display or "").splitlines()
    if len(lines) <= _MOST_LINES:
        return result
    note = f"[{len(lines) - _MOST_LINES:,} more lines: `handrail show {result.call_id}`]"
    return replace(result, display="\n".join([*lines[:_MOST_LINES], note]))


def _with_cli_hint(result: ToolResult) -> ToolResult:
    """Replace argument names in the hint by options."""
    from dataclasses import replace

    from handrail.history.undo.messages import FORCE, PATH

    problem = result.problem
    if problem is None or problem.hint is None:
        return result
    hint = problem.hint.replace(FORCE, "`--force`").replace(PATH, "`--path FILE`")
    hinted = replace(problem, hint=hint)
    # If the text is the problem, it changes with the hint.
    text = str(hinted) if result.text == str(problem) else result.text
    return replace(result, problem=hinted, text=text)


async def _undo(options: Namespace) -> ToolResult:
    from handrail.cli.render.status_line import ProgressLine
    from handrail.cli.workspace import check_session, find_workspace, open_record, open_session

    place = find_workspace(options)
    if options.session is not None and not place.recorded:
        raise messages.NO_SUCH_SESSION.error(session=options.session, field="session")
    if options.session is not None:
        with open_record(place) as db:
            check_session(db, options.session)
    named = {"turn": _turn(options), "path": options.path, "force": options.force}
    line = ProgressLine("redo" if options.redo else "undo")
    async with open_session(options) as rt:
        try:
            if options.redo:
                return await rt.redo(options.call, on_event=line.on_event, **named)
            named |= {"since": _since(options), "agent": options.agent}
            return await rt.undo(_call(options), on_event=line.on_event, **named)
        finally:
            line.clear()


def _call(options: Namespace) -> str | None:
    """The call to undo: the last one of --session where nothing else is selected."""
    others = (options.call, options.turn, options.path, options.since, options.agent)
    if options.session is None or any(one is not None for one in others):
        return options.call if options.call is None else str(options.call)
    return f"{options.session}>last"


def _turn(options: Namespace) -> str | None:
    """The turn of --turn, in the session of --session if there is one."""
    turn = None if options.turn is None else str(options.turn)
    if turn is None or options.session is None:
        return turn
    if turn == "last" and not options.redo:
        return f"{options.session}>last"
    return f"{options.session}:{turn}" if turn.isdecimal() else turn


def _since(options: Namespace) -> str | None:
    """Return the point of --since, in the session of --session if there is one."""
    if options.session is None or options.since is None or options.since.isdigit():
        return options.since if options.since is None else str(options.since)
    return f"{options.session}>{options.since}"
