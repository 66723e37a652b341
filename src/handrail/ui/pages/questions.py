"""The open questions to the user: approvals of calls, and questions of models."""

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
    """Return all open questions, oldest first."""
    content = [element("h1", "Questions")]
    if not waiting:
        content.append(element("p", "No question waits for an answer."))
    return content + [render_question(approval, csrf) for approval in waiting]


def render_question(approval: PendingApproval, csrf: str, session: str = "") -> Html:
    """One question with its form; after the answer, the page of `session` or the list is shown."""
    request = approval.request
    back = hidden_field("session", session)
    inner = (
        _model_questions(approval, request, csrf, back)
        if isinstance(request, QuestionRequest)
        else _approval(approval, request, csrf, back)
    )
    kind = "asks" if isinstance(request, QuestionRequest) else "approval"
    return element("article", *inner, class_=f"question {kind}", id=f"question-{approval.id}")


def _approval(
    approval: PendingApproval, request: ApprovalRequest, csrf: str, back: Html
) -> list[Html]:
    chain = " → ".join(request.chain or (request.agent,))
    parts = [
        element("h2", f"May {request.tool} run?"),
        facts(
            ("agent", chain),
            ("risk", request.risk.word),
            ("reason", request.reason),
            ("asked", time(approval.asked_ns)),
        ),
        *_preview(approval, request.action),
    ]
    if request.model_says:
        statement = shorten(request.model_says, 1000)
        parts.append(element("p", f"the model says (not verified): {statement}"))
    if request.preview and request.preview != request.action:
        parts += _preview(approval, request.preview)
    # Refusal is a separate form: Enter in the field of the reason must not approve.
    reason = element("input", name="reason", placeholder="reason for a refusal", maxlength=1000)
    path = f"/questions/{approval.id}"
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


def _preview(approval: PendingApproval, preview: str) -> Iterator[Html]:
    """Yield the preview, or its beginning and a link to all of it."""
    kind = "diff" if preview.startswith(("---", "diff ", "@@")) else ""
    yield code_block(preview[:_PREVIEW_CHARS], kind)
    if len(preview) > _PREVIEW_CHARS:
        more = f"{len(preview) - _PREVIEW_CHARS:,} more characters are not shown here: "
        link = element("a", "show all", href=f"/questions/{approval.id}")
        yield element("p", more, link, class_="problem")


def render_full_preview(approval: PendingApproval) -> list[Html]:
    """Return everything that an approval would allow."""
    request = approval.request
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
    approval: PendingApproval, request: QuestionRequest, csrf: str, back: Html
) -> list[Html]:
    chain = " → ".join(request.chain)
    fields = [_fields(number, question) for number, question in enumerate(request.questions)]
    return [
        element("h2", "The model asks"),
        facts(("agent", chain), ("asked", time(approval.asked_ns))),
        element("p", "Your answer goes to the model and into the record. It approves nothing."),
        form(
            f"/questions/{approval.id}",
            csrf,
            back,
            *fields,
            button("Answer", "answer", "answer", "primary"),
            button("Decline", "answer", "no"),
        ),
    ]


def _fields(number: int, question: ModelQuestion) -> Html:
    kind = "checkbox" if question.multi_select else "radio"
    options = [
        element(
            "label",
            element(
                "input", type=kind, name=_option_name(number, place, question), value=option.label
            ),
            element("span", option.label),
            element("span", option.description, class_="small") if option.description else None,
        )
        for place, option in enumerate(question.options)
    ]
    free_text = element(
        "input", name=f"text-{number}", placeholder="or your own words", maxlength=2000
    )
    return element("fieldset", element("legend", question.question), *options, free_text)


def _option_name(number: int, place: int, question: ModelQuestion) -> str:
    return f"option-{number}-{place}" if question.multi_select else f"option-{number}"


def read_answers(request: QuestionRequest, form: dict[str, str]) -> dict[str, str | list[str]]:
    """Return the answers in a submitted form, by question; free text takes precedence over options."""
    answers: dict[str, str | list[str]] = {}
    for number, question in enumerate(request.questions):
        free_text = form.get(f"text-{number}", "").strip()
        if free_text:
            answers[question.question] = free_text
        elif question.multi_select:
            names = [
                _option_name(number, place, question) for place in range(len(question.options))
            ]
            if chosen := [form[name] for name in names if name in form]:
                answers[question.question] = chosen
        elif option := form.get(f"option-{number}"):
            answers[question.question] = option
    return answers
