"""The public object: everything an agent's loop does with tools goes through here."""

from __future__ import annotations

from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from handrail.core.context import Session
from handrail.core.events import BatchEnded, BatchStarted, ContextModified, Listener
from handrail.core.outputs import Outputs
from handrail.core.ports import Clock
from handrail.core.problems import ProblemRaised
from handrail.core.processes import Job
from handrail.core.records import Store
from handrail.core.results import QueueCommand, ToolResult
from handrail.core.tool import Tool
from handrail.engine.batch.pacing import Pacer
from handrail.engine.batch.scheduler import Ordering, Scheduler, group_calls, order
from handrail.engine.catalog import Catalog
from handrail.engine.events import EventBus
from handrail.engine.hooking.callbacks import Hook
from handrail.engine.jobs import BackgroundJobs
from handrail.engine.pipeline import Pipeline
from handrail.engine.planning.dry_run import PlannedAction
from handrail.engine.planning.mode import PlanMode
from handrail.engine.planning.queue import PlanQueue
from handrail.engine.planning.queue_runner import QueuedCallRunner
from handrail.engine.prepare.call_factory import Call, CallFactory
from handrail.engine.prepare.ids import CallIds
from handrail.engine.prepare.preparer import PreparedCall
from handrail.engine.providers.message_calls import MessagePreparer
from handrail.engine.providers.provider_messages import (
    Provider,
    read_calls,
    response_id,
    tool_messages,
)
from handrail.engine.providers.response_end import read_end
from handrail.engine.recording.dead_letters import DeadLetters
from handrail.engine.recording.idempotency import CallIdLedger, IdempotentRunner, mark_replayed
from handrail.engine.registry import Registry
from handrail.engine.user_actions import UserActions, undo_arguments
from handrail.history.recovery.unfinished_plans import RecoveredCall
from handrail.policy.agents import Agents
from handrail.policy.approval.grants import SessionGrants
from handrail.policy.guardrails.gates import GateResult


@dataclass(slots=True)
class RuntimeServices:
    """What a runtime is made of; put together in `handrail.assembly.runtime_opener`."""

    session: Session
    registry: Registry
    catalog: Catalog
    pipeline: Pipeline
    store: Store
    bus: EventBus
    clock: Clock
    answered: CallIdLedger
    stored: Outputs
    most_at_once: int
    first_turn: int
    recovered: Sequence[RecoveredCall]
    jobs: BackgroundJobs
    letters: DeadLetters
    close: Callable[[], Awaitable[None]]


class Runtime:
    """One session of one workspace. Safe to use from many tasks of one event loop.

    A tool's failure is a result; these methods raise only for misuse of the runtime itself
    (a closed one, a response of unknown shape).
    """

    def __init__(self, parts: RuntimeServices) -> None:
        self._parts = parts
        self._pipeline = parts.pipeline
        self._numbers = CallIds(parts.answered.prefix, parts.first_turn, self.grants.end_turn)
        self._calls = CallFactory(parts.pipeline.preparer, self._numbers)
        self._messages = MessagePreparer(self._calls)
        self._person = UserActions(parts.pipeline, self._numbers)
        self._once = IdempotentRunner(parts.pipeline, parts.answered, self._numbers, parts.stored)
        parts.pipeline.plans.queue.runner = QueuedCallRunner(self._once)
        parts.letters.caller, parts.letters.knows = self.call, parts.registry.has_tool
        self._closed = False
        self.queue: deque[str] = deque(maxlen=1000)

    @property
    def session(self) -> Session:
        """What outlives a call: roots, mode, what the model has seen, options."""
        return self._parts.session

    @property
    def registry(self) -> Registry:
        """The tools; register your own here."""
        return self._parts.registry

    @property
    def store(self) -> Store:
        """The record of every call."""
        return self._parts.store

    @property
    def recovered(self) -> Sequence[RecoveredCall]:
        """What a crash had left unfinished and opening has made whole."""
        return self._parts.recovered

    @property
    def jobs(self) -> BackgroundJobs:
        """The background jobs of the workspace."""
        return self._parts.jobs

    @property
    def dead_letters(self) -> DeadLetters:
        """Calls that failed by a defect, for the person to retry or abandon."""
        return self._parts.letters

    @property
    def grants(self) -> SessionGrants:
        """What the person allows for this session, beyond the rules in the settings."""
        return self._pipeline.gate.grants

    @property
    def aborted(self) -> bool:
        """Whether the person has ended everything; every further call is then refused."""
        return self._pipeline.gate.aborted

    @property
    def planning(self) -> PlanMode:
        """Plan mode: `active`, and for the person `enter()` and `end()`."""
        return self._pipeline.plans

    @property
    def plan_queue(self) -> PlanQueue:
        """The calls that plan mode has queued, for the person to approve or reject."""
        return self._pipeline.plans.queue

    @property
    def planned_actions(self) -> tuple[PlannedAction, ...]:
        """What a dry run would have done, in order."""
        return self._pipeline.plans.actions.actions

    def plan_summary(self) -> str:
        """The same in a few lines."""
        return self._pipeline.plans.actions.summary()

    @property
    def agents(self) -> Agents:
        """What each agent may use: `of(agent)`, None for everything."""
        return self._pipeline.preparer.agents

    @property
    def hooks(self) -> list[Hook]:
        """In-process hooks, called in order."""
        return self._pipeline.gate.hooks

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        id: str | None = None,
        on_event: Listener | None = None,
        agent: str = "main",
    ) -> ToolResult:
        """Run one tool. Its own turn, unless inside `turn()`."""
        self._check_open()
        call = self._calls.tool_call(id, name, arguments, self._numbers.turn(), agent)
        prepared = self._pipeline.preparer.prepare(call)
        if id is None:
            result = await self._pipeline.finish(prepared, on_event)
        else:
            result = await self._once.run(prepared, on_event)
        if result.modifiers:
            self._apply([result], on_event)
        return result

    async def batch(
        self, calls: Iterable[Call], *, on_event: Listener | None = None, agent: str = "main"
    ) -> list[ToolResult]:
        """Run several calls as one turn, in parallel where they cannot disturb each other.

        Each call is `{"id"?, "name", "arguments"?}`. Results come in call order.
        """
        self._check_open()
        turn = self._numbers.turn()
        paced = self._calls.prepare_paced(calls, turn, agent, Pacer(self._parts.clock))
        return await self._run(await paced, turn, on_event)

    async def _run(
        self, prepared: Sequence[PreparedCall], turn: int, on_event: Listener | None
    ) -> list[ToolResult]:
        loops, pacer = self._pipeline.loops, Pacer(self._parts.clock)
        outcomes = loops.begin_batch(prepared)
        ids = [one.call.id for one in prepared]
        groups = await group_calls(prepared, pacer)
        self._parts.bus.emit(BatchStarted(turn, tuple(ids), groups), on_event)
        started = self._parts.clock.monotonic()

        async def run(one: PreparedCall, waited: bool) -> ToolResult:
            if waited:
                self._pipeline.preparer.resolve_again(one)
            if one.given_id:
                return await self._once.run(one, on_event)
            return await self._pipeline.finish(one, on_event)

        scheduler = Scheduler(run, most_at_once=self._parts.most_at_once)
        await scheduler.submit_all(prepared, pacer)
        del prepared
        try:
            await scheduler.run_all()
        finally:
            loops.end_batch(outcomes)
        results = scheduler.results
        self._apply(results, on_event)
        failed = sum(result.is_error for result in results)
        duration = self._parts.clock.monotonic() - started
        self._parts.bus.emit(BatchEnded(turn, tuple(ids), failed, duration), on_event)
        return results

    def plan(self, calls: Iterable[Call], *, agent: str = "main") -> Ordering:
        """How a batch of these calls would be ordered; runs nothing."""
        prepared = self._calls.prepare_all(calls, 0, agent)
        return order([one.call.id for one in prepared], [one.footprint for one in prepared])

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Group the calls made inside as one turn."""
        with self.same_turn() as number:
            yield number

    @contextmanager
    def same_turn(self) -> Iterator[int]:
        """The same for code that is not async; follows the calling thread or task."""
        with self._numbers.same_turn() as number:
            yield number

    def declare(
        self,
        provider: str,
        *,
        allowed: Collection[str] | None = None,
        groups: Collection[str] | None = None,
        agent: str = "main",
    ) -> list[dict[str, Any]]:
        """The tools as a provider wants them declared: "openai" (chat), "openai-responses",
        "anthropic" or "mcp". `allowed` names tools (None: all; empty: none); an agent is shown
        only what it may call. From then on `answer` refuses this agent what it was not shown;
        the last declaration counts. Raises `invalid_arguments` for a name that no tool has.
        """
        preparer, catalog = self._pipeline.preparer, self._parts.catalog
        if allowed is not None:
            catalog.check_names(allowed, preparer.callable_tools(agent))
        visible = preparer.visible(agent, allowed)
        declared, shown = catalog.declare(provider, allowed=visible, groups=groups)
        if provider != "mcp":
            preparer.declared.record(agent, shown)
        return declared

    async def answer(
        self, response: Any, *, on_event: Listener | None = None, agent: str = "main"
    ) -> list[dict[str, Any]]:
        """Run the tool calls in a provider's response; returns that provider's messages.

        An OpenAI chat completion, OpenAI response or Anthropic message, as object or dict.
        Empty if the response has no tool call. Calls that change something run only if the
        response ended with its tool calls; every call gets one answer.
        """
        asked = read_calls(response)
        if not asked.calls:
            return []
        self._check_open()
        turn, name = self._numbers.turn(), response_id(response)
        message = self._messages.prepare(
            asked.calls, read_end(response), response=name, turn=turn, agent=agent
        )
        results = message.answers(await self._run(message.prepared, turn, on_event))
        if name is None:
            results = [mark_replayed(one) for one in results]
        return tool_messages(results, asked.provider)

    def tool_messages(
        self, results: Sequence[ToolResult], provider: Provider
    ) -> list[dict[str, Any]]:
        """Results as the messages of a provider, in order."""
        return tool_messages(results, provider)

    async def undo(
        self,
        call: str | None = None,
        *,
        turn: str | int | None = None,
        path: str | None = None,
        since: str | None = None,
        force: bool = False,
        on_event: Listener | None = None,
    ) -> ToolResult:
        """Take back what a call changed (None: the last change that still stands), or a turn
        ("last", its number, or a call in it), the last change of a file, or all since then
        ("start", "all", a time, a call). As the person: not asked, but checked for conflicts,
        recorded, and itself undoable. `force` overwrites what others changed since.

        Many files are undone in parts, each recorded as a call of its own: `on_event` hears how
        far it is, there is no deadline, and after a failure or a crash the next undo goes on.
        """
        arguments = undo_arguments(
            self.session.id, call, turn=turn, path=path, since=since, force=force
        )
        self._check_open()
        return await self._person.undo(arguments, on_event)

    async def redo(
        self,
        call: str | None = None,
        *,
        turn: str | int | None = None,
        path: str | None = None,
        force: bool = False,
        on_event: Listener | None = None,
    ) -> ToolResult:
        """Bring back what was undone: by default what the last undo took."""
        arguments = undo_arguments(self.session.id, call, turn=turn, path=path, force=force)
        self._check_open()
        return await self._person.undo({**arguments, "redo": True}, on_event)

    async def run_quality_gates(self) -> Sequence[GateResult]:
        """Run the commands that the settings name as quality gates, confined like any; what
        `feedback_of` makes of the results is for the model.
        """
        self._check_open()
        return await self._person.run_quality_gates()

    async def cancel(self, id: str) -> bool:
        """End a running call; it returns as interrupted. False if no such call runs."""
        watch = self._pipeline.ticker.find(id)
        if watch is None:
            return False
        watch.end()
        return True

    async def revoke(self, rule: str) -> Sequence[Job]:
        """Take back a grant by its text, and end the jobs that were started under it; returns
        them.
        """
        calls = self.grants.calls_under(rule)
        self.grants.revoke(rule)
        return [job for call in calls for job in await self.jobs.revoke(call, self.session.id)]

    def register(self, tool: Tool[Any], *, allow_override: bool = False) -> None:
        """Add a tool of your own."""
        self._parts.registry.register(tool, allow_override=allow_override)

    def limit_agent(
        self, agent: str, tools: Collection[str] | None, *, parent: str | None = None
    ) -> None:
        """Let an agent use only these tools, and no more than its parent may; None lifts it."""
        self.agents.limit(agent, tools, parent=parent)

    def subscribe(self, listener: Listener) -> None:
        """Be told of every event of this runtime."""
        self._parts.bus.subscribe(listener)

    async def refresh(self) -> None:
        """Compute anew the descriptions that tools make from their surroundings."""
        await self._parts.catalog.refresh()

    async def aclose(self) -> None:
        """End what is running, commit the record, let go of everything. Safe to repeat."""
        if self._closed:
            return
        self._closed = True
        for watch in self._pipeline.ticker.running():
            watch.end()
        await self._pipeline.ticker.idle()
        self._pipeline.ticker.close()
        await self._parts.close()

    def _apply(self, results: Iterable[ToolResult], listener: Listener | None) -> None:
        """Hand on what tools ask of the conversation, in call order."""
        heard = listener is not None or not self._parts.bus.idle
        for result in results:
            for modifier in result.modifiers:
                if isinstance(modifier, QueueCommand):
                    self.queue.append(modifier.command)
                if heard:
                    self._parts.bus.emit(ContextModified(result.call_id, modifier), listener)

    def _check_open(self) -> None:
        if self._closed:
            raise ProblemRaised("unavailable", "this runtime is closed", hint="open a new one")
