"""The job_list tool on its own; the stories are in tests/spec/test_commands.py."""

import pytest
from tests.support.shells import Recorded, context, job, shell

from handrail.core.ports.processes import JobState
from handrail.tools.commands.job_list import JobList, JobListParams


@pytest.mark.feature("Z02")
async def test_the_jobs_of_this_session_are_listed():
    jobs = [job("1"), job("2", session="other"), job("3", state=JobState.EXITED, exit_code=0)]
    output = await JobList(shell(Recorded(jobs=jobs))).run(JobListParams(), context())

    assert output.text == "1  running  sleep 1\n3  exited (0)  sleep 1"
    assert [one["id"] for one in output.data] == ["1", "3"]


async def test_no_jobs_is_an_answer_too():
    output = await JobList(shell(Recorded())).run(JobListParams(), context())

    assert output.text == "there are no background jobs"
