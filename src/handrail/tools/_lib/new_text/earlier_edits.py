"""Edits of one call whose text an earlier edit of the call has made a part of longer words."""

from __future__ import annotations

from handrail.core.names.caller_words import arg_name
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.byte_text import ByteText
from handrail.tools._lib.matching.exact import MOST_COUNTED, list_matches


def refuse_cut_words(file: ByteText, current: ByteText, path: str, old: str) -> None:
    """Raise `ambiguous` if the text has only whole words in the file, and now ends inside of one.

    `current` is the file after the earlier edits. Both edits mean the same words then, and the later
    one would leave a piece of what the earlier one wrote.
    """
    if _ends_inside_word(current, old) and list_matches(file, old, 1):
        if _ends_inside_word(file, old):
            return
        raise ProblemRaised(
            "ambiguous",
            f"{arg_name('old_string')} is now a part of a longer word in {path!r}, which an earlier edit of "
            "the call has written",
            hint="change each place once, or give the text as it is after the earlier edits",
            field="old_string",
        )


def _ends_inside_word(file: ByteText, text: str) -> bool:
    return any(
        file.splits_word(match.start) or file.splits_word(match.end)
        for match in list_matches(file, text, MOST_COUNTED)
    )
