"""The to-do list of a session, kept in the store as one value, so that every change is atomic."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from handrail.core.ports.records import Store
from handrail.core.ports.todos import (
    MAX_TODOS,
    TODOS_KEY,
    TodoChange,
    TodoDraft,
    TodoItem,
    TodoStatus,
    format_todos,
)
from handrail.core.text.safe_text import safe_text
from handrail.engine import messages


class StoredTodos:
    """The list of one session. Calls of tools hold a lock between processes; the list is loaded
    inside it, so that processes that share a session do not overwrite each other's items.
    """

    def __init__(self, session: str, store: Store) -> None:
        self._session = session
        self._store = store
        self._changing = asyncio.Lock()

    async def items(self) -> Sequence[TodoItem]:
        """All items in the order in which they were added."""
        return (await self._load())[0]

    async def find(self, id: str) -> TodoItem:
        """The item with this id; raises `not_found`."""
        return _find(id, await self.items())

    async def replace(self, owner: str, drafts: Sequence[TodoDraft]) -> Sequence[TodoItem]:
        """Replace all items of an owner at once; return the items of that owner."""
        async with self._changing:
            items, last = await self._load()
            kept = [one for one in items if one.owner != owner]
            new = [_item(str(last + n), owner, draft) for n, draft in enumerate(drafts, 1)]
            await self._save(items, [*kept, *new], last + len(new))
            return new

    async def add(self, owner: str, draft: TodoDraft) -> TodoItem:
        """Add an item at the end."""
        async with self._changing:
            items, last = await self._load()
            new = _item(str(last + 1), owner, draft)
            await self._save(items, [*items, new], last + 1)
            return new

    async def change(self, id: str, change: TodoChange) -> TodoItem:
        """Change an item; raises `not_found`."""
        async with self._changing:
            items, last = await self._load()
            old = _find(id, items)
            given = {name: value for name, value in change._asdict().items() if value is not None}
            new = replace(old, **_cleaned(given))
            now = [new if one.id == id else one for one in items]
            if new.status is TodoStatus.DELETED:
                now = [one for one in now if one.id != id]
            await self._save(items, now, last)
            return new

    async def restore(self, items: Sequence[TodoItem], removed: Collection[str]) -> None:
        """Remove the items with these ids, and restore items. An item that was in progress becomes
        pending if its owner works on another one now.
        """
        async with self._changing:
            old, last = await self._load()
            kept = [one for one in old if one.id not in removed]
            at_work = {one.owner for one in kept if one.status is TodoStatus.IN_PROGRESS}
            waiting = [
                replace(one, status=TodoStatus.PENDING)
                if one.status is TodoStatus.IN_PROGRESS and one.owner in at_work
                else one
                for one in items
            ]
            new = sorted([*kept, *waiting], key=lambda one: int(one.id))
            await self._save(old, new, last)

    async def _load(self) -> tuple[list[TodoItem], int]:
        kept = (await self._store.load_state(self._session)).get(TODOS_KEY)
        if kept is None:
            return [], 0
        return [TodoItem.from_dict(one) for one in kept["items"]], kept["last"]

    async def _save(self, old: Sequence[TodoItem], new: Sequence[TodoItem], last: int) -> None:
        """Save the new list; raises `conflict` or `too_large`."""
        working = [one for one in new if one.status is TodoStatus.IN_PROGRESS]
        shown = format_todos(old)
        for one in working:
            if sum(other.owner == one.owner for other in working) > 1:
                raise messages.TWO_TODOS_IN_PROGRESS.error(owner=one.owner, todos=shown)
        if len(new) > MAX_TODOS:
            raise messages.TOO_MANY_TODOS.error(limit=MAX_TODOS, todos=shown)
        value = {"items": [one.to_dict() for one in new], "last": last}
        self._store.save_state(self._session, TODOS_KEY, value)
        await self._store.flush()


def _find(id: str, items: Sequence[TodoItem]) -> TodoItem:
    found = next((one for one in items if one.id == id), None)
    if found is None:
        raise messages.NO_SUCH_TODO.error(id=id, todos=format_todos(items), field="task")
    return found


def _item(id: str, owner: str, draft: TodoDraft) -> TodoItem:
    texts = {"content": draft.content, "active_form": draft.active_form}
    cleaned = _cleaned({**texts, "description": draft.description})
    return TodoItem(id=id, owner=owner, status=draft.status, **cleaned)


def _cleaned(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with texts on one line and without control characters."""
    return {
        name: safe_text(value, one_line=name != "description").strip()
        if isinstance(value, str) and not isinstance(value, TodoStatus)
        else value
        for name, value in values.items()
    }
