"""How a person types this program from where they are."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

NAME: Final = "handrail"


def is_on_path() -> bool:
    """Whether typing our name starts this installation, not none and not another."""
    found = shutil.which(NAME)
    return found is not None and os.path.realpath(found) == os.path.realpath(script_path())


def script_path() -> Path:
    """The script that is running, or that would: the one beside this Python."""
    given = Path(sys.argv[0])
    if given.name == NAME and given.is_file():
        return given.absolute()
    return Path(sys.executable).with_name(NAME)


def command_name() -> str:
    """The first word of a command that works in any directory."""
    return NAME if is_on_path() else shlex.quote(str(script_path()))


def activation_command() -> str | None:
    """The line that puts the program on the path of this shell, None if none is needed or
    there is none.
    """
    activate = script_path().with_name("activate")
    if is_on_path() or not activate.is_file():
        return None
    here = Path.cwd()
    shown = activate.relative_to(here) if activate.is_relative_to(here) else activate
    return f". {shlex.quote(str(shown))}"
