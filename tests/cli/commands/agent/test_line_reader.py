"""Lines typed at a terminal: in order, until the end, and not while a question is asked."""

import asyncio
import os
import pty
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from handrail.cli.commands.agent.line_reader import LineReader, PausingApprover, TypedLines
from handrail.core.approval import Answer


@pytest.fixture
def keyboard(monkeypatch):
    """The keyboard of a terminal that is standard input."""
    ours, theirs = pty.openpty()
    with open(theirs, closefd=True) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield ours
    os.close(ours)


async def next_line(reader):
    return await asyncio.wait_for(reader.next_line(), 10)


async def test_lines_are_read_in_order(keyboard):
    reader = LineReader()
    try:
        os.write(keyboard, "one\ntwö\n".encode())
        assert [await next_line(reader), await next_line(reader)] == ["one", "twö"]
        os.write(keyboard, b"\x04")
        assert await next_line(reader) is None
    finally:
        reader.close()


async def test_nothing_is_read_during_a_pause(keyboard):
    reader = LineReader()
    try:
        await asyncio.wait_for(reader.pause(), 10)
        os.write(keyboard, b"one\n")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.next_line(), 0.3)
        reader.go_on()
        assert await next_line(reader) == "one"
    finally:
        reader.close()


async def test_what_was_typed_is_discarded_also_in_the_terminal(keyboard):
    reader = LineReader()
    try:
        os.write(keyboard, b"one\n")
        assert await next_line(reader) == "one"
        await asyncio.wait_for(reader.pause(), 10)
        os.write(keyboard, b"two\n")
        reader._lines.put_nowait("three")
        reader.go_on()
        await asyncio.wait_for(reader.discard_typed(), 10)
        os.write(keyboard, b"four\n")
        assert await next_line(reader) == "four"
    finally:
        reader.close()


async def test_a_terminal_that_is_gone_ends_the_input(keyboard, monkeypatch):
    def gone(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("handrail.cli.commands.agent.line_reader.os.read", gone)
    reader = LineReader()
    try:
        os.write(keyboard, b"one\n")
        assert await next_line(reader) is None
    finally:
        reader.close()


async def test_typed_lines_are_taken_and_the_end_stays():
    typed = TypedLines()
    assert typed.take_typed() == []
    for line in ("one", "", None):
        typed._lines.put_nowait(line)

    assert typed.take_typed() == ["one", ""]
    assert typed.take_typed() == []
    assert await next_line(typed) is None


async def test_lines_for_a_closed_loop_are_dropped(keyboard):
    reader = LineReader()
    reader.close()

    def closed(*_):
        raise RuntimeError("the loop is closed")

    reader._loop = SimpleNamespace(call_soon_threadsafe=closed)
    assert reader._put(b"one\n") is False


async def test_the_prompt_is_printed_as_it_is(keyboard, capsys):
    reader = LineReader()
    reader.show("> ")
    reader.close()

    assert capsys.readouterr().out == "> "


class View:
    def __init__(self, log):
        self.log = log

    @contextmanager
    def question(self):
        self.log.append("question")
        yield
        self.log.append("answered")


class Reader:
    def __init__(self, log):
        self.log = log

    async def pause(self):
        self.log.append("pause")

    def go_on(self):
        self.log.append("go on")


class Approver:
    def __init__(self, log):
        self.log = log

    async def ask(self, request):
        self.log.append(request)
        return True

    async def ask_questions(self, request):
        self.log.append(request)
        return ["blue"]


async def test_a_question_pauses_the_reader_and_rings_the_bell(capsys):
    log = []
    approver = PausingApprover(Approver(log), Reader(log), View(log))

    assert await approver.ask_questions("which?") == ["blue"]
    assert log == ["pause", "question", "which?", "go on", "answered"]
    assert capsys.readouterr().out == "\a"


async def test_without_a_reader_nothing_is_paused(capsys):
    log = []
    reply = await PausingApprover(Approver(log), None, View(log)).ask("may I?")

    assert reply.answer is Answer.YES
    assert log == ["question", "may I?", "answered"]
    assert capsys.readouterr().out == ""


async def test_an_approver_that_answers_no_questions_is_not_asked():
    log = []
    only_asks = SimpleNamespace(ask=None)

    assert await PausingApprover(only_asks, Reader(log), View(log)).ask_questions("?") is None
    assert log == []
