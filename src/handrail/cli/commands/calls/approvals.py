"""`handrail approvals`: answer approval requests of servers and other processes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.ports.questions import QuestionRequest
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.core.ports.questions import QuestionReply
    from handrail.host.terminal.approval_queue import AnswerSlot, PendingApproval
    from handrail.host.terminal.prompt import TerminalApprover

_EPILOG: Final = """\
actions:
  list            list open requests (default)
  show ID         show one request in full
  yes ID          allow the call once
  always ID       allow the call and everything its rule covers in that session
  no ID [TEXT]    refuse the call; the model gets TEXT
  abort ID        refuse the call and end the run
  answer ID TEXT  answer a question of the model: the number of an option, or
                  your own words; one TEXT for each question

An ID is the start of a hash of the call, its arguments and its plan, so an
answer applies to exactly what was shown. A changed call gets a new ID."""
_ANSWERS: Final = ("yes", "always", "no", "abort")
_POLL_S: Final = 0.3


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """Add the parser of this command."""
    parser = add_command(subparsers, "approvals", epilog=_EPILOG)
    parser.add_argument(
        "action", nargs="?", choices=("list", "show", *_ANSWERS, "answer"), default="list",
        metavar="ACTION", help="list (default), show, yes, always, no, abort or answer",
    )  # fmt: skip
    parser.add_argument(
        "id", nargs="?", metavar="ID", help="ID of the request, or its first characters"
    )
    parser.add_argument(
        "reason",
        nargs="*",
        default=[],
        metavar="TEXT",
        help="why the call is refused, or the answer",
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
    if options.reason and options.action not in ("no", "answer"):
        raise messages.REASON_NEEDS_NO.error(action=options.action)
    waiting = _list_pending(options)
    if options.action == "list":
        _print_pending(waiting, options)
        return 0
    if options.id is None:
        raise messages.APPROVAL_ID_MISSING.error(action=options.action, field="id")
    asked = find_pending(waiting, options.id, _queues(options))
    if options.action == "show":
        _show(asked, options)
    elif options.action == "answer":
        _answer_question(asked, options)
    else:
        _answer(asked, options)
    return 0


def _list_pending(options: Namespace) -> list[PendingApproval]:
    from handrail.core.names.store_location import is_store_url
    from handrail.host.terminal.approval_queue import pending_approvals

    if is_store_url(options.store or ""):
        return _list_in_database(options)
    return [one for queue in _queues(options) for one in pending_approvals(queue)]


def _list_in_database(options: Namespace) -> list[PendingApproval]:
    """Return the requests of every machine that uses the database."""
    from handrail.host.state.identities import may_still_run
    from handrail.host.terminal.approval_queue import PendingApproval
    from handrail.store.postgres.questions import list_questions

    return [PendingApproval(*one) for one in list_questions(options.store, may_still_run)]


def _queues(options: Namespace) -> list[Path]:
    from handrail.cli.workspace import workspace_directory
    from handrail.core.names.store_location import is_store_url
    from handrail.host.terminal.approval_queue import all_queues, queue_directory

    if is_store_url(options.store or ""):
        return []
    return all_queues() if options.all else [queue_directory(workspace_directory(options))]


def _print_pending(waiting: list[PendingApproval], options: Namespace) -> None:
    from handrail.cli.render.screen import format_times, one_line, table, truncate

    if options.json:
        for one in waiting:
            output.print_json(_pending_row(one))
        return
    if not waiting:
        output.print_text("no open approval requests")
        return
    heads = ("id", "asked", "risk", "tool", *(["workspace"] if options.all else []), "action")
    rows = [
        (
            one.id,
            at,
            "question" if isinstance(one.request, QuestionRequest) else one.request.risk.word,
            truncate(one_line(one.request.tool), 24),
            *([truncate(one_line(Path(one.workspace).name), 20)] if options.all else []),
            one_line(one.request.action),
        )
        for one, at in zip(waiting, format_times([one.asked_ns for one in waiting]), strict=True)
    ]
    for line in table(rows, heads):
        output.print_text(line)
    asks = {isinstance(one.request, QuestionRequest) for one in waiting}
    ways = ["yes ID (or: no ID TEXT, show ID)"] * (False in asks) + ["answer ID TEXT"] * (
        True in asks
    )
    for way in ways:
        output.print_text(f"answer with: handrail approvals{_workspace_option(options)} {way}")


def _show(asked: PendingApproval, options: Namespace) -> None:
    from handrail.cli.render.screen import one_line, terminal_width, use_colour
    from handrail.host.terminal.prompt import Screen, render_full_question, render_model_question

    if options.json:
        output.print_json(_pending_row(asked))
        return
    screen = Screen(terminal_width(), colour=use_colour())
    if isinstance(asked.request, QuestionRequest):
        for number, _ in enumerate(asked.request.questions, 1):
            output.print_line(render_model_question(asked.request, number, screen))
        way = f"handrail approvals{_workspace_option(options)} answer {asked.id} TEXT"
        output.print_text(f"answer with: {way} (or no, abort)")
        return
    for row in render_full_question(asked.request, screen):
        output.print_line(row)
    if asked.request.always is not None:
        output.print_text(f'"always" would allow: {one_line(asked.request.always)}')
    output.print_text(f"workspace: {one_line(asked.workspace)}")
    others = "no, abort" if asked.request.always is None else "always, no, abort"
    output.print_text(
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
    from handrail.host.terminal.approval_queue import answer_pending, confirm_answer

    given = Answer(options.action)
    answer_pending(asked, given, " ".join(options.reason) or None)
    confirm_answer(asked, given)
    if options.json:
        output.print_json({"answer": given.value, **_pending_row(asked)})
        return
    output.print_text(f"{given.value}: {asked.id}  {truncate(one_line(asked.request.action), 100)}")
    if given is Answer.ALWAYS and asked.request.always is not None:
        output.print_text(
            f"to make this permanent, add {one_line(config_line(asked.request.always))}"
        )


def _answer_question(asked: PendingApproval, options: Namespace) -> None:
    from handrail.core.ports.questions import QuestionReply
    from handrail.host.terminal.approval_queue import VIA, answer_questions
    from handrail.host.terminal.prompt import parse_choice

    request, texts = asked.request, options.reason
    if not isinstance(request, QuestionRequest):
        raise messages.NOT_A_QUESTION.error(id=asked.id, field="id")
    questions = request.questions
    if len(questions) == 1:
        texts = [" ".join(texts)] if texts else []
    if len(texts) != len(questions):
        raise messages.ANSWER_TEXTS.error(id=asked.id, count=len(questions), field="reason")
    answers = {
        one.question: parse_choice(one, text) for one, text in zip(questions, texts, strict=True)
    }
    answer_questions(asked, QuestionReply(answers, VIA))
    if options.json:
        output.print_json({"answers": answers, **_pending_row(asked)})
    else:
        output.print_text(f"answered: {asked.id}")


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
    # Ctrl-C ends the watching here, not the run that asks in another terminal.
    approver = choose_approver(Namespace(ask="terminal"), single_call=True)
    output.print_text("waiting for approval requests; stop with Ctrl-C")
    try:
        asyncio.run(_ask_until_interrupted(options, approver))
    except KeyboardInterrupt:
        output.print_text("")
    return 0


async def _ask_until_interrupted(options: Namespace, approver: TerminalApprover) -> None:
    import anyio

    done: set[AnswerSlot] = set()
    while True:
        waiting = [one for one in _list_pending(options) if one.slot not in done]
        if waiting:
            if not await _ask(waiting[0], approver, options):
                return
            done.add(waiting[0].slot)
        else:
            await anyio.sleep(_POLL_S)


async def _ask(asked: PendingApproval, approver: TerminalApprover, options: Namespace) -> bool:
    """Ask about one request, until it is answered elsewhere or withdrawn; False: the user stops
    watching, and the request stays open.
    """
    import anyio

    from handrail.cli.render.screen import one_line
    from handrail.core.approval import Answer, Reply
    from handrail.host.terminal.approval_queue import answer_pending, answer_questions
    from handrail.policy.approval.approvers import parse_reply

    output.print_text(f"\n{asked.id} in {one_line(asked.workspace)}")
    replies: list[Reply | QuestionReply] = []
    async with anyio.create_task_group() as both:

        async def ask() -> None:
            if isinstance(asked.request, QuestionRequest):
                replies.append(await approver.ask_questions(asked.request))
            else:
                replies.append(parse_reply(await approver.ask(asked.request), approver))
            both.cancel_scope.cancel()

        both.start_soon(ask)
        # Another process can withdraw the request at any time.
        while any(one.slot == asked.slot for one in _list_pending(options)):  # noqa: ASYNC110
            await anyio.sleep(_POLL_S)
        both.cancel_scope.cancel()
    stopped = [
        one.answer is Answer.ABORT if isinstance(one, Reply) else one.aborted for one in replies
    ]
    if any(stopped):
        output.print_text(
            f"{asked.id} is still open; end its run with: handrail approvals abort {asked.id}"
        )
        return False
    try:
        if not replies:
            output.print_text("\nno longer open: answered elsewhere, or the asking process ended")
        elif isinstance(replies[0], Reply):
            answer_pending(asked, replies[0].answer, replies[0].reason)
        else:
            answer_questions(asked, replies[0])
    except ProblemRaised as raised:
        output.print_problem(raised.problem)
    return True
