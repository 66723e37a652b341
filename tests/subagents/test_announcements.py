"""Messages about background agents and jobs that have ended."""

from types import SimpleNamespace

import pytest

from handrail.core.ports.processes import Job, JobState
from handrail.subagents.announcements import ended_agents, ended_jobs


def child(id, *, background=True, running=False, announced=False):
    return SimpleNamespace(
        id=id, background=background, running=running, announced=announced, status="done"
    )


def test_a_background_agent_that_has_ended_is_told_once():
    children = [
        child("a"),
        child("b", background=False),
        child("c", running=True),
        child("d", announced=True),
    ]

    (line,) = ended_agents(children)

    assert "agent a has ended: done." in line
    assert [one.announced for one in children] == [True, False, False, True]
    assert ended_agents(children) == []


def runtime(*jobs):
    async def listed():
        return jobs

    return SimpleNamespace(session=SimpleNamespace(id="s1"), jobs=SimpleNamespace(list=listed))


def job(id, state=JobState.EXITED, session="s1", exit_code=None):
    return Job(id, session, "c", "make", "", 0.0, state, 1, exit_code)


@pytest.mark.parametrize(
    ("state", "code", "says"),
    [
        (JobState.EXITED, 2, "has ended: exited, exit code 2."),
        (JobState.EXITED, 0, "has ended: exited, exit code 0."),
        (JobState.KILLED, None, "has ended: killed."),
    ],
)
async def test_a_job_that_has_ended_is_told_once(state, code, says):
    watched = {"1", "2", "3", "4"}
    rt = runtime(
        job("1", state, exit_code=code),
        job("2", JobState.RUNNING),
        job("3", session="s2"),
        job("9"),
    )

    (line,) = await ended_jobs(rt, watched)

    assert says in line
    assert watched == {"2", "3", "4"}
    assert await ended_jobs(rt, watched) == []
    assert await ended_jobs(rt, set()) == []
