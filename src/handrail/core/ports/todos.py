"""The to-do list of a session: its values, and the protocol of its storage."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple, Protocol

# The key under which the list is stored with its session.
TODOS_KEY: Final = "todos"
# Limits of one list: it is shown to models again after their context was compacted.
MAX_TODOS: Final = 200
MAX_TODO_CHARS: Final = 500
MAX_DETAIL_CHARS: Final = 2_000


class TodoStatus(StrEnum):
    """How far an item is. A deleted item is removed from the list."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class TodoItem:
    """One item. `owner` is the agent that works on it; `active_form` describes the work while it
    is in progress.
    """

    id: str
    content: str
    status: TodoStatus
    owner: str
    active_form: str | None = None
    description: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {**asdict(self), "status": self.status.value}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> TodoItem:
        """Parse the JSON form; raises KeyError, TypeError or ValueError for anything else."""
        return cls(**{**value, "status": TodoStatus(value["status"])})


class TodoDraft(NamedTuple):
    """An item before it has an id and an owner."""

    content: str
    status: TodoStatus = TodoStatus.PENDING
    active_form: str | None = None
    description: str | None = None


class TodoChange(NamedTuple):
    """New values of an item; None leaves a value as it is."""

    status: TodoStatus | None = None
    content: str | None = None
    description: str | None = None
    active_form: str | None = None
    owner: str | None = None


class TodoList(Protocol):
    """The one list of a session, shared by its agents. At most one item of each owner is in
    progress; a change that would break this raises `conflict` and changes nothing.
    """

    async def items(self) -> Sequence[TodoItem]:
        """All items in the order in which they were added."""

    async def replace(self, owner: str, drafts: Sequence[TodoDraft]) -> Sequence[TodoItem]:
        """Replace all items of an owner at once; returns the items of that owner."""

    async def add(self, owner: str, draft: TodoDraft) -> TodoItem:
        """Add an item at the end."""

    async def change(self, id: str, change: TodoChange) -> TodoItem:
        """Change an item; raises `not_found`."""

    async def restore(self, items: Sequence[TodoItem], removed: Collection[str]) -> None:
        """Remove the items with the ids of `removed`, and add `items` with the ids that they had."""

    async def find(self, id: str) -> TodoItem:
        """The item with this id; raises `not_found`."""


_MARKS: Final = {
    TodoStatus.PENDING: "[ ]",
    TodoStatus.IN_PROGRESS: "[>]",
    TodoStatus.COMPLETED: "[x]",
}


def format_todos(items: Sequence[TodoItem], *, owners: bool = False) -> str:
    """The items, one per line, with their ids."""
    lines = []
    for one in items:
        owner = f" ({one.owner})" if owners else ""
        lines.append(f"{_MARKS[one.status]} {one.id}. {one.content}{owner}")
    return "\n".join(lines) or "(the list is empty)"
