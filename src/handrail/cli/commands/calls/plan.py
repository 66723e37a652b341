"""`handrail plan`: show, approve or reject the calls queued by plan mode."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from handrail.cli import messages
from handrail.cli.exit_codes import results_exit_code
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from handrail.core.results import ToolResult
    from handrail.engine.runtime import Runtime
    from handrail.planmode.item import PlanItem

_EPILOG: Final = """\
actions:
  show                   show the plan and the queued calls (default)
  approve [ID...]        run these queued calls, or all of them
  approve --first 2      run the first two
  reject [ID...]         discard these queued calls, or all of them
  leave                  end plan mode and keep the queue"""
_NEXT: Final = "`handrail plan` shows the queued calls; `handrail plan reject` discards them"
_ACTIONS: Final = ("show", "approve", "reject", "leave")


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "plan", epilog=_EPILOG)
    parser.add_argument(
        "action", nargs="?", choices=_ACTIONS, default="show", metavar="ACTION",
        help="show (default), approve, reject or leave",
    )  # fmt: skip
    parser.add_argument(
        "arguments", nargs="*", default=[], metavar="ID", help="queued calls, by ID or number"
    )
    parser.add_argument("--first", type=int, metavar="N", help="approve the first N queued calls")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run the action; return the exit code of the approved calls."""
    import asyncio

    if options.arguments and options.action in ("show", "leave"):
        raise messages.PLAN_TAKES_NO_IDS.error(action=options.action)
    if options.first is not None and options.action != "approve":
        raise messages.FIRST_NEEDS_APPROVE.error()
    return asyncio.run(_act(options))


async def _act(options: Namespace) -> int:
    from handrail.cli.workspace import open_session

    planning = _planning_process(options) if options.action in ("show", "leave") else None
    async with open_session(options) as rt:
        if options.action == "approve":
            waiting = rt.plan_queue.pending
            results = await rt.plan_queue.approve(options.arguments or None, first=options.first)
            return _print_results(results, waiting, options)
        if options.action == "reject":
            rejected = await rt.plan_queue.reject(options.arguments or None)
            _print_items(rejected, options)
            if not rejected and not options.json:
                output.print_line("nothing is queued")
        elif options.action == "leave":
            _leave(rt, options, planning)
        else:
            _show(rt, options, planning)
    return 0


def _planning_process(options: Namespace) -> str | None:
    """Return the number of the process that has the session open in plan mode, such as a
    conversation at another terminal; None if there is none.
    """
    import json

    from handrail.cli.workspace import DEFAULT_SESSION, find_workspace, open_record
    from handrail.host.state.identities import may_still_run
    from handrail.store.records.sessions import find_openings

    place = find_workspace(options)
    if not place.recorded:
        return None
    with open_record(place) as db:
        for opening in find_openings(db).get(options.session or DEFAULT_SESSION, ()):
            line = db.execute("SELECT info FROM ledger WHERE id = ?", (opening.line,)).fetchone()
            if json.loads(line[0]).get("mode") == "plan" and may_still_run(opening.owner):
                return opening.owner.split("/")[-2]
    return None


def _print_results(
    results: Sequence[ToolResult], waiting: Sequence[PlanItem], options: Namespace
) -> int:
    from handrail.cli.commands.calls.call import print_result

    for result in results:
        if options.json:
            output.print_json(result.to_dict())
        else:
            print_result(_with_cli_hint(result))
    if not waiting and not options.json:
        output.print_line("nothing is queued")
    return results_exit_code(results)


def _with_cli_hint(result: ToolResult) -> ToolResult:
    """Replace the hint, which is meant for a model."""
    from dataclasses import replace

    if result.problem is None:
        return result
    problem = replace(result.problem, hint=_NEXT)
    text = str(problem) if result.text == str(result.problem) else result.text
    return replace(result, problem=problem, text=text)


def _leave(rt: Runtime, options: Namespace, planning: str | None) -> None:
    was_active = rt.planning.active
    mode = rt.planning.end()
    if options.json:
        output.print_json({"left": was_active, "mode": mode, "waiting": len(rt.plan_queue.pending)})
    elif planning is not None and not was_active:
        output.print_line(
            f"plan mode is on in process {planning}; only there it can end, by /mode NAME"
        )
    else:
        output.print_line(
            f"plan mode {'ended' if was_active else 'was not on'}; the mode is {mode}"
        )


def _show(rt: Runtime, options: Namespace, planning: str | None) -> None:
    if options.json:
        _print_items(rt.plan_queue.items(), options)
        return
    session = f" --session {options.session}" if options.session else ""
    for line in plan_lines(rt, planning):
        output.print_line(line)
    if rt.plan_queue.pending:
        output.print_line(
            f"`handrail plan approve{session}` runs them, `handrail plan reject{session}` discards them"
        )


def plan_lines(rt: Runtime, planning: str | None = None) -> Iterator[str]:
    """Yield whether plan mode is on, here or in the process `planning`, the plan that the model
    wrote, and the queued calls. No text of the model begins in the first column.
    """
    from handrail.cli.render.screen import colour_diff, fold_coloured

    count, items = len(rt.plan_queue.pending), rt.plan_queue.items()
    queued = "1 call is queued" if count == 1 else f"{count} calls are queued"
    state = "on" if rt.planning.active else f"on in process {planning}" if planning else "off"
    yield f"plan mode is {state}" + (f"; {queued}" * bool(count))
    text = rt.planning.text
    if text.strip():
        yield "plan written by the model:"
        for line in colour_diff(text.rstrip()):
            yield from fold_coloured(f"  │ {line}")
    for item in items:
        yield from _item_lines(item)
    if not items:
        yield "nothing is queued"


def _print_items(items: Sequence[PlanItem], options: Namespace) -> None:
    for item in items:
        if options.json:
            output.print_json(item.to_dict())
            continue
        for line in _item_lines(item):
            output.print_line(line)


def _item_lines(item: PlanItem) -> Iterator[str]:
    from handrail.cli.render.screen import colour_diff, fold_coloured, one_line

    outcome = f", {item.outcome}" if item.outcome else ""
    yield from fold_coloured(
        one_line(f"{item.id}  {item.tool}: {item.reason}  ({item.status}{outcome})")
    )
    if item.problem is not None:
        yield from fold_coloured(one_line(f"    problem: {item.problem}"))
    if item.pending and item.preview:
        for line in colour_diff(item.preview.rstrip("\n")):
            yield from fold_coloured(f"    {line}")
