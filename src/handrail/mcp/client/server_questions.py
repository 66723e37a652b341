"""Passes the elicitations of a server to the user. The text names the server; the number of questions
is limited, and questions for secrets are declined.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import mcp_types as types

from handrail.core.context import ToolContext
from handrail.core.ports.questions import (
    ModelQuestion,
    QuestionAsker,
    QuestionOption,
    QuestionReply,
    QuestionRequest,
)
from handrail.core.problems import ProblemRaised
from handrail.core.text.safe_text import safe_text
from handrail.mcp.client.schema_check import argument_model

_MOST_QUESTIONS: Final = 3
_MOST_FIELDS: Final = 20
_MOST_OPTIONS: Final = 20
_MAX_MESSAGE: Final = 500
_MAX_NAME: Final = 100
_MAX_URL: Final = 2_000
_DECLINED: Final = types.ElicitResult(action="decline")
_NO_USER: Final = "no user can be asked"
_YES: Final = "Yes"
_CHOICE: Final = (QuestionOption(_YES), QuestionOption("No"))
_SECRET: Final = re.compile(
    r"pass.?(word|wort|phrase|code|wd|key)|secret|token|(api|private|access|signing).?key|credential"
    r"|(?<![a-z])(pin|otp|[2m]fa|cvv|cvc|ssn|bearer)(?![a-z])|pin.?code|one.?time.?(code|pass)"
    r"|(security|verification|recovery|login|auth\w*).?code|(seed|recovery).?phrase|mnemonic"
    r"|card.?number",
    re.IGNORECASE,
)
Answer = str | int | float | bool | list[str] | None


class FormField(NamedTuple):
    """One field of a form, and the question for it. `choices` maps the shown labels to values; empty if
    the user writes the answer.
    """

    name: str
    schema: Mapping[str, Any]
    question: ModelQuestion
    choices: Mapping[str, str]


class ServerQuestions:
    """Passes the questions of a server during one call to the user. `asker` None: no user can be asked."""

    def __init__(
        self,
        server: str,
        ctx: ToolContext,
        asker: QuestionAsker | None,
        paused: AbstractContextManager[Any],
    ) -> None:
        self._server = server
        self._ctx = ctx
        self._asker = asker
        self._paused = paused
        self._asked = 0
        self._open: set[asyncio.Future[QuestionReply]] = set()
        self._ended = False
        # The reasons why questions were declined without the user's decision, each once.
        self.declined: dict[str, None] = {}

    def end(self) -> None:
        """Withdraw the open questions, because the call has ended."""
        self._ended = True
        for asking in self._open:
            asking.cancel()

    async def answer(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        """The user's answer; a decline if no user can be asked or the question is not passed on."""
        self._asked += 1
        try:
            return _DECLINED if self._ended else await self._pass_on(params)
        except (TypeError, ValueError) as error:
            self._note_decline(safe_text(str(error)[:_MAX_MESSAGE], one_line=True))
            return _DECLINED

    async def _pass_on(self, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Ask the user; raises ValueError or TypeError with the reason if the question is declined."""
        if self._asker is None:
            raise ValueError(_NO_USER)
        if self._asked > _MOST_QUESTIONS:
            raise ValueError(f"a call may ask {_MOST_QUESTIONS} times")
        if isinstance(params, types.ElicitRequestURLParams):
            return await self._ask_to_open(params)
        fields = self._read_form(params)
        answers = await self._ask([field.question for field in fields])
        if answers is None:
            return _DECLINED
        return _fill_form(fields, answers, params.requested_schema)

    def _note_decline(self, reason: str) -> None:
        """Report why a question was declined without the user's decision."""
        if reason not in self.declined:
            self.declined[reason] = None
            self._ctx.report(f"a question of the MCP server {self._server} was declined: {reason}")

    async def _ask_to_open(self, params: types.ElicitRequestURLParams) -> types.ElicitResult:
        """Show the user a URL to open, and ask whether it was opened; only https."""
        url = safe_text(params.url, one_line=True)
        try:
            host = urlsplit(params.url).hostname if params.url == url else None
        except ValueError:
            host = None
        if host is None or not url.startswith("https://") or len(url) > _MAX_URL:
            raise ValueError("its URL is not one that can be shown and begins with https")
        text = (
            f"{self._intro(params.message)} Open {url} (host {host}) yourself; have you done that?"
        )
        answers = await self._ask([ModelQuestion(text, "URL", _CHOICE)])
        agreed = answers is not None and answers.get(text) == _YES
        return types.ElicitResult(action="accept") if agreed else _DECLINED

    def _read_form(self, params: types.ElicitRequestFormParams) -> list[FormField]:
        """The fields of a form that the user is asked for; raises ValueError if the form is not shown. A
        field that looks like a secret is left out; if it is required, the form is not shown.
        """
        intro = self._intro(params.message)
        properties = params.requested_schema.get("properties") or {}
        if not isinstance(properties, Mapping) or not all(map(_is_field, properties.values())):
            raise ValueError("it has no form")
        if any(len(name) > _MAX_NAME for name in properties):
            raise ValueError("the name of a field is too long")
        if len(properties) > _MOST_FIELDS:
            raise ValueError(f"its form has more than {_MOST_FIELDS} fields")
        if _SECRET.search(params.message[:_MAX_MESSAGE]):
            raise ValueError("it asks for a secret")
        if not properties:
            return [FormField("", {}, ModelQuestion(intro, "Confirm", _CHOICE), {})]
        fields, required = [], params.requested_schema.get("required") or ()
        for name, schema in properties.items():
            about = (str(schema.get(key, "")) for key in ("title", "description", "format"))
            shown = " ".join([name, *(part[:_MAX_MESSAGE] for part in about)])
            if not _SECRET.search(shown):
                fields.append(_field(intro, name, schema))
            elif name in required:
                raise ValueError("it asks for a secret")
        if not fields:
            raise ValueError("it asks for a secret")
        return fields

    async def _ask(self, questions: list[ModelQuestion]) -> Mapping[str, str | list[str]] | None:
        assert self._asker is not None  # noqa: S101 - for the type checker
        ctx = self._ctx
        request = QuestionRequest(
            ctx.call_id,
            tuple(questions),
            ctx.agent_id,
            (ctx.agent_id,),
            ctx.call.name,
            session=ctx.session.id,
        )
        asking = asyncio.ensure_future(self._asker.ask_questions(request))
        self._open.add(asking)
        try:
            with self._paused:
                reply = await asking
        except ProblemRaised as raised:
            if raised.problem.code != "needs_answer":
                raise
            self._note_decline(_NO_USER)
            return None
        except asyncio.CancelledError:
            if self._ended:
                return None
            raise
        finally:
            self._open.discard(asking)
        return reply.answers or None

    def _intro(self, message: str) -> str:
        text = safe_text(message[:_MAX_MESSAGE], one_line=True)
        return f"The MCP server {self._server} asks: {text}"


def _field(intro: str, name: str, schema: Mapping[str, Any]) -> FormField:
    """Return the question for a field, with the values that it offers."""
    about = str(schema.get("description") or schema.get("title") or name)
    label = safe_text(about[:_MAX_MESSAGE], one_line=True)
    text = f"{intro} {safe_text(name, one_line=True)}: {label[:200]}"
    choices = _find_choices(schema)
    if "default" in schema:
        labels = {value: label for label, value in choices.items()}
        default = schema["default"]
        named = [
            labels.get(item, item) for item in (default if isinstance(default, list) else [default])
        ]
        text += f" (default: {_shorten(', '.join(map(str, named)))})"
    options = tuple(
        QuestionOption(label, None if label == value else _shorten(value))
        for label, value in [*choices.items()][:_MOST_OPTIONS]
    )
    if schema.get("type") == "boolean":
        options = _CHOICE
    many = schema.get("type") == "array" and bool(options)
    question = ModelQuestion(text, safe_text(name[:40], one_line=True), options, multi_select=many)
    return FormField(name, schema, question, choices)


def _fill_form(
    fields: Sequence[FormField],
    answers: Mapping[str, str | list[str]],
    schema: dict[str, Any],
) -> types.ElicitResult:
    """The form with the user's answers; raises ValueError or TypeError if they are not valid."""
    if not fields[0].name:
        agreed = answers.get(fields[0].question.question) == _YES
        return types.ElicitResult(action="accept") if agreed else _DECLINED
    content: dict[str, Answer] = {}
    for field in fields:
        answer = answers.get(field.question.question)
        if answer is not None:
            content[field.name] = _convert(field, answer)
        elif "default" in field.schema:
            content[field.name] = field.schema["default"]
    argument_model("form", schema).model_validate(content)
    return types.ElicitResult(action="accept", content=content)


def _is_field(schema: Any) -> bool:
    """Return whether a value of a server is a valid schema of a field."""
    if not isinstance(schema, Mapping) or not isinstance(schema.get("items", {}), Mapping):
        return False
    default = schema.get("default")
    defaults = default if isinstance(default, list) else [default]
    plain = str if isinstance(default, list) else str | int | float | None
    return all(map(_offers_choices, (schema, schema.get("items", {})))) and all(
        isinstance(item, plain) for item in defaults
    )


def _offers_choices(schema: Mapping[str, Any]) -> bool:
    """Return whether the choices of a schema are lists of values, with or without titles."""
    texts = [schema.get(name) or [] for name in ("enum", "enumNames")]
    titled = [schema.get(name) or [] for name in ("oneOf", "anyOf")]
    return all(isinstance(choices, list) for choices in (*texts, *titled)) and all(
        isinstance(choice, Mapping) for choices in titled for choice in choices
    )


def _find_choices(schema: Mapping[str, Any]) -> dict[str, str]:
    """Shown label → value, for the values that a field offers."""
    offered = schema.get("items", {}) if schema.get("type") == "array" else schema
    values = [str(value) for value in offered.get("enum") or ()]
    titles = [str(title) for title in offered.get("enumNames") or ()]
    if not values:
        listed = offered.get("oneOf") or offered.get("anyOf") or ()
        pairs = [choice for choice in listed if "const" in choice]
        values = [str(choice["const"]) for choice in pairs]
        titles = [str(choice.get("title", choice["const"])) for choice in pairs]
    shown = [*map(_shorten, titles)]
    # Titles that are not unique cannot be used as labels.
    if len(shown) != len(values) or len({*shown}) != len(shown):
        shown = [*map(_shorten, values)]
    return dict(zip(shown, values, strict=True))


def _shorten(text: str) -> str:
    return safe_text(text[:100], one_line=True)[:100]


def _convert(field: FormField, answer: str | list[str]) -> Answer:
    """Return the answer in the type of the schema; raises ValueError if it cannot be converted."""
    kind = field.schema.get("type")
    if isinstance(answer, list) or kind == "array":
        several = answer if isinstance(answer, list) else [answer]
        return [field.choices.get(label, label) for label in several]
    if kind == "boolean":
        return answer.casefold() in ("yes", "true", "y")
    if kind == "integer":
        return int(answer)
    return float(answer) if kind == "number" else field.choices.get(answer, answer)
