"""`handrail.Agent`: one conversation of a model that works with the tools of a runtime."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from os import PathLike
from typing import Any

from handrail.agent import messages
from handrail.agent.budget import Budget, BudgetMeter, current_meter
from handrail.agent.compaction import Compaction, Compactor
from handrail.agent.completion import (
    StructuredOutput,
    begin_task,
    check_user_needed,
    end_task,
    finish_task,
    user_message,
)
from handrail.agent.conversation import Conversation, ConversationSetup, new_conversation_id
from handrail.agent.estimate import TokenEstimate
from handrail.agent.events import AgentStarted, Notification, stream_events
from handrail.agent.lease import ConversationLease, load_stored, reload_changed
from handrail.agent.loop import StepLimits, StepLoop
from handrail.agent.prompt import make_system_prompt
from handrail.agent.recovery import (
    answer_dangling_calls,
    describe_stopped,
    keep_spending,
    report_earlier_calls,
)
from handrail.agent.report import ReportBuilder
from handrail.agent.rewind import ConversationRewinder, Rewind, forked_turn
from handrail.agent.turns import TurnRunner
from handrail.core.agent_results import AgentResult, Usage
from handrail.core.events import Event, Listener
from handrail.core.ports.agents import ResolvedModel
from handrail.core.ports.models import Block, Message, Model
from handrail.core.ports.subagents import AgentLineage
from handrail.core.problems import Problem, ProblemRaised
from handrail.engine.runtime import Runtime


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """The options of an agent, besides its conversation."""

    model: str | Model | None = None
    name: str = "main"
    instructions: str | None = None
    allowed: Collection[str] | None = None
    budget: Budget | None = None
    max_steps: int | None = None


class Agent:
    """One conversation. A second `run` continues it; `new()` starts another one.

    Any number of agents may share a runtime; each has its own conversation and read state. Limits
    that are not given come from the settings `budget` and `max_steps`.
    """

    def __init__(
        self,
        rt: Runtime,
        *,
        model: str | Model | None = None,
        name: str = "main",
        instructions: str | None = None,
        allowed: Collection[str] | None = None,
        budget: Budget | None = None,
        max_steps: int | None = None,
        session: str | None = None,
    ) -> None:
        if max_steps is not None and max_steps < 1:
            raise messages.INVALID_MAX_STEPS.error(steps=max_steps, field="max_steps")
        self._rt = rt
        self._options = AgentOptions(model, name, instructions, allowed, budget, max_steps)
        self._session = session or new_conversation_id()
        self._conversation: Conversation | None = None
        self._steering: deque[str] = deque()
        self._usage = Usage()
        self._working = False
        self._jobs: set[str] = set()
        self._loop: StepLoop | None = None

    @property
    def session(self) -> str:
        """The id of the conversation."""
        return self._session

    @property
    def turn(self) -> int:
        """The number of the last turn; 0 before the model's first response."""
        return 0 if self._conversation is None else self._conversation.turn

    @property
    def turn_count(self) -> int:
        """How many responses of the model the conversation has."""
        return 0 if self._conversation is None else self._conversation.turn_count

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, as far as this object has loaded or created it."""
        return () if self._conversation is None else self._conversation.messages

    @property
    def usage(self) -> Usage:
        """The usage of all tasks of this object."""
        return self._usage

    @property
    def lineage(self) -> AgentLineage:
        """The agents above this one, and its type."""
        return AgentLineage(self._options.name, (self._options.name,))

    @property
    def model_name(self) -> str:
        """The name of the model; raises `invalid_arguments` if none is configured."""
        return self._rt.agent_services.resolve_model(self._options.model).model.name

    def switch_model(self, model: str | Model) -> None:
        """Use another model from the next task on; raises `invalid_arguments` for an unknown name."""
        self._rt.agent_services.resolve_model(model)
        self._options = replace(self._options, model=model)

    def new(self) -> Agent:
        """Return an agent with the same options and an empty conversation."""
        return self._new_in(self._rt)

    def _new_in(self, rt: Runtime, session: str | None = None) -> Agent:
        options = {
            field.name: getattr(self._options, field.name) for field in fields(self._options)
        }
        return Agent(rt, **options, session=session)

    def steer(self, text: str) -> None:
        """Add a message of the user; the model sees it before its next step."""
        self._steering.append(text)

    async def run(
        self,
        task: str | Sequence[Block],
        *,
        output: type | None = None,
        on_event: Listener | None = None,
    ) -> AgentResult:
        """Work on a task until it is done. A failure is a result; raises `ProblemRaised` only if
        the task cannot start (no model, session in use by another process).
        """
        return await self._work(user_message(task), output, on_event)

    async def resume(self, *, on_event: Listener | None = None) -> AgentResult:
        """Continue the unfinished task of this session; raises `not_found` if there is none."""
        return await self._work(None, None, on_event)

    async def stopped_result(self) -> AgentResult | None:
        """Return the result of the last task if it was cancelled; None if it ended or never began."""
        return None if self._loop is None else await describe_stopped(self._loop)

    async def compact(self, *, on_event: Listener | None = None) -> Compaction:
        """Send the conversation in a shorter form from now on: old outputs as handles, and
        everything before the newest part as a summary. Nothing is deleted.
        """

        def emit(event: Event) -> None:
            self._rt.emit(event, on_event)

        resolved = self._rt.agent_services.resolve_model(self._options.model)
        async with self._leased(on_event):
            conversation = await self._open_conversation(resolved.model.name, emit)
            meter = self._meter(resolved)
            compactor = self._compactor(conversation, resolved, meter, emit)
            try:
                return await compactor.run_now()
            finally:
                self._usage = self._usage + meter.usage
                await conversation.flush()

    async def rewind(
        self, turn: int, *, force: bool = False, on_event: Listener | None = None
    ) -> Rewind:
        """Restore the conversation and the files to the end of a turn; 0 is before the first one.
        Work and grants of later turns end. Raises `conflict` with the files that others have
        changed since; `force` overwrites these changes. Effects that cannot be undone are reported
        as a notification first.
        """
        async with self._leased(on_event):
            return await self._rewind(turn, on_event, force=force)

    async def _rewind(self, turn: int, on_event: Listener | None, *, force: bool) -> Rewind:
        rewinder = ConversationRewinder(self._rt, self._options.name, await self.load())
        if note := await rewinder.describe_lasting(turn):
            self._rt.emit(Notification("not_undone", note), on_event)
        return await rewinder.run(turn, force=force)

    async def undo_task(self, *, force: bool = False, on_event: Listener | None = None) -> Rewind:
        """Rewind to the start of the last task; raises `not_found` if there is none."""
        async with self._leased(on_event):
            tasks = (await self.load()).task_turns
            if not tasks:
                raise messages.NO_TASK_TO_UNDO.error(session=self._session)
            return await self._rewind(tasks[-1], on_event, force=force)

    async def fork(
        self, turn: int | None = None, *, into: str | PathLike[str] | None = None
    ) -> Agent:
        """Return an agent in a new session with the conversation up to the end of a turn (None: the
        last). Files stay as they are; if later turns have changed some, the first message names
        them.

        `into` names a directory that is empty or missing: the workspace as of that turn is written
        there, and the agent works there, with a runtime that closes with this one. The original
        does not change.
        """
        async with self._leased():
            original, services = await self.load(), self._rt.agent_services
            last, session, copy = forked_turn(original, turn), new_conversation_id(), None
            if into is not None:
                copy = await services.open_fork(into, f"{original.call_owner}>{last}", session)
            rewinder = ConversationRewinder(self._rt, self._options.name, original)
            await rewinder.fork(session, last, copy)
            forked = self._new_in(self._rt if copy is None else copy.runtime, session)
            await forked.load()
            return forked

    async def stream(
        self, task: str | Sequence[Block], *, output: type | None = None
    ) -> AsyncIterator[Event]:
        """Work on a task and yield its events; the last one is `agent_end`. Leaving the loop early
        cancels the task; what was done stays recorded.
        """
        async with aclosing(stream_events(partial(self.run, task, output=output))) as events:
            async for event in events:
                yield event

    async def spawn(self, agent_type: str, task: str, **limits: Any) -> AgentResult:
        """Let a subagent of a type do a task, like the tool `subagent`; `limits` are arguments of
        that tool. Raises `ProblemRaised` if the subagent may not start.
        """
        if limits.pop("background", False):
            raise TypeError("spawn returns the result; use asyncio.create_task to go on meanwhile")
        meter = current_meter.get()
        if meter is None:
            resolved = self._rt.agent_services.resolve_model(self._options.model)
            meter = self._meter(resolved)
        arguments = {"agent": agent_type, "task": task, **limits}
        with meter.active():
            result = await self._rt.call("subagent", arguments, agent=self._options.name)
        if result.data is None:
            raise ProblemRaised.of(result.problem or Problem("internal", result.text))
        return await self._rt.agent_services.subagents.value.result(result.data["agent_id"])

    async def _work(
        self, message: Message | None, output: type | None, on_event: Listener | None
    ) -> AgentResult:
        resolved = self._rt.agent_services.resolve_model(self._options.model)
        async with self._leased(on_event):
            with self._meter(resolved).active() as meter:
                return await self._run_task(resolved, meter, message, output, on_event)

    async def _run_task(
        self,
        resolved: ResolvedModel,
        meter: BudgetMeter,
        message: Message | None,
        output: type | None,
        on_event: Listener | None,
    ) -> AgentResult:
        name, model = self._options.name, resolved.model

        def emit(event: Event) -> None:
            self._rt.emit(event, on_event)

        self._loop = None
        conversation, resumed = await self._open_conversation(model.name, emit), message is None
        if resumed and not conversation.state.get("unfinished"):
            raise messages.NOTHING_TO_RESUME.error(session=self._session)
        keep_spending(conversation, meter, resumed=resumed)
        turns = TurnRunner(self._rt, name, self._session, meter, on_event)
        await answer_dangling_calls(conversation, turns, resumed=resumed)
        structured = None if output is None else StructuredOutput(output)
        task = begin_task(self._rt, conversation, message, structured)
        # When `agent_start` is reported, the task can be resumed.
        await conversation.flush()
        kind, chain = line = self.lineage
        place = (line.parent, chain, line.depth, kind)
        emit(AgentStarted(name, *place, model.name, task, self._session))
        report, services = ReportBuilder(), self._rt.agent_services
        before = await report_earlier_calls(conversation, turns, report) if resumed else 0
        compactor = self._compactor(conversation, resolved, meter, emit)
        await compactor.withhold_denied()
        size = conversation.kept_size(model.name)
        compactor.floor = size.floor
        most = self._options.max_steps or services.defaults.max_steps
        loop = StepLoop(
            name,
            model,
            conversation,
            turns,
            meter,
            StepLimits(most, model.limits.max_output_tokens),
            TokenEstimate(size.factor),
            report,
            services.clock,
            emit,
            self.take_steering,
            services.run_hooks,
            compactor,
            services.subagents,
            self._jobs,
            meter.own_steps,
        )
        return await self._finish(loop, structured, before)

    async def _finish(
        self, loop: StepLoop, form: StructuredOutput | None, before: int
    ) -> AgentResult:
        self._loop = loop
        try:
            end, value = await finish_task(loop, form)
        finally:
            self._usage = self._usage + loop.meter.usage
        self._loop = None
        return await end_task(loop, check_user_needed(end, loop.report.build(), before), value)

    def _compactor(
        self,
        conversation: Conversation,
        resolved: ResolvedModel,
        meter: BudgetMeter,
        emit: Listener,
    ) -> Compactor:
        services = self._rt.agent_services
        small = services.defaults.small_model
        summariser = resolved if small is None else services.resolve_model(small)
        return Compactor(
            self._rt, self._options.name, conversation, resolved.model, summariser, meter, emit
        )

    def _meter(self, resolved: ResolvedModel) -> BudgetMeter:
        clock, calls = self._rt.agent_services.clock, self._rt.model_calls
        budget = self._options.budget or Budget(**self._rt.agent_services.defaults.budget)
        return BudgetMeter(budget, resolved.price, lambda: clock.monotonic() - calls.user_wait_s)

    async def _open_conversation(self, model: str, emit: Listener) -> Conversation:
        """Return the conversation. A new one is begun: system prompt and tools are fixed then."""
        conversation, options = await self.load(), self._options
        # Always declared: the engine refuses calls of undeclared tools.
        tools = self._rt.declare(
            "anthropic", allowed=options.allowed, agent=options.name, conversation=self._session
        )
        if conversation.setup is None:
            system = await make_system_prompt(
                self._rt, options.name, options.instructions, emit, tools
            )
            session = self._rt.session.id
            setup = ConversationSetup(model, options.name, session, system, tuple(tools))
            conversation.begin(setup)
        return conversation

    async def load(self) -> Conversation:
        """Return the conversation as stored when this agent last had the lease."""
        if self._conversation is None:
            self._conversation = await load_stored(self._rt, self._options.name, self._session)
        return self._conversation

    @asynccontextmanager
    async def _leased(self, on_event: Listener | None = None) -> AsyncIterator[None]:
        """Hold the lease of the conversation. Raises `conflict` if this agent works on a task,
        `unavailable` if another agent or process has the conversation.
        """
        if self._working:
            raise messages.RUN_IN_PROGRESS.error()
        services = self._rt.agent_services
        lease = ConversationLease(
            self._rt.store, self._rt.session.roots[0], self._session, services.process
        )
        self._working = True
        try:
            await lease.acquire()
            try:
                if (loaded := self._conversation) is not None:
                    name = self._options.name
                    self._conversation = await reload_changed(self._rt, name, loaded, on_event)
                yield
            finally:
                await lease.release()
        finally:
            self._working = False

    def take_steering(self) -> Sequence[str]:
        """Remove and return the messages of `steer` that no step has used yet."""
        pending = list(self._steering)
        self._steering.clear()
        return pending
