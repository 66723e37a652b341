"""What surrounds a statement of a simulated command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from handrail.shell.analyze.invocation import Invocation
from handrail.shell.analyze.selected_places import is_selection
from handrail.shell.expand import UNKNOWN
from handrail.shell.parse.syntax import Assignment, Redirect, Word
from handrail.shell.simulate.expansion import concrete_word
from handrail.shell.simulate.shell_state import DOWNLOADED, InputText, ShellState
from handrail.shell.tables import code_files


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
    # What a container or another machine runs reads the text that its carrier is given. A file that
    # the command has written is as good as a text on standard input.
    program = (words[0].value or "") if words else ""
    settings = code_files.SETTINGS_FILES.get(program.rpartition("/")[2], ())
    texts = [*_given_text(redirects, frame), *state.named_contents(words[1:], settings)]
    redirects = (*redirects, *(Redirect("<<<", concrete_word(one)) for one in texts))
    return Invocation(
        words,
        source,
        assignments=tuple(
            Assignment(name, concrete_word(value))
            for name, value in state.variables.items()
            if isinstance(value, str) and is_selection(name, value)
        ),
        redirects=tuple(redirects),
        piped_from=frame.piped_from,
        wrapped_by=frame.wrapped_by,
        background=frame.background,
        cwd=None if UNKNOWN in state.cwd else state.cwd,
    )


def _given_text(redirects: Sequence[Redirect], frame: SimulationFrame) -> list[str]:
    """The text on standard input, where no redirect contains it."""
    text = frame.stdin.peek() if frame.stdin is not None else ""
    unread = not text or UNKNOWN in text or DOWNLOADED in text
    if unread or any(one.operator.startswith("<<") for one in redirects):
        return []
    return [text]


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
