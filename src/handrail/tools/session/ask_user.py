"""Ask the user questions with options."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from handrail.core.arguments.params import Params
from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, writing
from handrail.core.ports.questions import (
    ModelQuestion,
    QuestionAsker,
    QuestionOption,
    QuestionRequest,
)
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.tools._lib.tool_base import STRING, Builtin, object_schema


def _check_visible(text: str) -> str:
    if safe_text(text, one_line=True) != text:
        raise ValueError("has a line break, or a control or invisible character")
    return text


Line = Annotated[str, AfterValidator(_check_visible)]


class AskedOption(Params):
    label: Line = Field(min_length=1, max_length=100)
    description: Line | None = Field(None, max_length=300)


class AskedQuestion(Params):
    question: Line = Field(min_length=1, max_length=500)
    header: Line = Field(min_length=1, max_length=30, description="A word or two about it.")
    options: list[AskedOption] = Field(min_length=2, max_length=4)
    multi_select: bool = Field(False, description="Several options may be chosen.")


class AskUserParams(Params):
    questions: list[AskedQuestion] = Field(
        min_length=1, max_length=4, description="What only the user can decide."
    )


class AskUser(Builtin[AskUserParams]):
    name = "ask_user"
    summary = "Ask the user questions with options."
    params = AskUserParams
    # An answer grants no permission.
    always_safe = True
    effects = Effects.SESSION
    traits = ToolTraits(hidden_by_default=True)
    group = Group.META
    # No time limit for the user.
    timeout_s = None
    output_schema = object_schema(question_id=STRING, answers={"type": "object"})

    def __init__(self, asker: QuestionAsker | None) -> None:
        self._asker = asker

    def enabled(self, session: Session) -> bool:
        del session
        return self._asker is not None

    def footprint(self, args: AskUserParams) -> Footprint:
        """Return a footprint that allows one asking call at a time."""
        del args
        return writing("session:person")

    async def preflight(self, args: AskUserParams, ctx: ToolContext) -> None:
        """Raise a problem for questions or options that look the same."""
        del ctx
        texts = [question.question for question in args.questions]
        options = [[option.label for option in question.options] for question in args.questions]
        if any(len(set(names)) < len(names) for names in (texts, *options)):
            raise ProblemRaised(
                "invalid_arguments",
                "two questions or two options of one question have the same text",
                hint="give each its own text",
                field="questions",
            )

    async def run(self, args: AskUserParams, ctx: ToolContext) -> Output:
        """Return the user's answers; raises `needs_answer` if no user can be asked."""
        if self._asker is None:
            raise ProblemRaised("unavailable", "questions cannot be asked here")
        questions = tuple(
            ModelQuestion(
                question.question,
                question.header,
                tuple(
                    QuestionOption(option.label, option.description) for option in question.options
                ),
                question.multi_select,
            )
            for question in args.questions
        )
        request = QuestionRequest(
            ctx.call_id,
            questions,
            ctx.agent_id,
            ctx.chain or (ctx.agent_id,),
            session=ctx.session.id,
        )
        reply = await self._asker.ask_questions(request)
        answers = dict(reply.answers or {})
        data = {"question_id": request.id, "answers": answers}
        meta = {"answered_by": {"via": reply.via, "who": reply.who}}
        if not answers:
            return Output("The user declined to answer.", data=data, meta=meta)
        lines = ["The user answered:"]
        for question in questions:
            answer = answers.get(question.question, "(no answer)")
            lines.append(
                f"{question.question} {answer if isinstance(answer, str) else ', '.join(answer)}"
            )
        return Output("\n".join(lines), data=data, meta=meta)
