"""Questions that a model asks the user, and their answers. An answer is text for the model; it
never approves a call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

from handrail.core.approval import ANSWER_VERSION, Answer

MAX_ANSWER_CHARS: Final = 2_000
_ID_CHARS: Final = 12


class QuestionOption(NamedTuple):
    """One of the answers that the model offers."""

    label: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """One question of a model. The user may choose an option, several if `multi_select`, or
    answer in their own words.
    """

    question: str
    header: str
    options: tuple[QuestionOption, ...]
    multi_select: bool = False


@dataclass(frozen=True)
class QuestionRequest:
    """The questions of one call of `ask_user`. `chain` leads from the main agent to the asking agent."""

    call_id: str
    questions: tuple[ModelQuestion, ...]
    agent: str = "main"
    chain: tuple[str, ...] = ("main",)
    tool: str = "ask_user"
    # An answer grants nothing.
    always: None = None
    # The session in which the call is recorded.
    session: str = ""

    @cached_property
    def binding(self) -> str:
        """A hash of the request; a reply is valid only for this hash."""
        asked = [self.call_id, self.agent, [asdict(one) for one in self.questions]]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()

    @property
    def id(self) -> str:
        """The id of the question."""
        return self.binding[:_ID_CHARS]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "call_id": self.call_id,
            "tool": self.tool,
            "agent": self.agent,
            "chain": list(self.chain),
            "questions": [_question_dict(one) for one in self.questions],
            "binding": self.binding,
            "session": self.session,
        }

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> QuestionRequest:
        """Parse the JSON form; raises ValueError, KeyError or TypeError for anything else."""
        questions = tuple(
            ModelQuestion(
                str(one["question"]),
                str(one["header"]),
                tuple(QuestionOption(**option) for option in one["options"]),
                bool(one["multi_select"]),
            )
            for one in given["questions"]
        )
        chain = tuple(map(str, given["chain"]))
        session = str(given.get("session", ""))
        made = QuestionRequest(
            str(given["call_id"]), questions, str(given["agent"]), chain, session=session
        )
        if not questions or made.binding != given["binding"]:
            raise ValueError("it is not the question that was asked")
        return made

    @property
    def action(self) -> str:
        """The questions on one line."""
        return " · ".join(one.question for one in self.questions)


def _question_dict(question: ModelQuestion) -> dict[str, Any]:
    options = [option._asdict() for option in question.options]
    return {**asdict(question), "options": options}


class QuestionReply(NamedTuple):
    """The user's answers by question; None if the user declined to answer. `via` is how they were
    given, `who` is the user, if known.
    """

    answers: Mapping[str, str | list[str]] | None
    via: str
    who: str | None = None
    # The user ended the run instead of answering.
    aborted: bool = False

    @property
    def refuses(self) -> bool:
        """Whether the run ends."""
        return self.aborted

    def to_dict(self) -> dict[str, Any]:
        """The form that other processes read."""
        return {
            "v": ANSWER_VERSION,
            "answer": Answer.ABORT if self.aborted else Answer.NO if self.answers is None else None,
            "answers": self.answers,
            "via": self.via,
            "who": self.who,
        }

    @classmethod
    def from_dict(
        cls, given: Mapping[str, Any], request: QuestionRequest, via: str
    ) -> QuestionReply:
        """Parse a reply that another process wrote. It has no answers if the user declined, if they
        are invalid, or if the reply is for another request. `via` is the default if the reply has none.
        """
        if given.get("binding") != request.binding or given.get("v") != ANSWER_VERSION:
            return cls(None, via)
        who, listed, route = given.get("who"), given.get("answers"), given.get("via")
        answers = parse_answers(request, listed) if isinstance(listed, Mapping) else None
        return cls(
            answers or None,
            route if isinstance(route, str) else via,
            who if isinstance(who, str) else None,
            given.get("answer") == Answer.ABORT,
        )


class QuestionAsker(Protocol):
    """Asks the user, without a time limit."""

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply:
        """The user's reply; raises `needs_answer` if no user can be asked, `cancelled` if the user
        aborts the run.
        """


def parse_answers(request: QuestionRequest, given: Mapping[Any, Any]) -> dict[str, str | list[str]]:
    """Answers by the text of their question; `given` may name a question by its header. Anything
    that is not an answer to one of the questions is left out.
    """
    answers: dict[str, str | list[str]] = {}
    for one in request.questions:
        value = given.get(one.question, given.get(one.header))
        if isinstance(value, str) and value.strip():
            answers[one.question] = value.strip()[:MAX_ANSWER_CHARS]
        elif isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            chosen = [part.strip()[:MAX_ANSWER_CHARS] for part in value if part.strip()]
            if chosen:
                answers[one.question] = chosen if one.multi_select else chosen[0]
    return answers
