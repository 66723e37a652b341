"""One row of the table, and how candidates are timed fairly: in turns, in the same loop."""

from __future__ import annotations

import gc
import inspect
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import truediv

Candidate = Callable[[], object] | Callable[[], Awaitable[object]]
Times = dict[str, list[float]]

# A measure repeats its calls, which is not a model's loop.
REPEATING = {"loop_guard": "off"}


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    files: int
    rounds: int
    calls: int
    deep_mb: int
    big_edit_mb: int


@dataclass(frozen=True)
class Figure:
    """Our time beside the limit of the same run; `bar` and `goal` are ratios unless `unit` says
    otherwise, None where there is no requirement.

    `limit` and `ours` are medians; `ratio` is the median of the ratios of each round, which a
    temporarily busy machine disturbs less. `peers` has ratios to the same limit; a peer that cannot
    do it is missing.
    """

    measure: str
    what: str
    limit: float
    ours: float
    ratio: float
    bar: float | None
    goal: float | None
    unit: str = "ms"
    absolute: bool = False
    peers: Mapping[str, float] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The value that `bar` and `goal` are compared with."""
        return self.ours if self.absolute else self.ratio

    @property
    def verdict(self) -> str:
        if self.bar is None or self.goal is None:
            return ""
        if self.value <= self.goal:
            return "goal"
        return "pass" if self.value <= self.bar else "MISS"

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "verdict": self.verdict}


async def interleave(
    candidates: Mapping[str, Candidate],
    *,
    rounds: int,
    block: int = 1,
    settle: Callable[[], Awaitable[object]] | None = None,
    settle_every: int = 1,
) -> Times:
    """Return the seconds per call of each candidate in each round; a round times every one of them
    once.

    The order rotates with the rounds, so that no candidate always runs after the same one. `settle`
    is awaited untimed, after each round or every few rounds, so that work left by one candidate is
    not charged to the next.
    """
    times: Times = {name: [] for name in candidates}
    names = list(candidates)
    for name in names:
        await time_block(candidates[name], block)
    gc.collect()
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            times[name].append(await time_block(candidates[name], block))
            if settle is not None and turn % settle_every == 0:
                await settle()
    return times


async def time_block(candidate: Candidate, block: int) -> float:
    """Return the seconds per call of a block of calls."""
    if inspect.iscoroutinefunction(candidate):
        start = time.perf_counter()
        for _ in range(block):
            await candidate()
        return (time.perf_counter() - start) / block
    start = time.perf_counter()
    for _ in range(block):
        candidate()
    return (time.perf_counter() - start) / block


def figure(
    measure: str,
    what: str,
    times: Times,
    *,
    bar: float | None,
    goal: float | None,
    unit: str = "ms",
) -> Figure:
    """Return a row from the times of `limit`, `ours` and any peers, in seconds."""
    factor = {"ms": 1e3, "µs": 1e6}[unit]
    limit, ours = (statistics.median(times[name]) * factor for name in ("limit", "ours"))
    ratios = {
        name: statistics.median(map(truediv, taken, times["limit"]))
        for name, taken in times.items()
        if name != "limit"
    }
    ratio = ratios.pop("ours")
    return Figure(measure, what, limit, ours, ratio, bar, goal, unit, peers=ratios)


@dataclass(frozen=True)
class NotMeasured:
    """A row that this machine cannot measure, and what it would need."""

    measure: str
    what: str
    needs: str

    def to_dict(self) -> dict[str, object]:
        return {"measure": self.measure, "what": self.what, "not_measured": f"needs {self.needs}"}


Row = Figure | NotMeasured
# Widths are fixed, because rows are printed as they are measured.
WIDTHS = (1, 53, 10, 10, 8, 7, 7, 4, 0)
LEFT = (0, 1, 7, 8)
HEAD = ("", "measure", "limit", "ours", "ratio", "bar", "goal", "", "peers / limit")


def format_head() -> str:
    """The line above all rows."""
    return _format_line(HEAD)


def format_row(row: Row) -> str:
    """One line of the table."""
    if isinstance(row, NotMeasured):
        return f"{row.measure}  {row.what.ljust(WIDTHS[1])}  not measured: needs {row.needs}"
    return _format_line(_cells(row))


def _format_line(cells: Sequence[str]) -> str:
    padded = [
        cell.ljust(width) if index in LEFT else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    ]
    return "  ".join(padded).rstrip()


def _cells(figure: Figure) -> list[str]:
    suffix = f" {figure.unit}" if figure.absolute else "x"
    return [
        figure.measure,
        figure.what,
        f"{figure.limit:.3g} {figure.unit}",
        f"{figure.ours:.3g} {figure.unit}",
        f"{figure.ratio:.2f}x",
        *("-" if one is None else f"{one:g}{suffix}" for one in (figure.bar, figure.goal)),
        figure.verdict,
        "  ".join(f"{name} {ratio:.1f}x" for name, ratio in figure.peers.items()),
    ]
