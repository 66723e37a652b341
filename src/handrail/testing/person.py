"""A person who was told beforehand what to answer."""

from __future__ import annotations

from collections.abc import Iterable

from handrail.core.approval import Answer, ApprovalRequest, Reply


class ScriptedPerson:
    """Give it to `handrail.open` as `approver`. Answers are given in order, one per question
    (`True`, `False` or an `Answer`); whoever asks more often than that is told no.

    `asked` holds the questions.
    """

    via = "script"

    def __init__(self, answers: Iterable[bool | Answer] = ()) -> None:
        self._answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    @property
    def left(self) -> int:
        """How many answers nobody has asked for."""
        return len(self._answers)

    async def ask(self, request: ApprovalRequest) -> Reply:
        """The next answer."""
        self.asked.append(request)
        answer = self._answers.pop(0) if self._answers else Answer.NO
        if isinstance(answer, bool):
            answer = Answer.YES if answer else Answer.NO
        return Reply(answer, self.via)
