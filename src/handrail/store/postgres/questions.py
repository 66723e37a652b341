"""Questions to users in a database, so that questions from one machine can be answered on another.

An answer is written by an UPDATE that succeeds only if there is none, so the first one counts.
NOTIFY wakes the process that asked. A question stays for some minutes after its answer, without its
text, so that a later answer is told who was first.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import anyio
from anyio import to_thread

from handrail.core.approval import ANSWER_VERSION, ApprovalRequest, Reply
from handrail.core.ports.questions import QuestionReply, QuestionRequest
from handrail.store.postgres.listener import ChannelListener
from handrail.store.postgres.server_connection import PostgresConnection
from handrail.store.postgres.server_errors import LostConnection
from handrail.store.schema.postgres_migrations import upgrade

T = TypeVar("T")
CHANNEL: Final = "handrail_questions"
_SHOWN: Final = 12
_TIMEOUT_S: Final = 5.0
# The interval of polling, in case a notification was lost with its connection.
_LOOK_S: Final = 1.0
_KEEP_NS: Final = 600 * 10**9


class ServerAsker(NamedTuple):
    """The asking side: the workspace, the process, and the default channel of answers."""

    workspace: str
    process: str
    via: str


class ServerSlot(NamedTuple):
    """The row that takes the answer of one question in a database."""

    url: str
    id: str

    def put(self, said: Mapping[str, Any], binding: str) -> None:
        """Store the answer. Raises FileExistsError if there is one already, FileNotFoundError if
        the question was closed.
        """
        text = json.dumps({"v": ANSWER_VERSION, **said, "binding": binding})
        with _connection(self.url) as db:
            done = db.execute(
                "UPDATE questions SET answer = ?, answered_ns = ? WHERE id = ? AND answer IS NULL",
                (text, time.time_ns(), self.id),
            )
            if done.rowcount:
                db.run(f"NOTIFY {CHANNEL}")
                return
            if db.execute("SELECT 1 FROM questions WHERE id = ?", (self.id,)).fetchone():
                raise FileExistsError(self.id)
        raise FileNotFoundError(self.id)

    def refuse(self, said: Mapping[str, Any], binding: str) -> None:
        """Store a refusal in place of another answer."""
        if self.read().get("answer") == said.get("answer"):
            return
        text = json.dumps({"v": ANSWER_VERSION, **said, "binding": binding})
        with _connection(self.url) as db:
            db.execute("UPDATE questions SET answer = ? WHERE id = ?", (text, self.id))

    def close(self) -> None:
        """Remove a question without an answer, and the text of one with an answer."""
        with _connection(self.url) as db:
            db.execute("DELETE FROM questions WHERE id = ? AND answer IS NULL", (self.id,))
            db.execute("UPDATE questions SET request = '' WHERE id = ?", (self.id,))
            db.run(f"NOTIFY {CHANNEL}")

    def read(self) -> Mapping[str, Any]:
        """The answer; empty if there is none."""
        with _connection(self.url) as db:
            return _read_answer(db, self.id) or {}

    def is_asked(self) -> bool:
        """Whether the asking process still waits."""
        with _connection(self.url) as db:
            found = db.execute("SELECT request FROM questions WHERE id = ?", (self.id,)).fetchone()
        return found is not None and found[0] != ""


class ServerQuestion(NamedTuple):
    """A pending question of any machine; the fields are in the order of `PendingApproval`."""

    id: str
    workspace: str
    asked_ns: int
    request: ApprovalRequest | QuestionRequest
    slot: ServerSlot


class _Publication:
    """A question that is being published. If the asking task is cancelled before the question is in
    the database, the question is closed as soon as it is there.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.listener: ChannelListener | None = None
        self.slot: ServerSlot | None = None
        self.closed = False


class ServerApprover:
    """Asks through a database, without a time limit."""

    def __init__(self, url: str, asker: ServerAsker, now_ns: Callable[[], int]) -> None:
        self._url = url
        self._asker = asker
        self._now_ns = now_ns
        # The slots of the open questions, by their bindings.
        self._slots: dict[str, ServerSlot] = {}
        # If others are asked, too, `report_decision` closes what was answered here.
        self.shared = False
        self._answered: dict[str, ServerSlot] = {}

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Publish the question and wait for its answer; the question is always closed."""
        return await self._wait(
            request, lambda said: Reply.from_dict(said, request.binding, self._asker.via)
        )

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply:
        """Publish the questions of a model and wait for the answers."""
        return await self._wait(
            request, lambda said: QuestionReply.from_dict(said, request, self._asker.via)
        )

    def close_question(
        self, request: ApprovalRequest | QuestionRequest, reply: Reply | QuestionReply
    ) -> Reply | QuestionReply | None:
        """Close a question with an answer that was given elsewhere; return an earlier answer."""
        slot = self._slots.get(request.binding)
        if slot is None:
            return None
        try:
            slot.put(reply.to_dict(), request.binding)
        except FileExistsError:
            earlier: Reply | QuestionReply
            if isinstance(request, QuestionRequest):
                earlier = QuestionReply.from_dict(slot.read(), request, self._asker.via)
            else:
                earlier = Reply.from_dict(slot.read(), request.binding, self._asker.via)
            if earlier.refuses or not reply.refuses:
                return earlier
            slot.refuse(reply.to_dict(), request.binding)
        except FileNotFoundError:
            return None
        return None

    def report_decision(
        self, request: ApprovalRequest | QuestionRequest, reply: Reply | QuestionReply | None
    ) -> None:
        """Close a question that was answered here; a refusal given elsewhere replaces the answer."""
        slot = self._answered.pop(request.binding, None)
        if slot is None:
            return
        with contextlib.suppress(LostConnection):
            if reply is not None and reply.refuses:
                slot.refuse(reply.to_dict(), request.binding)
            slot.close()

    async def _wait(
        self,
        request: ApprovalRequest | QuestionRequest,
        parse: Callable[[Mapping[str, Any]], T],
    ) -> T:
        publication = _Publication()
        try:
            # Listen first: an immediate answer is announced immediately.
            listener = await to_thread.run_sync(self._listen, publication)
            slot = await to_thread.run_sync(self._publish, request, publication)
            while (said := await to_thread.run_sync(self._poll_answer, slot)) is None:
                await to_thread.run_sync(listener.wait, _LOOK_S)
            reply = parse(said)
            if self.shared:
                self._answered.setdefault(request.binding, slot)
            return reply
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(self._close, publication)
            self._slots.pop(request.binding, None)

    def _listen(self, publication: _Publication) -> ChannelListener:
        listener = ChannelListener(self._url, CHANNEL)
        with publication.lock:
            if publication.closed:
                # The task that waited was cancelled.
                listener.close()
            publication.listener = listener
        return listener

    def _publish(
        self, request: ApprovalRequest | QuestionRequest, publication: _Publication
    ) -> ServerSlot:
        with publication.lock:
            if publication.closed:
                # The task that waited was cancelled.
                return ServerSlot(self._url, "")
            publication.slot = self._insert(request)
            # At once, so that an answer given elsewhere finds it.
            self._slots[request.binding] = publication.slot
            return publication.slot

    def _insert(self, request: ApprovalRequest | QuestionRequest) -> ServerSlot:
        values = (*self._asker[:2], self._now_ns(), json.dumps(request.to_dict()))
        number = 1
        with _connection(self._url) as db:
            db.execute("DELETE FROM questions WHERE answered_ns < ?", (time.time_ns() - _KEEP_NS,))
            while True:
                # An equal call of another process has an equal binding, but its own name.
                name = request.binding[:_SHOWN] + (f"-{number}" if number > 1 else "")
                done = db.execute(
                    "INSERT INTO questions (id, workspace, owner, asked_ns, request)"
                    " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (name, *values),
                )
                if done.rowcount:
                    db.run(f"NOTIFY {CHANNEL}")
                    return ServerSlot(self._url, name)
                number += 1

    def _poll_answer(self, slot: ServerSlot) -> Mapping[str, Any] | None:
        try:
            with _connection(self._url) as db:
                return _read_answer(db, slot.id)
        except LostConnection:
            # The question is in the database, and the server may become reachable again.
            return None

    def _close(self, publication: _Publication) -> None:
        with publication.lock:
            publication.closed, slot = True, publication.slot
            if publication.listener is not None:
                publication.listener.close()
        if slot is not None and slot not in self._answered.values():
            with contextlib.suppress(LostConnection):
                slot.close()


def list_questions(url: str, is_alive: Callable[[str], bool]) -> list[ServerQuestion]:
    """Return the open questions of all machines, oldest first; only those of living processes."""
    with _connection(url) as db:
        found = db.execute(
            "SELECT id, workspace, asked_ns, request, owner FROM questions"
            " WHERE answer IS NULL ORDER BY asked_ns, id"
        ).fetchall()
    questions = []
    for name, workspace, asked_ns, request, owner in found:
        # A question of another version cannot be shown, and therefore not answered.
        with contextlib.suppress(ValueError, KeyError, TypeError):
            if is_alive(owner):
                slot = ServerSlot(url, name)
                questions.append(ServerQuestion(name, workspace, asked_ns, _decode(request), slot))
    return questions


def remove_closed_questions(url: str, workspace: str, is_alive: Callable[[str], bool]) -> None:
    """Remove the questions of a workspace whose processes have ended, and the answers of closed
    questions. Later answers to these are refused, because the question is no longer asked.
    """
    with _connection(url) as db:
        asked = "SELECT id, owner FROM questions WHERE workspace = ? AND request <> ''"
        found = db.execute(asked, (workspace,)).fetchall()
        left = [(name,) for name, owner in found if not is_alive(owner)]
        if left:
            db.executemany("DELETE FROM questions WHERE id = ?", left)
        db.execute("DELETE FROM questions WHERE workspace = ? AND request = ''", (workspace,))


def _decode(text: str) -> ApprovalRequest | QuestionRequest:
    given = json.loads(text)
    if "questions" in given:
        return QuestionRequest.from_dict(given)
    return ApprovalRequest.from_dict(given)


def _read_answer(db: PostgresConnection, name: str) -> Mapping[str, Any] | None:
    found = db.execute("SELECT answer FROM questions WHERE id = ?", (name,)).fetchone()
    if found is None:
        # The question was removed; it can no longer be answered.
        return {}
    return None if found[0] is None else json.loads(found[0])


@contextlib.contextmanager
def _connection(url: str) -> Iterator[PostgresConnection]:
    connection = PostgresConnection(url, timeout_s=_TIMEOUT_S)
    try:
        upgrade(connection)
        yield connection
    finally:
        connection.close()
