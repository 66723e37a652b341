"""Finds tools by the words of their names and descriptions (BM25)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

# Only the beginning of a description is indexed, so that a long one is no advantage.
_INDEXED_CHARS: Final = 200
# How many tools of one server come before those of the others.
_FIRST_OF_SERVER: Final = 2
_K: Final = 1.2
_B: Final = 0.75
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")


class IndexedTool(NamedTuple):
    """A tool in the index."""

    full_name: str
    server: str
    name: str
    description: str


class ToolIndex:
    """A search index of the tools of a session's servers."""

    def __init__(self, tools: Sequence[IndexedTool]) -> None:
        self._tools = {tool.full_name: tool for tool in tools}
        self._words: dict[str, Counter[str]] = {}
        self._frequency: Counter[str] = Counter()
        for tool in tools:
            # Words of names count twice, because authors choose them most carefully.
            names = [*_split_words(tool.name), *_split_words(tool.server)] * 2
            words = Counter([*names, *_split_words(tool.description[:_INDEXED_CHARS])])
            self._words[tool.full_name] = words
            self._frequency.update(words.keys())
        total = sum(words.total() for words in self._words.values())
        self._average = total / len(self._words) if self._words else 1.0

    def search(self, query: str, server: str | None) -> list[str]:
        """The full names of matching tools, best first; every tool for a query without words."""
        names = [name for name, tool in self._tools.items() if server in (None, tool.server)]
        query_words = [*dict.fromkeys(_split_words(query))]
        exact = [name for name in names if query in (name, self._tools[name].name)]
        if not query_words:
            return sorted(names)
        scores = {name: self._score(self._words[name], query_words) for name in names}
        matching = [name for name in names if scores[name] > 0 and name not in exact]
        matching.sort(key=lambda name: (-scores[name], name))
        return [*exact, *(matching if server else self._mix_servers(matching))]

    def _score(self, words: Mapping[str, int], query_words: Sequence[str]) -> float:
        count, score = len(self._words), 0.0
        length = _K * (1 - _B + _B * sum(words.values()) / self._average)
        for word in query_words:
            if frequency := words.get(word, 0):
                rare = math.log(
                    1 + (count - self._frequency[word] + 0.5) / (self._frequency[word] + 0.5)
                )
                score += rare * frequency * (_K + 1) / (frequency + length)
        return score

    def _mix_servers(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the first tools of each server, then the rest, so that no server fills the result alone."""
        counts: Counter[str] = Counter()
        later: list[str] = []
        for name in names:
            server = self._tools[name].server
            counts[server] += 1
            if counts[server] <= _FIRST_OF_SERVER:
                yield name
            else:
                later.append(name)
        yield from later


def _split_words(text: str) -> list[str]:
    """The words of a text in lower case; `createIssue` and `create_issue` are two words each."""
    return [word.lower() for word in _WORD.findall(text)]
