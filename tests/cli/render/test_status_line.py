"""The status line of a call, and output that is printed as it comes."""

import io
import sys

import pytest

from handrail.cli.render import status_line
from handrail.cli.render.status_line import LiveOutputPrinter, ProgressLine, StatusLine
from handrail.core.events import CallEnded, CallHeartbeat, CallOutput, CallProgress
from handrail.core.results import ToolResult

CLEAR = "\r\x1b[K"


class Terminal(io.StringIO):
    def __init__(self, terminal=True):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.fixture
def streams(monkeypatch):
    def use(out=True, err=True):
        monkeypatch.setattr(sys, "stdout", Terminal(out))
        monkeypatch.setattr(sys, "stderr", Terminal(err))
        monkeypatch.setattr(status_line, "use_colour", lambda stream: stream.isatty())
        monkeypatch.setenv("COLUMNS", "60")

    return use


def event(kind, **facts):
    """An event of a call with only these facts."""
    made = kind.__new__(kind)
    for name, value in {"tool": "run_command", **facts}.items():
        object.__setattr__(made, name, value)
    return made


def beat(seconds=3.4):
    return event(CallHeartbeat, elapsed_s=seconds)


def output(text, stream="stdout"):
    return event(CallOutput, text=text, stream=stream)


def test_the_line_says_what_runs_and_the_latest_output(streams):
    streams()
    line = StatusLine()
    line.on_event(beat())
    line.on_event(output("one\ntwo\n \n"))
    line.on_event(beat(5))
    line.on_event(output(" \n"))
    line.on_event(event(CallProgress, text="three\x1b"))
    line.on_event(beat(6))
    line.on_event(event(CallEnded))
    line.on_event(event(CallEnded))

    assert line.active
    assert sys.stderr.getvalue() == (
        f"{CLEAR}run_command, 3 s{CLEAR}run_command, 5 s: two{CLEAR}run_command, 6 s: three\\x1b{CLEAR}"
    )
    assert sys.stdout.getvalue() == ""


def test_without_a_terminal_there_is_no_line(streams):
    streams(err=False)
    line, progress = StatusLine(), ProgressLine("undo")
    for one in (line, progress):
        one.on_event(beat())
        one.on_event(event(CallProgress, text="x"))
        one.clear()

    assert not line.active
    assert sys.stderr.getvalue() == ""


def test_the_line_is_hidden_during_a_question(streams):
    streams()
    line = StatusLine()
    line.on_event(beat())
    with line.hidden():
        line.on_event(beat())
        assert not line.active
    assert line.active
    assert sys.stderr.getvalue() == f"{CLEAR}run_command, 3 s{CLEAR}"
    line.on_event(beat())
    assert sys.stderr.getvalue().count("run_command") == 2


def test_the_line_fits_the_terminal(streams):
    streams()
    line = StatusLine()
    line.on_event(output("x" * 200))
    line.on_event(beat())

    assert len(sys.stderr.getvalue().removeprefix(CLEAR)) == 59


def test_the_progress_of_several_calls(streams):
    streams()
    line = ProgressLine("undo")
    line.on_event(beat())
    line.on_event(event(CallProgress, text="2 of 3"))
    line.on_event(event(CallEnded))
    line.on_event(beat())

    assert sys.stderr.getvalue() == f"{CLEAR}undo: 3 s{CLEAR}undo: 2 of 3{CLEAR}undo: 2 of 3"


def result(text="a\nexit_code: 0"):
    made = ToolResult.__new__(ToolResult)
    for name in getattr(ToolResult, "__dataclass_fields__", {}):
        object.__setattr__(made, name, None)
    object.__setattr__(made, "text", text)
    return made


def test_output_is_printed_as_it_comes_and_not_again(streams):
    streams()
    printer = LiveOutputPrinter()
    assert printer.unprinted(result()).text == "a\nexit_code: 0"
    printer.on_event(beat())
    printer.on_event(output("one\r"))
    printer.on_event(output("two\x1b\n", "stderr"))
    printer.on_event(beat())

    assert sys.stdout.getvalue() == "one\n"
    assert (
        sys.stderr.getvalue() == f"{CLEAR}run_command, 3 s{CLEAR}two\\x1b\n{CLEAR}run_command, 3 s"
    )
    assert printer.unprinted(result()).text == "exit_code: 0"
    assert printer.unprinted(result("no code")).text == "no code"
    assert sys.stdout.getvalue() == "one\n"


def test_an_unfinished_line_has_no_status_below_and_is_ended(streams):
    streams()
    printer = LiveOutputPrinter()
    printer.on_event(output("half"))
    printer.on_event(beat())
    assert sys.stderr.getvalue() == ""
    assert printer.unprinted(result()).text == "exit_code: 0"
    assert sys.stdout.getvalue() == "half\n"


def test_a_result_is_whole_if_some_of_its_output_was_left_out(streams):
    streams()
    printer = LiveOutputPrinter()
    printer.on_event(output("[5 bytes left out of the live view]\n"))
    printer.on_event(output("x\n"))

    assert printer.unprinted(result()).text == "a\nexit_code: 0"


def test_output_is_not_printed_into_a_pipe(streams):
    streams(out=False, err=False)
    printer = LiveOutputPrinter()
    printer.on_event(output("x\n"))

    assert not printer.active
    assert sys.stdout.getvalue() == ""
    streams(out=True, err=False)
    live = LiveOutputPrinter()
    live.on_event(output("x\n", "stderr"))
    assert live.active
    assert sys.stdout.getvalue() == "x\n"
