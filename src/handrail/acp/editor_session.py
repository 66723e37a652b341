"""One session of an editor: its runtime, the prompt that runs, and its mode."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from acp.schema import PromptResponse, SessionMode, SessionModeState, StopReason

from handrail.acp import messages
from handrail.acp.client import EditorClient
from handrail.acp.editor_approver import EditorApprover
from handrail.acp.replay import replay_conversation
from handrail.acp.tool_cards import CardContent, ended_content
from handrail.acp.update_stream import SessionFacts, UpdateStream
from handrail.agent.agent import Agent
from handrail.agent.events import Notification
from handrail.assembly.extras.record_reader import RecordReader
from handrail.assembly.runtime_opener import RuntimeOpener
from handrail.core.agent_results import AgentResult
from handrail.core.ports.machine import Approver
from handrail.core.problems import ProblemRaised
from handrail.engine.runtime import Runtime
from handrail.host.terminal.approval_queue import QueueApprover
from handrail.host.terminal.prompt import user_name
from handrail.policy.approval.shared_approver import SharedApprover
from handrail.policy.modes import Mode

_STOPS: Final[Mapping[str, StopReason]] = {
    "done": "end_turn",
    "needs_person": "end_turn",
    "budget": "max_tokens",
    "max_steps": "max_turn_requests",
    "aborted": "cancelled",
}


class RuntimeRequest(NamedTuple):
    """The session that a runtime is opened for."""

    root: Path
    session: str
    mode: str
    approver: Approver


class EditorServices(NamedTuple):
    """How sessions are opened. `read_task` adds the files that a prompt mentions; `find_mode`
    returns the mode of new sessions in a directory; `modes` has a description of each mode.
    """

    open_runtime: Callable[[RuntimeRequest], RuntimeOpener]
    make_agent: Callable[[Runtime, str], Agent]
    read_task: Callable[[Runtime, str], Awaitable[str]]
    open_record: Callable[[Path], RecordReader]
    find_mode: Callable[[Path], str]
    modes: Mapping[str, str]


class EditorSession:
    """A session of an editor. The first prompt opens a runtime, which is kept because grants last
    as long as it. Another runtime is opened for another mode, and after the user has aborted the
    run.
    """

    def __init__(
        self,
        id: str,
        root: Path,
        services: EditorServices,
        client: EditorClient,
        make_room: Callable[[EditorSession], Awaitable[None]],
    ) -> None:
        """`make_room` is called before a runtime is opened."""
        self.id = id
        self.root = root
        self.record = services.open_record(root)
        self._services = services
        self._client = client
        self._make_room = make_room
        self._opening = asyncio.Lock()
        self._mode = services.find_mode(root)
        self._mode_chosen = False
        self._runtime: Runtime | None = None
        self._agent: Agent | None = None
        self._work: asyncio.Future[AgentResult] | None = None
        self._cancelled = False
        facts = SessionFacts(self._load_content, lambda: self._mode_in_force, self._context_tokens)
        self._updates = UpdateStream(client, facts)

    @property
    def busy(self) -> bool:
        """Whether a prompt runs."""
        return self._work is not None

    @property
    def is_open(self) -> bool:
        """Whether it has a runtime."""
        return self._runtime is not None

    @property
    def modes(self) -> SessionModeState:
        """The mode, and those that can be chosen."""
        available = [
            SessionMode(id=name, name=name, description=meaning)
            for name, meaning in self._services.modes.items()
        ]
        return SessionModeState(current_mode_id=self._mode_in_force, available_modes=available)

    @property
    def _mode_in_force(self) -> str:
        return self._mode if self._runtime is None else str(self._runtime.session.mode)

    async def prompt(self, task: str) -> PromptResponse:
        """Let the model work on a task; raises `conflict` while another prompt runs."""
        self.check_idle()
        self._cancelled = False
        self._work = asyncio.ensure_future(self._run(task))
        try:
            result = await self._work
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            result = None
        finally:
            try:
                await self._updates.finish()
            finally:
                self._work = None
        if result is None or self._cancelled:
            return PromptResponse(stop_reason="cancelled")
        if result.status not in _STOPS and result.problem is not None:
            raise ProblemRaised.of(result.problem)
        return PromptResponse(stop_reason=_STOPS.get(result.status, "end_turn"))

    def cancel(self) -> None:
        """End the running prompt, if any; what was done stays recorded."""
        if self._work is not None and not self._cancelled:
            # Only once: a second cancellation would interrupt the recording of the first.
            self._cancelled = True
            self._work.cancel()

    def check_idle(self) -> None:
        """Raise `conflict` while a prompt runs."""
        if self.busy:
            raise messages.BUSY.error(session=self.id)

    async def set_mode(self, mode: str) -> None:
        """Use another mode from the next prompt on. Raises `conflict` while a prompt runs, which
        would continue in the old mode.
        """
        if mode not in self._services.modes:
            known = ", ".join(self._services.modes)
            raise messages.UNKNOWN_MODE.error(mode=mode, known=known, field="modeId")
        self.check_idle()
        changed = mode != self._mode_in_force
        self._mode, self._mode_chosen = mode, True
        self._updates.set_mode(mode)
        if changed:
            await self.close_runtime()

    async def replay(self) -> None:
        """Send the recorded conversation; raises `not_found` if there is none."""
        conversation = await self.record.load_conversation(self.id)
        for update in replay_conversation(conversation.entries):
            await self._client.update(update)

    async def fork(self) -> str:
        """Create a session with the conversation so far and return its id."""
        self.check_idle()
        _, agent = await self._attach()
        return (await agent.fork()).session

    async def close_runtime(self) -> None:
        """Close the runtime; the next prompt opens another one."""
        closing, self._runtime, self._agent = self._runtime, None, None
        if closing is not None:
            await closing.aclose()

    async def aclose(self) -> None:
        """End the running prompt, and close the runtime."""
        work = self._work
        self.cancel()
        if work is not None:
            await asyncio.wait([work])
        await self.close_runtime()

    async def _run(self, task: str) -> AgentResult:
        rt, agent = await self._attach()
        prompt = await self._services.read_task(rt, task)
        result = await agent.run(prompt, on_event=self._updates.publish)
        if result.problem is not None and result.status in _STOPS:
            # The protocol has a stop reason, but no field for an explanation.
            self._updates.publish(Notification(result.problem.code, result.problem.message))
        return result

    async def _attach(self) -> tuple[Runtime, Agent]:
        """Return a usable runtime and its agent."""
        async with self._opening:
            if self._runtime is not None and self._runtime.aborted:
                await self.close_runtime()
            if self._runtime is None or self._agent is None:
                await self._make_room(self)
                self._runtime = await self._open_runtime()
                self._agent = self._services.make_agent(self._runtime, self.id)
            rt, agent = self._runtime, self._agent
        await self._updates.report_mode()
        return rt, agent

    async def _open_runtime(self) -> Runtime:
        request = RuntimeRequest(self.root, self.id, self._mode, self._approver())
        rt = await self._services.open_runtime(request)
        if self._mode_chosen and rt.planning.active and self._mode != Mode.PLAN:
            # The session was closed in plan mode; the user has chosen another mode since.
            rt.planning.end()
        return rt

    def _approver(self) -> Approver:
        """Return an approver that asks the editor and the queue of `handrail approvals`; the first
        answer counts.
        """
        editor = EditorApprover(self._client, self.root, user_name(), self._updates.drain)
        return SharedApprover([editor, QueueApprover(self.root, time.time_ns)])

    async def _load_content(self, call_id: str) -> list[CardContent]:
        rt = self._runtime
        if rt is None:
            return []
        with suppress(ProblemRaised):
            await rt.store.flush()
            call = await self.record.load_ended(rt.session.id, call_id)
            return [] if call is None else ended_content(call, self.root)
        return []

    def _context_tokens(self) -> int:
        """Return the context size of the model that has just answered."""
        if self._runtime is None:
            return 0
        return self._runtime.agent_services.resolve_model(None).model.limits.context_tokens
