"""Returns to an earlier turn of a conversation, with the files, or forks a new conversation from
it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

from handrail.agent import messages
from handrail.agent.conversation import Conversation
from handrail.agent.projection import find_results, path_argument
from handrail.core.call import is_under, reader_name
from handrail.core.effects import Effects
from handrail.core.places import shown
from handrail.core.ports.agents import ForkedWorkspace
from handrail.core.ports.models import Message, TextBlock
from handrail.core.ports.records import CallRecord, Store
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.core.text.listing import first_few
from handrail.engine.runtime import Runtime
from handrail.history.recorded_todos import changes_todos, restore_todos

_FORKED: Final = (
    "This conversation continues from an earlier point of another one. These files may have changed "
    "since then; read them again: {paths}"
)
_COPIED: Final = (
    "This conversation continues in a copy of the workspace: {directory}. The files there are as they "
    "were at this point; absolute paths in earlier messages lead to the original."
)
_LEFT_OUT: Final = "Not copied: {paths}"
_NOT_REVERTED: Final = "Not as at this point: {notes}"
_MOST_NAMED: Final = 20
_NOTHING_UNDONE: Final = ("not_found", "already_applied")
_MOST_CALLS: Final = 10_000


class Rewind(NamedTuple):
    """The effect of a rewind. `lasting` are calls of the cut turns whose effects cannot be undone,
    such as requests over the network: the tool and the id of each. `not_reverted` has a sentence
    for each file or call without stored old content.
    """

    turn: int
    changes: tuple[str, ...] = ()
    lasting: tuple[tuple[str, str], ...] = ()
    not_reverted: tuple[str, ...] = ()


class CutCalls(NamedTuple):
    """The calls of a conversation after a turn, and their records and those of the subagents that
    they have started or continued, oldest first.
    """

    ids: frozenset[str]
    records: Sequence[CallRecord]

    def contains(self, call_id: str) -> bool:
        """Return whether a call is one of these, or of a subagent of one of them."""
        return is_under(call_id, self.ids)


class ConversationRewinder:
    """Rewinds one conversation of an idle agent, or forks it from a turn."""

    def __init__(self, rt: Runtime, agent: str, conversation: Conversation) -> None:
        self._rt = rt
        self._agent = agent
        self._conversation = conversation

    def _lasting_effects(self, calls: Sequence[CallRecord]) -> tuple[tuple[str, str], ...]:
        """Return the calls whose effects remain after a rewind."""
        lasting = []
        for record in calls:
            tool = str((record.completed or {}).get("tool", record.requested.get("tool", "")))
            entry = self._rt.registry.find(tool)
            effects = None if entry is None else entry.effects
            lasts = effects is None or bool(effects & Effects.NETWORK)
            if lasts and record.completed and not record.completed["is_error"]:
                lasting.append((tool, record.call_id))
        return tuple(lasting)

    async def describe_lasting(self, turn: int) -> str:
        """Return the calls after a turn whose effects remain, as text; empty if there are none."""
        effects = self._lasting_effects((await self.find_cut(turn)).records)
        listed = [f"{tool} ({call})" for tool, call in effects]
        return f"effects that cannot be undone: {', '.join(listed)}" if listed else ""

    async def run(self, turn: int, *, force: bool) -> Rewind:
        """Undo the changes of later turns, end what they have started, and cut them off. Raises
        `conflict` with the files that others have changed since; files and conversation are
        unchanged then, but the subagents and jobs of later turns have ended.
        """
        conversation = self._conversation
        check_turn(conversation, turn)
        cut = await self.find_cut(turn)
        # First, so that they change nothing more.
        await self._end_work(cut)
        since = f"{conversation.call_owner}>{turn}"
        undone = await self._rt.undo(since=since, force=force)
        if undone.problem is not None and undone.problem.code not in _NOTHING_UNDONE:
            raise ProblemRaised.of(undone.problem)
        await self._revoke_grants(cut)
        await self._restore_todos(cut)
        self._forget_reads(turn)
        conversation.cut(turn)
        conversation.update(unfinished=False)
        await conversation.flush()
        changes = tuple(change.path for change in undone.changes)
        lasting = self._lasting_effects(cut.records)
        return Rewind(turn, changes, lasting, _not_reverted(undone, cut.records))

    async def adopt(self, stored: Conversation) -> None:
        """End in this process what belongs to turns that others have cut off in the stored
        conversation; the files are not touched.
        """
        pairs = zip(self._conversation.numbers, stored.numbers, strict=False)
        common = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
        if common == len(self._conversation.entries):
            return
        turn = self._conversation.entries[common - 1].turn if common else 0
        cut = await self.find_cut(turn)
        await self._end_work(cut)
        await self._revoke_grants(cut)
        if common == len(stored.entries):
            await self._restore_todos(cut)
        self._forget_reads(turn)

    async def fork(self, id: str, turn: int, copy: ForkedWorkspace | None = None) -> Conversation:
        """Return a conversation with a new id and the entries up to the end of a turn, in the
        workspace or in a copy of it. Its last message describes the differences.
        """
        original = self._conversation
        forked = original.copy_to(id, turn, None if copy is None else copy.runtime.store)
        forked.update(
            title=str(original.state.get("title", "")) if forked.entries else "",
            at_ns=self._rt.agent_services.clock.now_ns(),
            unfinished=False,
            model=original.model,
            secrets_shown=bool(original.state.get("secrets_shown")),
        )
        later = (await self.find_cut(turn)).records
        note = _copy_note(later, copy) if copy else _changes_note(later)
        if note:
            forked.append(Message("user", (TextBlock(note),)), forked.turn)
        await forked.flush()
        return forked

    async def find_cut(self, turn: int) -> CutCalls:
        """Return the recorded calls after a turn."""
        conversation = self._conversation
        agents = self._rt.agent_services.subagents.value
        await agents.adopt(conversation.id, conversation.sessions)
        ids = frozenset(_call_ids(conversation, turn))
        cut = CutCalls(ids, ())
        started = [state.id for state in agents.states() if cut.contains(state.call_id)]
        subagent_calls = await self._load_calls(started)
        own_calls = await load_calls_after(conversation, self._rt.store, turn)
        records = [*own_calls, *(call for call in subagent_calls if cut.contains(call.call_id))]
        return CutCalls(ids, sorted(records, key=lambda call: call.requested_ns))

    async def _load_calls(self, agents: Sequence[str]) -> list[CallRecord]:
        pages = [await self._rt.store.calls(agent=agent, limit=_MOST_CALLS) for agent in agents]
        return [record for page in pages for record in page]

    async def _restore_todos(self, cut: CutCalls) -> None:
        """Restore the to-do list to what the remaining calls have written."""
        if not any(map(changes_todos, cut.records)):
            return
        agents = self._rt.agent_services.subagents.value
        own_calls = await load_calls_after(self._conversation, self._rt.store, -1)
        calls = [*own_calls, *await self._load_calls([state.id for state in agents.states()])]
        ids = frozenset(_call_ids(self._conversation, -1)) - cut.ids
        remaining = [call for call in calls if is_under(call.call_id, ids)]
        remaining.sort(key=lambda call: call.requested_ns)
        await restore_todos(self._rt.todos, remaining, cut.records)

    async def _end_work(self, cut: CutCalls) -> None:
        """End the subagents and jobs that cut calls have started."""
        await self._rt.agent_services.subagents.value.end_started(cut.contains)
        for record in cut.records:
            data = (record.completed or {}).get("data")
            if isinstance(data, dict) and "job" in data:
                await self._rt.jobs.revoke(record.call_id)

    async def _revoke_grants(self, cut: CutCalls) -> None:
        """Revoke grants from questions of cut calls, and cut off the turns that cut calls have
        added to conversations of subagents.
        """
        await self._rt.agent_services.subagents.value.cut_continued(cut.contains)
        for record in cut.records:
            answered = (record.completed or {}).get("answered_by")
            if isinstance(answered, dict) and "rule" in answered:
                self._rt.grants.revoke(str(answered["rule"]))

    def _forget_reads(self, turn: int) -> None:
        """Forget the reads of files that a cut turn has read or written."""
        reader = reader_name(self._agent, self._conversation.id)
        state = self._rt.session.read_states.for_agent(reader)
        root = self._rt.session.roots[0]
        for place in find_results(self._conversation.entries):
            path = path_argument(place)
            if path is not None and self._conversation.entries[place.entry].turn > turn:
                state.forget(posixpath.normpath(posixpath.join(root, path)))


async def load_calls_after(conversation: Conversation, store: Store, turn: int) -> list[CallRecord]:
    """Return the records of the calls after a turn."""
    ids = _call_ids(conversation, turn)
    loaded = [await store.calls(call_id=call_id, limit=1) for call_id in ids]
    return [records[0] for records in loaded if records]


def _call_ids(conversation: Conversation, turn: int) -> list[str]:
    """Return the ids of the calls after a turn."""
    later = [entry for entry in conversation.entries if entry.turn > turn]
    return [call_id for entry in later for _, call_id in entry.call_ids]


def changed_paths(calls: Sequence[CallRecord]) -> Iterator[str]:
    """Yield the files that calls have changed, including commands."""
    for completed in (call.completed or {} for call in calls):
        yield from (str(change[0]) for change in completed.get("changes") or ())
        effects = completed.get("effects") or {}
        for described in (*effects.get("changes", ()), *effects.get("unattributed", ())):
            yield str(described["path"])


def may_have_changed_files(calls: Sequence[CallRecord]) -> bool:
    """Return whether one of the calls has changed files, or was a command with unknown effects."""
    results = [call.completed or {} for call in calls]
    return any(call.get("changes") or _has_effects(call.get("effects") or {}) for call in results)


def _has_effects(effects: Mapping[str, Any]) -> bool:
    """Return whether a command has changed files, or may have changed files unobserved."""
    changed = effects.get("changes") or effects.get("unattributed")
    return bool(changed or effects.get("undo", "full") != "full")


def _not_reverted(undone: ToolResult, cut: Sequence[CallRecord]) -> tuple[str, ...]:
    if undone.problem is not None:
        return (undone.problem.message,) if may_have_changed_files(cut) else ()
    data: Any = undone.data
    return tuple(data.get("passed_over", ()))


def check_turn(conversation: Conversation, turn: int) -> None:
    """Raise `not_found` if the conversation has no such turn."""
    if not 0 <= turn <= conversation.turn:
        raise messages.NO_SUCH_TURN.error(turn=turn, last=conversation.turn, field="turn")


def forked_turn(original: Conversation, turn: int | None) -> int:
    """Return the turn to fork from, None: the last. Raises `not_found` if there is no such turn."""
    last = original.turn if turn is None else turn
    check_turn(original, last)
    return last


def _changes_note(later: Sequence[CallRecord]) -> str:
    changed = list(dict.fromkeys(changed_paths(later)))
    return _FORKED.format(paths=_join_some(changed)) if changed else ""


def _copy_note(later: Sequence[CallRecord], copy: ForkedWorkspace) -> str:
    lines = [_COPIED.format(directory=shown(copy.directory))]
    if copy.left_out:
        lines.append(_LEFT_OUT.format(paths=_join_some(copy.left_out)))
    if copy.not_reverted and may_have_changed_files(later):
        lines.append(_NOT_REVERTED.format(notes="; ".join(copy.not_reverted)))
    return "\n".join(lines)


def _join_some(paths: Sequence[str]) -> str:
    return first_few(map(shown, paths[:_MOST_NAMED]), _MOST_NAMED, len(paths))
