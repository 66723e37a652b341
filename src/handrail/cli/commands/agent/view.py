"""Shows the events of an agent as plain lines.

Text of the model has a margin, and lines of commands another one, so that neither looks like a line
of Handrail. All of it is escaped character by character, so escaping needs no state.
"""

from __future__ import annotations

import errno
import io
import os
import shlex
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from handrail.cli.commands.agent.receipt import find_first_change, receipt_lines, undo_command
from handrail.cli.commands.agent.text_folder import MODEL_MARGIN, TextFolder
from handrail.cli.render.screen import (
    TextStyle,
    count_noun,
    one_line,
    paint,
    terminal_width,
    truncate,
    wrap,
)
from handrail.core.call import MAIN_AGENT
from handrail.core.ports.todos import TodoItem, TodoStatus
from handrail.core.text.safe_text import safe_text
from handrail.tools.builtin import BUILTIN_NAMES

if TYPE_CHECKING:
    from handrail.agent.agent import Agent
    from handrail.cli.commands.agent.run_status import RunStatus
    from handrail.core.agent_results import AgentResult
    from handrail.core.events import Event
    from handrail.core.problems import Problem
    from handrail.engine.runtime import Runtime

_OUTPUT_MARGIN: Final = "  ┆ "
# Of a long output the first lines are shown immediately, and the last ones at the end.
_FIRST_LINES: Final = 8
_LAST_LINES: Final = 8
# A note about a long-running command is printed this often.
_NOTE_S: Final = 10.0
# The width of the first column of a receipt.
_LABEL: Final = 10
_HANGING: Final = 2


class CommandOutput:
    """The output of one call, split into lines. `asked_s`: how long the user had been asked before."""

    def __init__(self, asked_s: float = 0.0) -> None:
        self.asked_s = asked_s
        self._partial = ""
        self._shown = 0
        self._hidden = 0
        self.tail: deque[str] = deque(maxlen=_LAST_LINES)
        self.noted_s = 0.0

    def add(self, text: str) -> list[str]:
        """Add a piece of output; return the lines to show now."""
        *lines, self._partial = (self._partial + text).split("\n")
        now = lines[: max(_FIRST_LINES - self._shown, 0)]
        self._shown += len(now)
        for line in lines[len(now) :]:
            self._hidden += 1
            self.tail.append(line)
        return now

    def end(self) -> Iterator[str]:
        """Return the lines to show when the call is over."""
        if self._partial:
            yield from self.add("\n")
        left_out = self._hidden - len(self.tail)
        if left_out:
            yield f"… {count_noun(left_out, 'line')} left out"
        yield from self.tail


class HeldOutput(io.StringIO):
    """Buffers what is printed later, wrapped or not."""

    def __init__(self, *, folds: bool) -> None:
        super().__init__()
        self._folds = folds

    def isatty(self) -> bool:
        """Return whether it will be printed to a terminal."""
        return self._folds


class RunView:
    """Prints the progress of a run."""

    def __init__(self, stream: TextIO | None = None, status: RunStatus | None = None) -> None:
        self._stream = stream or sys.stdout
        # The content of a status line.
        self._status = status
        # How many questions to the user are open, and the stream to print to afterwards.
        self._questions = 0
        self._printing = self._stream
        # When the first of them was asked, and how long the user was asked before.
        self._asked_at, self._asked_s = 0.0, 0.0
        self._at_line_start = True
        self._folder = TextFolder()
        self._outputs: dict[str, CommandOutput] = {}
        # Tokens of the last request and its answer.
        self._context_used = 0
        # The calls of the task that changed files, in the order in which they ended.
        self._changing: list[str] = []
        # The active subagents and their running calls, which are shown in short.
        self._subagents: set[str] = set()
        self._their_calls: dict[str, str] = {}
        # The agent that the user started.
        self._agent = MAIN_AGENT

    def on_event(self, event: Event) -> None:
        """Print an event; unknown ones are ignored."""
        if self._status is not None:
            self._status.on_event(event)
        show = getattr(self, f"_on_{event.type}", None)
        if show is not None and not self._is_detail(event):
            with self._unless_closed():
                show(event)
                self._stream.flush()

    @contextmanager
    def question(self) -> Iterator[None]:
        """While a question to the user is open, print nothing and do not count the time as work;
        what happens meanwhile is printed afterwards.
        """
        if not self._questions:
            self._end_line()
            self._printing, self._stream = self._stream, HeldOutput(folds=self._folds())
            self._asked_at = time.monotonic()
            if self._status is not None:
                self._status.begin_wait()
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                self._print_held()

    def _print_held(self) -> None:
        buffered, self._stream = self._stream, self._printing
        self._asked_s += time.monotonic() - self._asked_at
        if self._status is not None:
            self._status.end_wait()
        if isinstance(buffered, HeldOutput):
            with self._unless_closed():
                self._stream.write(buffered.getvalue())
                self._stream.flush()

    def _is_detail(self, event: Event) -> bool:
        """Return whether an event is about the work of a subagent and is not shown."""
        if event.type in _SUBAGENT_EVENTS:
            return False
        by_subagent = getattr(event, "agent", None) in self._subagents
        return by_subagent or getattr(event, "call_id", None) in self._their_calls

    def show_idle(self, text: str) -> None:
        """Set the status line between tasks."""
        if self._status is not None:
            self._status.idle = text

    def end_task(self) -> None:
        """Handle the end of a task."""
        if self._status is not None:
            self._status.end_task()

    def line(self, text: str = "") -> None:
        """Print a line of Handrail."""
        with self._unless_closed():
            self._end_line()
            print(text, file=self._stream, flush=True)

    def note(self, text: str) -> None:
        """Print a note about the task."""
        self.text(text, _FAINT, "  ")

    def problem(self, problem: Problem) -> None:
        """Print a problem and its hint."""
        code = problem.code.replace("_", " ")
        named = problem.message.casefold().startswith(code)
        self.text(problem.message if named else f"{problem.code}: {problem.message}", TextStyle.BAD)
        if problem.hint:
            self.text(f"hint: {problem.hint}")

    def text(self, text: str, style: TextStyle | None = None, indent: str = "") -> None:
        """Print text of Handrail, wrapped at a terminal. Further rows are indented, because the
        text may quote the model: no row of a quotation may look like the beginning of a line of
        Handrail.
        """
        joined = " ".join(text.splitlines())
        rows: Iterable[str] = (indent + safe_text(joined),)
        if self._folds() or "COLUMNS" in os.environ:
            rows = wrap(joined, indent, terminal_width() - _HANGING)
        for number, row in enumerate(rows):
            shown = " " * _HANGING + row if number else row
            self.line(shown if style is None else paint(shown, style))

    def labelled(self, label: str, text: str) -> None:
        """Print text beside its label, wrapped at a terminal."""
        label = f"{label:<{_LABEL}}" if len(label) < _LABEL else f"{label} "
        for row in wrap(text, "", terminal_width() - len(label)) if self._folds() else [text]:
            self.line(label + row)
            label = " " * len(label)

    async def receipt(
        self, result: AgentResult, agent: Agent, rt: Runtime, model: str | None = None
    ) -> str:
        """Print the receipt of a task of the model (default: that of the runtime): files,
        verification, usage, how to undo it, and what a dry run has planned. Return where undo
        starts: the id of a call, or `start`.
        """
        conversation = await agent.load()
        since = await find_first_change(rt, conversation, self._changing) or "start"
        undo = undo_command(since, rt.session.id)
        for line in receipt_lines(result, undo, self._context_share(rt, model)):
            self.labelled(line[:_LABEL].rstrip(), line[_LABEL:])
        if queued := len(rt.plan_queue.pending):
            review = f"handrail plan --session {shlex.quote(rt.session.id)}"
            self.labelled("queued", f"{count_noun(queued, 'call')} by plan mode: {review}")
        if rt.planned_actions:
            for row in safe_text(rt.plan_summary()).splitlines():
                self.text(row)
        return since

    def _context_share(self, rt: Runtime, model: str | None) -> str:
        """Return how much of the model's context the conversation fills."""
        limits = rt.agent_services.resolve_model(model).model.limits
        share = self._context_used / limits.context_tokens
        return f" ({share:.0%} of the context)" if self._context_used else ""

    def _on_agent_start(self, event: Event) -> None:
        facts = event.to_dict()
        if facts["depth"] == 0:
            self._changing, self._agent = [], facts["agent"]
            return
        self._subagents.add(facts["agent"])
        self._subagent_line(facts["agent"], f"started: {facts['task']}")

    def _on_agent_end(self, event: Event) -> None:
        facts = event.to_dict()
        if facts["agent"] in self._subagents:
            self._subagents.discard(facts["agent"])
            used = facts["usage"]["input_tokens"] + facts["usage"]["output_tokens"]
            self._subagent_line(facts["agent"], f"{facts['status']}, {used:,} tokens")

    def _subagent_line(self, agent: str, text: str) -> None:
        line = f"  ↳ {one_line(agent)} {one_line(text)}"
        self.line(paint(truncate(line, terminal_width()), _FAINT))

    def _on_file_changed(self, event: Event) -> None:
        self._changing.append(str(event.to_dict()["call_id"]))

    def _on_model_text(self, event: Event) -> None:
        for piece in safe_text(str(event.to_dict()["text"])).splitlines(keepends=True):
            if self._at_line_start:
                self._stream.write(MODEL_MARGIN)
                self._folder.begin_line()
            self._stream.write(self._folder.fold(piece) if self._folds() else piece)
            self._at_line_start = piece.endswith("\n")

    def _on_model_retry(self, event: Event) -> None:
        facts = event.to_dict()
        wait = f"{facts['wait_s']:.1f} s"
        self.line(paint(f"the request failed ({facts['code']}); trying again in {wait}", _FAINT))

    def _on_notification(self, event: Event) -> None:
        self.text(f"note: {event.to_dict()['text']}", TextStyle.CAUTION)

    def _on_budget_warning(self, event: Event) -> None:
        facts = event.to_dict()
        text = f"budget: {facts['used']:,.6g} of {facts['limit']:,.6g} {facts['kind']} used"
        self.line(paint(text, TextStyle.CAUTION))

    def _on_todos_changed(self, event: Event) -> None:
        for item in map(TodoItem.from_dict, event.to_dict()["todos"]):
            if item.status is TodoStatus.IN_PROGRESS:
                text = f"  ▸ {one_line(item.active_form or item.content)}"
                self.line(paint(truncate(text, terminal_width()), TextStyle.CAUTION))

    def _on_tool_call_start(self, event: Event) -> None:
        facts = event.to_dict()
        if facts["agent"] in self._subagents:
            self._their_calls[facts["call_id"]] = facts["agent"]
            self._subagent_line(facts["agent"], f"• {facts['summary']}")
            return
        self._outputs[str(facts["call_id"])] = CommandOutput(self._asked_s)
        text = f"• {one_line(facts['summary'])}"
        self.line(paint(truncate(text, terminal_width()), TextStyle.PLACE))

    def _on_tool_call_output(self, event: Event) -> None:
        facts = event.to_dict()
        output = self._outputs.setdefault(str(facts["call_id"]), CommandOutput())
        for text in output.add(str(facts["text"])):
            self._output_line(text)

    def _on_tool_call_heartbeat(self, event: Event) -> None:
        facts = event.to_dict()
        output = self._outputs.setdefault(str(facts["call_id"]), CommandOutput())
        elapsed = facts["elapsed_s"] - (self._asked_s - output.asked_s)
        if not self._questions and elapsed - output.noted_s >= _NOTE_S:
            output.noted_s = elapsed
            latest = f": {output.tail[-1]}" if output.tail else ""
            self._output_line(f"… {facts['tool']} runs for {elapsed:.0f} s{latest}")

    def _on_tool_call_end(self, event: Event) -> None:
        facts = event.to_dict()
        reason = f": {facts['reason']}" if facts["reason"] else ""
        if (agent := self._their_calls.pop(facts["call_id"], None)) is not None:
            if facts["status"] == "refused":
                refused = f"↳ {agent} {facts['tool']} refused, {facts['code']}{reason}"
                self.text(refused, TextStyle.BAD, "  ")
            return
        output = self._outputs.pop(str(facts["call_id"]), CommandOutput())
        for text in output.end():
            self._output_line(text)
        if facts["status"] == "planned":
            self.note("not run: it is only planned")
        elif facts["status"] != "ok":
            code = "" if facts["code"] == "cancelled" else f", {facts['code']}"
            self.text(f"{facts['status']}{code}{reason}", TextStyle.BAD, "  ")
            if facts["code"] == "unknown_tool" and facts["tool"] in BUILTIN_NAMES:
                self._note_missing_tool(facts["tool"])
            if facts["code"] == "untrusted" and facts["tool"] in _TRUSTED_WITH:
                command = _TRUSTED_WITH[facts["tool"]]
                self.note(f"`{command} show NAME` prints it, `{command} trust NAME` trusts it")

    def _note_missing_tool(self, tool: str) -> None:
        if self._agent == MAIN_AGENT:
            self.note(f"`handrail run --tools {tool}` offers it in a new session")
        else:
            self.note(
                f"agent {self._agent} does not have it: `handrail agents` lists what each has"
            )

    def _on_model_response(self, event: Event) -> None:
        # The next message begins on a new line.
        self._end_line()
        usage = event.to_dict()["usage"]
        self._context_used = int(usage["input"]) + int(usage["output"])

    def output_text(self, text: str) -> None:
        """Print the output of a call; of a long one the first and the last lines."""
        output = CommandOutput()
        for line in (*output.add(f"{text.rstrip()}\n"), *output.end()):
            self._output_line(line)

    def _output_line(self, text: str) -> None:
        shown = f"{_OUTPUT_MARGIN}{one_line(text)}"
        self.line(paint(truncate(shown, terminal_width()), _FAINT))

    @contextmanager
    def _unless_closed(self) -> Iterator[None]:
        """Stop printing when the reader is gone (`handrail run … | head`, a closed terminal); the
        task continues.
        """
        try:
            yield
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO):
                raise
            self._stream = io.StringIO()

    def _folds(self) -> bool:
        return self._stream.isatty()

    def _end_line(self) -> None:
        if not self._at_line_start:
            self._stream.write(self._folder.take_word() + "\n")
            self._at_line_start = True


_FAINT: Final = TextStyle.FAINT
# The command that trusts what a call needed.
_TRUSTED_WITH: Final = {"skill": "handrail skills", "subagent": "handrail agents"}
# The events of subagents that are shown, besides questions.
_SUBAGENT_EVENTS: Final = (
    *("agent_start", "agent_end", "tool_call_start", "tool_call_end", "file_changed"),
)
