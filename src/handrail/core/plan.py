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
    """One file before and after. `before` None: the file did not exist; `after` None: it is deleted.

    `seen` is the stat of `before`; the commit refuses if the file has changed since. `mode` sets the
    permission bits; None keeps the old ones (or the default for a new file). `empties` is the number of
    directories above a deleted file that are deleted with it, lowest first, while they are empty.
    `same_file` are candidates, best first, for a hard link: a new file becomes another name of the first
    of them that has this content by then.

    An undo also changes links and folders. The content of a link is its target, that of a folder is
    empty; a folder is never replaced by something else, and is deleted only if it is empty.
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
        """The path as it is shown to users and models."""
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
        """Whether the change creates or removes a folder, or changes its permissions."""
        return Form.FOLDER in (self.before_form, self.after_form)

    @property
    def only_opens(self) -> bool:
        """Whether the change leaves a folder as it is, and only makes it accessible to its owner while
        the other changes of the plan are made in it.
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
        """A hash of these changes; an approval is valid only for this hash."""
        state = hashlib.sha256()
        for change in self.changes:
            fields = (change.place.absolute, change.before_hash, change.after_hash, change.mode)
            state.update(repr(fields).encode("utf-8", "surrogateescape"))
        return state.hexdigest()


def content_hash(content: Content | None, form: Form) -> str | None:
    """The SHA-256 of the content of a file; for a link or a folder with its form as a prefix."""
    if content is None:
        return None
    return content.digest if form is Form.FILE else f"{form.value}:{content.digest}"


def temp_name(token: str, number: int) -> str:
    """The temporary name, in the folder of its target, of the new content of change `number`, and of
    the replaced file until it is stored. Recovery looks for files of such names.
    """
    return f".handrail-{token}-{number}.tmp"
