"""The undo tool on its own; the stories are in tests/spec/test_undo*.py."""

from types import SimpleNamespace

import pytest

from handrail.core.call import ToolCall
from handrail.core.footprint import OPEN_ENDED
from handrail.core.lazy import Lazy
from handrail.core.plan import Plan
from handrail.core.ports.undo import Requester, UndoRequest
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk
from handrail.tools.session.undo import UndoParams, UndoTool


class Asked:
    """A past that notes what it is asked."""

    def __init__(self):
        self.calls = []

    async def undo_plan(self, wanted, asker, turn):
        self.calls.append(("undo", wanted, asker))
        return Plan((), "undone")

    async def redo_plan(self, wanted, asker, turn):
        self.calls.append(("redo", wanted, asker))
        return Plan((), "redone")


def context(*, by_person=False):
    return SimpleNamespace(
        call=ToolCall("c9", "undo", {}, by_person=by_person), session=SimpleNamespace(id="mine")
    )


@pytest.mark.parametrize(
    ("arguments", "by_person", "asked"),
    [
        ({}, False, ("undo", UndoRequest("call", "last"), Requester("mine"))),
        ({"target": "c1"}, False, ("undo", UndoRequest("call", "c1"), Requester("mine"))),
        (
            {"target": "c1", "redo": True},
            False,
            ("redo", UndoRequest("call", "c1"), Requester("mine")),
        ),
        ({"scope": "turn"}, True, ("undo", UndoRequest("turn", "last"), Requester("mine", True))),
        (
            {"scope": "path", "target": "a", "force": True},
            True,
            ("undo", UndoRequest("path", "a", True), Requester("mine", True)),
        ),
    ],
)
async def test_a_model_reaches_its_own_session_and_a_person_all(arguments, by_person, asked):
    past = Asked()

    await UndoTool(Lazy(lambda: past)).plan(UndoParams(**arguments), context(by_person=by_person))

    assert past.calls == [asked]


@pytest.mark.parametrize(
    ("arguments", "by_person", "code"),
    [
        ({"force": True}, False, "denied"),
        ({"scope": "path"}, True, "invalid_arguments"),
        ({"scope": "since"}, False, "invalid_arguments"),
    ],
)
async def test_what_cannot_be_asked_for_is_refused_before_anybody_is_asked(
    arguments, by_person, code
):
    with pytest.raises(ProblemRaised) as raised:
        await UndoTool(Lazy(Asked)).preflight(UndoParams(**arguments), context(by_person=by_person))

    assert raised.value.problem.code == code


def test_it_may_touch_anything_and_is_asked_about_like_an_edit():
    tool, args = UndoTool(Lazy(Asked)), UndoParams()

    assert tool.footprint(args) == OPEN_ENDED
    assert tool.risk(args) is Risk.MODERATE
    assert tool.plans
