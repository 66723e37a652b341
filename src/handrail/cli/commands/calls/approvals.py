"""`handrail approvals`: answer approval requests of servers and other processes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.core.ports.machine import Approver
    from handrail.host.terminal.approval_queue import PendingApproval

_EPILOG: Final = """\
actions:
  list            list open requests (default)
  show ID         show one request in full
  yes ID          allow the call once
  always ID       allow the call and everything its rule covers in that session
  no ID [TEXT]    refuse the call; the model is told TEXT
  abort ID        refuse the call and end the run

An ID is the start of a hash of the call, its arguments and its plan, so an
answer applies to exactly what was shown. A changed call gets a new ID."""
_ANSWERS: Final = ("yes", "always", "no", "abort")
_POLL_S: Final = 0.3


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """Add the parser of this command."""
    parser = add_command(subparsers, "approvals", epilog=_EPILOG)
    parser.add_argument(
        "action", nargs="?", choices=("list", "show", *_ANSWERS), default="list", metavar="ACTION",
        help="list (default), show, yes, always, no or abort",
    )  # fmt: skip
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="ID of the request, or its first characters"
    )
    parser.add_argument(
        "reason", nargs="*", default=[], metavar="TEXT", help="why the call is refused"
    )
    parser.add_argument("--watch", action="store_true", help="ask here as requests arrive")
    parser.add_argument("--all", action="store_true", help="requests of all workspaces")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """List, show or answer requests; return 1 if the request no longer exists."""
    from handrail.cli.workspace import refuse_session
    from handrail.host.terminal.approval_queue import find_pending

    refuse_session(options, "it lists the requests of all sessions")
    if options.watch:
        return _watch(options)
    if options.reason and options.action != "no":
        raise messages.REASON_NEEDS_NO.error(action=options.action)
    waiting = _list_pending(options)
    if options.action == "list":
        _print_pending(waiting, options)
        return 0
    if options.id is None:
        raise messages.APPROVAL_ID_MISSING.error(action=options.action, field="id")
    asked = find_pending(waiting, options.id)
    if options.action == "show":
        _show(asked, options)
    else:
        _answer(asked, options)
    return 0


def _list_pending(options: Namespace) -> list[PendingApproval]:
    from handrail.cli.workspace import workspace_directory
    from handrail.host.terminal.approval_queue import all_queues, pending_approvals, queue_directory

    queues = all_queues() if options.all else [queue_directory(workspace_directory(options))]
    return [one for queue in queues for one in pending_approvals(queue)]


def _print_pending(waiting: list[PendingApproval], options: Namespace) -> None:
    from handrail.cli.render.screen import format_times, one_line, table, truncate

    if options.json:
        for one in waiting:
            output.print_json(_pending_row(one))
        return
    if not waiting:
        output.print_line("no open approval requests")
        return
    heads = ("id", "asked", "risk", "tool", *(["workspace"] if options.all else []), "action")
    rows = [
        (
            one.id,
            at,
            one.request.risk.word,
            truncate(one_line(one.request.tool), 24),
            *([truncate(one_line(Path(one.workspace).name), 20)] if options.all else []),
            one_line(one.request.action),
        )
        for one, at in zip(waiting, format_times([one.asked_ns for one in waiting]), strict=True)
    ]
    for line in table(rows, heads):
        output.print_line(line)
    output.print_line(
        f"answer with: handrail approvals{_workspace_option(options)} yes ID (or: no ID TEXT, show ID)"
    )


def _show(asked: PendingApproval, options: Namespace) -> None:
    from handrail.cli.render.screen import one_line, terminal_width, use_colour
    from handrail.host.terminal.question import Screen, render_full_question

    if options.json:
        output.print_json(_pending_row(asked))
        return
    for row in render_full_question(asked.request, Screen(terminal_width(), colour=use_colour())):
        output.print_line(row)
    if asked.request.always is not None:
        output.print_line(f'"always" would allow: {one_line(asked.request.always)}')
    output.print_line(f"workspace: {one_line(asked.workspace)}")
    others = "no, abort" if asked.request.always is None else "always, no, abort"
    output.print_line(
        f"answer with: handrail approvals{_workspace_option(options)} yes {asked.id} (or {others})"
    )


def _workspace_option(options: Namespace) -> str:
    """Return the options that select these requests."""
    from handrail.cli.render.screen import one_line

    if options.all:
        return " --all"
    named = str(options.workspace)
    return "" if named == "." else f" -w {one_line(quote(named))}"


def _answer(asked: PendingApproval, options: Namespace) -> None:
    from handrail.cli.render.screen import one_line, truncate
    from handrail.core.approval import Answer, config_line
    from handrail.host.terminal.approval_queue import answer_pending

    given = Answer(options.action)
    answer_pending(asked, given, " ".join(options.reason) or None)
    if options.json:
        output.print_json({"answer": given.value, **_pending_row(asked)})
        return
    output.print_line(f"{given.value}: {asked.id}  {truncate(one_line(asked.request.action), 100)}")
    if given is Answer.ALWAYS and asked.request.always is not None:
        output.print_line(
            f"to make this permanent, add {one_line(config_line(asked.request.always))}"
        )


def _pending_row(asked: PendingApproval) -> dict[str, Any]:
    return {
        "id": asked.id,
        "workspace": asked.workspace,
        "asked_ns": asked.asked_ns,
        **asked.request.to_dict(),
    }


def _watch(options: Namespace) -> int:
    import asyncio

    from handrail.cli.workspace import choose_approver

    if options.action != "list" or options.json:
        raise messages.WATCH_ALONE.error()
    approver = choose_approver(Namespace(ask="terminal"))
    output.print_line("waiting for approval requests; stop with Ctrl-C")
    try:
        asyncio.run(_ask_until_interrupted(options, approver))
    except KeyboardInterrupt:
        output.print_line("")
    return 0


async def _ask_until_interrupted(options: Namespace, approver: Approver) -> None:
    import anyio

    done: set[Path] = set()
    while True:
        waiting = [one for one in _list_pending(options) if one.folder not in done]
        if waiting:
            await _ask(waiting[0], approver, options)
            done.add(waiting[0].folder)
        else:
            await anyio.sleep(_POLL_S)


async def _ask(asked: PendingApproval, approver: Approver, options: Namespace) -> None:
    """Ask about one request, until it is answered elsewhere or withdrawn."""
    import anyio

    from handrail.cli.render.screen import one_line
    from handrail.core.approval import Reply
    from handrail.host.terminal.approval_queue import answer_pending
    from handrail.policy.approval.approvers import parse_reply

    output.print_line(f"\n{asked.id} in {one_line(asked.workspace)}")
    replies: list[Reply] = []
    async with anyio.create_task_group() as both:

        async def ask() -> None:
            replies.append(parse_reply(await approver.ask(asked.request), approver))
            both.cancel_scope.cancel()

        both.start_soon(ask)
        # Another process can withdraw the request at any time.
        while any(one.folder == asked.folder for one in _list_pending(options)):  # noqa: ASYNC110
            await anyio.sleep(_POLL_S)
        both.cancel_scope.cancel()
    try:
        if not replies:
            output.print_line("\nno longer open: answered elsewhere, or the asking process ended")
        else:
            answer_pending(asked, replies[0].answer, replies[0].reason)
    except ProblemRaised as raised:
        output.print_problem(raised.problem)
