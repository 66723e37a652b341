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
    approval = find_pending(waiting, options.id, _queues(options))
    if options.action == "show":
        _show(approval, options)
    elif options.action == "answer":
        _answer_question(approval, options)
    else:
        _answer(approval, options)
    return 0


def _list_pending(options: Namespace) -> list[PendingApproval]:
    from handrail.core.names.store_location import is_store_url
    from handrail.host.terminal.approval_queue import pending_approvals

    if is_store_url(options.store or ""):
        return _list_in_database(options)
    return [approval for queue in _queues(options) for approval in pending_approvals(queue)]


def _list_in_database(options: Namespace) -> list[PendingApproval]:
    """Return the requests of every machine that uses the database."""
    from handrail.host.state.identities import may_still_run
    from handrail.host.terminal.approval_queue import PendingApproval
    from handrail.store.postgres.questions import list_questions

    return [PendingApproval(*question) for question in list_questions(options.store, may_still_run)]


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
        for approval in waiting:
            output.print_json(_pending_row(approval))
        return
    if not waiting:
        output.print_text("no open approval requests")
        return
    heads = ("id", "asked", "risk", "tool", *(["workspace"] if options.all else []), "action")
    rows = [
        (
            approval.id,
            at,
            "question"
            if isinstance(approval.request, QuestionRequest)
            else approval.request.risk.word,
            truncate(one_line(approval.request.tool), 24),
            *([truncate(one_line(Path(approval.workspace).name), 20)] if options.all else []),
            one_line(approval.request.action),
        )
        for approval, at in zip(
            waiting, format_times([approval.asked_ns for approval in waiting]), strict=True
        )
    ]
    for line in table(rows, heads):
        output.print_text(line)
    asks = {isinstance(approval.request, QuestionRequest) for approval in waiting}
    usages = ["yes ID (or: no ID TEXT, show ID)"] * (False in asks) + ["answer ID TEXT"] * (
        True in asks
    )
    for usage in usages:
        output.print_text(f"answer with: handrail approvals{_workspace_option(options)} {usage}")


def _show(approval: PendingApproval, options: Namespace) -> None:
    from handrail.cli.render.screen import one_line, terminal_width, use_colour
    from handrail.host.terminal.question_text import (
        Screen,
        render_full_question,
        render_model_question,
    )

    if options.json:
        output.print_json(_pending_row(approval))
        return
    screen = Screen(terminal_width(), colour=use_colour())
    if isinstance(approval.request, QuestionRequest):
        for number, _ in enumerate(approval.request.questions, 1):
            output.print_line(render_model_question(approval.request, number, screen))
        command = f"handrail approvals{_workspace_option(options)} answer {approval.id} TEXT"
        output.print_text(f"answer with: {command} (or no, abort)")
        return
    for row in render_full_question(approval.request, screen):
        output.print_line(row)
    if approval.request.always is not None:
        output.print_text(f'"always" would allow: {one_line(approval.request.always)}')
    output.print_text(f"workspace: {one_line(approval.workspace)}")
    other_answers = "no, abort" if approval.request.always is None else "always, no, abort"
    output.print_text(
        f"answer with: handrail approvals{_workspace_option(options)} yes {approval.id} (or {other_answers})"
    )


def _workspace_option(options: Namespace) -> str:
    """Return the options that select these requests."""
    from handrail.cli.render.screen import one_line

    if options.all:
        return " --all"
    named = str(options.workspace)
    return "" if named == "." else f" -w {one_line(quote(named))}"


def _answer(approval: PendingApproval, options: Namespace) -> None:
    from handrail.cli.render.screen import one_line, truncate
    from handrail.core.approval import Answer, config_line
    from handrail.host.terminal.approval_queue import answer_pending, confirm_answer

    answer = Answer(options.action)
    answer_pending(approval, answer, " ".join(options.reason) or None)
    confirm_answer(approval, answer)
    if options.json:
        output.print_json({"answer": answer.value, **_pending_row(approval)})
        return
    output.print_text(
        f"{answer.value}: {approval.id}  {truncate(one_line(approval.request.action), 100)}"
    )
    if answer is Answer.ALWAYS and approval.request.always is not None:
        output.print_text(
            f"to make this permanent, add {one_line(config_line(approval.request.always))}"
        )


def _answer_question(approval: PendingApproval, options: Namespace) -> None:
    from handrail.core.ports.questions import QuestionReply
    from handrail.host.terminal.approval_queue import VIA, answer_questions
    from handrail.host.terminal.prompt import parse_choice

    request, texts = approval.request, options.reason
    if not isinstance(request, QuestionRequest):
        raise messages.NOT_A_QUESTION.error(id=approval.id, field="id")
    questions = request.questions
    if len(questions) == 1:
        texts = [" ".join(texts)] if texts else []
    if len(texts) != len(questions):
        raise messages.ANSWER_TEXTS.error(id=approval.id, count=len(questions), field="reason")
    answers = {
        question.question: parse_choice(question, text)
        for question, text in zip(questions, texts, strict=True)
    }
    answer_questions(approval, QuestionReply(answers, VIA))
    if options.json:
        output.print_json({"answers": answers, **_pending_row(approval)})
    else:
        output.print_text(f"answered: {approval.id}")


def _pending_row(approval: PendingApproval) -> dict[str, Any]:
    return {
        "id": approval.id,
        "workspace": approval.workspace,
        "asked_ns": approval.asked_ns,
        **approval.request.to_dict(),
    }


def _watch(options: Namespace) -> int:
    import asyncio

    from handrail.cli.workspace import choose_approver

    if options.action != "list" or options.json:
        raise messages.WATCH_ALONE.error()
    # Ctrl-C ends watching here, not the run that asks in another terminal.
    approver = choose_approver(Namespace(ask="terminal"), single_call=True)
    output.print_text("waiting for approval requests; stop with Ctrl-C")
    try:
        asyncio.run(_ask_until_interrupted(options, approver))
    except KeyboardInterrupt:
        output.print_text("")
    return 0


async def _ask_until_interrupted(options: Namespace, approver: TerminalApprover) -> None:
    import anyio

    handled: set[AnswerSlot] = set()
    while True:
        waiting = [approval for approval in _list_pending(options) if approval.slot not in handled]
        if waiting:
            if not await _ask(waiting[0], approver, options):
                return
            handled.add(waiting[0].slot)
        else:
            await anyio.sleep(_POLL_S)


async def _ask(approval: PendingApproval, approver: TerminalApprover, options: Namespace) -> bool:
    """Ask about one request until it is answered elsewhere or withdrawn. Return False if the user
    stops watching; the request stays open then.
    """
    import anyio

    from handrail.cli.render.screen import one_line
    from handrail.core.approval import Answer, Reply
    from handrail.host.terminal.approval_queue import answer_pending, answer_questions
    from handrail.policy.approval.approvers import parse_reply

    output.print_text(f"\n{approval.id} in {one_line(approval.workspace)}")
    replies: list[Reply | QuestionReply] = []
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            if isinstance(approval.request, QuestionRequest):
                replies.append(await approver.ask_questions(approval.request))
            else:
                replies.append(parse_reply(await approver.ask(approval.request), approver))
            tasks.cancel_scope.cancel()

        tasks.start_soon(ask)
        # Another process can withdraw the request at any time.
        while any(reply.slot == approval.slot for reply in _list_pending(options)):  # noqa: ASYNC110
            await anyio.sleep(_POLL_S)
        tasks.cancel_scope.cancel()
    stopped = [
        reply.answer is Answer.ABORT if isinstance(reply, Reply) else reply.aborted
        for reply in replies
    ]
    if any(stopped):
        output.print_text(
            f"{approval.id} is still open; end its run with: handrail approvals abort {approval.id}"
        )
        return False
    try:
        if not replies:
            output.print_text("\nno longer open: answered elsewhere, or the asking process ended")
        elif isinstance(replies[0], Reply):
            answer_pending(approval, replies[0].answer, replies[0].reason)
        else:
            answer_questions(approval, replies[0])
    except ProblemRaised as raised:
        output.print_problem(raised.problem)
    return True
