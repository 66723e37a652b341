"""A tool's own say in who may call it: it can ask or deny, and lift nothing."""

import pytest
from pydantic import Field

import handrail
from handrail import Effect, Verdict
from handrail.core.arguments.params import Params
from handrail.core.tool import Tool


class Wish(Params):
    say: str = Field(description="allow, ask, deny, nothing or crash")


class Opinionated(Tool[Wish]):
    name = "opinionated"
    summary = "Has an opinion on its calls."
    params = Wish
    effects = handrail.Effects.OPEN_ENDED

    def __init__(self, *, changes):
        self.runs = []
        self._changes = changes

    def footprint(self, args):
        return handrail.Footprint(open_ended=self._changes)

    def opinion(self, args):
        if args.say == "crash":
            raise RuntimeError("no idea")
        if args.say == "nothing":
            return None
        return Verdict(Effect(args.say), f"the tool says {args.say}", "tool:opinionated")

    async def run(self, args, ctx):
        self.runs.append(args.say)
        return handrail.Output("ran")


@pytest.mark.feature("A14")
@pytest.mark.parametrize(
    ("mode", "told"),
    [
        # Its yes changes nothing: what the mode asks about is still asked.
        ("default", {"allow": "needs_approval", "nothing": "needs_approval"}),
        ("bypass", {"allow": None, "nothing": None, "ask": "needs_approval", "deny": "denied"}),
        ("dont-ask", {"ask": "denied", "allow": "denied"}),
        ("bypass", {"crash": "internal"}),
    ],
)
async def test_a_tool_can_only_make_things_stricter(open_runtime, mode, told):
    tool = Opinionated(changes=True)
    async with open_runtime(mode=mode) as rt:
        rt.register(tool)
        results = {say: await rt.call(tool.name, {"say": say}) for say in told}

    assert {say: one.problem and one.problem.code for say, one in results.items()} == told
    assert tool.runs == [say for say, code in told.items() if code is None]


async def test_a_tool_that_only_looks_has_a_say_too(open_runtime):
    tool = Opinionated(changes=False)
    asked = []

    def approve(request):
        asked.append(request.reason)
        return False

    async with open_runtime(mode="default", approver=approve) as rt:
        rt.register(tool)
        ran = await rt.call(tool.name, {"say": "nothing"})
        refused = await rt.call(tool.name, {"say": "ask"})

    assert ran.ok
    assert refused.problem.code == "denied"
    assert asked == ["the tool says ask"]
    assert tool.runs == ["nothing"]
