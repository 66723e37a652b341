"""New texts of Python and YAML without the indentation that the old text has: the lines around them
would no longer be what they are.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from handrail.core.names.caller_words import arg_name
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.byte_text import ByteText, Splice

_PYTHON: Final = frozenset({".py", ".pyi", ".pyw"})
_YAML: Final = frozenset({".yaml", ".yml"})
_OPENS: Final = re.compile(r".*:\s*(?:#.*)?")
_GOES_ON: Final = re.compile(r".*[:,([{\\|>&-]\s*(?:#.*)?")
_CLOSES: Final = (")", "]", "}", "#")
# As far as a line next to the place is looked for.
_REACH: Final = 2_000


def refuse_lost_depth(file: ByteText, place: Splice, old: str, new: str, path: str) -> None:
    """Raise `invalid_arguments` if lines that were inside a block would begin at the margin, where
    the line above needs a block or the line below is still inside one.
    """
    suffix = PurePosixPath(path).suffix.lower()
    before, after = _code(old), _code(new)
    if suffix not in _PYTHON | _YAML or not before or not after:
        return
    if not all(line[0].isspace() for line in before) or _is_in_text(file, place.start):
        return
    above = file.shown(file.data[max(place.start - _REACH, 0) : place.start]).splitlines()
    below = file.shown(file.data[place.end : place.end + _REACH]).splitlines()
    over = next((line for line in reversed(above) if line.strip()), "")
    under = next((line for line in below if line.strip()), "")
    # In YAML, a key may have no value.
    needed = suffix in _PYTHON and _OPENS.fullmatch(over) is not None
    inside = under[:1].isspace() and not under.lstrip().startswith(_CLOSES)
    last = after[-1]
    ends = not last[0].isspace() and last[0] not in _CLOSES and not _GOES_ON.fullmatch(last)
    if (needed and not after[0][0].isspace()) or (inside and ends):
        raise ProblemRaised(
            "invalid_arguments",
            f"{arg_name('new_string')} begins at the margin and {arg_name('old_string')} does not, so its lines "
            f"would leave their block in {path!r}",
            hint="give the new text with the indentation that it should have in the file",
            field="new_string",
        )


def _code(text: str) -> list[str]:
    lines = text.splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _is_in_text(file: ByteText, position: int) -> bool:
    """Whether a position is inside a text between three quotes, where any indentation is content."""
    return any(
        file.data.count(quotes, 0, position) % 2
        for quotes in (file.encode('"""'), file.encode("'''"))
    )
