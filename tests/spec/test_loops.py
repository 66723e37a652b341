"""A model that goes in circles, through the front door."""

import pytest

from handrail.engine.batch.loop_guard import STOP_AT, WARN_AT


@pytest.mark.feature("X02", "R-11")
async def test_a_call_repeated_without_progress_is_told_then_refused(open_runtime):
    async with open_runtime() as rt:
        made = [await rt.call("read_file", {"path": "gone.txt"}) for _ in range(STOP_AT)]

    codes = [one.problem.code for one in made]
    assert codes == ["not_found"] * (STOP_AT - 1) + ["blocked"]
    told = ["[handrail: this is call number" in one.text for one in made]
    assert told == [False] * (WARN_AT - 1) + [True] * (STOP_AT - WARN_AT) + [False]
    refused = made[-1].problem
    assert refused.message.startswith("Handrail's loop guard refused")
    assert "ends after a minute" in refused.hint
    assert "loop_guard" in refused.hint
    assert "ends after a minute" in made[-1].text


@pytest.mark.feature("X02")
async def test_a_change_is_progress(workspace, open_runtime):
    workspace.write("a.txt", "one\n")
    async with open_runtime() as rt:
        for number in range(STOP_AT + 2):
            read = await rt.call("read_file", {"path": "a.txt"})
            await rt.call("write_file", {"path": "b.txt", "content": f"{number}\n"})

    assert (read.ok, read.text) == (True, "one")


async def test_looking_at_a_job_again_and_again_is_no_circle(open_runtime):
    async with open_runtime(mode="sandboxed") as rt:
        looked = [await rt.call("job_list", {}) for _ in range(STOP_AT * 2)]

    assert {one.text for one in looked} == {looked[0].text}
    assert looked[-1].ok


async def test_a_program_that_polls_can_switch_it_off(workspace, open_runtime):
    workspace.write("a.txt", "one\n")
    async with open_runtime(config={"loop_guard": "off"}) as rt:
        texts = {(await rt.call("read_file", {"path": "a.txt"})).text for _ in range(30)}

    assert texts == {"one"}
