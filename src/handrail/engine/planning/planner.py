"""Makes the plans of calls, describes them in a dry run, queues them in plan mode; and checks
whether the model knows what its plan changes: files it never read, and files that changed since.

A file that changed since it was read is `stale` in strict mode. In warn mode an edit still applies
if the lines that it changes were shown; an overwrite never does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

from handrail.core.context import ReadRecord, ReadState, ReadStates, record_shown
from handrail.core.places import Form, Kind, Place, Stat
from handrail.core.plan import Change, Plan
from handrail.core.ports.machine import Blobs, Files
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import FileRead, Modifier, Output, PermissionGranted, Status
from handrail.core.text.content import Content
from handrail.core.verdicts import Effect
from handrail.engine import messages
from handrail.engine.call_state import CallState, Decision, Outcome, known_entry
from handrail.engine.planning.dry_run import PlannedActions
from handrail.engine.planning.mode import PlanMode
from handrail.engine.recording.payloads import one_line
from handrail.engine.registry import ToolOrigin
from handrail.engine.timing import DeadlineTimer
from handrail.policy.approval.grants import SessionGrants

# Larger files are not compared: an edit of one that changed since it was read is refused.
MOST_BYTES: Final = 4 << 20
_CONTEXT_LINES: Final = 3


class EditedRegion(NamedTuple):
    """Lines `first:last` of `lines` are replaced; a pure insertion has its two neighbours."""

    lines: Sequence[str]
    first: int
    last: int

    def with_neighbour(self) -> Iterator[str]:
        """The region with the nearest non-blank line above it, then with the one below it."""
        above = next((i for i in range(self.first - 1, -1, -1) if self.lines[i].strip()), None)
        below = next((i for i in range(self.last, len(self.lines)) if self.lines[i].strip()), None)
        if above is not None:
            yield "\n".join(self.lines[above : self.last])
        if below is not None:
            yield "\n".join(self.lines[self.first : below + 1])


def changes_only_shown_lines(
    before: Content | None, after: Content | None, shown: Iterable[str]
) -> bool:
    """Return whether every region that the edit changes is, with a neighbour, in a shown text.

    False also if that is unknown: a binary file, a large one, nothing shown.
    """
    texts = [f"\n{text}\n" for text in shown]
    old, new = text_lines(before), text_lines(after)
    if not texts or old is None or new is None:
        return False
    return all(
        any(f"\n{lines}\n" in text for lines in region.with_neighbour() for text in texts)
        for region in _edited_regions(old, new)
    )


def lines_after_edit(before: Content | None, after: Content | None) -> Iterator[str]:
    """Return each changed range as it is after the edit, with a few lines around it."""
    from handrail.tools._lib.diff import changed_spans

    old, new = text_lines(before), text_lines(after)
    if old is not None and new is not None:
        for span in changed_spans(old, new):
            first = max(span.b0 - _CONTEXT_LINES, 0)
            yield "\n".join(new[first : span.b1 + _CONTEXT_LINES])


def text_lines(content: Content | None) -> list[str] | None:
    """Return the lines of a file as a reader is shown them; None if it is binary or large."""
    from handrail.core.text.encoding import detect

    if content is None or content.size > MOST_BYTES:
        return None
    data = content.tobytes()
    form = detect(data)
    if form is None:
        return None
    lines = form.show(form.decode(data)).replace("\r\n", "\n").removesuffix("\r").split("\n")
    if not lines[-1]:
        del lines[-1]
    return lines


def _edited_regions(old: Sequence[str], new: Sequence[str]) -> Iterator[EditedRegion]:
    from handrail.tools._lib.diff import changed_spans

    for span in changed_spans(old, new):
        if span.a1 > span.a0:
            yield EditedRegion(old, span.a0, span.a1)
        else:
            yield EditedRegion(old, max(span.a0 - 1, 0), min(span.a0 + 1, len(old)))


Mode = Literal["off", "warn", "strict"]
_SHOWN_LINES: Final = 60
_KEPT_TEXT_BYTES: Final = 1 << 20


class Freshness:
    """Checks plans against what the calling agent has read; nothing is checked if `mode` is off."""

    def __init__(
        self, mode: Mode, reads: ReadStates, files: Files, now_ns: Callable[[], int]
    ) -> None:
        self._mode = mode
        self._states = reads
        self._files = files
        self._now_ns = now_ns
        # Agent and file for which the note about changing an unread file was given.
        self._noted_unread: set[tuple[str, str]] = set()

    def check(self, plan: Plan, agent: str) -> list[str]:
        """Return notes for the model; raises `stale` for a plan that must not be carried out."""
        if self._mode == "off" or plan.relies_on == "nothing":
            return []
        return [
            note
            for change in plan.changes
            if change.before is not None and (note := self._note(change, plan, agent)) is not None
        ]

    def explain(self, problem: Problem, places: list[Place], agent: str) -> Problem:
        """Add what changed since the read to a failed search for a text, if that may be why."""
        if self._mode == "off" or problem.code not in ("no_match", "ambiguous"):
            return problem
        for place in places:
            text = self._states.for_agent(agent).text(place.absolute)
            if text is None or place.kind is not Kind.FILE:
                continue
            diff = _diff_since(text, text_lines(self._files.read(place).content))
            if diff:
                message = f"{problem.message}\nSince you read it, the file changed:\n{diff}"
                return replace(problem, message=message)
        return problem

    def mark_written(self, plan: Plan, agent: str) -> None:
        """Update the read state after a commit: the agent knows what it has written."""
        reads = self._states.for_agent(agent)
        for change in plan.changes:
            absolute = change.place.absolute
            written = change.after is not None and change.after_form is Form.FILE
            whole = plan.relies_on == "all" or change.before is None
            known = reads.get(absolute)
            if written and known is None and not whole:
                # Changing a part of an unread file does not make the rest of it known.
                if plan.relies_on != "nothing":
                    self._noted_unread.add((agent, absolute))
                continue
            stat = self._stat(change) if written else None
            if change.after is None or stat is None:
                reads.forget(absolute)
                self._noted_unread.discard((agent, absolute))
                continue
            if known is None and change.before is not None:
                self._noted_unread.add((agent, absolute))
            if whole or (known is not None and known.whole and self._is_same(known, change)):
                record = ReadRecord(self._now_ns() / 1e9, 1, 0, stat, True, change.after.digest)
                reads.record_read(absolute, record, _text(change.after))
            elif known is not None:
                self._mark_part_written(reads, known, stat, change)

    def _mark_part_written(
        self, reads: ReadState, known: ReadRecord, stat: Stat, change: Change
    ) -> None:
        """Note that the agent knows the lines it has written, and the others as well as before."""
        absolute = change.place.absolute
        shown = reads.texts(absolute)
        if self._is_same(known, change):
            reads.record_read(absolute, known._replace(stat=stat, digest=change.after_hash))
        for text in (*shown, *lines_after_edit(change.before, change.after)):
            reads.add_text(absolute, text)

    def has_read(self, place: Place, digest: str | None, agent: str) -> bool:
        """Return whether the agent's last read of a file had this content."""
        known = self._states.for_agent(agent).get(place.absolute)
        return known is not None and known.digest is not None and known.digest == digest

    def update_after_hook(
        self, place: Place, before: str | None, after: Content | None, stat: Stat | None, agent: str
    ) -> None:
        """Note that the agent was shown how `before` became `after`, if it knew `before`."""
        reads = self._states.for_agent(agent)
        known = reads.get(place.absolute)
        if known is None or after is None or stat is None or known.digest != before:
            return
        record = known._replace(read_at=self._now_ns() / 1e9, stat=stat, digest=after.digest)
        text = _text(after) if known.whole else None
        reads.record_read(place.absolute, record, text)

    def record_shown(self, shown: FileRead, reads: ReadState) -> None:
        """Record that a tool of the user's own showed a file."""
        record_shown(reads, shown, self._files, self._now_ns())

    def _stat(self, change: Change) -> Stat | None:
        try:
            return self._files.stat(change.place)
        except ProblemRaised:
            # The change was made; a failed stat of the result does not make it a failure.
            return None

    def _note(self, change: Change, plan: Plan, agent: str) -> str | None:
        reads = self._states.for_agent(agent)
        record = reads.get(change.place.absolute)
        if record is None:
            return self._unread_note(change, agent)
        if self._is_same(record, change):
            return None if record.whole or plan.relies_on == "part" else self._part_note(change)
        if plan.relies_on == "all" or self._mode == "strict":
            raise self._stale(record, change, reads)
        if self._shows_same_lines(record, change):
            return None
        shown = reads.texts(change.place.absolute)
        if not changes_only_shown_lines(change.before, change.after, shown):
            raise self._stale(record, change, reads)
        return f"{change.path} had changed since it was read; the edited lines had not"

    def _unread_note(self, change: Change, agent: str) -> str | None:
        if self._mode == "strict":
            raise messages.NOT_READ.error(path=change.path, field="path")
        if (agent, change.place.absolute) in self._noted_unread:
            return None
        return f"{change.path} was changed without having been read first"

    def _part_note(self, change: Change) -> str:
        if self._mode == "strict":
            raise messages.PARTLY_READ.error(path=change.path, field="path")
        return f"{change.path} was replaced although only a part of it had been read"

    def _is_same(self, record: ReadRecord, change: Change) -> bool:
        if change.seen is not None and record.stat.settled and record.stat.same_as(change.seen):
            return True
        return record.digest is not None and record.digest == change.before_hash

    def _shows_same_lines(self, record: ReadRecord, change: Change) -> bool:
        """Return whether the edit stays in the shown range of a file too large to be hashed whole,
        and that range is unchanged.
        """
        from handrail.core.text.content_compare import changed_line_numbers

        if record.digest is not None or record.shown_digest is None:
            return False
        if change.before is None or change.after is None:
            return False
        lines = changed_line_numbers(change.before, change.after)
        if lines is None or lines[0] < record.offset or lines[1] >= record.offset + record.limit:
            return False
        now = self._files.window(change.place, record.offset, record.limit)
        return now.shown_digest == record.shown_digest

    def _stale(self, record: ReadRecord, change: Change, reads: ReadState) -> ProblemRaised:
        modified = change.seen.mtime_ns / 1e9 if change.seen is not None else self._now_ns() / 1e9
        when = f"read at {_time_text(record.read_at)}, modified at {_time_text(modified)}"
        diff = self._diff_of_shown(record, change, reads)
        return ProblemRaised(
            "stale",
            f"{change.path!r} changed since it was read ({when})" + (f":\n{diff}" if diff else ""),
            hint="read the file again, then make the change that fits what is in it now",
            field="path",
        )

    def _diff_of_shown(self, record: ReadRecord, change: Change, reads: ReadState) -> str:
        """Return what changed in the text that was shown last; empty if that text was not kept."""
        lines = text_lines(change.before)
        if record.whole:
            text = reads.text(change.place.absolute)
        else:
            texts = reversed(reads.texts(change.place.absolute))
            text = next((one for one in texts if one.count("\n") + 1 == record.limit), None)
            lines = lines and lines[record.offset - 1 : record.offset - 1 + record.limit]
        return "" if text is None else _diff_since(text, lines)


def _diff_since(seen: str, now: list[str] | None) -> str:
    before = seen.split("\n")
    if now is None or now == before:
        return ""
    from difflib import unified_diff

    shown = list(unified_diff(before, now, "as you read it", "as it is now", lineterm="", n=1))
    if len(shown) > _SHOWN_LINES:
        shown = [*shown[:_SHOWN_LINES], f"… {len(shown) - _SHOWN_LINES} more lines"]
    return "\n".join(shown)


def _text(content: Content) -> str | None:
    lines = text_lines(content) if content.size <= _KEPT_TEXT_BYTES else None
    return None if lines is None else "\n".join(lines)


def _time_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S.%f")[:-3]


@dataclass(frozen=True, slots=True)
class CallPlanner:
    """Makes and describes the plans of one runtime's calls."""

    freshness: Freshness
    plan_mode: PlanMode
    grants: SessionGrants
    timers: DeadlineTimer
    # Where a commit keeps large contents that it replaces; None if it keeps none.
    blobs: Blobs | None
    # What a dry run has described.
    actions: PlannedActions = field(default_factory=PlannedActions)

    async def preflight(self, state: CallState) -> None:
        """Start the time limit and run the tool's own check."""
        tool = known_entry(state.prepared).tool
        self.timers.limit(state.timer, state.prepared.principal.policy.time_limit(tool))
        if tool.has_preflight:
            await tool.preflight(state.prepared.parsed.model, state.context)

    async def plan(self, state: CallState) -> Plan | None:
        """Return the call's plan; None if it can only be planned after a queued call has run."""
        prepared = state.prepared
        try:
            return await self.make_plan(state)
        except ProblemRaised:
            queued = prepared.origin.approval is not None
            if not queued and self.plan_mode.depends_on_queued(prepared):
                return None
            raise

    async def make_plan(self, state: CallState) -> Plan:
        """Ask the tool for its plan; raises `stale` if the model does not know what it changes."""
        from handrail.history.before_images import hash_ahead

        prepared = state.prepared
        try:
            plan = await known_entry(prepared).tool.plan(prepared.parsed.model, state.context)
        except ProblemRaised as raised:
            places = list(prepared.places.values())
            problem = self.freshness.explain(raised.problem, places, prepared.call.reader)
            raise ProblemRaised.of(problem) from raised
        call = prepared.call
        reader = call.reader if call.conversation else call.agent
        state.notes.model_notes = self.freshness.check(plan, reader)
        if self.blobs is not None:
            state.effects.hashing = hash_ahead(plan, self.blobs)
        return plan

    def describe_or_queue(self, state: CallState, plan: Plan | None, decision: Decision) -> Outcome:
        """Describe the call in a dry run, or add it to the queue of plan mode; return the outcome."""
        from handrail.engine.planning.preview import call_preview

        if decision is Decision.QUEUE:
            return self.plan_mode.queue.add(state, plan)
        self.actions.note(state.prepared, plan)
        verdict, preview = state.clearance.verdict, call_preview(state.prepared, plan)
        lines = [f"[DRY-RUN] Would execute: {one_line(state.prepared)}"]
        if verdict is not None and verdict.effect is Effect.ASK:
            lines.append(f"(the user would be asked first: {verdict.reason})")
        elif verdict is not None and verdict.effect is Effect.DENY:
            lines.append("(plan mode: it would be queued for the user instead)")
        if preview:
            lines.append(preview)
        return Outcome(Status.PLANNED, Output("\n".join(lines), preview or None))

    def apply_modifiers(self, state: CallState) -> None:
        """Grant the permissions that the output of a built-in tool grants. A grant by any other
        tool, or one that is too broad, is dropped and reported.
        """
        outcome, entry = state.outcome, state.prepared.entry
        if outcome is None or entry is None or not outcome.output.modifiers:
            return
        builtin = entry.origin is ToolOrigin.BUILTIN
        # The files that a built-in tool has read are known already, and most calls have no other
        # modifiers.
        if builtin and set(map(type, outcome.output.modifiers)) == {FileRead}:
            return
        kept: list[Modifier] = []
        for modifier in outcome.output.modifiers:
            try:
                if isinstance(modifier, PermissionGranted):
                    self.grants.apply_tool_grant(
                        modifier, trusted=builtin and outcome.status is Status.OK
                    )
                elif isinstance(modifier, FileRead) and entry.origin is ToolOrigin.USER:
                    self.freshness.record_shown(modifier, state.context.reads)
                kept.append(modifier)
            except ProblemRaised as raised:
                outcome.append(f"[handrail: {raised.problem.message}; this was ignored]")
        if len(kept) < len(outcome.output.modifiers):
            outcome.output = outcome.output._replace(modifiers=tuple(kept))
