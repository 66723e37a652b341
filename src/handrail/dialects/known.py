"""Which dialects exist; a new one is one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.dialects.architect import ARCHITECT
from handrail.dialects.base import Dialect, Vocabulary
from handrail.dialects.canonical import CANONICAL
from handrail.dialects.claude import CLAUDE
from handrail.dialects.codex import CODEX
from handrail.dialects.spellings import SPELLINGS

DIALECTS: Final[Mapping[str, Dialect]] = {
    dialect.name: dialect for dialect in (CANONICAL, CLAUDE, CODEX, ARCHITECT)
}


def find_vocabulary(name: str) -> Vocabulary:
    """The vocabulary that shows a dialect and accepts all; raises `invalid_arguments`."""
    dialect = DIALECTS.get(name)
    if dialect is None:
        raise ProblemRaised(
            "invalid_arguments",
            f"there is no dialect named {name!r}",
            hint=f"dialects: {', '.join(DIALECTS)}",
            field="dialect",
        )
    # Canonical first: a name that several vocabularies use means ours outside their own.
    others = [one for one in DIALECTS.values() if one is not dialect]
    return Vocabulary(dialect, [*others, SPELLINGS])
