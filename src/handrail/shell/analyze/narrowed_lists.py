"""Lists in pipes: which stages feed a program, and whether only some of a list is left."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from handrail.shell.analyze.invocation import Invocation
from handrail.shell.tables import listings

# Stages beyond these are not looked at, and narrow nothing.
MOST_STAGES: Final = 200
_LONGEST_STAGE: Final = 4_000
_LONGEST_PATTERN: Final = 200


def feeding_stages(last: Sequence[Invocation]) -> list[Invocation]:
    """The stages of a pipe whose last ones are given, and all before them."""
    found = [*last[:MOST_STAGES]]
    for one in found:
        found += one.piped_from[: MOST_STAGES - len(found)]
    return found


def are_narrowed(starts: Sequence[Invocation], among: Sequence[Invocation]) -> bool:
    """Whether each list has only some of what there is, at its start or at a later stage of its pipe."""
    narrowed = {
        id(one)
        for stage in among
        if _narrows(stage)
        for one in (stage, *feeding_stages(stage.piped_from))
    }
    return all(id(one) in narrowed for one in starts)


def _narrows(stage: Invocation) -> bool:
    """Whether a stage of a pipe leaves a part of it: `grep old`, `head -3`, `ls -f dangling=true`.

    Almost everything (`tail -n +2`, `head -500`, `grep -v x`, `grep .`) is not a part.
    """
    name = (stage.program or "").rpartition("/")[2]
    words = ["<unknown>" if word.value is None else word.value for word in stage.words[1:]]
    if name in ("head", "tail"):
        count = listings.LINE_COUNT.search(" ".join(("", *words))[:_LONGEST_STAGE])
        most = "-" if name == "head" else "+"
        return count is None or (
            count[1] != most and not count[3] and int(count[2][:9]) <= listings.SOME_LINES
        )
    if name in listings.SEARCHES:
        return _searches_some(words)
    if name in ("awk", "gawk", "mawk"):
        begins = [listings.AWK_PATTERN.match(one[:_LONGEST_STAGE]) for one in words]
        return any(one is not None and _matches_some(one[1]) for one in begins)
    return name in listings.PICKS or bool(listings.FILTERED.search(stage.source[:_LONGEST_STAGE]))


def _searches_some(words: Sequence[str]) -> bool:
    """Whether a search with these arguments finds only some lines of any list."""
    if any(map(listings.INVERTS.fullmatch, words)):
        return False
    if any(map(listings.PATTERN_FILE.fullmatch, words)):
        return True
    given = [
        match["pattern"] or after
        for one, after in pairwise((*words, ""))
        if (match := listings.PATTERN.fullmatch(one))
    ]
    operands = [one for one in words if not one.startswith("-")]
    patterns = given or operands[:1]
    return bool(patterns) and all(map(_matches_some, patterns))


def _matches_some(pattern: str) -> bool:
    """Whether each alternative of a regular expression asks for a text that not every line has."""
    if len(pattern) > _LONGEST_PATTERN:
        return False
    plain = listings.MATCHES_ANYTHING.sub(" ", pattern)
    return all(
        any(
            not listings.IN_EVERY_LINE.fullmatch(text)
            for text in listings.LITERAL.findall(alternative)
        )
        for alternative in listings.ALTERNATIVE.split(plain)
    )
