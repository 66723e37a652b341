"""Detects a model that repeats one call with one outcome: warns first, then refuses the call for a
minute. Different outcomes are progress, and every change of a file restarts the count.

Equal calls that were made before one of them ended count once: the model had not seen its outcome.
Calls of a batch are checked and warned by the counts from before the batch. Their outcomes are
counted in call order when the batch ends, so parallel execution does not change the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.core.text.safe_text import safe_text

if TYPE_CHECKING:
    from handrail.engine.call_state import CallState
    from handrail.engine.prepare.prepared_call import PreparedCall

Strictness = Literal["off", "warn", "stop"]
WARN_AT: Final = 4
STOP_AT: Final = 8
STOPPED_S: Final = 60.0
_REMEMBERED: Final = 16
_AGENTS: Final = 256
# The most characters of a tool's name that a message repeats.
_NAME: Final = 100


class CallRepeat(NamedTuple):
    """One call and its outcome, as the loop guard compares them."""

    agent: str
    # The name as the caller wrote it.
    tool: str
    # Equal for calls with equal arguments.
    key: Hashable
    # Equal for equal outcomes.
    outcome: int
    # Whether the call changed a file.
    changed: bool
    # When the call was made.
    made: float


# An outcome, how often in a row a call had it, and when the call last ended.
RepeatCount = tuple[int, int, float]


class BatchPosition(NamedTuple):
    """Holds the outcome of a call of a batch until the batch ends."""

    outcomes: list[CallRepeat | None]
    number: int


class LoopGuard:
    """Counts repeated calls of the agents of one session, each for its most recent calls."""

    def __init__(
        self, strictness: Strictness, clock: Callable[[], float], together_s: float = 0.0
    ) -> None:
        """Equal calls within `together_s` after the last one ended count as made together."""
        # Whether calls are counted at all.
        self.enabled = strictness != "off"
        self._strictness = strictness
        self._clock = clock
        self._together_s = together_s
        # By agent and call; newest last.
        self._agents: dict[str, dict[Hashable, RepeatCount]] = {}
        # Refused calls and the end of the refusal: files may have changed by then.
        self.refused: dict[tuple[str, Hashable], float] = {}

    def begin_batch(
        self, calls: Sequence[PreparedCall], begun: list[CallRepeat | None] | None = None
    ) -> list[CallRepeat | None]:
        """Give every call of a batch its position; return the list to pass to `end_batch`. `begun`
        is the list of a batch whose first calls were started already.
        """
        outcomes = [] if begun is None else begun
        outcomes += [None] * (len(calls) - len(outcomes))
        for number, one in enumerate(calls):
            one.origin.batch = BatchPosition(outcomes, number)
        return outcomes

    def end_batch(self, outcomes: Sequence[CallRepeat | None]) -> None:
        """Count the outcomes of a batch in call order; equal calls with equal outcomes count
        once, unless a file was changed between them.
        """
        counted: set[tuple[str, Hashable, int]] = set()
        for one in outcomes:
            if one is None:
                continue
            if one.changed:
                counted.clear()
            elif (same := (one.agent, one.key, one.outcome)) in counted:
                continue
            else:
                counted.add(same)
            self.count(one)

    def check(self, prepared: PreparedCall) -> None:
        """Raise `blocked` if the call was repeated too often."""
        call = prepared.call
        reader = call.reader if call.conversation else call.agent
        refusal = self.refusal(reader, prepared.name, prepared.arguments)
        if refusal is not None:
            hint = (
                "look at what it said, and try something else; the refusal ends after a minute, "
                "or when a file is changed (setting loop_guard)"
            )
            raise ProblemRaised("blocked", refusal, hint=hint)

    def record_outcome(self, state: CallState) -> None:
        """Count the outcome, or keep it until the batch ends; append a warning to its text."""
        prepared, outcome, entry = state.prepared, state.outcome, state.prepared.entry
        if not self.enabled or outcome is None:
            return
        call = prepared.call
        name = call.name
        if entry is not None:
            if entry.tool.polls:
                # Polling tools are meant to be called repeatedly.
                return
            name = entry.tool.name
        key = call_key(name, prepared.parsed.arguments)
        changed = bool(state.effects.changes)
        batch, made = prepared.origin.batch, prepared.origin.made
        repeat = CallRepeat(
            call.reader if call.conversation else call.agent,
            call.name,
            key,
            hash(outcome.output.text),
            changed,
            state.timer.started if made is None else made,
        )
        if batch is None:
            warning = self.count(repeat)
        else:
            warning = self.preview(repeat)
            batch.outcomes[batch.number] = repeat
        if warning is not None:
            outcome.append(f"[handrail: {warning}]")

    def refusal(self, agent: str, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return why the call is refused; None if it is not."""
        if not self.refused:
            return None
        if not self._is_refused(agent, call_key(tool, arguments)):
            return None
        return (
            f"Handrail's loop guard refused it: the tool was called {STOP_AT - 1} times with these "
            "arguments, each time with the same outcome"
        )

    def count(self, call: CallRepeat) -> str | None:
        """Count an outcome; return a warning for the model if the call is repeated in a loop."""
        # Unpacked at once: this runs for every call, and reading fields of the tuple by name takes
        # longer.
        agent, tool, key, outcome, changed, _ = call
        if not self.enabled:
            return None
        if changed:
            self._forget(agent)
            return None
        # A refusal is not an outcome of the call, and does not prolong the refusal.
        if self.refused and self._is_refused(agent, key):
            return None
        past = self._agents.get(agent)
        if past is None:
            past = self._begin(agent)
        before = past.pop(key, None)
        times = 1 if before is None else _count_times(call, before, self._together_s)
        past[key] = outcome, times, self._clock()
        if len(past) > _REMEMBERED:
            del past[next(iter(past))]
        if times < WARN_AT:
            return None
        if self._strictness == "stop" and times >= STOP_AT - 1:
            self.refused[agent, key] = self._clock() + STOPPED_S
        return self._warning(tool, times)

    def preview(self, call: CallRepeat) -> str | None:
        """Return the warning that `count` would return, without counting."""
        if call.changed or self._is_refused(call.agent, call.key):
            return None
        before = self._agents.get(call.agent, {}).get(call.key)
        times = _count_times(call, before, self._together_s)
        return None if times < WARN_AT else self._warning(call.tool, times)

    def _is_refused(self, agent: str, key: Hashable) -> bool:
        if not self.refused:
            return False
        if self.refused.get((agent, key), 0.0) > self._clock():
            return True
        self.refused.pop((agent, key), None)
        return False

    def _warning(self, tool: str, times: int) -> str:
        refused = "; it will be refused if it goes on" if self._strictness == "stop" else ""
        return (
            f"this is call number {times} of {safe_text(tool[:_NAME], one_line=True)} with the same "
            f"arguments and the same outcome{refused}: try something else"
        )

    def _begin(self, agent: str) -> dict[Hashable, RepeatCount]:
        if len(self._agents) >= _AGENTS:
            self._forget(next(iter(self._agents)))
        past = self._agents[agent] = {}
        return past

    def _forget(self, agent: str) -> None:
        """Reset all counts of an agent: a file changed, so its calls may have other outcomes."""
        self._agents.pop(agent, None)
        if self.refused:
            others = {one: until for one, until in self.refused.items() if one[0] != agent}
            self.refused = others


def _count_times(call: CallRepeat, before: RepeatCount | None, together_s: float) -> int:
    """Return how often in a row the call has had this outcome, including this time."""
    if before is None:
        return 1
    outcome, times, ended = before
    return times + (call.made >= ended + together_s) if outcome == call.outcome else 1


def call_key(tool: str, arguments: Mapping[str, Any]) -> Hashable:
    """Return a key that is equal for calls of one tool with equal arguments."""
    key = (tool, *arguments.items())
    try:
        hash(key)
    except TypeError:
        return (tool, repr(arguments))
    return key
