"""`handrail.Agent`: one conversation of a model that works with the tools of a runtime."""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from handrail.agent import messages
from handrail.agent.budget import Budget, BudgetMeter
from handrail.agent.conversation import Conversation, ConversationSetup, load_conversation
from handrail.agent.estimate import TokenEstimate
from handrail.agent.events import AgentEnded, AgentStarted, Notification
from handrail.agent.gates import QualityGates
from handrail.agent.lease import ConversationLease
from handrail.agent.loop import StepLimits, StepLoop, TaskEnd, end_with
from handrail.agent.prompt import read_instructions, system_parts
from handrail.agent.recovery import answer_dangling_calls
from handrail.agent.report import ReportBuilder
from handrail.agent.structured import StructuredOutput
from handrail.agent.turns import TurnRunner
from handrail.core.agent_results import AgentResult, Usage
from handrail.core.events import Event, Listener
from handrail.core.ports.agents import ResolvedModel
from handrail.core.ports.models import Block, Message, Model, SystemPart, TextBlock
from handrail.engine.runtime import Runtime

DEFAULT_MAX_STEPS: Final = 50
_TITLE_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """How an agent works, apart from its conversation."""

    model: str | Model | None = None
    name: str = "main"
    instructions: str | None = None
    allowed: Collection[str] | None = None
    budget: Budget | None = None
    max_steps: int = DEFAULT_MAX_STEPS


class Agent:
    """One conversation. A second `run` goes on with it; `new()` starts another one.

    Any number of agents may share a runtime; each has its own conversation and read state.
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
        max_steps: int = DEFAULT_MAX_STEPS,
        session: str | None = None,
    ) -> None:
        self._rt = rt
        self._options = AgentOptions(model, name, instructions, allowed, budget, max_steps)
        self._session = session or uuid.uuid4().hex[:12]
        self._conversation: Conversation | None = None
        self._steering: deque[str] = deque()
        self._usage = Usage()
        self._working = False

    @property
    def session(self) -> str:
        """The id of the conversation."""
        return self._session

    @property
    def turn(self) -> int:
        """The number of the last turn; 0 before the model's first response."""
        return 0 if self._conversation is None else self._conversation.turn

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, as far as this object has loaded or made it."""
        return () if self._conversation is None else self._conversation.messages

    @property
    def usage(self) -> Usage:
        """What the tasks of this object have used."""
        return self._usage

    def new(self) -> Agent:
        """An agent with the same options and an empty conversation."""
        options = self._options
        return Agent(
            self._rt,
            model=options.model,
            name=options.name,
            instructions=options.instructions,
            allowed=options.allowed,
            budget=options.budget,
            max_steps=options.max_steps,
        )

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
        the task cannot begin (no model, session in use by another process).
        """
        return await self._work(_user_message(task), output, on_event)

    async def resume(self, *, on_event: Listener | None = None) -> AgentResult:
        """Go on with the unfinished task of this session; raises `not_found` if there is none."""
        return await self._work(None, None, on_event)

    async def stream(
        self, task: str | Sequence[Block], *, output: type | None = None
    ) -> AsyncIterator[Event]:
        """Work on a task; yields its events as they come. The last one is `agent_end`. Leaving
        the loop early cancels the task; what was done stays recorded.
        """
        events: asyncio.Queue[Event | None] = asyncio.Queue()
        work = asyncio.ensure_future(self.run(task, output=output, on_event=events.put_nowait))
        work.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await work
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait([work])

    async def _work(
        self, message: Message | None, output: type | None, on_event: Listener | None
    ) -> AgentResult:
        if self._working:
            raise messages.RUN_IN_PROGRESS.error()
        self._working = True
        try:
            services = self._rt.agent_services
            resolved = services.resolve_model(self._options.model)
            async with self._leased():
                return await self._run_task(resolved, message, output, on_event)
        finally:
            self._working = False

    async def _run_task(
        self,
        resolved: ResolvedModel,
        message: Message | None,
        output: type | None,
        on_event: Listener | None,
    ) -> AgentResult:
        name, model = self._options.name, resolved.model

        def emit(event: Event) -> None:
            self._rt.emit(event, on_event)

        meter = self._meter(resolved)
        conversation = await self._open_conversation(model.name, emit)
        if message is None and not conversation.state.get("unfinished"):
            raise messages.NOTHING_TO_RESUME.error(session=self._session)
        turns = TurnRunner(self._rt, name, meter.charge_call, on_event)
        await answer_dangling_calls(conversation, turns)
        structured = None if output is None else StructuredOutput(output)
        task = self._begin_task(conversation, message, structured)
        emit(AgentStarted(name, None, (name,), 0, name, model.name, task, self._session))
        report, services = ReportBuilder(), self._rt.agent_services
        loop = StepLoop(
            name,
            model,
            conversation,
            turns,
            meter,
            StepLimits(self._options.max_steps, model.limits.max_output_tokens),
            TokenEstimate(),
            report,
            services.clock,
            emit,
            self.take_steering,
            services.run_hooks,
        )
        end, value = await _finish_task(loop, structured)
        conversation.update(unfinished=end.problem is not None)
        await conversation.flush()
        self._usage = self._usage + meter.usage
        result = AgentResult(
            end.text,
            end.status,
            self._session,
            conversation.turn,
            meter.usage,
            report.build(),
            value,
            end.problem,
        )
        await services.run_hooks("agent_complete", _completion_facts(result))
        usage, facts = meter.usage.to_dict(), result.report.to_dict()
        emit(AgentEnded(name, result.status, result.turns, usage, facts, result.to_dict()))
        return result

    def _meter(self, resolved: ResolvedModel) -> BudgetMeter:
        clock, calls = self._rt.agent_services.clock, self._rt.model_calls
        budget = self._options.budget or Budget()
        return BudgetMeter(budget, resolved.price, lambda: clock.monotonic() - calls.user_wait_s)

    def _begin_task(
        self,
        conversation: Conversation,
        message: Message | None,
        structured: StructuredOutput | None,
    ) -> str:
        """Add the user's message, if there is a new one; returns the task as text."""
        title = str(conversation.state.get("title", ""))
        if message is None:
            return title
        asked = message if structured is None else structured.extend(message)
        conversation.append(asked, conversation.turn)
        conversation.update(
            unfinished=True,
            title=title or message.text[:_TITLE_CHARS],
            at_ns=self._rt.agent_services.clock.now_ns(),
        )
        return message.text

    async def _open_conversation(self, model: str, emit: Listener) -> Conversation:
        """The conversation, begun if it is new: system prompt and tools are fixed then."""
        if self._conversation is None:
            self._conversation = await load_conversation(self._session, self._rt.store)
        conversation, options = self._conversation, self._options
        # Declared in any case: the engine refuses calls of tools that were not declared.
        tools = self._rt.declare("anthropic", allowed=options.allowed, agent=options.name)
        if conversation.setup is None:
            system = await self._system_prompt(emit)
            session = self._rt.session.id
            setup = ConversationSetup(model, options.name, session, system, tuple(tools))
            conversation.begin(setup)
        return conversation

    async def _system_prompt(self, emit: Listener) -> tuple[SystemPart, ...]:
        options, services = self._options, self._rt.agent_services
        files = await read_instructions(self._rt, options.name)
        if files and not await services.trusts(files):
            names = ", ".join(file.path for file in files)
            emit(Notification("instructions_left_out", f"not trusted, so left out: {names}"))
            files = []
        day = datetime.fromtimestamp(services.clock.now_ns() / 1e9, UTC).date().isoformat()
        return system_parts(options.instructions, files, self._rt.session.roots[0], day)

    @asynccontextmanager
    async def _leased(self) -> AsyncIterator[None]:
        """Hold the conversation against other processes; raises `unavailable` if one has it."""
        services = self._rt.agent_services
        lease = ConversationLease(
            self._rt.store, self._rt.session.roots[0], self._session, services.process
        )
        await lease.acquire()
        try:
            yield
        finally:
            await lease.release()

    def take_steering(self) -> Sequence[str]:
        """Remove and return the messages of `steer` that no step has taken up yet."""
        taken = list(self._steering)
        self._steering.clear()
        return taken


async def _finish_task(loop: StepLoop, structured: StructuredOutput | None) -> tuple[TaskEnd, Any]:
    """Run the steps, and again with feedback while quality gates fail or the answer has not the
    requested form.
    """
    gates = QualityGates(loop.turns.rt)
    rounds = 0
    while True:
        end = await loop.run()
        if end.problem is not None:
            return end, None
        feedback = await gates.feedback()
        value: Any = None
        if feedback is None and structured is not None:
            value, feedback = structured.read(end.text)
            if feedback is not None and (rounds := rounds + 1) > structured.REPAIRS:
                problem = messages.OUTPUT_INVALID.fill(rounds=rounds, reason=feedback)
                return end_with(problem, end.text), None
        if feedback is None:
            return end, value
        loop.conversation.append(Message("user", (TextBlock(feedback),)), loop.conversation.turn)


def _user_message(task: str | Sequence[Block]) -> Message:
    blocks = (TextBlock(task),) if isinstance(task, str) else tuple(task)
    if not any(isinstance(one, TextBlock) and one.text.strip() for one in blocks):
        raise messages.EMPTY_TASK.error(field="task")
    return Message("user", blocks)


def _completion_facts(result: AgentResult) -> dict[str, str]:
    return {
        "agent_session": result.session,
        "status": result.status,
        "turns": str(result.turns),
        "files_changed": str(len(result.report.changes)),
        "tokens": str(result.usage.tokens),
    }
