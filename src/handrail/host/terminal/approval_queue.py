"""Approvals answered from another terminal: one directory per question in the user's state.

A question's directory appears atomically, by rename. The answer is hard-linked into it, so the
first one counts, whichever process gives it, and a later one finds the first. An answer contains
the binding that was shown. The directory of an answered question is kept for some minutes.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import anyio

from handrail.core.approval import ANSWER_VERSION, Answer, ApprovalRequest, Reply
from handrail.core.ports.questions import QuestionReply, QuestionRequest
from handrail.core.problems import ProblemRaised
from handrail.host.messages import (
    ALREADY_ANSWERED,
    AMBIGUOUS_ID,
    NEEDS_WORDS,
    NO_LONGER_ASKED,
    NO_NARROW_RULE,
    NO_SUCH_APPROVAL,
)
from handrail.host.state.directories import private_directory, state_home, workspace_state
from handrail.host.state.identities import may_still_run, process_name, this_process
from handrail.host.terminal.prompt import user_name

T = TypeVar("T")
VIA: Final = "approvals"
QUEUE_FOLDER: Final = "approvals"
_QUESTION: Final = "question.json"
_ANSWER: Final = "answer.json"
_SHOWN: Final = 12
_LEAST: Final = 4
_FIRST_LOOK_S: Final = 0.02
_LAST_LOOK_S: Final = 0.5
_VERSION: Final = 1
# For this long a later answer finds who answered the question.
_KEEP_S: Final = 600
_CONFIRM_S: Final = 2


class AnswerSlot(Protocol):
    """The file for the answer of one question; the first answer stays."""

    def put(self, said: Mapping[str, Any], binding: str) -> None:
        """Store the answer. Raises FileExistsError if there is one already, FileNotFoundError if
        the question was closed.
        """

    def read(self) -> Mapping[str, Any]:
        """The answer; empty if there is none."""

    def is_asked(self) -> bool:
        """Whether the asking process still waits."""


class FolderSlot(NamedTuple):
    """The directory of a question."""

    folder: Path

    def put(self, said: Mapping[str, Any], binding: str) -> None:
        """Link the answer into the directory."""
        _link_answer(self.folder, said, binding)

    def read(self) -> Mapping[str, Any]:
        """The answer."""
        return _read(self.folder / _ANSWER)

    def is_asked(self) -> bool:
        """Whether the question is still there."""
        return (self.folder / _QUESTION).exists()


class PendingApproval(NamedTuple):
    """A pending question. `id` is the beginning of its binding, so it identifies what was shown.
    `slot` takes the answer.
    """

    id: str
    workspace: str
    asked_ns: int
    request: ApprovalRequest | QuestionRequest
    slot: AnswerSlot


class QueueApprover:
    """Asks through the queue that `handrail approvals` answers, without a time limit.

    `on_ask` gets the id of each question, `now_ns` returns the time. Raises `unavailable` if there
    is no private directory for questions.
    """

    def __init__(
        self,
        workspace: str | Path,
        now_ns: Callable[[], int],
        on_ask: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._workspace = os.path.realpath(workspace)
        self._now_ns = now_ns
        self._on_ask = on_ask
        # The slots of the open questions, by their bindings.
        self._folders: dict[str, Path] = {}
        # If others are asked, too, `report_decision` closes what was answered here.
        self.shared = False
        self._answered: dict[str, Path] = {}

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Publish the question and wait for its answer; the question is always closed."""
        return await self._wait(request, lambda folder: _reply(folder, request))

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply:
        """Publish the questions of a model and wait for the answers."""
        return await self._wait(request, lambda folder: _question_reply(folder, request))

    async def _wait(
        self, request: ApprovalRequest | QuestionRequest, read: Callable[[Path], T]
    ) -> T:
        folder = self._folders[request.binding] = self._publish(request)
        try:
            self._on_ask(folder.name)
            wait_s = _FIRST_LOOK_S
            while is_pending(folder):
                await anyio.sleep(wait_s)
                wait_s = min(wait_s * 1.5, _LAST_LOOK_S)
            reply = read(folder)
            if self.shared:
                self._answered.setdefault(request.binding, folder)
            return reply
        finally:
            self._folders.pop(request.binding, None)
            if self._answered.get(request.binding) != folder:
                _close(folder)

    def report_decision(
        self, request: ApprovalRequest | QuestionRequest, reply: Reply | QuestionReply | None
    ) -> None:
        """Close a question that was answered here; a refusal given elsewhere replaces the answer."""
        folder = self._answered.pop(request.binding, None)
        if folder is None:
            return
        refusal = reply.to_dict() if reply is not None and reply.refuses else {}
        if refusal and _read(folder / _ANSWER).get("answer") != refusal.get("answer"):
            _replace_answer(folder, refusal, request.binding)
        _close(folder)

    def close_question(
        self, request: ApprovalRequest | QuestionRequest, reply: Reply | QuestionReply
    ) -> Reply | QuestionReply | None:
        """Close a question with an answer that was given elsewhere; return an earlier answer."""
        folder = self._folders.get(request.binding)
        if folder is None:
            return None
        try:
            _link_answer(folder, reply.to_dict(), request.binding)
        except FileExistsError:
            earlier: Reply | QuestionReply
            if isinstance(request, QuestionRequest):
                earlier = _question_reply(folder, request)
            else:
                earlier = _reply(folder, request)
            if earlier.refuses or not reply.refuses:
                return earlier
            _replace_answer(folder, reply.to_dict(), request.binding)
        except FileNotFoundError:
            # The question was removed; it can no longer be answered.
            return None
        return None

    def _publish(self, request: ApprovalRequest | QuestionRequest) -> Path:
        directory = queue_directory(self._workspace)
        pending_approvals(directory)
        made = _hidden(directory)
        made.mkdir(mode=0o700)
        question = {
            "v": _VERSION,
            "owner": this_process(),
            "workspace": self._workspace,
            "asked_ns": self._now_ns(),
            "request": request.to_dict(),
        }
        _write(made / _QUESTION, question)
        number = 1
        while True:
            # An equal call of another process has an equal binding, but its own directory.
            name = request.binding[:_SHOWN] + (f"-{number}" if number > 1 else "")
            try:
                return made.rename(directory / name)
            except OSError:
                if not (directory / name).exists():
                    raise
                number += 1


def queue_directory(workspace: str | Path) -> Path:
    """The directory of a workspace's questions; raises `unavailable` if it is not private."""
    return private_directory(workspace_state(workspace) / QUEUE_FOLDER)


def all_queues() -> list[Path]:
    """The question directories of all workspaces."""
    return sorted(state_home().glob(f"*/{QUEUE_FOLDER}"))


def pending_approvals(directory: Path) -> list[PendingApproval]:
    """The pending questions, oldest first; questions of ended processes are removed."""
    return sorted(_living_questions(private_directory(directory)), key=lambda one: one.asked_ns)


def remove_closed(directory: Path) -> None:
    """Remove the questions of ended processes, and the answers of questions that are closed."""
    pending_approvals(directory)
    for folder in directory.iterdir():
        if not folder.name.startswith(".") and not (folder / _QUESTION).exists():
            _remove_folder(folder)


def is_pending(folder: Path) -> bool:
    """Whether a question is still unanswered and present."""
    return folder.exists() and not os.path.lexists(folder / _ANSWER)


def find_pending(
    waiting: list[PendingApproval], name: str, directories: Sequence[Path] = ()
) -> PendingApproval:
    """Return the question whose id begins with `name`. Raises `not_found`, `ambiguous`, and
    `conflict` if one in `directories` was answered already.
    """
    found = [one for one in waiting if one.id == name] or [
        one for one in waiting if len(name) >= _LEAST and one.id.startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise AMBIGUOUS_ID.error(count=len(found), name=name)
    for directory in directories if len(name) >= _LEAST else ():
        for folder in sorted(directory.iterdir()):
            if folder.name.startswith(name) and (folder / _ANSWER).exists():
                raise _already_answered(folder.name, _read(folder / _ANSWER))
    raise NO_SUCH_APPROVAL.error(name=name)


def answer_pending(
    asked: PendingApproval, given: Answer, reason: str | None = None, via: str = VIA
) -> None:
    """Answer exactly what was shown; `via` says where. Raises `conflict` if it was answered
    already, `not_found` if the question was closed, `invalid_arguments` for an always without a
    rule and for a yes to a question of a model, which needs a text.
    """
    if isinstance(asked.request, QuestionRequest) and given in (Answer.YES, Answer.ALWAYS):
        raise NEEDS_WORDS.error(id=asked.id)
    if given is Answer.ALWAYS and asked.request.always is None:
        raise NO_NARROW_RULE.error(id=asked.id)
    _put_answer(asked, {"answer": given.value, "reason": reason, "via": via})


def answer_questions(asked: PendingApproval, reply: QuestionReply) -> None:
    """Answer the questions of a model; raises `conflict` and `not_found` as
    `answer_pending` does.
    """
    _put_answer(asked, reply.to_dict())


def _put_answer(asked: PendingApproval, said: Mapping[str, Any]) -> None:
    try:
        asked.slot.put({**said, "who": user_name()}, asked.request.binding)
    except FileExistsError as error:
        raise _already_answered(asked.id, asked.slot.read()) from error
    except FileNotFoundError as error:
        raise NO_LONGER_ASKED.error(id=asked.id) from error


def confirm_answer(asked: PendingApproval, given: Answer) -> None:
    """Wait a moment for the asking process; raises `conflict` if a refusal given elsewhere counts
    instead of this answer.
    """
    end = time.monotonic() + _CONFIRM_S
    while time.monotonic() < end and asked.slot.is_asked():
        time.sleep(_FIRST_LOOK_S)
    said = asked.slot.read()
    if said and said.get("answer") != given.value:
        raise _already_answered(asked.id, said)


def _link_answer(folder: Path, said: Mapping[str, Any], binding: str) -> None:
    """Make this the answer; raises FileExistsError if there is one."""
    draft = _draft(folder, said, binding)
    try:
        # A link, not a rename: it fails if there is an answer already.
        os.link(draft, folder / _ANSWER)
    finally:
        draft.unlink(missing_ok=True)


def _replace_answer(folder: Path, said: Mapping[str, Any], binding: str) -> None:
    with suppress(FileNotFoundError):
        _draft(folder, said, binding).rename(folder / _ANSWER)


def _draft(folder: Path, said: Mapping[str, Any], binding: str) -> Path:
    draft = _hidden(folder)
    _write(draft, {"v": ANSWER_VERSION, "binding": binding, **said})
    return draft


def _already_answered(id: str, said: Mapping[str, Any]) -> ProblemRaised:
    answer, via, who = (str(said.get(one) or "unknown") for one in ("answer", "via", "who"))
    return ALREADY_ANSWERED.error(id=id, answer=answer, via=via, who=who)


def _question_reply(folder: Path, request: QuestionRequest) -> QuestionReply:
    return QuestionReply.from_dict(_read(folder / _ANSWER), request, VIA)


def _reply(folder: Path, request: ApprovalRequest) -> Reply:
    return Reply.from_dict(_read(folder / _ANSWER), request.binding, VIA)


def _living_questions(directory: Path) -> Iterator[PendingApproval]:
    """Return the questions of living processes; those of ended processes are removed."""
    for folder in directory.iterdir():
        question = _read(folder / _QUESTION)
        pid, _, _ = folder.name.removeprefix(".").partition("-")
        hidden = folder.name.startswith(".") and pid.isdigit()
        owner = process_name(int(pid)) if hidden else question.get("owner")
        if not hidden and not question:
            _remove_if_old(folder)
        elif isinstance(owner, str) and not may_still_run(owner):
            _remove_folder(folder)
        elif not hidden and is_pending(folder):
            with suppress(ValueError, KeyError, TypeError):
                yield _pending(folder, question)


def _pending(folder: Path, question: dict[str, Any]) -> PendingApproval:
    if question["v"] != _VERSION:
        raise ValueError("it was asked by another version")
    given = question["request"]
    asks_words = "questions" in given
    request = QuestionRequest.from_dict(given) if asks_words else ApprovalRequest.from_dict(given)
    return PendingApproval(
        folder.name,
        str(question["workspace"]),
        int(question["asked_ns"]),
        request,
        FolderSlot(folder),
    )


def _close(folder: Path) -> None:
    """Close a question: what was asked is deleted, who answered it is kept for a while."""
    if not (folder / _ANSWER).exists():
        _remove_folder(folder)
    # An answer may have arrived just before the directory was renamed.
    with suppress(OSError):
        (folder / _QUESTION).unlink()


def _remove_if_old(folder: Path) -> None:
    with suppress(OSError):
        if time.time() - folder.stat().st_mtime > _KEEP_S:
            _remove_folder(folder)


def _remove_folder(folder: Path) -> None:
    """Rename the directory, then delete it, so that no answer can arrive in between."""
    gone = _hidden(folder.parent)
    with suppress(OSError):
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def _hidden(directory: Path) -> Path:
    """Return a hidden name that contains the identity of this process."""
    return directory / f".{os.getpid()}-{os.urandom(8).hex()}"


def _write(path: Path, value: Any) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        json.dump(value, file)


def _read(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty if it cannot be read."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
