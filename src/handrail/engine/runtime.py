"""The public object: everything that an agent's loop does with tools goes through here."""

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
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from handrail.core.call import reader_name
from handrail.core.results import QueueCommand, ToolResult
from handrail.core.tool import Tool
from handrail.engine import messages
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.runtime_state import RuntimeState
from handrail.engine.services import CallServices, SessionServices, ToolServices

if TYPE_CHECKING:
    from handrail.core.approval import Answer
    from handrail.core.events import Event, Listener
    from handrail.core.ports.agents import AgentServices, RunningAgent
    from handrail.core.ports.models import Model
    from handrail.core.ports.processes import Job
    from handrail.engine.batch.batch_runner import BegunCalls, Call
    from handrail.engine.batch.scheduler import Ordering
    from handrail.engine.call_policy import Foresight
    from handrail.engine.child_calls import ChildCalls
    from handrail.engine.providers.message_calls import ModelCalls
    from handrail.engine.providers.provider_messages import Provider
    from handrail.engine.providers.streamed_turn import StreamedTurn
    from handrail.engine.recording.failed_call_retry import FailedCalls
    from handrail.engine.user_actions import UserActions
    from handrail.policy.guardrails.gates import GateResult


class Runtime(RuntimeState):
    """One session of one workspace. Safe to use from many tasks of one event loop.

    A tool's failure is a result; these methods raise only for misuse of the runtime itself (it is
    closed, or a response has an unknown shape).
    """

    def __init__(self, session: SessionServices, tools: ToolServices, calls: CallServices) -> None:
        super().__init__(session, tools, calls)
        if (asked := calls.policy.approval.questions) is not None:
            asked.emit = self._emit_about
        self._closed = False
        self.queue: deque[str] = deque(maxlen=1000)

    @cached_property
    def model_calls(self) -> ModelCalls:
        """Runs the calls of models' messages."""
        from handrail.engine.providers.message_calls import ModelCalls

        return ModelCalls(self._tools.preparer, self._calls, self._run)

    @cached_property
    def child_calls(self) -> ChildCalls:
        """Lets calls wait for the agents that they start."""
        from handrail.engine.child_calls import ChildCalls

        return ChildCalls(self._tools, self._calls)

    @cached_property
    def dead_letters(self) -> FailedCalls:
        """Calls that failed because of a defect, for the user to retry or abandon."""
        letters = self._session.dead_letters.value
        letters.caller, letters.knows = self.call, self._tools.registry.has_tool
        return letters

    @cached_property
    def _user(self) -> UserActions:
        from handrail.engine.user_actions import UserActions

        runner, guardrails = self._calls.runner, self._calls.policy.quotas.guardrails
        return UserActions(runner.pipeline, self._tools.preparer, runner.ids, guardrails)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None = None,
        *,
        id: str | None = None,
        on_event: Listener | None = None,
        agent: str = "main",
    ) -> Coroutine[Any, Any, ToolResult]:
        """Run one tool. It is a turn of its own, unless made inside `turn()`."""
        # Outside the coroutine: calls that were made together may run one after the other.
        made = self._calls.timers.clock.monotonic()
        return self._call(name, arguments, id, on_event, agent, made)

    async def _call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        id: str | None,
        on_event: Listener | None,
        agent: str,
        made: float,
    ) -> ToolResult:
        if self._closed:
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

    async def batch(
        self, calls: Iterable[Call], *, on_event: Listener | None = None, agent: str = "main"
    ) -> list[ToolResult]:
        """Run several calls as one turn, in parallel where they do not conflict.

        Each call is `{"id"?, "name", "arguments"?}`. Results come in call order.
        """
        self._check_open()
        turn = self._calls.runner.ids.turn()
        prepared = await self._calls.batches.value.prepare_paced(calls, turn, agent)
        return await self._run(prepared, turn, on_event)

    async def _run(
        self,
        prepared: list[PreparedCall],
        turn: int,
        on_event: Listener | None,
        begun: BegunCalls | None = None,
    ) -> list[ToolResult]:
        apply = partial(self._apply, listener=on_event)
        return await self._calls.batches.value.run(prepared, turn, on_event, apply, begun)

    def plan(self, calls: Iterable[Call], *, agent: str = "main") -> Ordering:
        """Return how a batch of these calls would be ordered; runs nothing."""
        from handrail.engine.batch.scheduler import order

        prepared = self._calls.batches.value.prepare(calls, 0, agent)
        return order([one.call.id for one in prepared], [one.footprint for one in prepared])

    def foresee(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, *, agent: str = "main"
    ) -> Foresight:
        """Return what is certain about a call before it is made: its refusal, or that the user
        would not be asked. Runs and records nothing.
        """
        call = self._calls.runner.ids.make_call(None, name, arguments, 0, agent)
        return self._calls.policy.foresee(self._tools.preparer.prepare(call))

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[int]:
        """Group the calls made inside as one turn."""
        with self.same_turn() as number:
            yield number

    @contextmanager
    def same_turn(self) -> Iterator[int]:
        """Do what `turn` does, for code that is not async; follows the calling thread or task."""
        with self._calls.runner.ids.same_turn() as number:
            yield number

    def declare(
        self,
        provider: str,
        *,
        allowed: Collection[str] | None = None,
        groups: Collection[str] | None = None,
        agent: str = "main",
        conversation: str = "",
    ) -> list[Any]:
        """The tools as a provider wants them declared: "openai" (chat), "openai-responses",
        "anthropic", "gemini" or "mcp". `allowed` names tools (None: all; empty: none); an agent is shown
        only what it may call. From then on `answer` refuses this agent what it was not shown;
        the last declaration counts, and in a conversation of an `Agent` the one made for it. Raises
        `invalid_arguments` for a name that no tool has.
        """
        visibility, catalog = self._tools.preparer.visibility, self._tools.catalog
        if allowed is not None:
            catalog.check_names(allowed, visibility.list_callable(agent))
        visible = visibility.list_declared(agent, allowed)
        declared, names, shown = catalog.declare(provider, allowed=visible, groups=groups)
        if provider != "mcp":
            visibility.record_declared(reader_name(agent, conversation), shown)
            self.session.options.tools = names
        return declared

    async def answer(
        self, response: Any, *, on_event: Listener | None = None, agent: str = "main"
    ) -> list[Any]:
        """Run the tool calls in a provider's response; return that provider's messages.

        The response is an OpenAI chat completion, OpenAI response or Anthropic message, as object
        or dict. The result is empty if the response has no tool call. Calls that change something
        run only if the response ended with its tool calls; every call gets one answer.
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

        A call starts before the response has ended only if it only reads, no user has to be asked,
        and no earlier call that it conflicts with is unfinished. Everything else waits for a finish
        that means tool calls.
        """
        from handrail.engine.providers.streamed_turn import StreamedTurn

        self._check_open()
        return StreamedTurn(events, provider, self.model_calls.stream(agent, on_event))

    def open_model(self, named: str | Model | None = None) -> Model:
        """Return the model of this name, or that of the runtime if it is None. Raises
        `invalid_arguments` if the name is unknown.
        """
        self._check_open()
        return self._session.agents.value.resolve_model(named).model

    def agent(self, **options: Any) -> RunningAgent:
        """Return an agent that uses this runtime's tools; takes the options of `handrail.Agent`."""
        self._check_open()
        agent: RunningAgent = self._session.agents.value.create(self, **options)
        return agent

    @property
    def agent_services(self) -> AgentServices:
        """What agents of this runtime share: models, the clock, the identity of the process."""
        return self._session.agents.value

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
        agent: str | None = None,
        force: bool = False,
        on_event: Listener | None = None,
    ) -> ToolResult:
        """Revert what a call changed (None: the last change that was not reverted), or a turn
        ("last", its number, or a call in it), the last change of a file, all changes since a
        point ("start", "all", a time, a call), or those of a subagent and all below it. An action of the user: it needs no approval, but is
        checked for conflicts, recorded, and can be undone. `force` overwrites later changes.

        Many files are undone in parts, each recorded as a call without a deadline: `on_event` receives
        the progress, and after a failure or a crash the next undo continues.
        """
        self._check_open()
        chosen: dict[str, Any] = {"turn": turn, "path": path, "since": since, "agent": agent}
        return await self._user.undo(call, on_event, force=force, **chosen)

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
        self._check_open()
        return await self._user.undo(call, on_event, turn=turn, path=path, force=force, redo=True)

    async def run_quality_gates(self) -> Sequence[GateResult]:
        """Run the commands that the settings name as quality gates, confined like any command."""
        self._check_open()
        return await self._user.run_quality_gates()

    async def run_user_command(self, command: str, *, timeout_s: float) -> ToolResult:
        """Run a command of the user, who needs no approval for it, confined like any command."""
        self._check_open()
        return await self._user.run("run_command", {"command": command, "timeout_s": timeout_s})

    async def reply(
        self,
        question_id: str,
        answer: Answer | str | bool | Mapping[str, Any] | None,
        reason: str | None = None,
        who: str | None = None,
    ) -> None:
        """Answer a question of the event `question`: "yes", "no", "always" or "abort"; questions of
        `ask_user` with a mapping from questions to answers, None to decline. The model reads the
        `reason` of a no; `who` is recorded. The first answer counts, another one raises `conflict`;
        so does a yes that comes at the same time as a refusal on another surface.
        """
        asked = self._calls.policy.approval.questions
        if asked is None:
            raise messages.NO_SUCH_QUESTION.error(question=question_id, field="question_id")
        await asked.reply(question_id, answer, reason, who)

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

    def has_tool(self, name: str) -> bool:
        """Return whether a tool of this name, canonical or the dialect's, can be used here."""
        return self._tools.registry.has_tool(name)

    def limit_agent(
        self,
        agent: str,
        tools: Collection[str] | None,
        *,
        parent: str | None = None,
        profile: str | None = None,
    ) -> None:
        """Let an agent use only these tools, and no more than its parent and its profile may: a name of
        the section `agents`, or explore, review, plan or test. None for all lifts the limit.
        """
        self.agents.limit(agent, tools, parent=parent, profile=profile)

    def emit(self, event: Event, listener: Listener | None = None) -> None:
        """Report an event to `listener` and to every subscriber."""
        self._calls.bus.emit(event, listener)

    def _emit_about(self, event: Event, call_id: str) -> None:
        self.emit(event, self.child_calls.call_listener(call_id))

    def subscribe(self, listener: Listener) -> None:
        """Call the listener for every event of this runtime."""
        self._calls.bus.subscribe(listener)

    async def refresh(self) -> None:
        """Compute again the descriptions that tools build from the session."""
        await self._tools.catalog.refresh()

    async def aclose(self) -> None:
        """End running calls, commit the record and release all resources. May be called twice."""
        if self._closed:
            return
        agents = self._session.agents.built
        if agents is not None and (started := agents.subagents.built) is not None:
            await started.aclose()
        self._closed = True
        for timer in self._calls.timers.running():
            timer.end()
        await self._calls.timers.idle()
        self._calls.timers.close()
        await self._session.close()

    def _apply(self, results: Iterable[ToolResult], listener: Listener | None) -> None:
        """Apply the context modifiers of results, in call order."""
        for result in results:
            for modifier in result.modifiers:
                if isinstance(modifier, QueueCommand):
                    self.queue.append(modifier.command)
                if listener is not None or not self._calls.bus.idle:
                    from handrail.core.events import ContextModified

                    self._calls.bus.emit(ContextModified(result.call_id, modifier), listener)

    def _check_open(self) -> None:
        if self._closed:
            raise messages.RUNTIME_CLOSED.error()
