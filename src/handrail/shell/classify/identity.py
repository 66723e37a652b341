"""Which program a name starts: one of the system, one of the workspace, or another."""

from __future__ import annotations

import posixpath
import re
from typing import Final

from handrail.core.commands import CommandClass
from handrail.shell.classify import messages, path_location
from handrail.shell.classify.arguments import Argument
from handrail.shell.classify.roles import ArgumentContext
from handrail.shell.parse.syntax import Word
from handrail.shell.tables.program_table import ProgramSpec, ProgramTable
from handrail.shell.tables.word_list import word_set

_SYSTEM: Final = re.compile(r"(?:/usr(?:/local)?)?/s?bin")
# One entry of the table stands for every version of a language: python3.12, gcc-13.
_LANGUAGES: Final = word_set("""
    python pypy pip node ruby perl php lua gcc g++ clang clang++
""")
# They start the version of a program that the workspace asks for.
_SHIMS: Final = frozenset(
    (
        *("rustup", "rustup-init", "asdf", "mise", "rtx", "volta", "volta-shim", "proto", "fnm"),
        *("proto-shim", "rbenv", "nodenv", "pyenv", "jenv", "goenv", "phpenv", "plenv", "tfenv"),
        *("tenv", "corepack", "corepack.js", "aqua", "aqua-proxy", "hermit", "pkgx", "dotslash"),
        *("bazelisk", "swiftly", "ghcup", "elan", "juliaup", "julialauncher"),
    )
)
_VERSIONED: Final = re.compile(r"([a-z][a-z+]*?)-?[\d.]*\d")


def identify_program(
    name: str, word: Word, context: ArgumentContext, programs: ProgramTable
) -> ProgramSpec | None:
    """The entry of the program; None, with a reason in the collector, if it has none."""
    if is_handrail(name) or _leads_to_handrail(name, context):
        context.note(CommandClass.BLOCKED, messages.RUNS_HANDRAIL)
        return None
    if "/" in name:
        return _by_path(Argument(name, word.source, tilde=word.tilde), context, programs)
    program = lookup_program(name, programs)
    if program is None:
        context.danger(messages.UNKNOWN_PROGRAM.format(name=name))
        context.collector.open_ended = True
        return None
    if "builtin" not in program.traits:
        path = context.where.find_program(name)
        # A program that is nowhere cannot do anything either.
        if path is not None and path_location.is_inside(path, context.where.roots):
            context.note(CommandClass.DEV, messages.WORKSPACE_PROGRAM.format(name=name))
            context.collector.open_ended = True
        elif path is not None and _is_shim(path):
            context.note(CommandClass.DEV, messages.VERSION_SHIM.format(name=name))
            context.collector.open_ended = True
    return program


def _is_shim(path: str) -> bool:
    folder, name = posixpath.split(path)
    return name in _SHIMS or posixpath.basename(folder) == "shims"


def lookup_program(name: str, programs: ProgramTable) -> ProgramSpec | None:
    """The entry of a name, or of the language that it is a version of."""
    known = programs.find(name)
    version = _VERSIONED.fullmatch(name)
    if known is not None or version is None or version.group(1) not in _LANGUAGES:
        return known
    return programs.find(version.group(1))


def is_handrail(name: str) -> bool:
    """Whether a name means Handrail's own command or package."""
    return bool(re.fullmatch(r"handrail(?:[.@=].*)?", posixpath.basename(name)))


def _leads_to_handrail(name: str, context: ArgumentContext) -> bool:
    own = context.where.find_program("handrail")
    if own is None or context.cwd is None:
        return False
    if "/" in name:
        return context.where.resolve(posixpath.join(context.cwd, name)) == own
    return context.where.find_program(name) == own


def _by_path(
    argument: Argument, context: ArgumentContext, programs: ProgramTable
) -> ProgramSpec | None:
    place = path_location.locate_path(argument, context.cwd, context.where)
    real = place.paths[-1] if place.paths else ""
    if real and path_location.is_inside(real, context.where.roots):
        context.note(
            CommandClass.DEV, messages.RUNS_WORKSPACE_FILE.format(argument=argument.source)
        )
        context.collector.add_reads(place.paths)
        context.collector.open_ended = True
        return None
    name = posixpath.basename(argument.text or "")
    program = lookup_program(name, programs)
    same = real and (
        real == context.where.find_program(name) or _SYSTEM.fullmatch(posixpath.dirname(real))
    )
    if program is not None and _is_shim(real):
        context.note(CommandClass.DEV, messages.VERSION_SHIM.format(name=name))
    if program is None or not same or argument.tilde:
        context.danger(messages.UNKNOWN_PROGRAM.format(name=argument.source))
        context.collector.open_ended = True
        return None
    return program
