"""What the calls of odd streams do, through `rt.stream`: which run, and what they change.

`tests/data/streams/effects.jsonl` has one stream per line, as compatible servers and proxies send them,
with the outcomes that are `right`: whether `out.txt` was written, how many calls that read gave a
result, the finish, whether it failed. It was written before the readers of streams were looked at.
"""

import json
from pathlib import Path

import pytest

import handrail
from handrail.core.problems import ProblemRaised

DATA = Path(__file__).parents[1] / "data" / "streams" / "effects.jsonl"
STREAMS = [json.loads(line) for line in DATA.read_text().splitlines()]


async def outcome(root, stream):
    """What came of a stream, in the words of the list."""
    async with handrail.open(root, store=":memory:", mode="accept-edits") as rt:
        try:
            async with rt.stream(iter(stream["events"]), provider=stream.get("provider")) as turn:
                await turn
        except ProblemRaised:
            return {"raises": True, "wrote": root.joinpath("out.txt").exists()}
        read = [one for one in turn.results if one.ok and one.meta["tool"] != "write_file"]
        return {
            "raises": False,
            "wrote": root.joinpath("out.txt").exists(),
            "read": len(read),
            "finish": turn.finish,
            "text": json.dumps(turn.messages),
        }


def agrees(came, right):
    if "raises" not in right and came["raises"]:
        return came["wrote"] == right["wrote"] and right.keys() == {"wrote"}
    text = right.get("text", "")
    others = {key: value for key, value in right.items() if key != "text"}
    return text in came.get("text", text) and others == {key: came.get(key) for key in others}


def test_the_list_is_long_enough():
    assert len(STREAMS) >= 120
    assert len({one["name"] for one in STREAMS}) == len(STREAMS)


@pytest.mark.threat("A01", "A02")
@pytest.mark.parametrize("stream", [pytest.param(one, id=one["name"]) for one in STREAMS])
async def test_a_stream_does_what_its_server_means_and_no_more(tmp_path, stream):
    tmp_path.joinpath("a.txt").write_text("hello\n")

    came = await outcome(tmp_path, stream)

    assert any(agrees(came, right) for right in stream["right"]), came
