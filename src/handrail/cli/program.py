"""How to start this program: its path, and whether it is on PATH."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

NAME: Final = "handrail"


def is_on_path() -> bool:
    """Return whether `handrail` on PATH is this installation."""
    path = shutil.which(NAME)
    return path is not None and os.path.realpath(path) == os.path.realpath(script_path())


def script_path() -> Path:
    """Return the path of the running script, else of the script beside this Python."""
    script = Path(sys.argv[0])
    if script.name == NAME and script.is_file():
        return script.absolute()
    return Path(sys.executable).with_name(NAME)


def command_name() -> str:
    """Return the command that starts this installation from any directory."""
    return NAME if is_on_path() else shlex.quote(str(script_path()))


def activation_command() -> str | None:
    """Return the shell command that activates the virtual environment; None if not needed."""
    activate = script_path().with_name("activate")
    if is_on_path() or not activate.is_file():
        return None
    here = Path.cwd()
    shown = activate.relative_to(here) if activate.is_relative_to(here) else activate
    return f". {shlex.quote(str(shown))}"
