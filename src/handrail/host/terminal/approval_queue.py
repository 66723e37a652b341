"""Approvals answered from another terminal: one directory per question in the user's state.

A question's directory appears and disappears atomically, by rename. The answer is hard-linked into
it, so the first one counts and a late one finds no directory. An answer contains the binding that
was shown.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import anyio

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.host.state.directories import private_directory, state_home, workspace_state
from handrail.host.state.process_identity import may_still_run, process_name, this_process
from handrail.host.terminal.messages import (
    ALREADY_ANSWERED,
    AMBIGUOUS_ID,
    NO_LONGER_ASKED,
    NO_NARROW_RULE,
    NO_SUCH_APPROVAL,
)
from handrail.host.terminal.prompt import user_name

VIA: Final = "approvals"
_FOLDER: Final = "approvals"
_QUESTION: Final = "question.json"
_ANSWER: Final = "answer.json"
_SHOWN: Final = 12
_LEAST: Final = 4
_FIRST_LOOK_S: Final = 0.02
_LAST_LOOK_S: Final = 0.5
_VERSION: Final = 1


class PendingApproval(NamedTuple):
    """A pending question. `id` is the beginning of its binding, so it names exactly what was
    shown.
    """

    id: str
    workspace: str
    asked_ns: int
    request: ApprovalRequest
    folder: Path


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

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Publish the question and wait for its answer; it is removed however this ends."""
        folder = self._lay_out(request)
        try:
            self._on_ask(folder.name)
            wait_s = _FIRST_LOOK_S
            while is_pending(folder):
                await anyio.sleep(wait_s)
                wait_s = min(wait_s * 1.5, _LAST_LOOK_S)
            return _reply(folder, request)
        finally:
            _take_away(folder)

    def _lay_out(self, request: ApprovalRequest) -> Path:
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
            # An equal call of another process has an equal binding, and a directory of its own.
            name = request.binding[:_SHOWN] + (f"-{number}" if number > 1 else "")
            try:
                return made.rename(directory / name)
            except OSError:
                if not (directory / name).exists():
                    raise
                number += 1


def queue_directory(workspace: str | Path) -> Path:
    """The directory of a workspace's questions; raises `unavailable` if it is not private."""
    return private_directory(workspace_state(workspace) / _FOLDER)


def all_queues() -> list[Path]:
    """The question directories of all workspaces."""
    return sorted(state_home().glob(f"*/{_FOLDER}"))


def pending_approvals(directory: Path) -> list[PendingApproval]:
    """The pending questions, oldest first; questions of ended processes are removed."""
    return sorted(_sweep(private_directory(directory)), key=lambda one: one.asked_ns)


def is_pending(folder: Path) -> bool:
    """Whether a question is still unanswered and present."""
    return folder.exists() and not os.path.lexists(folder / _ANSWER)


def find_pending(waiting: list[PendingApproval], name: str) -> PendingApproval:
    """The question whose id begins with `name`; raises `not_found` or `ambiguous`."""
    found = [one for one in waiting if one.id == name] or [
        one for one in waiting if len(name) >= _LEAST and one.id.startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise AMBIGUOUS_ID.error(count=len(found), name=name)
    raise NO_SUCH_APPROVAL.error(name=name)


def answer_pending(asked: PendingApproval, given: Answer, reason: str | None = None) -> None:
    """Answer exactly what was shown. Raises `conflict` if it was answered already, `not_found` if
    it is no longer asked, `invalid_arguments` for an always without a rule.
    """
    if given is Answer.ALWAYS and asked.request.always is None:
        raise NO_NARROW_RULE.error(id=asked.id)
    draft = _hidden(asked.folder)
    said = {
        "v": _VERSION,
        "answer": given.value,
        "binding": asked.request.binding,
        "who": user_name(),
        "reason": reason,
    }
    try:
        _write(draft, said)
        # A link, not a rename: it fails if there is an answer already.
        os.link(draft, asked.folder / _ANSWER)
    except FileExistsError as error:
        raise ALREADY_ANSWERED.error(id=asked.id) from error
    except FileNotFoundError as error:
        raise NO_LONGER_ASKED.error(id=asked.id) from error
    finally:
        draft.unlink(missing_ok=True)


def _reply(folder: Path, request: ApprovalRequest) -> Reply:
    """The answer; anything but a clear answer to this question is a refusal."""
    said = _read(folder / _ANSWER)
    who, reason = said.get("who"), said.get("reason")
    known = said.get("answer") in [one.value for one in Answer]
    if not known or said.get("binding") != request.binding or said.get("v") != _VERSION:
        return Reply(Answer.NO, VIA)
    return Reply(
        Answer(said["answer"]),
        VIA,
        who if isinstance(who, str) else None,
        reason if isinstance(reason, str) else None,
    )


def _sweep(directory: Path) -> Iterator[PendingApproval]:
    """The questions of living processes; those of ended ones are removed."""
    for folder in directory.iterdir():
        question = _read(folder / _QUESTION)
        pid, _, _ = folder.name.removeprefix(".").partition("-")
        hidden = folder.name.startswith(".") and pid.isdigit()
        owner = process_name(int(pid)) if hidden else question.get("owner")
        if isinstance(owner, str) and not may_still_run(owner):
            _take_away(folder)
        elif not hidden and is_pending(folder):
            with suppress(ValueError, KeyError, TypeError):
                yield _pending(folder, question)


def _pending(folder: Path, question: dict[str, Any]) -> PendingApproval:
    if question["v"] != _VERSION:
        raise ValueError("it was asked by another version")
    request = ApprovalRequest.from_dict(question["request"])
    return PendingApproval(
        folder.name, str(question["workspace"]), int(question["asked_ns"]), request, folder
    )


def _take_away(folder: Path) -> None:
    """Rename the directory away first, then delete it: no answer can arrive in between."""
    gone = _hidden(folder.parent)
    with suppress(OSError):
        folder.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def _hidden(directory: Path) -> Path:
    """A hidden name that contains its owner."""
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
