"""What the user does in the page: answer questions, undo, kill jobs."""

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
    """Acts for the user, as the commands of the command line do."""

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
            # No private directory: then nobody can ask either.
            return []

    async def questions(self) -> list[PendingApproval]:
        """The open questions."""
        return await to_thread.run_sync(self.list_questions)

    async def answer(self, question: str, given: Mapping[str, str]) -> str:
        """Answer a question with a submitted form; returns what to tell the user. Raises `not_found`
        if it is no longer asked, `conflict` if another surface answered first.
        """
        return await to_thread.run_sync(self._answer, question, dict(given))

    def _answer(self, question: str, given: dict[str, str]) -> str:
        # A whole id: a beginning could mean another question than the one shown.
        waiting = [one for one in self.list_questions() if one.id == question]
        asked = find_pending(waiting, question, [queue_directory(self._root)])
        word = given.get("answer", "")
        if isinstance(asked.request, QuestionRequest) and word == "answer":
            answers = read_answers(asked.request, given)
            if len(answers) != len(asked.request.questions):
                raise messages.NO_ANSWERS.error()
            answer_questions(asked, QuestionReply(answers, VIA))
            return "answered"
        try:
            answer = Answer(word)
        except ValueError:
            raise messages.UNKNOWN_ANSWER.error(answer=word) from None
        reason = given.get("reason", "").strip() if answer is Answer.NO else ""
        answer_pending(asked, answer, reason or None, VIA)
        confirm_answer(asked, answer)
        return f"answered: {answer.value}"

    async def undo(self, session: str, call: str, *, redo: bool) -> ToolResult:
        """Undo or redo what a call of a session changed; other sessions may have calls of that id."""
        name = f"{session}:{call}"
        async with self._open_runtime(_SESSION) as rt:
            return await (rt.redo(name) if redo else rt.undo(name))
