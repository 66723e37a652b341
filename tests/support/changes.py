"""Making changes to files as a tool's plan would, and looking at what came of it."""

import pytest

from handrail.core.places import Kind
from handrail.core.plan import Change
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content


def change_of(files, path, after, *, mode=None):
    place = files.locate(path)
    if place.kind is Kind.MISSING:
        return Change(place, None, Content(after), None, mode)
    seen = files.read(place)
    new = None if after is None else Content(after)
    return Change(place, seen.content, new, seen.stat, mode)


def write(files, path, after, *, durable=False, mode=None):
    staged = files.stage(change_of(files, path, after, mode=mode), durable=durable)
    try:
        staged.publish()
    finally:
        staged.discard()


def refusal(action, *args, **kwargs):
    with pytest.raises(ProblemRaised) as raised:
        action(*args, **kwargs)
    return raised.value.problem


def tree(top):
    return {
        str(path.relative_to(top)): path.read_bytes() if path.is_file() else None
        for path in sorted(top.rglob("*"))
    }
