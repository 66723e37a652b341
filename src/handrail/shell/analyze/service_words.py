"""Whether the words of a program list, or delete, what a whole service keeps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from handrail.shell.analyze.invocation import Invocation
from handrail.shell.tables import listings, production_resets, remote_loss
from handrail.shell.tables.text_arguments import takes_text_as_data

_LONGEST_WORD: Final = 200


def deletes_everything(name: str, words: Sequence[str]) -> bool:
    """Whether a client or control program, known or not, deletes all that its service keeps."""
    if remote_loss.CONTROL_PROGRAM.fullmatch(name) is None or takes_text_as_data(name):
        return False
    pairs = (f"{one} {after}" for one, after in pairwise(words))
    named = [*words] if any(map(remote_loss.EVERYTHING.fullmatch, pairs)) else []
    return bool(named) and not any(
        production_resets.MADE_AGAIN.search(one) or remote_loss.TRIAL.search(one) for one in named
    )


def ends_services(name: str, words: Sequence[str]) -> bool:
    """Whether a program that is not known deletes machines, or things that hold many others."""
    controls = (remote_loss.CONTROL_PROGRAM, remote_loss.KEEPS_MACHINES)
    joined = " ".join((name, *(one[:_LONGEST_WORD] for one in words), remote_loss.LISTED))
    return (
        any(one.fullmatch(name[:_LONGEST_WORD]) for one in controls)
        or any(map(remote_loss.ENDS_SERVICES.fullmatch, words))
        or remote_loss.HOLDS_MANY.fullmatch(joined) is not None
    )


def lists_own(name: str, one: Invocation) -> bool:
    """Whether an invocation of the same program prints what there is."""
    return (one.program or "").rpartition("/")[2] == name and any(
        listings.LISTING.fullmatch(word.value or "") for word in one.words[1:]
    )
