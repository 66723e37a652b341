"""Lines from a client: however its bytes arrive, they are the same lines."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.host.stdio_lines import read_lines

LIMIT = 5


class Chunks:
    """A pipe on which these chunks arrive."""

    def __init__(self, chunks):
        self._left = list(chunks)

    async def read(self):
        return self._left.pop(0) if self._left else b""


async def received(chunks):
    return [line async for line in read_lines(Chunks(chunks), LIMIT)]


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([], []),
        ([b"a\n"], [b"a"]),
        ([b"a"], []),
        ([b"a", b"b\n"], [b"ab"]),
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a\n\n \nb\n"], [b"a", b"b"]),
        ([b"12345\n"], [b"12345"]),
        ([b"123456\n"], [None]),
        ([b"1234", b"5\n"], [b"12345"]),
        ([b"1234", b"56\n"], [None]),
        ([b"123456", b"7", b"\nab\n"], [None, b"ab"]),
        ([b"123456", b"\n\n"], [None]),
        ([b"123456"], []),
    ],
)
async def test_lines_are_split_and_too_long_ones_left_out(chunks, lines):
    assert await received(chunks) == lines


@given(st.text("ab \n", max_size=40), st.lists(st.integers(1, 7), max_size=40))
async def test_chunks_make_no_difference(text, sizes):
    data, chunks = text.encode(), []
    for size in [*sizes, len(text) + 1]:
        chunks.append(data[:size])
        data = data[size:]
    lines = text.encode().split(b"\n")[:-1]

    found = await received(one for one in chunks if one)

    assert found == [
        None if len(line) > LIMIT else line for line in lines if line.strip() or len(line) > LIMIT
    ]


TAKES_OVER = """
import asyncio, os, sys
from handrail.host.stdio_lines import open_stdio, read_lines

async def main():
    pipe = await open_stdio()
    print("of a library", flush=True)
    assert os.read(0, 1) == b""
    async for line in read_lines(pipe, 100):
        await pipe.write(line.upper() + b"\\n")

asyncio.run(main())
"""


@pytest.mark.parametrize("way", ["pipe", "file"])
def test_what_libraries_print_does_not_reach_the_client(tmp_path, way):
    (tmp_path / "input").write_bytes(b"one\ntwo\n")
    command = [sys.executable, "-c", TAKES_OVER]

    given = {"stderr": subprocess.PIPE, "timeout": 60}
    if way == "pipe":
        done = subprocess.run(
            command, input=b"one\ntwo\n", stdout=subprocess.PIPE, check=False, **given
        )
        answer = done.stdout
    else:
        with (tmp_path / "input").open("rb") as source, (tmp_path / "output").open("wb") as sink:
            done = subprocess.run(command, stdin=source, stdout=sink, check=False, **given)
        answer = (tmp_path / "output").read_bytes()

    assert (answer, done.stderr, done.returncode) == (b"ONE\nTWO\n", b"of a library\n", 0)
