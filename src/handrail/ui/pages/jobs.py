"""Background jobs: a list, and the output of one."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.core.ports.processes import Job, JobOutput, JobState
from handrail.ui.html import Html, element
from handrail.ui.pages.layout import button, code_block, facts, form, shorten, table, time


def render_jobs(jobs: Sequence[Job], csrf: str) -> list[Html]:
    """Return all jobs, newest first."""
    content = [element("h1", "Jobs")]
    if not jobs:
        return [*content, element("p", "No command runs or ran in the background.")]
    rows = [
        (
            element("a", job.id, href=f"/jobs/{job.id}"),
            job_state(job),
            job.session,
            shorten(job.command, 120),
            time(int(job.started_at * 1e9)),
            kill_form(job, csrf),
        )
        for job in reversed(jobs)
    ]
    return [*content, table(("job", "state", "session", "command", "started", ""), rows)]


def render_job(output: JobOutput, offset: int, csrf: str) -> list[Html]:
    """Return one job with some of its output."""
    job, text = output.job, output.data.decode("utf-8", "replace")
    links = []
    if output.data:
        links.append(element("a", "next part", href=f"/jobs/{job.id}?offset={output.next_offset}"))
    missing = f"{output.missing:,} bytes of older output were discarded" if output.missing else None
    return [
        element("h1", f"Job {job.id}"),
        facts(
            ("command", element("code", job.command)),
            ("state", job_state(job)),
            ("session", job.session),
            ("started", time(int(job.started_at * 1e9))),
            ("left out", missing),
        ),
        code_block(text or "(no output here)"),
        element("p", f"from byte {offset:,} to {output.next_offset:,} ", *links, class_="pages"),
        element("section", kill_form(job, csrf)),
    ]


def job_state(job: Job) -> str:
    """Return the state, with the exit code of an ended job."""
    return job.state.value if job.exit_code is None else f"{job.state.value} {job.exit_code}"


def kill_form(job: Job, csrf: str) -> Html | None:
    """Return a button that ends a running job."""
    if job.state is not JobState.RUNNING:
        return None
    return form(f"/jobs/{job.id}/kill", csrf, button("Kill", kind="danger"), class_="inline")
