"""Words of a command that prove to a service who is asking: they are sent, and not given away."""

from __future__ import annotations

from itertools import pairwise

from handrail.shell.analyze.invocation import Invocation
from handrail.shell.parse.syntax import Substitution, Word, all_simple_commands
from handrail.shell.tables import secret_senders


def proving_words(one: Invocation) -> list[Word]:
    """The words that prove to a service who is asking."""
    return [
        word
        for before, word in pairwise(one.words)
        if (
            secret_senders.PROOF.fullmatch(before.source)
            and not _is_other_header(before.source, word.source)
        )
        or secret_senders.TOKEN_HEADER.match(word.source)
    ]


def _is_other_header(option: str, header: str) -> bool:
    """Whether the value of an option is a header that proves nothing: it carries data."""
    is_header = secret_senders.HEADER_OPTION.fullmatch(option) is not None
    return is_header and secret_senders.PROVING_HEADER.match(header) is None


def is_token(word: Word) -> bool:
    """Whether a word is only as secret as the token of a service that it contains."""
    inner = [
        simple
        for part in word.parts
        if isinstance(part, Substitution)
        for simple in all_simple_commands(part.script)
    ]
    return all(
        secret_senders.PRINTS_SECRETS.fullmatch(" ".join(one.value or "" for one in simple.words))
        for simple in inner
    )
