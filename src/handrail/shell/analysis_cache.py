"""A cache of analyses. An entry is valid while the file system gives the answers it gave then.

An analysis depends on the text, the variables, the execution context and the answers to its
queries about the file system, and on nothing else. A lookup repeats those queries.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Final, NamedTuple, TypeVar

from handrail.core.commands import CommandAnalysis

T = TypeVar("T")
# By the number of the question in `DiskQueries`, and what it was about.
DiskAnswers = dict[tuple[int, str], object]

_KEPT: Final = 256


class DiskQueries(NamedTuple):
    """Everything an analysis may ask about the file system."""

    find_program: Callable[[str], str | None]
    resolve: Callable[[str], str]
    git_is_safe: Callable[[str], bool] | None


def recording_queries(disk: DiskQueries, answers: DiskAnswers) -> DiskQueries:
    """The queries, wrapped so that every answer is added to `answers`."""
    return DiskQueries(
        _recording(0, disk.find_program, answers),
        _recording(1, disk.resolve, answers),
        None if disk.git_is_safe is None else _recording(2, disk.git_is_safe, answers),
    )


def _recording(number: int, ask: Callable[[str], T], answers: DiskAnswers) -> Callable[[str], T]:
    def noted(about: str) -> T:
        answers[number, about] = answer = ask(about)
        return answer

    return noted


class _CachedAnalysis(NamedTuple):
    analysis: CommandAnalysis
    answers: Mapping[tuple[int, str], object]


class AnalysisCache:
    """The most recent analyses. Thread-safe."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, _CachedAnalysis] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable, disk: DiskQueries) -> CommandAnalysis | None:
        """The cached analysis, if every recorded query still has its answer; else None."""
        with self._lock:
            known = self._known.get(key)
            if known is None:
                return None
            self._known.move_to_end(key)
        for (number, about), answer in known.answers.items():
            ask = disk[number]
            if ask is None or ask(about) != answer:
                return None
        return known.analysis

    def keep(self, key: Hashable, analysis: CommandAnalysis, answers: DiskAnswers) -> None:
        """Store an analysis with the answers that it depends on."""
        with self._lock:
            self._known[key] = _CachedAnalysis(analysis, answers)
            self._known.move_to_end(key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
