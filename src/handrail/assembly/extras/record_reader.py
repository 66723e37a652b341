"""Reads the record of a workspace for display; opens no session and writes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from anyio import to_thread

from handrail.agent.conversation import KeptConversation, decode_conversation
from handrail.assembly.extras import messages
from handrail.assembly.machine import named_directory
from handrail.core.names.store_location import is_store_url
from handrail.core.ports.records import CallRecord, SessionRecord
from handrail.core.problems import ProblemRaised
from handrail.engine.recording.stored_results import assemble_output
from handrail.history.call_diffs import CallDiffs, ChangedContent, FileDiff
from handrail.history.undo.recorded_changes import CallKey, count_changed_files
from handrail.host.files.local_files import LocalFiles
from handrail.host.state.artifacts import DirectoryArtifacts
from handrail.host.state.blobs import DirectoryBlobs
from handrail.host.state.state_paths import StatePaths
from handrail.store.changes import ChangeWatcher
from handrail.store.opening import open_read_only
from handrail.store.records.calls import find_completed, is_recorded, list_calls, list_sessions
from handrail.store.records.conversations import (
    ConversationSummary,
    is_conversation,
    list_conversations,
    load_conversation_values,
)
from handrail.store.records.traces import TraceFilter, iter_traces, load_contents
from handrail.store.sql import SqlConnection
from handrail.store.sqlite.errors import explain_error, problem_error

T = TypeVar("T")
PAGE_CALLS: Final = 50
_MAX_SESSIONS: Final = 200
_MAX_DIFFS: Final = 50
# More messages than the turns of one page of calls have.
_MAX_MESSAGES: Final = 4 * PAGE_CALLS


class SessionList(NamedTuple):
    """The conversations, and the sessions without a conversation."""

    conversations: list[ConversationSummary]
    others: list[SessionRecord]


class SessionView(NamedTuple):
    """One session: its conversation, if it has one, and one page of its calls, oldest first. `older` is
    the time before which the earlier calls were made, None if there are none.
    """

    session: str
    summary: ConversationSummary | None
    conversation: KeptConversation | None
    calls: list[CallRecord]
    older: int | None


class CallView(NamedTuple):
    """One call with the diffs of the first files that it changed; `full_text` is the full result, if it
    was truncated and is stored.
    """

    call: CallRecord
    diffs: list[FileDiff]
    full_text: str | None = None


class EndedCall(NamedTuple):
    """A call that has ended, with the contents that it changed."""

    call: CallRecord
    contents: list[ChangedContent]


class RecordReader:
    """Reads the record, which may not exist yet. Each method opens it in a thread."""

    def __init__(self, root: Path, directories: Sequence[str], home: StatePaths) -> None:
        self._root = root
        self._directories = directories
        self._home = home
        self._watcher = ChangeWatcher(home.store)

    @property
    def recorded(self) -> bool:
        """Whether anything was recorded."""
        return is_store_url(self._home.store) or Path(self._home.store).is_file()

    def stamp(self) -> tuple[int, ...]:
        """Values that differ after every write to the record."""
        try:
            return self._watcher.stamp()
        except ProblemRaised:
            # The database cannot be reached; the pages report that.
            return ()

    def close(self) -> None:
        """Stop watching the store."""
        self._watcher.close()

    async def list_sessions(self) -> SessionList:
        """The sessions, newest first."""
        if not self.recorded:
            return SessionList([], [])
        return await self._read(_list_sessions)

    async def load_session(self, session: str, before_ns: int | None = None) -> SessionView:
        """A session with its newest calls before a time; raises `not_found`."""
        if not self.recorded:
            raise messages.NO_SUCH_SESSION.error(session=session)
        return await self._read(lambda db: _load_session(db, session, before_ns))

    async def check_session(self, session: str) -> None:
        """Raise `not_found` if a session is not in the record."""
        if not self.recorded or not await self._read(lambda db: _is_known(db, session)):
            raise messages.NO_SUCH_SESSION.error(session=session)

    async def list_conversations(self) -> list[ConversationSummary]:
        """The conversations, newest first."""
        return await self._read(list_conversations) if self.recorded else []

    async def load_conversation(self, session: str) -> KeptConversation:
        """A whole conversation; raises `not_found`."""
        if not self.recorded:
            raise messages.NO_SUCH_SESSION.error(session=session)
        return await self._read(lambda db: _load_conversation(db, session))

    async def load_ended(self, session: str, call_id: str) -> EndedCall | None:
        """A call that has just ended; None if it is not in the record."""
        return (
            await self._read(lambda db: self._load_ended(db, session, call_id))
            if self.recorded
            else None
        )

    async def load_call(self, session: str, call_id: str) -> CallView:
        """One call; raises `not_found`."""
        if not self.recorded:
            raise messages.NO_SUCH_CALL.error(call=call_id)
        return await self._read(lambda db: self._load_call(db, session, call_id))

    async def _read(self, query: Callable[[SqlConnection], T]) -> T:
        def run() -> T:
            db = open_read_only(self._home.store)
            try:
                return query(db)
            except sqlite3.Error as error:
                raise problem_error(explain_error(error, self._home.store)) from error
            finally:
                db.close()

        return await to_thread.run_sync(run)

    def _load_call(self, db: SqlConnection, session: str, call_id: str) -> CallView:
        found = list_calls(db, session, call_id, 1, None)
        if not found:
            raise messages.NO_SUCH_CALL.error(call=call_id)
        call, text = found[0], self._full_text(found[0])
        if call.intent is None or call.completed is None:
            return CallView(call, [], text)
        with self._open_diffs(db) as diffs:
            key = CallKey(call.session, call.call_id)
            return CallView(call, diffs.diffs(key, _MAX_DIFFS), text)

    def _load_ended(self, db: SqlConnection, session: str, call_id: str) -> EndedCall | None:
        call = find_completed(db, session, call_id)
        if call is None or call.intent is None:
            return None if call is None else EndedCall(call, [])
        with self._open_diffs(db, TraceFilter(session=session, call_id=call_id)) as diffs:
            return EndedCall(call, diffs.contents(CallKey(session, call_id)))

    def _full_text(self, call: CallRecord) -> str | None:
        done = call.completed or {}
        meta = done.get("meta")
        if not isinstance(meta, Mapping) or self._home.oversized is None:
            return None
        artifacts = DirectoryArtifacts(self._home.oversized)
        try:
            found = assemble_output(call.call_id, done, meta, artifacts)
        except ProblemRaised:
            # The text was deleted to make room, or was never stored.
            return None
        if not found.streams:
            return found.text
        return "\n".join(f"{name}:\n{text}" for name, text in found.streams if text)

    @contextmanager
    def _open_diffs(
        self, db: SqlConnection, wanted: TraceFilter | None = None
    ) -> Iterator[CallDiffs]:
        blobs = None if self._home.blobs is None else DirectoryBlobs(self._home.blobs)
        more = [one for one in self._directories if Path(one).is_dir()]
        files = LocalFiles([named_directory(self._root), *more])
        try:
            yield CallDiffs(
                iter_traces(db, wanted),
                lambda row: load_contents(db, row),
                blobs,
                files,
                lambda key: find_completed(db, key.session, key.call_id),
            )
        finally:
            files.close()


def _list_sessions(db: SqlConnection) -> SessionList:
    conversations = list_conversations(db)[:_MAX_SESSIONS]
    known = {one.session for one in conversations}
    files = count_changed_files(iter_traces(db), known)
    conversations = [one._replace(files_changed=files[one.session]) for one in conversations]
    others = [one for one in list_sessions(db, _MAX_SESSIONS) if one.id not in known]
    return SessionList(conversations, others)


def _load_session(db: SqlConnection, session: str, before_ns: int | None) -> SessionView:
    summary = _find_summary(db, session)
    if summary is None and not is_recorded(db, session):
        raise messages.NO_SUCH_SESSION.error(session=session)
    # The calls of a conversation may be in several sessions of runtimes.
    only, talk = (session, None) if summary is None else (None, session)
    calls = list_calls(db, only, None, PAGE_CALLS + 1, before_ns, conversation=talk)
    older = calls[PAGE_CALLS - 1].requested_ns if len(calls) > PAGE_CALLS else None
    newest = None if before_ns is not None else _MAX_MESSAGES
    values = {} if summary is None else load_conversation_values(db, session, newest)
    kept = decode_conversation(values) if values else None
    return SessionView(session, summary, kept, calls[:PAGE_CALLS][::-1], older)


def _is_known(db: SqlConnection, name: str) -> bool:
    """Whether a session or a conversation has this name."""
    return is_recorded(db, name) or _find_summary(db, name) is not None


def _find_summary(db: SqlConnection, name: str) -> ConversationSummary | None:
    """The conversation with this name, None if there is none; those of subagents are not listed."""
    return next((one for one in list_conversations(db) if one.session == name), None)


def _load_conversation(db: SqlConnection, session: str) -> KeptConversation:
    if not is_conversation(db, session):
        raise messages.NO_SUCH_SESSION.error(session=session)
    return decode_conversation(load_conversation_values(db, session, None))
