"""The job_kill tool on its own; the stories are in tests/spec/test_commands.py."""

import pytest
from tests.support.shells import Recorded, context, job, shell

from handrail.core.footprint import Access, Touch
from handrail.core.problems import ProblemRaised
from handrail.tools.commands.job_kill import JobKill, JobKillParams


@pytest.mark.feature("E52", "Z04")
async def test_a_job_of_this_session_is_ended():
    tool = JobKill(shell(Recorded(jobs=[job("1")])))
    output = await tool.run(JobKillParams(job="1"), context())

    assert output.text == "Background job ended: 1"
    assert output.data["status"] == "killed"
    assert tool.footprint(JobKillParams(job="1")).touches == (Touch("job:1", Access.WRITE),)


async def test_the_job_of_another_session_is_not_there():
    tool = JobKill(shell(Recorded(jobs=[job("1", session="other")])))
    with pytest.raises(ProblemRaised) as caught:
        await tool.run(JobKillParams(job="1"), context())

    assert caught.value.problem.code == "not_found"
