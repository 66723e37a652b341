"""Judgements that were made before; each holds as long as the disk answers as it did then.

A judgement follows from the text, the variables, the place and what it asked about the disk,
and from nothing else. So whoever finds one here has put all its questions once more.
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
    """All that a judgement may ask about the disk; see `Surroundings` and `Judge`."""

    find_program: Callable[[str], str | None]
    resolve: Callable[[str], str]
    tame: Callable[[str], bool] | None


def recording_queries(disk: DiskQueries, answers: DiskAnswers) -> DiskQueries:
    """The same questions; what they are told is noted."""
    return DiskQueries(
        _recording(0, disk.find_program, answers),
        _recording(1, disk.resolve, answers),
        None if disk.tame is None else _recording(2, disk.tame, answers),
    )


def _recording(number: int, ask: Callable[[str], T], answers: DiskAnswers) -> Callable[[str], T]:
    def noted(about: str) -> T:
        answers[number, about] = answer = ask(about)
        return answer

    return noted


class _CachedAnalysis(NamedTuple):
    judgement: CommandAnalysis
    answers: Mapping[tuple[int, str], object]


class AnalysisCache:
    """The last judgements; safe in any thread."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, _CachedAnalysis] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: Hashable, disk: DiskQueries) -> CommandAnalysis | None:
        """What was said before, if every question has the same answer now."""
        with self._lock:
            known = self._known.get(key)
            if known is None:
                return None
            self._known.move_to_end(key)
        for (number, about), answer in known.answers.items():
            ask = disk[number]
            if ask is None or ask(about) != answer:
                return None
        return known.judgement

    def keep(self, key: Hashable, judgement: CommandAnalysis, answers: DiskAnswers) -> None:
        """Remember it with all that it rests on."""
        with self._lock:
            self._known[key] = _CachedAnalysis(judgement, answers)
            self._known.move_to_end(key)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
