"""Risks and verdicts of calls, and how several verdicts are combined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final, Self

from handrail.core.problems import ProblemTemplate


class Risk(IntEnum):
    """How much harm a call could do, in increasing order. `word` is the lower-case name."""

    word: str

    def __new__(cls, level: int, word: str) -> Self:
        """The member of a level, with its word."""
        member = int.__new__(cls, level)
        member._value_, member.word = level, word
        return member

    SAFE = 0, "safe"
    MODERATE = 1, "moderate"
    DANGEROUS = 2, "dangerous"
    CRITICAL = 3, "critical"

    def __str__(self) -> str:
        return self.word

    def __format__(self, spec: str) -> str:
        return format(self.word, spec)

    @property
    def sensitive(self) -> bool:
        """Moderate and above: what some vocabularies call sensitive or risky."""
        return self >= Risk.MODERATE


class Effect(StrEnum):
    """The effect of a verdict, from mildest to strictest."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One verdict on a call; `rule` is its origin, for the audit.

    `code` and `hint` become those of the `Problem` if the effect is DENY.
    """

    effect: Effect
    reason: str
    rule: str
    code: str = "denied"
    hint: str | None = None

    @classmethod
    def from_template(
        cls, effect: Effect, template: ProblemTemplate, rule: str, **values: object
    ) -> Self:
        """A verdict with the code, the message and the hint of a template."""
        problem = template.fill(field=None, **values)
        return cls(effect, problem.message, rule, problem.code, problem.hint)


_STRICTNESS: Final = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """The strictest of at least one verdict; among equals, the first."""
    return max(verdicts, key=lambda verdict: _STRICTNESS[verdict.effect])
