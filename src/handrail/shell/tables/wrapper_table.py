"""The programs that run another program, from `wrapper_options.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

Options = frozenset[str]
_NONE: Final[Options] = frozenset()
_LISTS: Final = frozenset(
    {"long", "text", "idle", "shell", "bare", "moves", "replaces", "only", "program", "until"}
)


@dataclass(frozen=True, slots=True)
class WrapperSpec:
    """How the arguments of a wrapper are read; the head of `wrapper_options.toml` explains each
    field.
    """

    flags: str = ""
    values: str = ""
    attached: str = ""
    long: Options = _NONE
    operands: int = 0
    rest: str = "words"
    assigns: bool = False
    permutes: bool = False
    # `-5` is a number, no option.
    numbers: bool = False
    text: Options = _NONE
    idle: Options = _NONE
    shell: Options = _NONE
    bare: Options = _NONE
    moves: Options = _NONE
    replaces: Options = _NONE
    # What remains is a program only with one of them, or although it is text otherwise.
    only: Options = _NONE
    program: Options = _NONE
    # Words at which the command ends.
    until: Options = _NONE
    extra_arguments: bool = False
    remote: bool = False
    # It stays in the shell that reads the command: there `cd` lasts.
    inside: bool = False
    # Why its command cannot be vouched for, whatever the words are.
    doubt: str = ""


@cache
def wrapper_specs() -> Mapping[str, WrapperSpec]:
    """Every known wrapper by the name of its program."""
    text = Path(__file__).with_name("wrapper_options.toml").read_text("utf-8")
    return {name: _wrapper(row) for name, row in tomllib.loads(text).items()}


def _wrapper(row: Mapping[str, Any]) -> WrapperSpec:
    fields: dict[str, Any] = {
        key: frozenset(value.split()) if key in _LISTS else value for key, value in row.items()
    }
    return WrapperSpec(**fields)
