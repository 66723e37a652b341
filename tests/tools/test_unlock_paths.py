"""What unlock_paths asks for and says."""

from types import SimpleNamespace

from handrail.core.verdicts import Risk
from handrail.tools.session.unlock_paths import UnlockPaths, UnlockPathsParams

CONTEXT = SimpleNamespace(agent_id="main")


class Known:
    """Knows one token."""

    async def unlock(self, agent, tokens):
        return [one for one in tokens if one == "mine"]


async def test_it_says_which_were_ours():
    output = await UnlockPaths(Known()).run(UnlockPathsParams(tokens=["mine", "x", "x"]), CONTEXT)

    assert output.data == {"released": ["mine"], "unknown": ["x"]}
    assert output.text == "unlocked mine\nx is no lock of yours, or its time is over"


def test_it_writes_no_file_and_needs_no_question():
    tool, args = UnlockPaths(Known()), UnlockPathsParams(tokens=["a"])

    assert [touch.key for touch in tool.footprint(args).touches] == ["session:locks"]
    assert tool.risk(args) is Risk.SAFE
