"""Deletes conversations: in the store, and their files beside it."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from handrail.core.call import call_owner, is_owned
from handrail.core.names.store_location import is_store_url
from handrail.host.state.artifacts import DirectoryArtifacts
from handrail.host.state.identities import may_still_run
from handrail.host.state.state_gc import list_running_calls, remove_jobs
from handrail.host.terminal.approval_queue import QUEUE_FOLDER, queue_directory, remove_closed
from handrail.store.records.conversation_parts import ConversationIndex
from handrail.store.records.purge import PurgedConversations, purge_conversations

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from handrail.cli.workspace import Workspace


class OldConversations(NamedTuple):
    """Chooses the conversations whose last task began before a time, oldest first, up to a maximum.
    Conversations that a process works in, or whose jobs run, are kept.
    """

    before_ns: int
    running_calls: tuple[str, ...] = ()
    most: int | None = None

    def choose(self, index: ConversationIndex) -> list[str]:
        """Return the ids of the conversations."""
        over = [
            conversation
            for conversation in index.find_old(self.before_ns)
            if not self._is_used(conversation, index)
        ]
        return over[: self.most]

    def _is_used(self, conversation: str, index: ConversationIndex) -> bool:
        owner = call_owner(conversation)
        if any(is_owned(call, owner) for call in self.running_calls):
            return True
        return index.find_holder(conversation, may_still_run) is not None


def delete_conversation(place: Workspace, conversation: str) -> None:
    """Delete one conversation; raises `unavailable` if a process works in it."""
    from handrail.agent.lease import in_use_error

    def choose(index: ConversationIndex) -> list[str]:
        if (holder := index.find_holder(conversation, may_still_run)) is not None:
            raise in_use_error(conversation, holder)
        return [conversation]

    _delete(place, choose)


def delete_old_conversations(
    place: Workspace, before_ns: int, *, most: int | None = None, wait_s: float = 5.0
) -> PurgedConversations:
    """Delete conversations whose last task began before a time."""
    return _delete(place, _old(place, before_ns, most).choose, wait_s)


def count_old_conversations(place: Workspace, before_ns: int) -> int:
    """Return how many conversations `delete_old_conversations` would delete."""
    from handrail.cli.workspace import open_record

    with open_record(place) as db:
        return len(_old(place, before_ns, None).choose(ConversationIndex(db)))


def _old(place: Workspace, before_ns: int, most: int | None) -> OldConversations:
    directory = place.home.directory
    running = () if directory is None else tuple(list_running_calls(directory))
    return OldConversations(before_ns, running, most)


def _delete(
    place: Workspace,
    choose: Callable[[ConversationIndex], Collection[str]],
    wait_s: float = 5.0,
) -> PurgedConversations:
    purged = purge_conversations(place.home.store, choose, busy_timeout_s=wait_s)
    if not purged.chosen:
        return purged
    artifacts = DirectoryArtifacts(place.home.oversized)
    for name in purged.texts:
        artifacts.remove(PurePath(name).name)
    if place.home.directory is not None:
        remove_jobs(place.home.directory, purged.parts.has_call)
    _remove_closed_questions(place)
    return purged


def _remove_closed_questions(place: Workspace) -> None:
    # `gc --all` knows only the state directory of a workspace.
    alone = place.root == place.home.directory
    queue = place.root / QUEUE_FOLDER if alone else queue_directory(place.root)
    if queue.is_dir():
        remove_closed(queue)
    if is_store_url(place.home.store):
        from handrail.store.postgres.questions import remove_closed_questions

        remove_closed_questions(place.home.store, str(place.root), may_still_run)
