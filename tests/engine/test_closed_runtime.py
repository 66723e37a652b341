"""What a runtime that was closed refuses to do."""

import pytest

import handrail
from handrail.core.problems import ProblemRaised


@pytest.fixture
async def closed(tmp_path):
    async with handrail.open(tmp_path, store=":memory:") as rt:
        pass
    return rt


def refuses(raised):
    return raised.value.problem.code == "unavailable"


async def test_no_model_is_opened_and_no_agent_made(closed):
    with pytest.raises(ProblemRaised) as opened:
        closed.open_model("script:x")
    with pytest.raises(ProblemRaised) as made:
        closed.agent()

    assert refuses(opened)
    assert refuses(made)


async def test_no_command_of_the_user_runs(closed, tmp_path):
    with pytest.raises(ProblemRaised) as ran:
        await closed.run_user_command("touch x", timeout_s=5)
    with pytest.raises(ProblemRaised) as gated:
        await closed.run_quality_gates()

    assert refuses(ran)
    assert refuses(gated)
    assert not (tmp_path / "x").exists()
