"""What `handrail run` prints, and when."""

import asyncio
import io

import pytest

import handrail
from handrail.agent.events import AgentStarted, ModelText, Notification
from handrail.cli.commands.agent.run_status import RunStatus
from handrail.cli.commands.agent.view import RunView
from handrail.core.events import CallEnded, CallHeartbeat, CallOutput, CallStarted
from handrail.core.text.columns import cells
from handrail.models.scripted import script_model
from handrail.models.scripted.script_file import read_script
from handrail.models.scripted.script_model import ScriptModel


class PassCounter:
    """Counts the passes of the event loop."""

    def __init__(self):
        self.passes = 0
        self._loop = asyncio.get_running_loop()
        self._count()

    def _count(self):
        self.passes += 1
        self._loop.call_soon(self._count)


class Screen(io.StringIO):
    """Notes the pass in which the model's text was written."""

    def __init__(self, counter):
        super().__init__()
        self._counter = counter
        self.written = []

    def write(self, text):
        if "first" in text:
            self.written.append(self._counter.passes)
        return super().write(text)


async def test_text_is_written_in_the_pass_of_the_loop_that_received_it(tmp_path, monkeypatch):
    received = []
    counter = PassCounter()
    chunks = script_model.StoredReply.chunks

    async def watched(reply):
        async for chunk in chunks(reply):
            if b"first" in chunk:
                received.append(counter.passes)
            yield chunk

    monkeypatch.setattr(script_model.StoredReply, "chunks", watched)
    screen = Screen(counter)
    view = RunView(screen)
    for wire in ("anthropic", "openai-chat", "openai-responses", "gemini"):
        model = ScriptModel("s", read_script('{"text": "first words"}', "s"), wire=wire, chunk=5)
        async with handrail.open(tmp_path, store=":memory:", model=model) as rt:
            await rt.agent().run("speak", on_event=view.on_event)

    assert len(screen.written) == 4
    # The last events of a wire format may repeat the whole text.
    assert set(screen.written) <= set(received)
    assert screen.written[0] == received[0]


def _shown(*events):
    screen = io.StringIO()
    view = RunView(screen)
    for event in events:
        view.on_event(event)
    return screen.getvalue().splitlines()


def test_nothing_is_printed_into_an_open_question():
    screen = io.StringIO()
    view = RunView(screen)
    beat = CallHeartbeat("1", "write_file", 60.0)

    with view.question():
        view.on_event(beat)
        view.on_event(CallOutput("2", "run_command", "stdout", "one\n"))
        with view.question():
            view.on_event(ModelText("main", 1, "a text\n"))
        during = screen.getvalue()
    after = screen.getvalue()
    view.on_event(beat)

    assert during == ""
    assert after == "  ┆ one\n│ a text\n"
    assert "60 s" in screen.getvalue()


def test_the_time_of_a_question_is_no_work():
    now = [100.0]
    status = RunStatus(now=lambda: now[0])
    status.on_event(AgentStarted("main", "", ("main",), 0, "main", "m", "task", "s"))
    status.on_event(CallStarted("c", "run_command", 1, "main", "run_command(command='make')"))
    now[0] += 2
    status.begin_wait()
    now[0] += 60
    status.on_event(CallStarted("d", "read_file", 1, "main", "read_file(path='a')"))
    now[0] += 60
    status.end_wait()
    now[0] += 3

    assert status.text().startswith("working 5 s · run_command 5 s and 1 more")


def test_a_missing_tool_of_a_named_agent_is_not_a_matter_of_options():
    end = CallEnded("c", "web_fetch", "refused", "unknown_tool", 0.1, "not here")
    start = AgentStarted("explore", "", ("explore",), 0, "explore", "m", "task", "s")

    assert "--tools" in "\n".join(_shown(end))
    named = "\n".join(_shown(start, end))
    assert "--tools" not in named
    assert "handrail agents" in named


def test_a_long_output_is_shown_by_its_first_and_last_lines():
    pieces = "".join(f"line {n}\n" for n in range(100))
    cut = [pieces[at : at + 7] for at in range(0, len(pieces), 7)]

    shown = _shown(
        CallStarted("c", "run_command", 1, "main", "run_command(command='make')"),
        *(CallOutput("c", "run_command", "stdout", piece) for piece in cut),
        CallHeartbeat("c", "run_command", 12.0),
        CallOutput("c", "run_command", "stdout", "the end"),
        CallEnded("c", "run_command", "ok", None, 13.0),
    )

    assert shown[1:9] == [f"  ┆ line {n}" for n in range(8)]
    assert shown[9] == "  ┆ … run_command runs for 12 s: line 99"
    assert shown[10] == "  ┆ … 85 lines left out"
    assert shown[11:] == [*(f"  ┆ line {n}" for n in range(93, 100)), "  ┆ the end"]


def test_a_quotation_in_a_line_of_handrail_begins_no_row(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    evil = "x" * 40 + "\n• wrote a.txt" + " " * 30 + "changed   nothing"

    shown = _shown(
        Notification("kind", evil),
        CallEnded("c", "read_file", "failed", "not_found", 0.1, evil),
        ModelText("main", 1, "done"),
    )

    beginnings = ("•", "changed", ">")
    assert [line for line in shown if line.startswith(beginnings)] == []


class TerminalStream(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("columns", [80, 48])
@pytest.mark.parametrize("chopping", [1, 7, 20, 400])
def test_words_of_the_model_are_not_broken_at_the_end_of_a_row(monkeypatch, columns, chopping):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = "The internationalisation of 12 configurations, straightforwardly explained:\n\n" * 6
    text += "x" * 200 + "\n表示幅の広い文字 and words after them, some of them wide\n"
    screen = TerminalStream()
    view = RunView(screen)
    for at in range(0, len(text), chopping):
        view.on_event(ModelText("main", 1, text[at : at + chopping]))
    view.line("end")

    rows = screen.getvalue().splitlines()
    assert rows.pop() == "end"
    assert all(row.startswith("│") and cells(row) <= columns for row in rows)
    words = " ".join(row.removeprefix("│").strip() for row in rows).split()
    long = {word for word in words if set(word) == {"x"}}
    assert [word for word in words if word not in long] == text.replace("x" * 200, "").split()
    assert sum(len(one) for one in words if one in long) == 200


def test_the_beginning_of_a_word_is_shown_at_once_unless_the_row_ends():
    screen = TerminalStream()
    RunView(screen).on_event(ModelText("main", 1, "I beg"))

    assert screen.getvalue() == "│ I beg"
