"""The status line of a conversation: what runs and for how long, the to-do list, tokens and budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from handrail.cli.render.screen import count_noun, one_line, truncate
from handrail.core.ports.todos import TodoItem, TodoStatus

if TYPE_CHECKING:
    from handrail.agent.budget import Budget
    from handrail.core.events import Event

_MOST_TASK: Final = 30


class RunStatus:
    """Collects the content of the status line from the events of a task. `idle` is shown between
    tasks.
    """

    def __init__(
        self, budget: Budget | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._budget = budget
        self._now = now
        self._task_began: float | None = None
        # When the user was asked.
        self._wait_began: float | None = None
        # The running calls: start time and tool of each.
        self._calls: dict[str, tuple[float, str]] = {}
        self._thinks = False
        self._todos: list[TodoItem] = []
        self._tokens = 0
        self.idle = ""

    def on_event(self, event: Event) -> None:
        """Handle an event; events that are not about tasks are ignored."""
        note = getattr(self, f"_on_{event.type}", None)
        if note is not None:
            note(event)

    def text(self) -> str:
        """Return the line, without colour."""
        if self._task_began is None:
            return self.idle
        parts = [f"working {_seconds(self._now() - self._task_began)}"]
        if self._calls:
            oldest = min(self._calls.values())
            more = f" and {len(self._calls) - 1} more" if len(self._calls) > 1 else ""
            parts.append(f"{one_line(oldest[1])} {_seconds(self._now() - oldest[0])}{more}")
        elif self._thinks:
            parts.append("waiting for the model")
        if self._todos:
            parts.append(self._todo_text())
        parts.append(self._token_text())
        return " · ".join(parts)

    def end_task(self) -> None:
        """Handle the end of a task."""
        self._task_began = None
        self._calls.clear()

    def begin_wait(self) -> None:
        """Start waiting for the user: time does not count as work until `end_wait`."""
        self._wait_began = self._now()

    def end_wait(self) -> None:
        """End waiting for the user."""
        if (wait_began := self._wait_began) is None:
            return
        now, self._wait_began = self._now(), None
        if self._task_began is not None:
            self._task_began += now - max(self._task_began, wait_began)
        self._calls = {
            call: (began + now - max(began, wait_began), tool)
            for call, (began, tool) in self._calls.items()
        }

    def _todo_text(self) -> str:
        completed = sum(todo.status is TodoStatus.COMPLETED for todo in self._todos)
        current = next(
            (todo for todo in self._todos if todo.status is TodoStatus.IN_PROGRESS), None
        )
        counted = f"{completed}/{len(self._todos)}"
        if current is None:
            return f"{counted} tasks"
        return f"{counted} {truncate(one_line(current.active_form or current.content), _MOST_TASK)}"

    def _token_text(self) -> str:
        limit = None if self._budget is None else self._budget.tokens
        if limit is None:
            return count_noun(self._tokens, "token")
        return f"{self._tokens:,} of {limit:,} tokens"

    def _on_agent_start(self, event: Event) -> None:
        if not event.to_dict().get("parent"):
            self._task_began, self._tokens = self._now(), 0

    def _on_model_request(self, event: Event) -> None:
        self._thinks = True

    def _on_model_text(self, event: Event) -> None:
        self._thinks = False

    def _on_model_response(self, event: Event) -> None:
        usage = event.to_dict()["usage"]
        self._thinks = False
        self._tokens += int(usage["input"]) + int(usage["output"])

    def _on_tool_call_start(self, event: Event) -> None:
        facts = event.to_dict()
        self._calls[str(facts["call_id"])] = (self._now(), str(facts["tool"]))

    def _on_tool_call_end(self, event: Event) -> None:
        self._calls.pop(str(event.to_dict()["call_id"]), None)

    def _on_todos_changed(self, event: Event) -> None:
        self._todos = [TodoItem.from_dict(item) for item in event.to_dict()["todos"]]


def _seconds(elapsed: float) -> str:
    whole = int(elapsed)
    return f"{whole} s" if whole < 60 else f"{whole // 60}:{whole % 60:02}"
