"""Tasks that are started in the page: each opens its session, works, and closes it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from handrail.agent.agent import Agent
from handrail.agent.rewind import Rewind
from handrail.assembly.runtime_opener import RuntimeOpener
from handrail.core.agent_results import AgentResult
from handrail.core.events import Event
from handrail.core.problems import Problem, ProblemRaised
from handrail.engine.runtime import Runtime
from handrail.policy.approval.grants import Scope
from handrail.policy.rules.rule import Rule
from handrail.ui import messages

_log = logging.getLogger("handrail")
_MAX_RUNNING: Final = 4
_MAX_ENDED: Final = 200
_MAX_POINTS: Final = 200


class ConversationServices(NamedTuple):
    """How a session is opened and its agent created; `read_task` adds the files that a task
    mentions.
    """

    open_runtime: Callable[[str], RuntimeOpener]
    make_agent: Callable[[Runtime, str], Agent]
    read_task: Callable[[Runtime, str], Awaitable[str]]


class UsagePoint(NamedTuple):
    """The tokens of one response of the model."""

    input_tokens: int
    output_tokens: int


@dataclass(slots=True)
class TaskState:
    """A task that runs or has run in the page."""

    session: str
    text: str
    # Texts that were sent before the agent could accept them.
    waiting: deque[str] = field(default_factory=deque)
    agent: Agent | None = None
    ending: bool = False
    work: asyncio.Task[None] | None = None
    result: AgentResult | None = None
    problem: Problem | None = None
    points: deque[UsagePoint] = field(default_factory=lambda: deque(maxlen=_MAX_POINTS))
    # The user's grants for the session, for its next task, which has another runtime.
    granted: tuple[Rule, ...] = ()

    @property
    def running(self) -> bool:
        """Whether the task has not ended."""
        return self.work is not None and not self.work.done()

    def hand_over(self) -> None:
        """Pass the waiting texts to the agent, if it works already."""
        while self.agent is not None and self.waiting:
            self.agent.steer(self.waiting.popleft())


class PageConversations:
    """Runs tasks, by session. `publish` gets the events of each."""

    def __init__(
        self, services: ConversationServices, publish: Callable[[str, Event], None]
    ) -> None:
        self._services = services
        self._publish = publish
        self._tasks: dict[str, TaskState] = {}

    def find(self, session: str) -> TaskState | None:
        """Return the last task of a session in this page."""
        return self._tasks.get(session)

    @property
    def running(self) -> list[TaskState]:
        """The tasks that have not ended."""
        return [task for task in self._tasks.values() if task.running]

    def start(self, text: str, session: str | None = None) -> str:
        """Begin a task in a session (None: a new one) and return the session. While a task runs
        there, the text reaches its model before the next step.
        """
        text = text.strip()
        if not text:
            raise messages.EMPTY_TASK.error(field="task")
        name = session or uuid.uuid4().hex[:12]
        current = self._tasks.get(name)
        if current is not None and current.running:
            if current.ending:
                raise messages.BUSY.error(session=name)
            current.waiting.append(text)
            current.hand_over()
            return name
        if len(self.running) >= _MAX_RUNNING:
            raise messages.TOO_MANY_TASKS.error(count=_MAX_RUNNING)
        state = TaskState(name, text, granted=current.granted if current is not None else ())
        # Forget the oldest ended tasks: the record has them.
        self._tasks.pop(name, None)
        for ended in [key for key, task in self._tasks.items() if not task.running][:-_MAX_ENDED]:
            del self._tasks[ended]
        self._tasks[name] = state
        state.work = asyncio.create_task(self._work(state))
        return name

    def interrupt(self, session: str) -> bool:
        """End the running task of a session; what was done stays recorded."""
        state = self._tasks.get(session)
        if state is None or state.work is None or not state.running:
            return False
        # Later messages are refused: the task would not read them.
        state.ending = True
        state.work.cancel()
        return True

    async def rewind(self, session: str, turn: int) -> Rewind:
        """Restore conversation and files to the end of a turn; see `Agent.rewind`."""
        async with self._idle_agent(session) as agent:
            return await agent.rewind(turn)

    async def fork(self, session: str, turn: int) -> str:
        """Create a session with the conversation up to the end of a turn and return its name."""
        async with self._idle_agent(session) as agent:
            return (await agent.fork(turn)).session

    async def aclose(self) -> None:
        """End all tasks."""
        working = [task.work for task in self.running if task.work is not None]
        for work in working:
            work.cancel()
        if working:
            await asyncio.wait(working)

    @asynccontextmanager
    async def _idle_agent(self, session: str) -> AsyncIterator[Agent]:
        task = self._tasks.get(session)
        if task is not None and task.running:
            raise messages.BUSY.error(session=session)
        async with self._services.open_runtime(session) as rt:
            yield self._services.make_agent(rt, session)

    async def _work(self, state: TaskState) -> None:
        def on_event(event: Event) -> None:
            if event.type == "model_response":
                usage: Any = event.to_dict()["usage"]
                state.points.append(_usage_point(usage))
            self._publish(state.session, event)

        try:
            async with self._services.open_runtime(state.session) as rt:
                agent = self._services.make_agent(rt, state.session)
                for rule in state.granted:
                    # The settings may have changed: grants that are no longer possible are asked
                    # again.
                    with suppress(ProblemRaised):
                        rt.grants.grant(rule.tool, rule.pattern)
                state.waiting.appendleft(state.text)
                try:
                    while state.waiting:
                        task = await self._services.read_task(rt, state.waiting.popleft())
                        state.agent = agent
                        state.hand_over()
                        state.result = await agent.run(task, on_event=on_event)
                        state.problem, state.agent = state.result.problem, None
                        # Messages that came too late for the last step are the next task.
                        state.waiting.extend(agent.take_steering())
                finally:
                    state.granted, state.ending = _session_rules(rt), True
        except ProblemRaised as raised:
            state.problem = raised.problem
        except Exception:  # noqa: BLE001 - the page must show that the task has ended
            _log.exception("a task of the page failed")
            state.problem = messages.TASK_FAILED.fill()
        finally:
            state.agent, state.ending = None, True


def _session_rules(rt: Runtime) -> tuple[Rule, ...]:
    active = rt.grants.active()
    return tuple(
        grant.rule for grant in active if grant.scope is Scope.SESSION and grant.until is None
    )


def _usage_point(usage: Any) -> UsagePoint:
    counts = usage if isinstance(usage, dict) else {}
    return UsagePoint(int(counts.get("input") or 0), int(counts.get("output") or 0))
