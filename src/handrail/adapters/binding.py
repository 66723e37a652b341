"""An opened runtime as adapters use it: from coroutines of any event loop and from any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from handrail.adapters import messages
from handrail.adapters.approvals import (
    FrameworkAnswer,
    FrameworkApprover,
    FrameworkQuestion,
    current_question,
)
from handrail.core.approval import ApprovalRequest
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.core.tool import check_name_list
from handrail.engine.call_policy import Foresight
from handrail.engine.runtime import Runtime

T = TypeVar("T")


@runtime_checkable
class BlockingRuntime(Protocol):
    """A runtime with its own event loop, as `handrail.sync.open` returns it."""

    @property
    def runtime(self) -> Runtime:
        """The runtime, whose coroutines belong to that loop."""

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in that loop and wait for it."""


class DeclaredTool(NamedTuple):
    """A tool as it is declared to a framework."""

    name: str
    description: str
    # A JSON schema of an object.
    parameters: dict[str, Any]


class AdapterCall(NamedTuple):
    """A call that was made. `question` is what the user has to answer before the call is made
    again; None if the call has ended.
    """

    result: ToolResult
    question: ApprovalRequest | None = None


class RuntimeBinding:
    """Makes the calls of one framework's agent. Raises `invalid_arguments` if `runtime` is not an
    opened runtime, or belongs to another event loop.
    """

    def __init__(self, runtime: Runtime | BlockingRuntime, agent: str = "main") -> None:
        self.agent = agent
        self._blocking: BlockingRuntime | None = None
        if isinstance(runtime, Runtime):
            self.runtime = runtime
            try:
                self._loop = asyncio.get_running_loop()
            except RuntimeError:
                raise messages.NO_LOOP.error(field="runtime") from None
        elif isinstance(runtime, BlockingRuntime):
            self._blocking, self.runtime = runtime, runtime.runtime
            self._loop = runtime.wait(_running_loop())
        else:
            raise messages.NOT_A_RUNTIME.error(given=type(runtime).__name__, field="runtime")

    @property
    def asks_in_framework(self) -> bool:
        """Whether the runtime leaves its questions to the framework."""
        approver = self.runtime.approver
        asked = getattr(approver, "approvers", (approver,))
        return any(isinstance(one, FrameworkApprover) for one in asked)

    def declare(self, allowed: Collection[str] | None = None) -> list[DeclaredTool]:
        """Return the tools that the agent is shown; `allowed` names them, None means all. Raises
        `invalid_arguments` for a name that no tool has.
        """
        if allowed is not None:
            check_name_list(allowed, "tools")
        declared = self.runtime.declare("openai", allowed=allowed, agent=self.agent)
        functions = [one["function"] for one in declared]
        return [
            DeclaredTool(one["name"], one["description"], one["parameters"]) for one in functions
        ]

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        answer: FrameworkAnswer | None = None,
    ) -> AdapterCall:
        """Make a call, with the user's answer to its question if there is one."""
        return await self.run(self._call(name, arguments, answer))

    def call_blocking(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        answer: FrameworkAnswer | None = None,
    ) -> AdapterCall:
        """Do what `call` does, from a thread that may block."""
        return self.run_blocking(self._call(name, arguments, answer))

    def apply(self, action: Callable[[Runtime], T]) -> T:
        """Call a function of the runtime in the thread of its event loop."""
        if self._blocking is None:
            return action(self.runtime)
        return self._blocking.wait(_value(action, self.runtime))

    async def foresee(self, name: str, arguments: Mapping[str, Any]) -> Foresight:
        """Return what is certain about a call before it is made."""

        async def look() -> Foresight:
            return self.runtime.foresee(name, arguments, agent=self.agent)

        return await self.run(look())

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of the runtime in its event loop; cancelled with the caller."""
        if asyncio.get_running_loop() is self._loop:
            return await work
        self._check_loop(work)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def run_blocking(self, work: Coroutine[Any, Any, T]) -> T:
        """Do what `run` does, from a thread that may block; `unavailable` in the loop itself."""
        self._check_loop(work)
        if self._blocking is not None:
            return self._blocking.wait(work)
        if _is_running(self._loop):
            work.close()
            raise messages.WOULD_WAIT_FOR_ITSELF.error()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _call(
        self,
        name: str,
        arguments: Mapping[str, Any] | str | None,
        answer: FrameworkAnswer | None,
    ) -> AdapterCall:
        tool = self.runtime.registry.find(name)
        question = FrameworkQuestion(name if tool is None else tool.name, answer)
        token = current_question.set(question)
        try:
            result = await self.runtime.call(name, arguments, agent=self.agent)
        finally:
            current_question.reset(token)
        unanswered = result.problem is not None and result.problem.code == "needs_approval"
        if unanswered and question.asked is not None:
            # A call that this one has made may have asked too; that is not a question of this call.
            own = question.asked.call_id == result.call_id
            return AdapterCall(result, question.asked if own else None)
        return AdapterCall(result)

    def _check_loop(self, work: Coroutine[Any, Any, Any]) -> None:
        if self._loop.is_closed():
            work.close()
            raise messages.LOOP_CLOSED.error()


def missing_framework(error: ImportError, package: str, extra: str) -> ProblemRaised:
    """Return the problem of a framework that cannot be imported, with what to install."""
    return messages.FRAMEWORK_MISSING.error(package=package, extra=extra, error=error)


async def _value(action: Callable[[Runtime], T], runtime: Runtime) -> T:
    return action(runtime)


async def _running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
