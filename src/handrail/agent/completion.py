"""The start and the end of a task: the user's message, quality gates, the form of the answer, its
links, and whether a user was needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from handrail.agent import messages
from handrail.agent.conversation import Conversation
from handrail.agent.events import AgentEnded, Notification
from handrail.agent.loop import StepLoop, TaskEnd, end_with
from handrail.core.agent_results import AgentReport, AgentResult
from handrail.core.ports.models import Block, Message, TextBlock
from handrail.engine.runtime import Runtime
from handrail.policy.guardrails.gates import gate_feedback

# How often a model that cannot satisfy a gate is asked.
_MAX_ROUNDS: Final = 3
# Problems of calls that a user could have allowed.
_UNASKED: Final = ("needs_approval", "needs_answer")
_TITLE_CHARS: Final = 80
# How many tasks can be undone one after the other.
_MAX_TASKS: Final = 100
_RESUMED: Final = "Continue with the task. Calls that were refused because no user could be asked may be made again."

_FENCE: Final = "```"
_MAX_ERRORS: Final = 10
_IN_LINK: Final = r"[^\s<>\"'`)\]\\|]"
# The address of an IPv6 host is in brackets.
_LINK: Final = re.compile(
    rf"(?:https?:)?//(?:(?:[^\s<>\"'`)\]\\|/@]*@)?\[[\da-f:.]+\]{_IN_LINK}*|{_IN_LINK}+)",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"(?<=\[)[\da-f:.]+(?=\])|[\w.-]+")
_MAX_LINKS: Final = 20
_MAX_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class StructuredOutput:
    """Parses the last message of a task as JSON of a type."""

    REPAIRS: ClassVar[int] = 2

    type: Any

    def extend(self, task: Message) -> Message:
        """Return the task with the form of the answer appended."""
        schema = json.dumps(TypeAdapter(self.type).json_schema(), ensure_ascii=False)
        text = (
            "\n\nWhen the work is done, your last message must be one JSON value and nothing else, "
            f"valid against this JSON Schema:\n{schema}"
        )
        return Message(task.role, (*task.blocks, TextBlock(text)), task.raw)

    def read(self, text: str) -> tuple[Any, str | None]:
        """Return the value and None, or None and the error in the answer, for the model."""
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(self.type)
            return adapter.validate_json(_without_fence(text)), None
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_input=False)[:_MAX_ERRORS]
            lines = [
                f"- {'.'.join(map(str, item['loc'])) or 'value'}: {item['msg']}" for item in wrong
            ]
            listed = "\n".join(lines)
            return None, f"Your last message is not valid JSON of the requested form:\n{listed}"


class QualityGates:
    """Runs the quality gates of one task, a limited number of times."""

    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._rounds = 0

    async def feedback(self) -> str | None:
        """The feedback of the gates for the model; None if they pass or were run often enough."""
        if self._rounds >= _MAX_ROUNDS:
            return None
        self._rounds += 1
        return gate_feedback(await self._rt.run_quality_gates())


def begin_task(
    rt: Runtime,
    conversation: Conversation,
    message: Message | None,
    structured: StructuredOutput | None,
) -> str:
    """Append the user's message, if there is a new one, and return the task as text."""
    title = str(conversation.state.get("title", ""))
    if message is None:
        if conversation.entries and conversation.entries[-1].message.role == "assistant":
            conversation.append(Message("user", (TextBlock(_RESUMED),)), conversation.turn)
        # Retention counts from now.
        conversation.update(at_ns=rt.agent_services.clock.now_ns())
        return title
    extended = message if structured is None else structured.extend(message)
    before = conversation.turn
    conversation.append(extended, before)
    conversation.update(
        unfinished=True,
        tasks=[*conversation.task_turns[-_MAX_TASKS:], before],
        title=title or task_title(message.text),
        at_ns=rt.agent_services.clock.now_ns(),
        secrets_shown=rt.session.secrets_shown,
    )
    return message.text


def task_title(text: str) -> str:
    """Return the title of a task for lists: its first line, without the files it mentions and any
    input after it.
    """
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:_TITLE_CHARS]


async def finish_task(loop: StepLoop, structured: StructuredOutput | None) -> tuple[TaskEnd, Any]:
    """Run the steps, and again with feedback while quality gates fail or the answer does not have
    the requested form.
    """
    gates = QualityGates(loop.turns.rt)
    rounds = 0
    while True:
        end = await loop.run()
        if end.problem is not None:
            return end, None
        feedback = await gates.feedback()
        value: Any = None
        if feedback is None and structured is not None:
            value, feedback = structured.read(end.text)
            if feedback is not None and (rounds := rounds + 1) > structured.REPAIRS:
                problem = messages.OUTPUT_INVALID.fill(rounds=rounds, reason=feedback)
                return end_with(problem, end.text), None
        if feedback is None:
            return end, value
        loop.conversation.append(Message("user", (TextBlock(feedback),)), loop.conversation.turn)


def check_user_needed(end: TaskEnd, report: AgentReport, before: int) -> TaskEnd:
    """The end of a task in which calls were refused because no user could be asked: that takes
    precedence over every limit. The `before` calls that were refused before a resume do not count.
    """
    unasked = count_unasked(report) - before
    if unasked <= 0 or end.status not in ("done", "budget", "max_steps"):
        return end
    problem = messages.USER_NEEDED.fill(count=unasked)
    return TaskEnd(end.text, problem, "needs_person")


def count_unasked(report: AgentReport) -> int:
    """Return how many calls of the agent and of those below it were refused because no user could
    be asked.
    """
    count = sum(refusal.code in _UNASKED for refusal in report.refused)
    return count + sum(count_unasked(child) for child in report.children)


async def end_task(loop: StepLoop, end: TaskEnd, value: Any) -> AgentResult:
    """Store how the task ended, report it, and return the result."""
    conversation, usage, emit = loop.conversation, loop.meter.usage, loop.emit
    report = loop.report.build()
    loop.meter.end()
    conversation.update(unfinished=end.problem is not None, spent=loop.meter.spent())
    await conversation.flush()
    result = AgentResult(
        end.text,
        end.status,
        conversation.id,
        conversation.turn_count,
        usage,
        report,
        value,
        end.problem,
        foreign_links(end.text, conversation.user_texts),
    )
    if result.foreign_links:
        listed = ", ".join(result.foreign_links)
        emit(Notification("foreign_links", f"links to hosts that you have not named: {listed}"))
    await loop.run_hooks("agent_complete", completion_facts(result))
    facts = result.report.to_dict()
    emit(
        AgentEnded(
            loop.agent, result.status, result.turns, usage.to_dict(), facts, result.to_dict()
        )
    )
    return result


def completion_facts(result: AgentResult) -> dict[str, str]:
    """Return the facts for hooks of `agent_complete`."""
    return {
        "agent_session": result.session,
        "status": result.status,
        "turns": str(result.turns),
        "files_changed": str(len(result.report.changes)),
        "tokens": str(result.usage.tokens),
    }


def user_message(task: str | Sequence[Block]) -> Message:
    """Return a task as a message of the user; raises `invalid_arguments` if it is empty."""
    blocks = (TextBlock(task),) if isinstance(task, str) else tuple(task)
    if not any(isinstance(block, TextBlock) and block.text.strip() for block in blocks):
        raise messages.EMPTY_TASK.error(field="task")
    return Message("user", blocks)


def foreign_links(text: str, user_texts: Iterable[str]) -> tuple[str, ...]:
    """The first links of the text whose host is in no link or word of the user: a page that shows
    the answer may load an image from such a link, and its URL may contain data of the workspace.
    """
    user_words = {word for text in user_texts for word in _WORD.findall(text.casefold())}
    links: dict[str, None] = {}
    for link in _LINK.findall(text):
        host = _link_host(link)
        if host and host not in user_words:
            links[link[:_MAX_CHARS]] = None
        if len(links) == _MAX_LINKS:
            break
    return tuple(links)


def _without_fence(text: str) -> str:
    """Return the text without its code fence, if all of it is in one."""
    text = text.strip()
    if not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return text
    label, newline, inner = text[len(_FENCE) : -len(_FENCE)].partition("\n")
    return inner.strip() if newline and label.strip() in ("", "json") else text


def _link_host(link: str) -> str:
    """Return the host of a link, empty if it has none: `// a comment` is not a link."""
    try:
        host = (urlsplit(link).hostname or "").rstrip(".")
    except ValueError:
        return ""
    return host if "." in host or ":" in host or host == "localhost" else ""
