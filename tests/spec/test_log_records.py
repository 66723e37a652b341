"""What a program's own logging learns of each call."""

import logging

import pytest


@pytest.mark.finding("F39")
async def test_the_log_record_of_a_call_says_what_where_and_how_long(
    workspace, open_runtime, caplog
):
    workspace.write("a.txt", "one\n")
    with caplog.at_level(logging.INFO, logger="handrail"):
        async with open_runtime() as rt:
            done = await rt.call("read_file", {"path": "a.txt"})
            failed = await rt.call("read_file", {"path": "missing.txt"})
            session = rt.session.id

    records = {one.call_id: one for one in caplog.records if hasattr(one, "call_id")}
    for result in (done, failed):
        record = records[result.call_id]
        assert (record.tool, record.status) == ("read_file", result.status.value)
        assert record.duration_s == result.meta["duration_s"] >= 0
        assert (record.session, record.workspace) == (session, str(workspace.root))
