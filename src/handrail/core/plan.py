"""The changes that a tool wants to make to files, as a value: it is previewed, judged, approved,
committed and undone.
"""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from handrail.core.places import Form, Place, Stat
from handrail.core.text.content import Content


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after; `before` None means it did not exist, `after` None deletes.

    `seen` is the stat that belongs to `before`; commit refuses unless the file is still that.
    `mode` sets permission bits; None keeps the old ones (or the default for a new file).
    `empties` directories above a deleted file go with it, lowest first, while they are empty.

    `same_file` are places, the best first, of which a new file is to be another name (a hard
    link) if one of them holds just this content by then.

    An undo changes links and folders too. The content of a link is where it leads, that of a
    folder is empty; a folder is never exchanged for anything else, and goes only if it is empty.
    """

    place: Place
    before: Content | None
    after: Content | None
    seen: Stat | None = None
    mode: int | None = None
    empties: int = 0
    before_form: Form = Form.FILE
    after_form: Form = Form.FILE
    same_file: tuple[Place, ...] = ()

    @property
    def path(self) -> str:
        """The path as users and models are shown it."""
        return self.place.path

    @property
    def before_hash(self) -> str | None:
        """The hash of the old content; None if the file is to be created."""
        return content_hash(self.before, self.before_form)

    @property
    def after_hash(self) -> str | None:
        """The hash of the new content; None if the file is to be deleted."""
        return content_hash(self.after, self.after_form)

    @property
    def of_folder(self) -> bool:
        """Whether it makes or removes a folder, or gives one other permissions."""
        return Form.FOLDER in (self.before_form, self.after_form)

    @property
    def only_opens(self) -> bool:
        """Whether it is of a folder that stays as it is, and is only opened to its owner while
        the other changes of the plan happen in it.
        """
        both = self.before_form is self.after_form is Form.FOLDER and self.after is not None
        return both and self.seen is not None and self.mode == stat.S_IMODE(self.seen.mode)

    @property
    def operation(self) -> str:
        """create, write or delete."""
        if self.after is None:
            return "delete"
        return "create" if self.before is None else "write"


@dataclass(frozen=True)
class Plan:
    """Changes that happen together or not at all.

    `text` is the result for the model after the commit, `preview` what the user is shown before it
    (usually the diff). A plan without changes returns `text` and writes nothing. `relies_on` is how
    much of the old contents the caller must have read: all of it (an overwrite), the part that the
    call names (an edit), or nothing.
    """

    changes: tuple[Change, ...]
    text: str
    preview: str = ""
    data: object = None
    relies_on: Literal["all", "part", "nothing"] = "part"

    @property
    def size(self) -> int:
        """The bytes of all old and new contents."""
        return sum(
            content.size
            for change in self.changes
            for content in (change.before, change.after)
            if content is not None
        )

    @cached_property
    def hash(self) -> str:
        """Identifies exactly these changes; an approval is bound to it."""
        state = hashlib.sha256()
        for change in self.changes:
            fields = (change.place.absolute, change.before_hash, change.after_hash, change.mode)
            state.update(repr(fields).encode("utf-8", "surrogateescape"))
        return state.hexdigest()


def content_hash(content: Content | None, form: Form) -> str | None:
    """The SHA-256 of a file's content; of a link and a folder it says what it is as well."""
    if content is None:
        return None
    return content.digest if form is Form.FILE else f"{form.value}:{content.digest}"


def temp_name(token: str, number: int) -> str:
    """The name beside its target under which change `number` of a plan is made ready, and
    under which the replaced file stands until it is kept. Recovery looks for it.
    """
    return f".handrail-{token}-{number}.tmp"
