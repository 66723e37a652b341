"""The job_output tool on its own; the stories are in tests/spec/test_commands.py."""

import pytest
from tests.support.shells import Recorded, context, job, shell

from handrail.core.ports.processes import JobState
from handrail.core.problems import ProblemRaised
from handrail.tools.commands.job_output import JobOutputParams, JobOutputTool


@pytest.mark.feature("E53", "Z03")
async def test_each_look_goes_on_where_the_last_one_ended():
    processes = Recorded(jobs=[job("1")], output=b"one\ntwo\n")
    tool, ctx = JobOutputTool(shell(processes)), context()

    first = await tool.run(JobOutputParams(job="1", block=False), ctx)
    second = await tool.run(JobOutputParams(job="1", timeout_s=5), ctx)
    again = await tool.run(JobOutputParams(job="1", offset=4), ctx)

    assert first.data["task"]["output"] == "one\ntwo\n"
    assert first.data["retrieval_status"] == "not_ready"
    assert second.data["task"]["output"] == ""
    assert second.data["retrieval_status"] == "timeout"
    assert again.data["task"]["output"] == "two\n"
    assert [request[1:3] for request in processes.requests] == [(0, 0.0), (8, 5), (4, 30)]


async def test_an_ended_job_tells_its_exit_code():
    ended = job("1", state=JobState.EXITED, exit_code=3)
    output = await JobOutputTool(shell(Recorded(jobs=[ended]))).run(
        JobOutputParams(job="1"), context()
    )

    assert output.data["task"]["exit_code"] == 3
    assert output.data["task"]["is_completed"] is True
    assert output.data["retrieval_status"] == "success"


async def test_the_job_of_another_session_is_not_there():
    tool = JobOutputTool(shell(Recorded(jobs=[job("1", session="other")])))
    with pytest.raises(ProblemRaised) as caught:
        await tool.run(JobOutputParams(job="1"), context())

    assert caught.value.problem.code == "not_found"
