"""A keeper runs one program for a call, and tells the runtime all about its end."""

from __future__ import annotations

import os
import time
from typing import Any, Final

from handrail.host.supervisor.runner.base import Keeper
from handrail.host.supervisor.runner.capture import Capture, Live, SpillRoom
from handrail.host.supervisor.runner.launch import Outputs, memory_file
from handrail.host.supervisor.runner.program import Ears, Fate, Why
from handrail.host.supervisor.wire import Frame, Kind, recipe_of

# A path cannot be longer than half of it.
_MAX_REPORT: Final = 8192


def run_call(keeper: Keeper, request: Frame) -> bool:
    """Run it to the end; whether the keeper is fit for another."""
    wanted = request.header
    hearing = _Hearing(
        SpillRoom(*wanted["spill"]) if wanted["spill"] is not None else None,
        Live(keeper.channel.offer) if wanted["live"] else None,
    )
    ears = keeper.ears()
    try:
        outputs = hearing.outputs(ears, reports=wanted["reports"])
        split = len(request.body) - wanted["stdin"]
        if wanted["stdin"]:
            outputs = outputs._replace(stdin=memory_file(request.body[split:]))
        recipe = recipe_of(wanted["recipe"], request.body[:split], keeper.recipe)
        program = keeper.start(recipe, outputs)
        if program is None:
            return True
        fate = keeper.watch(wanted["timeout_s"], hearing.each_turn)
    finally:
        ears.close()
    header, body = hearing.told(fate)
    keeper.channel.send(Kind.ENDED, header, body)
    return not fate.survivors


class _Hearing:
    """What a program says, on its streams and about its directory."""

    def __init__(self, room: SpillRoom | None, live: Live | None) -> None:
        self._stdout = Capture("stdout", room)
        self._stderr = Capture("stderr", room)
        self._report = bytearray()
        self._live = live

    def outputs(self, ears: Ears, *, reports: bool) -> Outputs:
        """Pipes that lead here."""
        return Outputs(
            ears.open(self._on_stdout),
            ears.open(self._on_stderr),
            ears.open(self._on_report) if reports else None,
        )

    def each_turn(self) -> float | None:
        """Show what there is to show; when it wants to show more."""
        if self._live is None:
            return None
        self._live.flush(time.monotonic())
        return self._live.due()

    def told(self, fate: Fate) -> tuple[dict[str, Any], bytes]:
        """The end of a program as a frame's header and body."""
        if self._live is not None:
            self._live.flush(float("inf"))
        stdout, out_body = self._stdout.close()
        stderr, err_body = self._stderr.close()
        header = {
            "exit_code": fate.exit_code,
            "duration_s": fate.duration_s,
            "timed_out": fate.why is Why.TIMED_OUT,
            "cancelled": fate.why is Why.CANCELLED,
            "ended_children": fate.ended_children,
            "survivors": fate.survivors,
            "directory": _directory(self._report),
            "stdout": stdout,
            "stderr": stderr,
            "split": len(out_body),
        }
        return header, out_body + err_body

    def _on_stdout(self, data: memoryview) -> None:
        self._stdout.take(data)
        if self._live is not None:
            self._live.take("stdout", data)

    def _on_stderr(self, data: memoryview) -> None:
        self._stderr.take(data)
        if self._live is not None:
            self._live.take("stderr", data)

    def _on_report(self, data: memoryview) -> None:
        # One byte more than is allowed, so that too much is seen to be too much.
        self._report += data[: _MAX_REPORT + 1 - len(self._report)]


def _directory(report: bytearray) -> str | None:
    """One absolute path, as `pwd` prints it; anything else is no report at all."""
    path = bytes(report).removesuffix(b"\n")
    if len(report) > _MAX_REPORT or not path.startswith(b"/") or b"\n" in path or b"\0" in path:
        return None
    return os.fsdecode(path)
