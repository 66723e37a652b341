"""The subagents of one runtime: starting, waiting for them, and ending them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final

import anyio

from handrail.core.agent_results import AgentReport, AgentResult
from handrail.core.call import ToolCall
from handrail.core.events import Listener
from handrail.core.ports.records import SUBAGENT_PREFIX
from handrail.core.ports.subagents import (
    AT_ONCE,
    MAX_DEPTH,
    WAIT_S,
    AgentLineage,
    AgentSummary,
    DefinedAgent,
    SubagentRequest,
    SubagentState,
)
from handrail.core.problems import ProblemRaised
from handrail.engine.batch.scheduler import release_slot_while
from handrail.engine.hooking.dispatcher import hook_owner
from handrail.engine.runtime import Runtime
from handrail.engine.timing import wait_uncancellable
from handrail.policy.agents import AgentAction
from handrail.subagents import messages
from handrail.subagents.agent_types import AgentType
from handrail.subagents.announcements import ended_agents, ended_jobs
from handrail.subagents.child import ChildAgent, Subagent, end_jobs, report_agent, select_started
from handrail.subagents.ids import call_prefix, new_agent_id
from handrail.subagents.library import AgentLibrary
from handrail.subagents.maker import AgentMaker, find_duplicate
from handrail.subagents.places import WorkingPlace

# How long a cancelled subagent may take to end its calls.
_END_S: Final = 30.0
_LOOK_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class SubagentLimits:
    """How many subagents work at once, how deep they nest, and how long a call waits for one."""

    at_once: int = AT_ONCE
    depth: int = MAX_DEPTH
    wait_s: float = WAIT_S


class SessionSubagents:
    """The subagents of one session; those of earlier processes are loaded from the store."""

    def __init__(
        self, rt: Runtime, library: AgentLibrary, limits: SubagentLimits | None = None
    ) -> None:
        self._rt = rt
        self._maker = AgentMaker(rt, library)
        self._limits = limits or SubagentLimits()
        self._known: dict[str, Subagent] = {}
        self._places = asyncio.Semaphore(self._limits.at_once)
        self._loading: asyncio.Lock = asyncio.Lock()
        self._loaded = False

    async def run(self, request: SubagentRequest, call: ToolCall) -> SubagentState:
        """Start or continue a subagent; see `Subagents.run`."""
        await self.load()
        resumed = self._find_resumed(request, call)
        child = resumed or self._create(request, call)
        goes_on = resumed is not None and self._continues_task(child, request)
        if not goes_on:
            child.task, child.context = request.task, request.context
        child.background, child.resumed = request.background, resumed is not None
        if not call.id.startswith(f"{child.call_id}-"):
            child.call_id = call.id
            child.continue_under(call_prefix(call, child.id))
        child.begin()
        child.started = self._rt.agent_services.clock.monotonic()
        self._known[child.id] = child
        calls = self._rt.child_calls
        listener, context = calls.call_listener(call.id), calls.detach_call()
        with child.abort_if_cancelled():
            await self._save(child)
        work = self._work(child, listener, goes_on=goes_on)
        child.work = asyncio.get_running_loop().create_task(work, name=child.id, context=context)
        if not request.background:
            await self._wait_as(call, child, self._limits.wait_s)
        return child.state()

    def knows(self, agent_id: str) -> bool:
        """Return whether a subagent of this session has the id."""
        return agent_id in self._known

    async def output(self, agent_id: str, call: ToolCall, wait_s: float) -> SubagentState:
        """The state of a subagent after waiting for its end; raises `not_found`, `denied`."""
        child = self._find_own(agent_id, call)
        if child.running and wait_s > 0:
            self._rt.child_calls.detach_call()
            await release_slot_while(self._wait(child, wait_s))
        child.announced = child.announced or not child.running
        return await self.current(child.id)

    async def cancel(self, agent_id: str, call: ToolCall) -> SubagentState:
        """End a subagent and its subagents; see `Subagents.cancel`."""
        child = self._find_own(agent_id, call)
        if not child.running:
            raise messages.NOT_RUNNING.error(agent_id=agent_id, status=child.status)
        child.announced = True
        await self._end(child)
        return child.state()

    def states(self) -> Sequence[SubagentState]:
        """Return the subagents of this session, oldest first."""
        return [child.state() for child in self._known.values()]

    async def result(self, agent_id: str) -> AgentResult:
        """Wait for a subagent to end and return its result."""
        child = self._find(agent_id)
        if child.work is not None:
            await asyncio.wait({child.work})
        return child.result()

    async def announcements(self, agent: str, conversation: str, jobs: set[str]) -> list[str]:
        """Messages for the agent about subagents and jobs that have ended; called before each step."""
        caller = self._known.get(agent)
        if caller is not None and caller.place is not None:
            await caller.place.regain()
        children = [
            child for child in self._known.values() if child.belongs_to(agent, conversation)
        ]
        return [*ended_agents(children), *await ended_jobs(self._rt, jobs)]

    def take_reports(self, agent: str, conversation: str) -> list[AgentReport]:
        """The reports of a conversation's subagents that have ended; each is returned once."""
        reports = []
        for child in self._known.values():
            ended = not child.running and not child.reported
            if ended and child.belongs_to(agent, conversation):
                child.reported = True
                reports.append(child.report)
        return reports

    async def find_interrupted(self, conversation: str) -> Sequence[SubagentState]:
        """Return the subagents of a conversation whose process ended before they did."""
        await self.load()
        return [
            child.state()
            for child in self._known.values()
            if child.parent_conversation == conversation and child.status == "interrupted"
        ]

    def list_types(self) -> Sequence[AgentSummary]:
        """The types of agents in a fixed order, including definitions that cannot be used."""
        return self._maker.list_types()

    def become(self, name: str) -> DefinedAgent | None:
        """Apply the user's definition of this name to the agent; see `Subagents.become`."""
        return self._maker.become(name)

    async def end_started(self, is_cut: Callable[[str], bool]) -> None:
        """End the subagents of calls for which `is_cut` is true; see `Subagents.end_started`."""
        for child in list(self._known.values()):
            if not is_cut(child.call_id):
                continue
            if child.running:
                child.announced = child.reported = True
                await self._end(child)
            elif child.status == "interrupted":
                child.status, child.problem = "aborted", messages.STOPPED.fill()
                await self._save(child)

    async def cut_continued(self, is_cut: Callable[[str], bool]) -> None:
        """See `Subagents.cut_continued`."""
        for child in list(self._known.values()):
            if not child.running and await child.cut_continued(self._rt.store, is_cut):
                await self._save(child)

    async def aclose(self) -> None:
        """End all subagents; each keeps its conversation and can be resumed."""
        running = [child for child in self._known.values() if child.running]
        await asyncio.gather(*map(self._end, running))

    def _create(self, request: SubagentRequest, call: ToolCall) -> Subagent:
        """Create a subagent of the caller; raises if it may not start."""
        above, now = self._lineage(call.agent), self._rt.agent_services.clock.monotonic()
        kind = self._check_type(request.agent, call, above)
        siblings = [sibling for sibling in self._known.values() if sibling.parent == call.agent]
        similar = find_duplicate(request, kind.name, siblings, now)
        if similar is not None:
            raise messages.DUPLICATE.error(agent_id=similar.id, seconds=60, field="task")
        id = new_agent_id(kind.name, f"{self._rt.session.id}/{call.id}")
        lineage = AgentLineage(kind.name, (*above.chain, id))
        prefix = call_prefix(call, id)
        child = Subagent(id, lineage, request.task, prefix, call.conversation, call.id)
        self._maker.equip(child, kind, request)
        return child

    def _check_type(self, name: str, call: ToolCall, above: AgentLineage) -> AgentType:
        access = self._rt.agents.of(call.agent)
        if access is not None and not access.may(AgentAction.DELEGATE):
            raise messages.MAY_NOT_DELEGATE.error(agent=call.agent)
        kind = self._maker.find(name, "agent")
        chain = " → ".join(above.chain)
        if above.depth >= self._limits.depth:
            raise messages.TOO_DEEP.error(limit=self._limits.depth, chain=chain)
        working = [self._known[agent] for agent in above.chain if agent in self._known]
        if kind.name in [agent.lineage.agent_type for agent in working]:
            raise messages.CYCLE.error(agent=kind.name, chain=chain, field="agent")
        return kind

    def _find_resumed(self, request: SubagentRequest, call: ToolCall) -> Subagent | None:
        if request.resume is None:
            return None
        child = self._find_own(request.resume, call, field="resume")
        if child.parent != call.agent:
            # Other agents may have wider limits than its parent.
            raise messages.OTHER_CHAIN.error(agent_id=child.id, field="resume")
        if child.running:
            raise messages.STILL_RUNNING.error(agent_id=child.id)
        self._maker.equip(child, self._maker.find(child.lineage.agent_type, "resume"), request)
        return child

    def _continues_task(self, child: Subagent, request: SubagentRequest) -> bool:
        """Return whether a subagent continues its unfinished task instead of getting a new one."""
        same = " ".join(request.task.split()) == " ".join(child.task.split())
        return same and (child.problem is not None or child.status == "interrupted")

    async def _work(self, child: Subagent, listener: Listener | None, *, goes_on: bool) -> None:
        agent, result = child.agent, None
        hook_owner.set(child.id)
        child.place = WorkingPlace(self._places)
        if agent is None:
            raise RuntimeError("the subagent has no agent")
        try:
            async with child.place.occupied():
                # A subagent that was interrupted before its first step has no task to continue.
                if goes_on and await agent.has_unfinished_task():
                    result = await agent.resume(on_event=listener)
                else:
                    result = await agent.run(child.first_message, on_event=listener)
        except asyncio.CancelledError:
            child.status, child.problem = "aborted", messages.STOPPED.fill()
        except ProblemRaised as raised:
            child.status, child.problem = "failed", raised.problem
        except Exception as error:
            problem = messages.FAILED.fill(error=type(error).__name__)
            child.status, child.problem = "failed", problem
            # A call that waits for the subagent reports the defect.
            raise
        finally:
            ending = asyncio.ensure_future(self._finish(child, agent, result))
            # Not cancellable: a subagent that stays stored as running would continue in a resumed task.
            await wait_uncancellable(ending)
            ending.result()

    async def _finish(self, child: Subagent, agent: ChildAgent, result: AgentResult | None) -> None:
        """End the subagents, jobs and hooks of a subagent, and store its report."""
        below = [descendant for descendant in self._known.values() if descendant.parent == child.id]
        for descendant in below:
            if descendant.running:
                await self._end(descendant)
        await end_jobs(self._rt, child.id, agent.open_jobs)
        await self._rt.agent_services.end_hooks(child.id)
        await self._rt.child_calls.release_leases(child.id)
        if result is not None:
            child.finish(result)
        report = AgentReport() if result is None else result.report
        if result is None or child.resumed:
            # From the record, to include calls in flight and those of an earlier process.
            report = replace(await self._recorded_report(child), verified=report.verified)
        child.turns = agent.turn_count
        if agent.meter is not None:
            child.usage = child.usage + agent.meter.usage
        child.report = replace(report, agent=child.id, status=child.status, answer=child.text)
        await self._save(child)

    async def _wait_as(self, call: ToolCall, child: Subagent, wait_s: float) -> None:
        """Wait for a subagent on behalf of a call; ends the subagent if the call is cancelled."""
        waiter = self._known.get(call.agent)
        place = None if waiter is None else waiter.place
        try:
            # A waiting agent releases its slot, so that the subagent can get one.
            async with nullcontext() if place is None else place.lent():
                await release_slot_while(self._wait(child, wait_s))
        except asyncio.CancelledError:
            if child.work is not None:
                child.work.cancel()
            await self._settle(child)
            raise
        if child.running:
            child.background = True
        elif child.work is not None:
            # Raises the exception of a defect in Handrail.
            child.work.result()
            child.announced = True

    async def _wait(self, child: Subagent, wait_s: float) -> None:
        """Wait until the subagent has ended; the time in which the user is asked does not count."""
        clock, calls = self._rt.agent_services.clock, self._rt.model_calls
        end = clock.monotonic() - calls.user_wait_s + wait_s
        while child.running and child.work is not None:
            remaining_s = end - (clock.monotonic() - calls.user_wait_s)
            if remaining_s <= 0:
                return
            await asyncio.wait({child.work}, timeout=min(remaining_s, _LOOK_S))

    async def _end(self, child: Subagent) -> None:
        if child.work is not None:
            child.work.cancel()
        await self._settle(child)

    async def _settle(self, child: Subagent) -> None:
        """Wait, for a limited time, until a subagent that was cancelled has ended."""
        if child.work is None:
            return
        with anyio.CancelScope(shield=True):
            await asyncio.wait({child.work}, timeout=_END_S)
            if child.status == "running":
                # The subagent was cancelled before its first step, or does not end in time.
                child.status, child.problem = "aborted", messages.STOPPED.fill()
                await self._save(child)

    def _lineage(self, agent: str) -> AgentLineage:
        child = self._known.get(agent)
        return AgentLineage(agent, (agent,)) if child is None else child.lineage

    def _find(self, agent_id: str, field: str = "job") -> Subagent:
        child = self._known.get(agent_id)
        if child is None:
            known = ", ".join(self._known) or "none"
            raise messages.NO_SUCH_AGENT.error(agent_id=agent_id[:100], known=known, field=field)
        return child

    def _find_own(self, agent_id: str, call: ToolCall, field: str = "job") -> Subagent:
        """Return a subagent below the caller; raises `not_found`, or `denied` for any other."""
        child = self._find(agent_id, field)
        below = call.agent in child.lineage.chain[:-1]
        same = child.parent != call.agent or child.parent_conversation == call.conversation
        if not call.by_person and not (below and same):
            raise messages.OTHER_CHAIN.error(agent_id=agent_id, field=field)
        return child

    async def current(self, agent_id: str) -> SubagentState:
        """Return the state of a subagent, with its report so far if it is working."""
        child = self._find(agent_id)
        if child.running or child.work is None:
            child.report = await self._recorded_report(child)
        return child.state()

    async def find_reported(self, calls: Collection[str]) -> Sequence[AgentReport]:
        """Return the reports that `take_reports` has returned to this or an earlier process."""
        started = [child for child in self._known.values() if child.call_id in calls]
        ended = [child for child in started if child.reported and child.status != "interrupted"]
        return [(await self.current(child.id)).report for child in ended]

    async def _recorded_report(self, child: Subagent) -> AgentReport:
        below = [other.id for other in self._known.values() if other.parent == child.id]
        children = [(await self.current(agent_id)).report for agent_id in below]
        report = await report_agent(self._rt.store, child.id, children)
        return replace(report, agent=child.id, status=child.status, answer=child.text)

    async def load(self) -> None:
        """Load the subagents of earlier processes of the session; a second call does nothing."""
        async with self._loading:
            if self._loaded:
                return
            for child in await self._read(self._rt.session.id):
                self._known.setdefault(child.id, child)
            self._loaded = True

    async def adopt(self, conversation: str, sessions: Collection[str]) -> None:
        """Load the subagents that a conversation has started in other sessions."""
        await self.load()
        for session in sessions:
            if session != self._rt.session.id:
                for child in select_started(await self._read(session), conversation):
                    if not self.knows(child.id) or self._known[child.id].work is None:
                        self._known[child.id] = child

    async def _read(self, session: str) -> list[Subagent]:
        state = await self._rt.store.load_state(session)
        stored = [(key, value) for key, value in state.items() if key.startswith(SUBAGENT_PREFIX)]
        decoded = [(key, json.loads(value)) for key, value in stored]
        # A deleted subagent is stored as null.
        return [
            Subagent.from_record(key, session, value) for key, value in decoded if value is not None
        ]

    async def _save(self, child: Subagent) -> None:
        value = json.dumps(child.to_record(), ensure_ascii=True)
        session = child.session or self._rt.session.id
        self._rt.store.save_state(session, f"{SUBAGENT_PREFIX}{child.id}", value)
        await self._rt.store.flush()
