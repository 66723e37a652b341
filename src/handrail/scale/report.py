"""The report of a fleet: counts, rates and an estimated end, as text and JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from handrail.scale.journal import FleetCounts, FleetJournal
from handrail.scale.state import FleetState

# The time that is left is not estimated from fewer tasks than these.
_FEW_TASKS: Final = 5


class FleetReport(NamedTuple):
    """The state of a fleet, or its end."""

    state: str
    counts: FleetCounts
    seconds: float
    running_in: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every task has ended."""
        return self.counts.ended == self.counts.total

    @property
    def rate(self) -> float:
        """Tasks per second, over the last ones that ended."""
        return task_rate(self.counts, time.time_ns())

    @property
    def seconds_left(self) -> float | None:
        """The estimated time until all tasks have ended; None if nothing runs, or too few have
        ended in this run for an estimate.
        """
        counts, rate = self.counts, self.rate
        # The first tasks end together, so they have no rate.
        known = counts.recent is not None and counts.recent[1] >= max(_FEW_TASKS, counts.running)
        unfinished = counts.waiting + counts.running
        return unfinished / rate if known and rate and self.running_in else None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        counts, seconds_left = self.counts, self.seconds_left
        return {
            "state": self.state,
            "running": self.running_in is not None,
            "complete": self.complete,
            "tasks": {
                "total": counts.total,
                "waiting": counts.waiting,
                "running": counts.running,
                "ended": counts.ended,
                "passed": counts.passed,
            },
            "by_status": dict(counts.by_status),
            "by_tenant": {
                name: dict(tenant_counts) for name, tenant_counts in counts.by_tenant.items()
            },
            "tokens": counts.tokens,
            "usd": counts.usd,
            "seconds": round(self.seconds, 3),
            "tasks_per_second": round(self.rate, 3),
            "seconds_left": None if seconds_left is None else round(seconds_left, 1),
        }

    def lines(self, run: str = "last run") -> Iterator[str]:
        """Yield the report for a terminal. `run` names the run whose time it has."""
        counts = self.counts
        yield progress_text(self)
        for status, number in sorted(counts.by_status.items()):
            yield f"  {status:<12} {number:>8,}"
        if len(counts.by_tenant) > 1:
            yield "tenants:"
            for name, tenant_counts in counts.by_tenant.items():
                ended, total = (
                    tenant_counts["ended"],
                    tenant_counts["ended"] + tenant_counts["running"] + tenant_counts["waiting"],
                )
                yield f"  {name:<12} {ended:>8,} of {total:,} ended, {tenant_counts['passed']:,} passed"
        money = f" and {counts.usd:.2f} USD" if counts.usd else ""
        run = run if self.running_in is None else "this run"
        yield f"{counts.tokens:,} tokens{money} in all; {run} {self.seconds:.1f} s"


def task_rate(counts: FleetCounts, now_ns: int) -> float:
    """Return the tasks per second over the last tasks that ended, until now."""
    if counts.recent is None:
        return 0.0
    first_ns, number, last_ns = counts.recent
    until_ns = now_ns if counts.waiting + counts.running else last_ns
    passed_s = (until_ns - first_ns) / 1e9
    return (number - 1) / passed_s if passed_s > 0 and number > 1 else 0.0


def progress_text(report: FleetReport) -> str:
    """Return one line about the progress of a fleet."""
    counts = report.counts
    parts = [f"{counts.ended:,} of {counts.total:,} tasks ended", f"{counts.passed:,} passed"]
    if counts.running and report.running_in is not None:
        parts.append(f"{counts.running:,} running")
    elif counts.running:
        parts.append(f"{counts.running:,} interrupted; run again to continue")
    if counts.waiting:
        parts.append(f"{counts.waiting:,} waiting")
    # The rate of a run that has ended is that of its last tasks only.
    if report.rate and report.running_in is not None:
        parts.append(f"{report.rate:.1f} tasks/s")
    if report.seconds_left is not None and report.seconds_left >= 1:
        parts.append(f"about {_duration(report.seconds_left)} left")
    return " · ".join(parts)


def read_report(journal: FleetJournal, state: FleetState) -> FleetReport:
    """Return the report of a fleet, which may be running."""
    holder = state.holder()
    begun = int(journal.read_meta("begun_ns") or 0)
    ended = int(journal.read_meta("ended_ns") or 0)
    counts = journal.counts()
    # A fleet that was killed has not noted its end.
    last = 0 if counts.recent is None else counts.recent[2]
    until = max(ended, begun, last) if holder is None or ended > begun else time.time_ns()
    return FleetReport(
        str(state.directory), counts, (until - begun) / 1e9, holder if ended < begun else None
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
