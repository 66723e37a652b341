"""Lists of words written as text."""

from __future__ import annotations


def word_tuple(text: str) -> tuple[str, ...]:
    """The words of a text, in order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
