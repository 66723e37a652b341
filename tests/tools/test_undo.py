"""The undo tool on its own; the stories are in tests/spec/test_undo.py."""

from types import SimpleNamespace

import pytest

from handrail.core.footprint import OPEN_ENDED
from handrail.core.plan import Plan
from handrail.core.verdicts import Risk
from handrail.tools.undo import UndoParams, UndoTool


class Asked:
    """A past that notes what it is asked."""

    def __init__(self):
        self.calls = []

    async def undo_plan(self, call, *, session):
        self.calls.append(("undo", call, session))
        return Plan((), "undone")

    async def redo_plan(self, call, *, session):
        self.calls.append(("redo", call, session))
        return Plan((), "redone")


def context(*, by_person):
    return SimpleNamespace(
        call=SimpleNamespace(by_person=by_person), session=SimpleNamespace(id="mine")
    )


@pytest.mark.parametrize(
    ("arguments", "by_person", "asked"),
    [
        ({}, False, ("undo", None, "mine")),
        ({"target": "c1"}, False, ("undo", "c1", "mine")),
        ({"target": "c1", "redo": True}, False, ("redo", "c1", "mine")),
        ({"target": "last"}, True, ("undo", None, None)),
    ],
)
async def test_a_model_reaches_its_own_session_and_a_person_all(arguments, by_person, asked):
    past = Asked()

    await UndoTool(past).plan(UndoParams(**arguments), context(by_person=by_person))

    assert past.calls == [asked]


def test_it_may_touch_anything_and_is_asked_about_like_an_edit():
    tool, args = UndoTool(Asked()), UndoParams()

    assert tool.footprint(args) == OPEN_ENDED
    assert tool.risk(args) is Risk.MODERATE
    assert tool.plans
