"""What a model reads about a tool, in the words of its dialect.

`[[path]]` stands for an argument as the dialect spells it, `[[tool:grep]]` for a tool's
shown name. A line that mentions something the model is not shown is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_MARK: Final = re.compile(r"\[\[(tool:)?([A-Za-z_][A-Za-z0-9_-]*)\]\]")


def fill(template: str, arguments: Mapping[str, str], tools: Mapping[str, str]) -> str:
    """The text with shown names put in; both tables lead from canonical to shown names."""
    lines = [_filled(line, arguments, tools) for line in template.splitlines()]
    return "\n".join(line for line in lines if line is not None).strip()


def _filled(line: str, arguments: Mapping[str, str], tools: Mapping[str, str]) -> str | None:
    missing = False

    def put(mark: re.Match[str]) -> str:
        nonlocal missing
        shown = (tools if mark[1] else arguments).get(mark[2])
        missing = missing or shown is None
        return shown or ""

    filled = _MARK.sub(put, line)
    return None if missing else filled
