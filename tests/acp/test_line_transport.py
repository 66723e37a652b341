"""Messages of an editor as lines: what is a message, and what is answered with an error."""

import json

import pytest

from handrail.acp import line_transport
from handrail.acp.line_transport import INVALID_REQUEST, PARSE_ERROR, LineTransport


class Lines:
    """A pipe with these lines, and what was written to it."""

    def __init__(self, *lines, closed=False):
        self.lines, self.written, self.closed = list(lines), [], closed

    async def write(self, data):
        if self.closed:
            raise BrokenPipeError
        self.written.append(data)


@pytest.fixture(autouse=True)
def lines_of_a_pipe(monkeypatch):
    async def read(pipe, most):
        for line in pipe.lines:
            yield line

    monkeypatch.setattr(line_transport, "read_lines", read)


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


@pytest.mark.parametrize(
    "message",
    [
        {"method": "a"},
        {"method": "a", "params": {}, "id": 1},
        {"method": "a", "params": None, "id": "x"},
        {"method": "a", "id": None},
        {"id": 1, "result": None},
        {"id": 1, "error": {"code": 1, "message": "x"}},
    ],
)
async def test_a_message_is_received(message):
    pipe = Lines(line(**message))
    transport = LineTransport(pipe)

    assert await transport.receive() == {"jsonrpc": "2.0", **message}
    assert await transport.receive() is None
    assert pipe.written == []


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (None, INVALID_REQUEST),
        (b"\xff", PARSE_ERROR),
        (b"{", PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (b"{}", INVALID_REQUEST),
        (b'{"jsonrpc": "1.0", "method": "a"}', INVALID_REQUEST),
        (line(method=1), INVALID_REQUEST),
        (line(method="a", params=[]), INVALID_REQUEST),
        (line(method="a", id=True), INVALID_REQUEST),
        (line(method="a", id=1.5), INVALID_REQUEST),
        (line(id=1), INVALID_REQUEST),
        (line(result=1), INVALID_REQUEST),
        (line(id=1, result=1, error={"code": 1, "message": "x"}), INVALID_REQUEST),
    ],
)
async def test_what_is_no_message_is_answered_and_reading_goes_on(given, code):
    pipe = Lines(given, line(method="next"))
    found = await LineTransport(pipe).receive()

    assert found["method"] == "next"
    (answer,) = map(json.loads, pipe.written)
    assert (answer["id"], answer["error"]["code"]) == (None, code)


@pytest.mark.parametrize("error", [None, 1, {}, {"code": "x", "message": "y"}, {"code": 1}])
async def test_a_response_with_an_invalid_error_still_fails_the_request(error):
    found = await LineTransport(Lines(line(id=1, error=error))).receive()

    assert found["id"] == 1
    assert found["error"]["code"] == INVALID_REQUEST


async def test_an_editor_that_is_gone_is_no_error():
    assert await LineTransport(Lines(b"{", closed=True)).receive() is None


async def test_a_message_is_one_line():
    pipe = Lines()
    await LineTransport(pipe).send({"a": "b\nc", "d": {1: 2}})

    assert pipe.written == [b'{"a":"b\\nc","d":{"1":2}}\n']
