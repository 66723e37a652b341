"""Commands matched against the user's `blocked_commands` expressions.

Expressions are tried on the command text and on the words of every program without quotes and
wrappers, so that another spelling does not evade them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from handrail.core.commands import CommandAnalysis, CommandClass, CommandPart
from handrail.policy.guardrails.settings import BadExpression, Expression, compiled

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class BlockedMatch(NamedTuple):
    """An expression that a command matches; `sure` False: it may match, but the command is computed
    in part.
    """

    expression: Expression
    part: str
    sure: bool


class BlockedCommands:
    """The expressions of `blocked_commands`."""

    def __init__(self, expressions: Iterable[Expression]) -> None:
        self._all = [
            (one, {word.lower() for word in _WORD.findall(one.text)}) for one in expressions
        ]
        # One look for all of them; most commands meet none.
        self._any = _combine_patterns([one.text for one, _ in self._all]) if self._all else None

    def __bool__(self) -> bool:
        return bool(self._all)

    def find(self, analysis: CommandAnalysis) -> BlockedMatch | None:
        """The first expression that matches for certain, else one that may match."""
        for text in dict.fromkeys(_command_spellings(analysis)):
            data = text.encode("utf-8", "replace")
            if self._any is None or self._any.search(data):
                for expression, _ in self._all:
                    if expression.regex.search(data):
                        return BlockedMatch(expression, text, sure=True)
        return next(self._doubts(analysis), None)

    def _doubts(self, analysis: CommandAnalysis) -> Iterator[BlockedMatch]:
        unread = not analysis.parts and analysis.safety_class is not CommandClass.SAFE
        if unread or (
            not analysis.rule_matchable and analysis.safety_class >= CommandClass.DANGEROUS
        ):
            yield from (BlockedMatch(one, "", sure=False) for one, _ in self._all)
        for part in analysis.parts:
            if None in part.words:
                known = _before_computed(part)
                # The expression names this program, and the computed words may be the rest of it.
                for expression, words in self._all:
                    if known <= words:
                        yield BlockedMatch(expression, part.source, sure=False)


def _combine_patterns(patterns: Sequence[str]) -> Any:
    """One expression that fits where any of them does; None if they are too large together."""
    try:
        return compiled("|".join(f"(?:{one})" for one in patterns), ignore_case=True)
    except BadExpression:
        return None


def _command_spellings(analysis: CommandAnalysis) -> Iterator[str]:
    yield analysis.text
    yield " ".join(analysis.text.split())
    for words, source, _, _ in analysis.parts:
        yield source
        if words and words[0] is not None:
            known = [word for word in words if word is not None]
            yield " ".join(known)
            if "/" in words[0]:
                yield " ".join([words[0].rpartition("/")[2], *known[1:]])


def _before_computed(part: CommandPart) -> set[str]:
    """The plain words in front of the first computed one, without options."""
    words = part.words[: part.words.index(None)]
    return {word.rpartition("/")[2].lower() for word in words if word and not word.startswith("-")}
