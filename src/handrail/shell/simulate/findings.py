"""What a simulated command runs that is no program of its own: downloads, code, loops without end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.simulate import executed_files
from handrail.shell.simulate.shell_state import DOWNLOADED, ShellState

_MOST_CODES: Final = 40


@dataclass(slots=True)
class SimulationFindings:
    """What is found while a command is simulated, each with its source."""

    # The sources of what runs text from another machine.
    remote: list[str] = field(default_factory=list)
    # The sources of scripts that start themselves again and do not wait.
    fork_bombs: list[str] = field(default_factory=list)
    # Code of other languages that it runs from files.
    codes: list[tuple[str, str]] = field(default_factory=list)
    # Loops without end in the texts that it runs.
    loops: list[Reason] = field(default_factory=list)

    def run_code(self, content: str, source: str) -> None:
        """Code of another language is run; it may come from another machine."""
        if DOWNLOADED in content:
            self.remote.append(source)
        elif len(self.codes) < _MOST_CODES:
            self.codes.append((content, source))

    def run_files(self, paths: Iterable[str], source: str, state: ShellState) -> None:
        """Files of the command that a program runs or loads, in whatever language they are."""
        for content in {text for one in paths if one and (text := state.content(one))}:
            self.run_code(content, source)

    def load_files(self, variables: Mapping[str, str], source: str, state: ShellState) -> None:
        """Files of the command that variables make programs load."""
        self.run_files(executed_files.loaded_files(variables), source, state)

    def start_program(
        self, name: str, variables: Mapping[str, str], source: str, state: ShellState
    ) -> None:
        """A program is started, with variables that may make it load files."""
        if DOWNLOADED in name:
            self.remote.append(source)
        self.load_files(variables, source, state)

    def run_from_tree(self, path: str | None, source: str, state: ShellState) -> None:
        """A file is run that may lie in a directory from another machine."""
        if path and state.in_downloaded_tree(path):
            self.remote.append(source)

    def start_later(self, path: str, content: str) -> list[str]:
        """The shell texts in a file that another program runs when it starts."""
        if not executed_files.is_startup_code(path):
            return []
        self.codes.append((content, path))
        return [*executed_files.startup_texts(content)]
