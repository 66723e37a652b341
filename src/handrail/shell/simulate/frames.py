"""What surrounds a statement of a simulated command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from handrail.shell.analyze.invocation import Invocation
from handrail.shell.expand import UNKNOWN
from handrail.shell.parse.syntax import Redirect, Word
from handrail.shell.simulate.expansion import concrete_word
from handrail.shell.simulate.shell_state import InputText, ShellState


@dataclass(frozen=True, slots=True)
class SimulationFrame:
    """The input of a statement, and what started it."""

    stdin: InputText | None = None
    piped_from: tuple[Invocation, ...] = ()
    wrapped_by: tuple[str, ...] = ()
    background: bool = False
    function: str | None = None
    depth: int = 0
    # The files of the command that are running as scripts.
    scripts: tuple[str, ...] = ()

    def inside(self, program: str) -> SimulationFrame:
        """The frame of what the program starts."""
        base = program.rpartition("/")[2]
        return replace(self, wrapped_by=(*self.wrapped_by, base), depth=self.depth + 1)


def make_invocation(
    words: tuple[Word, ...],
    source: str,
    redirects: Sequence[Redirect],
    state: ShellState,
    frame: SimulationFrame,
) -> Invocation:
    """The invocation of a program in a state of the shell."""
    fed = frame.stdin.peek() if frame.stdin is not None and frame.wrapped_by else ""
    if fed and not frame.piped_from and UNKNOWN not in fed:
        # What a container or another machine runs reads the text that its carrier is given.
        redirects = (*redirects, Redirect("<<<", concrete_word(fed)))
    return Invocation(
        words,
        source,
        redirects=tuple(redirects),
        piped_from=frame.piped_from,
        wrapped_by=frame.wrapped_by,
        background=frame.background,
        cwd=None if UNKNOWN in state.cwd else state.cwd,
    )


def make_invocations(
    fields: Sequence[str],
    source: str,
    redirects: Sequence[Redirect],
    state: ShellState,
    frame: SimulationFrame,
) -> list[Invocation]:
    """The invocation of a program as it is told, and with the paths that links of the command lead to."""
    linked = state.linked_fields(fields[1:])
    told = [fields] if linked is None else [fields, [fields[0], *linked]]
    return [
        make_invocation(tuple(map(concrete_word, one)), source, redirects, state, frame)
        for one in told
    ]
