"""Actions of the user in the page: answer questions, undo, end jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from anyio import to_thread

from handrail.assembly.runtime_opener import RuntimeOpener
from handrail.core.approval import Answer
from handrail.core.ports.processes import Processes
from handrail.core.ports.questions import QuestionReply, QuestionRequest
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.host.terminal.approval_queue import (
    PendingApproval,
    answer_pending,
    answer_questions,
    confirm_answer,
    find_pending,
    pending_approvals,
    queue_directory,
)
from handrail.ui import messages
from handrail.ui.pages.questions import read_answers

VIA: Final = "page"
# The session in which changes are undone and redone.
_SESSION: Final = "ui"


class PageActions:
    """Acts for the user, like the commands of the command line."""

    def __init__(
        self, root: Path, open_runtime: Callable[[str], RuntimeOpener], processes: Processes
    ) -> None:
        self._root = root
        self._open_runtime = open_runtime
        self.processes = processes

    def list_questions(self) -> list[PendingApproval]:
        """The open questions of the workspace, oldest first. Reads files: call it in a thread."""
        try:
            return pending_approvals(queue_directory(self._root))
        except ProblemRaised:
            # Without a private directory no question can be asked.
            return []

    async def questions(self) -> list[PendingApproval]:
        """Return the open questions."""
        return await to_thread.run_sync(self.list_questions)

    async def answer(self, question: str, form: Mapping[str, str]) -> str:
        """Answer a question with a submitted form and return the notice for the user. Raises
        `not_found` if it is no longer asked, `conflict` if it was answered elsewhere first.
        """
        return await to_thread.run_sync(self._answer, question, dict(form))

    def _answer(self, question: str, form: dict[str, str]) -> str:
        # A complete id: a prefix could mean another question than the one shown.
        waiting = [item for item in self.list_questions() if item.id == question]
        pending = find_pending(waiting, question, [queue_directory(self._root)])
        word = form.get("answer", "")
        if isinstance(pending.request, QuestionRequest) and word == "answer":
            answers = read_answers(pending.request, form)
            if len(answers) != len(pending.request.questions):
                raise messages.NO_ANSWERS.error()
            answer_questions(pending, QuestionReply(answers, VIA))
            return "answered"
        try:
            answer = Answer(word)
        except ValueError:
            raise messages.UNKNOWN_ANSWER.error(answer=word) from None
        reason = form.get("reason", "").strip() if answer is Answer.NO else ""
        answer_pending(pending, answer, reason or None, VIA)
        confirm_answer(pending, answer)
        return f"answered: {answer.value}"

    async def undo(self, session: str, call: str, *, redo: bool) -> ToolResult:
        """Undo or redo the changes of a call of a session; other sessions may have calls with that
        id.
        """
        name = f"{session}:{call}"
        async with self._open_runtime(_SESSION) as rt:
            return await (rt.redo(name) if redo else rt.undo(name))
