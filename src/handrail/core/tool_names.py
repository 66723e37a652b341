"""Names of tools: which ones providers accept, and lists of them as a program gives them."""

from __future__ import annotations

import re
from typing import Final

from handrail.core.problems import ProblemRaised

# What every provider accepts as the name of a function.
TOOL_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def check_name_list(names: object, field: str) -> None:
    """Raise `invalid_arguments` if one text was given where a list of names belongs: a text is
    a collection too, of letters.
    """
    if isinstance(names, str):
        raise ProblemRaised(
            "invalid_arguments",
            f"{field} is a list of names, not one text",
            hint=f"write {field}=[{names!r:.200}]",
            field=field,
        )
