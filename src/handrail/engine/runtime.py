"""The public object: everything an agent's loop does with tools goes through here."""

from __future__ import annotations

from collections import deque
from collections.abc import (
    AsyncIterator,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from handrail.core.context import Session
from handrail.core.events import ContextModified, Event, Listener
from handrail.core.ports.processes import Job
from handrail.core.ports.records import Store
from handrail.core.results import QueueCommand, ToolResult
from handrail.core.tool import Tool
from handrail.engine import messages
from handrail.engine.batch.batch_runner import BegunCalls, Call
from handrail.engine.batch.scheduler import Ordering, order
from handrail.engine.jobs import BackgroundJobs
from handrail.engine.planning.mode import PlanMode
from handrail.engine.planning.queue import PlanQueue
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.recording.dead_letters import DeadLetters
from handrail.engine.registry import Registry
from handrail.engine.services import CallServices, SessionServices, ToolServices
from handrail.history.recovery.recovered_call import RecoveredCall
from handrail.policy.agents import Agents
from handrail.policy.approval.grants import SessionGrants

if TYPE_CHECKING:
    from handrail.core.ports.agents import AgentServices, RunningAgent
    from handrail.core.ports.models import Model
    from handrail.engine.hooking.callbacks import Hook
    from handrail.engine.planning.dry_run import PlannedAction
    from handrail.engine.providers.provider_messages import Provider
    from handrail.engine.providers.streamed_turn import StreamedTurn
    from handrail.policy.guardrails.gates import GateResult


class Runtime:
    """One session of one workspace. Safe to use from many tasks of one event loop.

    A tool's failure is a result; these methods raise only for misuse of the runtime itself
    (a closed one, a response of unknown shape).
    """

    def __init__(self, session: SessionServices, tools: ToolServices, calls: CallServices) -> None:
        from handrail.engine.providers.model_calls import ModelCalls
        from handrail.engine.user_actions import QueuedCallRunner, UserActions

        self._session = session
        self._tools = tools
        self._calls = calls
        self._user = UserActions(
            calls.runner.pipeline, tools.preparer, calls.runner.ids, calls.policy.quotas.guardrails
        )
        calls.plan_mode.queue.runner = QueuedCallRunner(calls.runner, tools.preparer)
        letters = session.dead_letters
        letters.caller, letters.knows = self.call, tools.registry.has_tool
        self.model_calls = ModelCalls(tools.preparer, calls, self._run)
        self._closed = False
        self.queue: deque[str] = deque(maxlen=1000)

    @property
    def session(self) -> Session:
        """What outlives a call: roots, mode, what the model has seen, options."""
        return self._session.session

    @property
    def registry(self) -> Registry:
        """The tools; register your own here."""
        return self._tools.registry

    @property
    def store(self) -> Store:
        """The record of every call."""
        return self._session.store

    @property
    def recovered(self) -> Sequence[RecoveredCall]:
        """Calls that a crash interrupted and that opening has finished or rolled back."""
        return self._session.recovered

    @property
    def jobs(self) -> BackgroundJobs:
        """The background jobs of the workspace."""
        return self._session.jobs

    @property
    def dead_letters(self) -> DeadLetters:
        """Calls that failed because of a defect, for the user to retry or abandon."""
        return self._session.dead_letters

    @property
    def grants(self) -> SessionGrants:
        """What the user allows for this session, beyond the rules in the settings."""
        return self._calls.policy.services.grants

    @property
    def aborted(self) -> bool:
        """Whether the user has aborted the run; every further call is then refused."""
        return self._calls.policy.approval.aborted

    @property
    def planning(self) -> PlanMode:
        """Plan mode: `active`, and for the user `enter()` and `end()`."""
        return self._calls.plan_mode

    @property
    def plan_queue(self) -> PlanQueue:
        """The calls that plan mode has queued, for the user to approve or reject."""
        return self._calls.plan_mode.queue

    @property
    def planned_actions(self) -> tuple[PlannedAction, ...]:
        """What a dry run would have done, in order."""
        return self._calls.runner.pipeline.planner.actions.actions

    def plan_summary(self) -> str:
        """What a dry run would have done, in a few lines."""
        return self._calls.runner.pipeline.planner.actions.summary()

    @property
    def agents(self) -> Agents:
        """What each agent may use: `of(agent)`, None for everything."""
        return self._tools.preparer.principals.agents

    @property
    def hooks(self) -> list[Hook]:
        """In-process hooks, called in order."""
        return self._calls.runner.pipeline.hooks.hooks

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        id: str | None = None,
        on_event: Listener | None = None,
        agent: str = "main",
    ) -> Coroutine[Any, Any, ToolResult]:
        """Run one tool. Its own turn, unless inside `turn()`."""
        # Not in the coroutine: calls that were made together may run one after the other.
        made = self._calls.batches.clock.monotonic()

        async def run() -> ToolResult:
            self._check_open()
            runner = self._calls.runner
            call = runner.ids.make_call(id, name, arguments, runner.ids.turn(), agent)
            prepared = self._tools.preparer.prepare(call)
            prepared.origin.made = made
            if id is None:
                result = await runner.pipeline.run(prepared, on_event)
            else:
                prepared.origin.has_client_id = True
                result = await runner.run(prepared, on_event)
            if result.modifiers:
                self._apply([result], on_event)
            return result

        return run()

    async def batch(
        self, calls: Iterable[Call], *, on_event: Listener | None = None, agent: str = "main"
    ) -> list[ToolResult]:
        """Run several calls as one turn, in parallel where they cannot disturb each other.

        Each call is `{"id"?, "name", "arguments"?}`. Results come in call order.
        """
        self._check_open()
        turn = self._calls.runner.ids.turn()
        prepared = await self._calls.batches.prepare_paced(calls, turn, agent)
        return await self._run(prepared, turn, on_event)

    async def _run(
        self,
        prepared: list[PreparedCall],
        turn: int,
        on_event: Listener | None,
        begun: BegunCalls | None = None,
    ) -> list[ToolResult]:
        apply = partial(self._apply, listener=on_event)
        return await self._calls.batches.run(prepared, turn, on_event, apply, begun)

    def plan(self, calls: Iterable[Call], *, agent: str = "main") -> Ordering:
        """How a batch of these calls would be ordered; runs nothing."""
        prepared = self._calls.batches.prepare(calls, 0, agent)
        return order([one.call.id for one in prepared], [one.footprint for one in prepared])

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Group the calls made inside as one turn."""
        with self.same_turn() as number:
            yield number

    @contextmanager
    def same_turn(self) -> Iterator[int]:
        """Like `turn`, for code that is not async; follows the calling thread or task."""
        with self._calls.runner.ids.same_turn() as number:
            yield number

    def declare(
        self,
        provider: str,
        *,
        allowed: Collection[str] | None = None,
        groups: Collection[str] | None = None,
        agent: str = "main",
    ) -> list[Any]:
        """The tools as a provider wants them declared: "openai" (chat), "openai-responses",
        "anthropic", "gemini" or "mcp". `allowed` names tools (None: all; empty: none); an agent is shown
        only what it may call. From then on `answer` refuses this agent what it was not shown;
        the last declaration counts. Raises `invalid_arguments` for a name that no tool has.
        """
        visibility, catalog = self._tools.preparer.visibility, self._tools.catalog
        if allowed is not None:
            catalog.check_names(allowed, visibility.list_callable(agent))
        visible = visibility.list_declared(agent, allowed)
        declared, shown = catalog.declare(provider, allowed=visible, groups=groups)
        if provider != "mcp":
            visibility.record_declared(agent, shown)
        return declared

    async def answer(
        self, response: Any, *, on_event: Listener | None = None, agent: str = "main"
    ) -> list[Any]:
        """Run the tool calls in a provider's response; returns that provider's messages.

        An OpenAI chat completion, OpenAI response or Anthropic message, as object or dict.
        Empty if the response has no tool call. Calls that change something run only if the
        response ended with its tool calls; every call gets one answer.
        """
        self._check_open()
        return await self.model_calls.answer(response, agent=agent, on_event=on_event)

    def stream(
        self,
        events: Any,
        provider: str | None = None,
        agent: str = "main",
        on_event: Listener | None = None,
    ) -> StreamedTurn:
        """Run the tool calls of a response while it is streamed: `async with rt.stream(events) as
        turn`. `events` is the stream of an SDK, or its events as dicts: OpenAI chat or Responses,
        Anthropic, Gemini. `provider` is recognised if it is not given.

        A call starts before the response has ended only if it only reads, nobody has to be asked,
        and no earlier call that it conflicts with is unfinished. Everything else waits for a finish
        that means tool calls.
        """
        # Loads the wire formats, which calls do not need.
        from handrail.engine.providers.streamed_turn import StreamedTurn

        self._check_open()
        return StreamedTurn(events, provider, self.model_calls.stream(agent, on_event))

    def open_model(self, named: str | Model | None = None) -> Model:
        """The model of this name, None: the one that the runtime was opened with; closed with the
        runtime. Raises `invalid_arguments` if there is none.
        """
        self._check_open()
        return self._session.agents.resolve_model(named).model

    def agent(self, **options: Any) -> RunningAgent:
        """An agent that works with this runtime's tools; takes the options of `handrail.Agent`."""
        self._check_open()
        agent: RunningAgent = self._session.agents.create(self, **options)
        return agent

    @property
    def agent_services(self) -> AgentServices:
        """What agents of this runtime share: models, the clock, the identity of the process."""
        return self._session.agents

    def tool_messages(self, results: Sequence[ToolResult], provider: Provider) -> list[Any]:
        """Results as the messages of a provider, in order."""
        from handrail.engine.providers.provider_messages import tool_messages

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
        """Revert what a call changed (None: the last change that was not reverted), or a turn
        ("last", its number, or a call in it), the last change of a file, or all changes since a
        point ("start", "all", a time, a call). An action of the user: it needs no approval, but is
        checked for conflicts, recorded, and can be undone. `force` overwrites later changes.

        Many files are undone in parts, each recorded as a call: `on_event` receives the progress,
        there is no deadline, and after a failure or a crash the next undo continues.
        """
        from handrail.engine.user_actions import undo_arguments

        arguments = undo_arguments(
            self.session.id, call, turn=turn, path=path, since=since, force=force
        )
        self._check_open()
        return await self._user.undo(arguments, on_event)

    async def redo(
        self,
        call: str | None = None,
        *,
        turn: str | int | None = None,
        path: str | None = None,
        force: bool = False,
        on_event: Listener | None = None,
    ) -> ToolResult:
        """Redo what was undone: by default the last undo."""
        from handrail.engine.user_actions import undo_arguments

        arguments = undo_arguments(self.session.id, call, turn=turn, path=path, force=force)
        self._check_open()
        return await self._user.undo({**arguments, "redo": True}, on_event)

    async def run_quality_gates(self) -> Sequence[GateResult]:
        """Run the commands that the settings name as quality gates, confined like any; what
        `feedback_of` makes of the results is for the model.
        """
        self._check_open()
        return await self._user.run_quality_gates()

    async def cancel(self, id: str) -> bool:
        """End a running call; it returns as interrupted. False if no such call runs."""
        timer = self._calls.timers.find(id)
        if timer is None:
            return False
        timer.end()
        return True

    async def revoke(self, rule: str) -> Sequence[Job]:
        """Revoke a grant by its text and end the jobs that were started under it; returns these jobs."""
        calls = self.grants.calls_under(rule)
        self.grants.revoke(rule)
        return [job for call in calls for job in await self.jobs.revoke(call, self.session.id)]

    def register(self, tool: Tool[Any], *, allow_override: bool = False) -> None:
        """Add a tool of your own."""
        self._tools.registry.register(tool, allow_override=allow_override)

    def limit_agent(
        self, agent: str, tools: Collection[str] | None, *, parent: str | None = None
    ) -> None:
        """Let an agent use only these tools, and no more than its parent may; None lifts it."""
        self.agents.limit(agent, tools, parent=parent)

    def emit(self, event: Event, listener: Listener | None = None) -> None:
        """Report an event to `listener` and to every subscriber."""
        self._calls.bus.emit(event, listener)

    def subscribe(self, listener: Listener) -> None:
        """Call the listener for every event of this runtime."""
        self._calls.bus.subscribe(listener)

    async def refresh(self) -> None:
        """Compute again the descriptions that tools build from the session."""
        await self._tools.catalog.refresh()

    async def aclose(self) -> None:
        """End running calls, commit the record and release all resources. Safe to repeat."""
        if self._closed:
            return
        self._closed = True
        for timer in self._calls.timers.running():
            timer.end()
        await self._calls.timers.idle()
        self._calls.timers.close()
        await self._session.close()

    def _apply(self, results: Iterable[ToolResult], listener: Listener | None) -> None:
        """Apply the context modifiers of results, in call order."""
        has_listener = listener is not None or not self._calls.bus.idle
        for result in results:
            for modifier in result.modifiers:
                if isinstance(modifier, QueueCommand):
                    self.queue.append(modifier.command)
                if has_listener:
                    self._calls.bus.emit(ContextModified(result.call_id, modifier), listener)

    def _check_open(self) -> None:
        if self._closed:
            raise messages.RUNTIME_CLOSED.error()
