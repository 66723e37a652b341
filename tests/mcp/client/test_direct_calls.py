"""Lines of a server that belong to calls which were sent without the SDK's session."""

import asyncio
import json

import pytest
from tests.support.waiting import wait_until_async

from handrail.mcp.client.direct_calls import DirectCalls


class Channel:
    """The end of a program's pipe that keeps what was sent."""

    def __init__(self):
        self.sent = []

    async def send(self, data):
        self.sent.append(json.loads(data))


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


async def test_only_answers_and_progress_of_own_calls_are_taken():
    channel, told = Channel(), []
    calls = DirectCalls(channel)
    work = asyncio.ensure_future(calls.call("act", {}, lambda *progress: told.append(progress)))
    await wait_until_async(lambda: channel.sent)
    own = channel.sent[0]["id"]
    of_others = [
        line(id=1, result={}),
        line(id="handrail-99", result={}),
        line(method="notifications/progress", params={"progressToken": "handrail-99"}),
        line(method="notifications/message", params={"data": own}),
        line(method="ping", id=own),
        f'["{own}"]'.encode(),
        b'{"id": "handrail-99"',
        b"no JSON",
    ]

    taken = [calls.take(one) for one in of_others]
    progress = {"progressToken": own, "progress": 1, "total": 2, "message": "half"}
    assert calls.take(line(method="notifications/progress", params=progress))
    assert not work.done()
    assert calls.take(line(id=own, result={"content": [{"type": "text", "text": "done"}]}))
    result = await asyncio.wait_for(work, 10)

    assert taken == [False] * len(of_others)
    assert told == [(1, 2, "half")]
    assert result.content[0].text == "done"
    assert not calls.take(line(id=own, result={}))


async def test_a_cancelled_call_is_cancelled_at_the_server():
    channel = Channel()
    work = asyncio.ensure_future(DirectCalls(channel).call("act", {}, lambda *progress: None))
    await wait_until_async(lambda: channel.sent)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    assert channel.sent[1]["method"] == "notifications/cancelled"
    assert channel.sent[1]["params"]["requestId"] == channel.sent[0]["id"]
