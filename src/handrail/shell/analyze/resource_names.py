"""The names in a command that deletes something: what it deletes, and where that is."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import NamedTuple

from handrail.shell.tables import remote_loss


class ResourceNames(NamedTuple):
    """What a command names: the things it deletes, and where they are."""

    things: Sequence[str]
    places: Sequence[str]

    @classmethod
    def among(
        cls,
        words: Sequence[str],
        valued: Set[str] = frozenset(),
        naming: re.Pattern[str] = remote_loss.NAMING,
    ) -> ResourceNames:
        """The names among the words.

        The options in `valued` have a value that is no name, those of `naming` have a name.
        """
        things: list[str] = []
        places: list[str] = []
        before = ""
        for word in words:
            option, equals, value = word.partition("=")
            if word.startswith("-"):
                if equals and naming.fullmatch(option):
                    places.append(value)
                before = "" if equals else word
                continue
            if naming.fullmatch(before) and before not in valued:
                places.append(word)
            elif not before or (before not in valued and remote_loss.FLAGS.fullmatch(before)):
                # What stands before the verb says which kind of thing it is.
                things = [] if remote_loss.VERB.fullmatch(word) else [*things, word]
            elif "://" in word:
                places.append(word)
            before = ""
        return cls([one for one in things if not remote_loss.KIND.fullmatch(one)], places)

    @property
    def are_trials(self) -> bool:
        """Whether everything that is deleted is a trial, or is part of one."""
        trials = [bool(remote_loss.TRIAL.search(one)) for one in self.things]
        return (bool(trials) and all(trials)) or any(map(remote_loss.TRIAL.search, self.places))

    @property
    def in_use(self) -> bool:
        """Whether a name says that it is in production."""
        return any(map(remote_loss.IN_USE.search, (*self.things, *self.places)))
