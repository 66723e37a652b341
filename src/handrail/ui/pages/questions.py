"""The questions that wait for the user: approvals of calls, and what models ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from handrail.core.approval import ApprovalRequest
from handrail.core.ports.questions import ModelQuestion, QuestionRequest
from handrail.host.terminal.approval_queue import PendingApproval
from handrail.ui.html import Html, element, hidden_field
from handrail.ui.pages.layout import button, code_block, facts, form, shorten, time

_PREVIEW_CHARS: Final = 20_000


def render_questions(waiting: Sequence[PendingApproval], csrf: str) -> list[Html]:
    """All open questions, oldest first."""
    content = [element("h1", "Questions")]
    if not waiting:
        content.append(element("p", "No question waits for an answer."))
    return content + [render_question(one, csrf) for one in waiting]


def render_question(asked: PendingApproval, csrf: str, session: str = "") -> Html:
    """One question with the form that answers it; then the page of `session` is shown, or the list."""
    request = asked.request
    back = hidden_field("session", session)
    inner = (
        _model_questions(asked, request, csrf, back)
        if isinstance(request, QuestionRequest)
        else _approval(asked, request, csrf, back)
    )
    kind = "asks" if isinstance(request, QuestionRequest) else "approval"
    return element("article", *inner, class_=f"question {kind}", id=f"question-{asked.id}")


def _approval(
    asked: PendingApproval, request: ApprovalRequest, csrf: str, back: Html
) -> list[Html]:
    chain = " → ".join(request.chain or (request.agent,))
    parts = [
        element("h2", f"May {request.tool} run?"),
        facts(
            ("agent", chain),
            ("risk", request.risk.word),
            ("reason", request.reason),
            ("asked", time(asked.asked_ns)),
        ),
        *_preview(asked, request.action),
    ]
    if request.model_says:
        said = shorten(request.model_says, 1000)
        parts.append(element("p", f"the model says (not verified): {said}"))
    if request.preview and request.preview != request.action:
        parts += _preview(asked, request.preview)
    # Refusing is a form of its own: Enter in the field of the reason must not approve.
    reason = element("input", name="reason", placeholder="reason for a refusal", maxlength=1000)
    path = f"/questions/{asked.id}"
    parts += [
        form(
            path, csrf, back, reason, button("Refuse", "answer", "no", "danger"), class_="actions"
        ),
        form(
            path,
            csrf,
            back,
            button("Allow once", "answer", "yes", "primary"),
            _always(request),
            button("Abort the run", "answer", "abort"),
            class_="actions",
        ),
    ]
    return parts


def _preview(asked: PendingApproval, preview: str) -> Iterator[Html]:
    """The preview, or its beginning and a link to all of it."""
    kind = "diff" if preview.startswith(("---", "diff ", "@@")) else ""
    yield code_block(preview[:_PREVIEW_CHARS], kind)
    if len(preview) > _PREVIEW_CHARS:
        more = f"{len(preview) - _PREVIEW_CHARS:,} more characters are not shown here: "
        link = element("a", "show all", href=f"/questions/{asked.id}")
        yield element("p", more, link, class_="problem")


def render_full_preview(asked: PendingApproval) -> list[Html]:
    """Everything that an approval would allow."""
    request = asked.request
    if isinstance(request, QuestionRequest):
        return [element("h1", "Questions"), code_block(request.action)]
    kind = "diff" if request.preview.startswith(("---", "diff ", "@@")) else ""
    return [
        element("h1", f"May {request.tool} run?"),
        code_block(request.action),
        code_block(request.preview, kind),
        element("p", element("a", "back to the questions", href="/questions")),
    ]


def _always(request: ApprovalRequest) -> Html | None:
    if request.always is None:
        return None
    return element(
        "span",
        button("Allow for the session", "answer", "always"),
        element("code", request.always),
    )


def _model_questions(
    asked: PendingApproval, request: QuestionRequest, csrf: str, back: Html
) -> list[Html]:
    chain = " → ".join(request.chain)
    fields = [_fields(number, one) for number, one in enumerate(request.questions)]
    return [
        element("h2", "The model asks"),
        facts(("agent", chain), ("asked", time(asked.asked_ns))),
        element("p", "Your answer goes to the model and into the record. It approves nothing."),
        form(
            f"/questions/{asked.id}",
            csrf,
            back,
            *fields,
            button("Answer", "answer", "answer", "primary"),
            button("Decline", "answer", "no"),
        ),
    ]


def _fields(number: int, one: ModelQuestion) -> Html:
    kind = "checkbox" if one.multi_select else "radio"
    options = [
        element(
            "label",
            element("input", type=kind, name=_option_name(number, place, one), value=option.label),
            element("span", option.label),
            element("span", option.description, class_="small") if option.description else None,
        )
        for place, option in enumerate(one.options)
    ]
    own = element("input", name=f"text-{number}", placeholder="or your own words", maxlength=2000)
    return element("fieldset", element("legend", one.question), *options, own)


def _option_name(number: int, place: int, one: ModelQuestion) -> str:
    return f"option-{number}-{place}" if one.multi_select else f"option-{number}"


def read_answers(request: QuestionRequest, given: dict[str, str]) -> dict[str, str | list[str]]:
    """The answers in a submitted form, by question; own words count before options."""
    answers: dict[str, str | list[str]] = {}
    for number, one in enumerate(request.questions):
        own = given.get(f"text-{number}", "").strip()
        if own:
            answers[one.question] = own
        elif one.multi_select:
            names = [_option_name(number, place, one) for place in range(len(one.options))]
            if chosen := [given[name] for name in names if name in given]:
                answers[one.question] = chosen
        elif chosen_one := given.get(f"option-{number}"):
            answers[one.question] = chosen_one
    return answers
