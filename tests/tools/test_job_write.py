"""Text for background jobs, through the front door."""

import os

import anyio
import pytest
from tests.support.machine import SANDBOXES_AND_NONE
from tests.support.waiting import wait_until_async

import handrail


async def start(rt, command, how):
    started = await rt.call("run_command", {"command": command, "background": True, "input": how})
    assert started.ok, started.problem
    return started.data["job"]


async def output(rt, job, *, block=True):
    found = await rt.call("job_output", {"job": job, "offset": 0, "block": block, "timeout_s": 20})
    return found.data["task"]["output"]


def opened(root, sandbox="auto", **options):
    options = {"mode": "bypass", "config": {"accept_no_sandbox": True}, **options}
    return handrail.open(root, store=":memory:", sandbox=sandbox, **options)


@pytest.mark.parametrize("sandbox", SANDBOXES_AND_NONE)
async def test_text_reaches_the_job_and_eof_ends_its_input(tmp_path, sandbox):
    async with opened(tmp_path, sandbox) as rt:
        job = await start(rt, 'while read -r line; do echo "got $line"; done; echo over', "pipe")
        first = await rt.call("job_write", {"job": job, "text": "one\n"})
        await rt.call("job_write", {"job": job, "text": "two ☂\n", "eof": True})
        text = await output(rt, job)
        late = await rt.call("job_write", {"job": job, "text": "three\n"})

    assert first.data == {"written": 4}
    assert text == "got one\ngot two ☂\nover\n"
    assert late.problem.code == "conflict"


@pytest.mark.parametrize("sandbox", SANDBOXES_AND_NONE)
async def test_a_job_at_a_terminal_is_typed_to_and_interrupted(tmp_path, sandbox):
    command = "[ -t 0 ] && [ -t 1 ] && echo up; trap 'echo stopped; exit 3' INT; read -r x; echo \"got $x\"; while :; do sleep 0.05; done"
    async with opened(tmp_path, sandbox) as rt:
        job = await start(rt, command, "terminal")
        await rt.call("job_write", {"job": job, "text": "hello\n"})
        with anyio.fail_after(20):
            while "got hello" not in await output(rt, job, block=False):
                await anyio.sleep(0.02)
        await rt.call("job_write", {"job": job, "text": "\x03"})
        text = await output(rt, job)

    assert "up\r\n" in text
    assert "stopped" in text


async def test_a_terminal_sees_the_end_of_input(tmp_path):
    async with opened(tmp_path) as rt:
        job = await start(rt, "cat; echo over", "terminal")
        await rt.call("job_write", {"job": job, "text": "a\n", "eof": True})
        text = await output(rt, job)

    assert text.endswith("over\r\n")


async def test_a_job_that_never_reads_takes_only_what_fits(tmp_path, monkeypatch):
    monkeypatch.setattr("handrail.host.supervisor.jobs._WRITING_S", 0.2)
    async with opened(tmp_path) as rt:
        job = await start(rt, "sleep 600", "pipe")
        results = []
        for _ in range(3):
            results.append(await rt.call("job_write", {"job": job, "text": "x" * 60_000}))

    assert all(one.ok for one in results)
    assert sum(one.data["written"] for one in results) < 180_000
    assert "does not read" in results[-1].text


async def test_a_job_without_input_reads_its_end_at_once(tmp_path):
    async with opened(tmp_path) as rt:
        started = await rt.call(
            "run_command", {"command": "cat; echo over; sleep 600", "background": True}
        )
        refused = await rt.call("job_write", {"job": started.data["job"], "text": "x"})
        foreground = await rt.call("run_command", {"command": "cat", "input": "pipe"})
        missing = await rt.call("job_write", {"job": "99", "text": "x"})

    assert refused.problem.code == "conflict"
    assert foreground.problem.code == "invalid_arguments"
    assert missing.problem.code == "not_found"


@pytest.mark.needs_sandbox
async def test_text_is_judged_as_a_command(tmp_path):
    async with opened(tmp_path, mode="sandboxed", config={}) as rt:
        job = await start(rt, "cat > /dev/null", "pipe")
        plain = await rt.call("job_write", {"job": job, "text": "hello\n"})
        blocked = await rt.call("job_write", {"job": job, "text": "rm -rf /\n"})
    async with opened(tmp_path, mode="default", config={}) as rt:
        asked = await rt.call("job_write", {"job": "1", "text": "hello\n"})

    assert plain.ok
    assert (blocked.status, blocked.problem.code) == ("refused", "blocked")
    assert asked.problem.code == "needs_approval"


async def test_rounds_of_start_write_and_kill_leave_no_handle(tmp_path):
    async with opened(tmp_path) as rt:
        await rt.call("run_command", {"command": "true"})
        before = len(os.listdir("/proc/self/fd"))
        for number in range(10):
            job = await start(rt, "cat", ("pipe", "terminal")[number % 2])
            await rt.call("job_write", {"job": job, "text": "a\n"})
            await rt.call("job_kill", {"job": job})
        await wait_until_async(lambda: len(os.listdir("/proc/self/fd")) <= before + 1)


async def test_a_line_is_judged_as_a_whole_in_however_many_pieces_it_is_sent(tmp_path):
    config = {"accept_no_sandbox": True, "permissions": {"deny": ["run_command(touch:*)"]}}
    async with opened(tmp_path, config=config, approver=lambda request: True) as rt:
        job = await start(rt, "cat", "pipe")
        pieces = [{"job": job, "text": "tou"}, {"job": job, "text": "ch made\n"}]
        results = [await rt.call("job_write", one) for one in pieces]
        await rt.call("job_write", {"job": job, "text": "\n"})
        together = await rt.batch([{"name": "job_write", "arguments": one} for one in pieces])
        blocked = [
            await rt.call("job_write", {"job": job, "text": text})
            for text in ("\nrm -rf --no-preserve-ro", "ot /\n")
        ]
        ended = await rt.call("job_write", {"job": job, "text": "\n", "eof": True})

    assert [one.ok for one in results] == [True, False]
    assert results[1].problem.code == "denied"
    assert [one.ok for one in together] == [True, False]
    assert [one.ok for one in blocked] == [True, False]
    assert blocked[1].problem.code == "blocked"
    assert ended.ok


async def test_the_end_of_the_input_alone_needs_no_approval_because_of_a_rule(tmp_path):
    config = {"accept_no_sandbox": True, "permissions": {"deny": ["run_command(touch:*)"]}}
    async with opened(tmp_path, config=config) as rt:
        job = await start(rt, "cat", "pipe")
        ended = await rt.call("job_write", {"job": job, "text": "", "eof": True})

    assert ended.ok, ended.problem
