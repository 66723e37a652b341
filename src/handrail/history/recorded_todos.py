"""Restores the to-do list as it was before some calls, from the record of the calls that changed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from handrail.core.ports.records import CallRecord
from handrail.core.ports.todos import TodoItem, TodoList, TodoStatus

_WRITE: Final = "todo_write"
_CREATE: Final = "task_create"
_UPDATE: Final = "task_update"


def changes_todos(record: CallRecord) -> bool:
    """Whether a call may have changed the list."""
    return record.tool in (_WRITE, _CREATE, _UPDATE)


async def restore_todos(
    todos: TodoList, kept: Sequence[CallRecord], cut: Sequence[CallRecord]
) -> None:
    """Revert what the `cut` calls did to the list: items that they created are removed, other items become
    as the `kept` calls left them. Both are in the order in which the calls were made.
    """
    before: dict[str, TodoItem] = {}
    for record in kept:
        _apply(record, before)
    touched: set[str] = set()
    made: set[str] = set()
    for record in cut:
        items = {one.id for one in _changed_items(record)}
        touched |= items | {one.id for one in _replaced_items(record, before)}
        made |= items if record.tool != _UPDATE else set()
    restored = [one for one in before.values() if one.id in touched]
    removed = made | {one.id for one in restored}
    if removed:
        await todos.restore(restored, removed)


def _apply(record: CallRecord, items: dict[str, TodoItem]) -> None:
    """Apply the changes of a call to the items."""
    for one in _replaced_items(record, items):
        del items[one.id]
    for one in _changed_items(record):
        items[one.id] = one
        if one.status is TodoStatus.DELETED:
            del items[one.id]


def _replaced_items(record: CallRecord, items: Mapping[str, TodoItem]) -> Sequence[TodoItem]:
    """The items that a call replaced: all items of its agent."""
    if record.tool != _WRITE or (record.completed or {}).get("is_error", True):
        return ()
    owner = record.requested.get("agent")
    return [one for one in items.values() if one.owner == owner]


def _changed_items(record: CallRecord) -> Sequence[TodoItem]:
    """The items that a call created or changed, in their new state."""
    data: Any = (record.completed or {}).get("data")
    if not changes_todos(record) or not isinstance(data, Mapping):
        return ()
    listed = data.get("todos", ()) if record.tool == _WRITE else [data.get("task")]
    return [TodoItem.from_dict(one) for one in listed if one]
