"""Carries out calls by running the tool itself: reads, and tools with effects of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, get_args

from handrail.core.plan import Plan
from handrail.core.results import NO_META, Modifier, Output, Status
from handrail.engine.call_state import CallState, Outcome, known_entry
from handrail.engine.executors.retry import retry
from handrail.engine.prepare.prepared_call import ExecutorKind
from handrail.engine.recording.recorder import Recorder
from handrail.engine.timing import DeadlineTimer

# As a tuple, because an instance takes longer to compare with a union.
_MODIFIERS: Final = get_args(Modifier)
# A global, because an access through the class takes long in Python 3.11.
_OK: Final = Status.OK


def check_output(output: Output | None, meta: Mapping[str, Any] | None = None) -> Outcome:
    """Return the outcome for a tool's output, with `meta`; raises TypeError for an invalid one."""
    # The type hints of a tool are not enforced anywhere else.
    if (
        type(output) is not Output
        or type(output.text) is not str
        or type(output.modifiers) is not tuple
        or type(output.images) is not tuple
    ):
        output = _with_tuples(output)
    for one in output.modifiers:
        if not isinstance(one, _MODIFIERS):
            raise TypeError(
                f"its modifiers are {output.modifiers!r:.200}, which are not all modifiers"
            )
    # An abstract class takes long to recognise even the default.
    if output.meta is not NO_META and not isinstance(output.meta, Mapping):
        raise TypeError(f"its meta is {output.meta!r:.200}, which is not a mapping")
    if meta:
        output = output._replace(meta={**output.meta, **meta})
    return Outcome(_OK if output.problem is None else Status.FAILED, output)


def _with_tuples(output: Any) -> Output:
    """Return the output with tuples for lists of modifiers or images; raises TypeError."""
    if (
        type(output) is not Output
        or type(output.text) is not str
        or not {type(output.modifiers), type(output.images)} <= {list, tuple}
    ):
        raise TypeError(f"it returned {output!r:.200}, which is not an Output with text")
    return output._replace(modifiers=tuple(output.modifiers), images=tuple(output.images))


class Executor(Protocol):
    """Carries out cleared calls of one kind, while their locks are held."""

    async def execute(self, state: CallState, plan: Plan | None) -> Outcome | None:
        """Return the outcome; None if the call must be cleared again."""


@dataclass(frozen=True, slots=True)
class DirectExecutor:
    """Runs the tool; repeats it if it is idempotent and the failure is transient."""

    recorder: Recorder
    timers: DeadlineTimer

    async def execute(self, state: CallState, plan: Plan | None) -> Outcome:
        """Run the tool and return its output as the outcome."""
        prepared, context, timers = state.prepared, state.context, self.timers
        entry, args = prepared.entry or known_entry(prepared), prepared.parsed.model
        tool = entry.tool
        if not prepared.scope.reads_only:
            await state.prepared.principal.policy.check_leases(state, None)
            intent: dict[str, Any] = {"runs": prepared.name}
            if not prepared.footprint.may_change_files:
                # An undo need not mention that this call is not reverted.
                intent["effects"] = {"writes": [], "open_ended": False}
            await self.recorder.write_intent(state, intent)
        timers.limit(state.timer, tool.timeout_s)
        if entry.attempts == 1:
            return check_output(await tool.run(args, context))

        async def run() -> Output:
            state.effects.attempts += 1
            timers.limit(state.timer, tool.timeout_s)
            return await tool.run(args, context)

        return check_output(await retry(run, entry.attempts, context.report))


class DeferredExecutors(dict[ExecutorKind, Executor]):
    """The executors by kind; each is built at the first call of its kind."""

    def __init__(self, builders: Mapping[ExecutorKind, Callable[[], Executor]]) -> None:
        super().__init__()
        self._builders = builders

    def __missing__(self, kind: ExecutorKind) -> Executor:
        executor = self[kind] = self._builders[kind]()
        return executor
