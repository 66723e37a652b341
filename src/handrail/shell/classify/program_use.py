"""How a program is used: defaults and properties of its parsed arguments."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.core.commands import CommandClass
from handrail.core.names.sensitive import is_sensitive
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.classify import messages, roles
from handrail.shell.classify.arguments import Argument
from handrail.shell.classify.options import ParsedCommandLine
from handrail.shell.classify.roles import ArgumentContext
from handrail.shell.tables.program_table import ProgramSpec

_SEARCHES: Final = frozenset({"find", "gfind", "fd", "fdfind", "ls", "rg", "git", "grep"})
_HELP: Final = frozenset({"--help", "-h", "help"})
WRITING_ROLES: Final = frozenset({"write", "wtree", "etree", "swept", "emptied", "new-archive"})


def has_unseen_arguments(one: Invocation) -> bool:
    """Whether a wrapper adds arguments at an unknown position; find shows where it puts them."""
    return one.extra_arguments and one.wrapped_by[-1:] != ("find",)


def only_prints_help(program: ProgramSpec, given: Sequence[Argument]) -> bool:
    """Whether the program only prints help or its version."""
    texts = [argument.text for argument in given]
    if program.subcommands and not _HELP.isdisjoint(texts[1:]):
        return False
    return bool(texts) and program.answers.issuperset(texts)


def searches_for_secrets(flat: FlatCommand) -> bool:
    """Whether a search names files that may contain secrets."""
    names = (
        word.value
        for one in flat.invocations
        if one.program in _SEARCHES
        for word in one.words[1:]
        if word.value and not word.value.startswith("-")
    )
    return any(is_sensitive(name, glob=True) for name in names)


def reads_files(program: ProgramSpec) -> bool:
    """Whether operands of the program are files that it reads."""
    return any(slot.role in ("read", "tree") for slot in program.grammar.slots)


def wrapper_options(texts: Sequence[str]) -> Iterator[str]:
    """The options of a wrapper, up to the program that it runs."""
    left = iter(texts)
    for text in left:
        if text in ("-a", "--argv0"):
            next(left, None)
        elif text.startswith("-") and text != "--":
            yield text
        elif "=" not in text:
            return


def default_role(program: ProgramSpec, parsed: ParsedCommandLine) -> str:
    """The role of the current directory for a program that is given no path."""
    slot = program.grammar.slots[0].role if program.grammar.slots else ""
    turned = [program.grammar.turns.get(option, {}).get(slot) for option in sorted(parsed.given)]
    return next((role for role in turned if role in WRITING_ROLES), program.default)


def uses_current_directory(program: ProgramSpec, parsed: ParsedCommandLine) -> bool:
    """Whether the program uses the current directory because no path is given."""
    if any(meant.role in roles.PATHS for meant in parsed.operands):
        return False
    needed = program.default_with
    return bool(program.default) and (not needed or bool(needed & parsed.given))


def changed_directory(cwd: str | None, argument: Argument) -> str | None:
    """The directory after `-C argument`; None if it is not known."""
    if argument.text is None or argument.tilde or argument.glob or cwd is None:
        return None
    return posixpath.join(cwd, argument.text)


def add_option_dashes(program: ProgramSpec, given: Sequence[Argument]) -> Sequence[Argument]:
    """The arguments of tar with its first word split into options; their values follow in order."""
    first = given[0].text if given else None
    if "dashless" not in program.traits or not first or first.startswith("-"):
        return given
    options, rest = program.grammar.options or {}, list(given[1:])
    dashed: list[Argument] = []
    for letter in first:
        dashed.append(Argument(f"-{letter}", given[0].source))
        option = options.get(f"-{letter}")
        if option is not None and option.roles and rest:
            dashed.append(rest.pop(0))
    return (*dashed, *rest)


def classify_arguments(parsed: ParsedCommandLine, context: ArgumentContext) -> None:
    """Add the reasons and effects of all parsed arguments to the collector."""
    for meant in (*parsed.values, *parsed.operands, *parsed.shifted):
        if meant.role == "into":
            sources = [one.argument for one in parsed.operands if one is not meant]
            roles.classify_target(meant.argument, sources, context)
        else:
            roles.classify_argument(meant.role, meant.argument, context)


def classify_wrapper(
    program: ProgramSpec, given: Sequence[Argument], context: ArgumentContext
) -> None:
    """Classify the options of a wrapper; the program that it runs is another invocation."""
    texts = [argument.text or "" for argument in given]
    if "wrapper" not in program.traits:
        context.danger(messages.UNKNOWN_WRAPPER.format(program=program.name))
    elif program.deny and any(re.search(program.deny, text) for text in texts):
        context.danger(messages.UNSAFE_WRAPPER_OPTION.format(program=program.name))
    if program.clears and any(re.search(program.clears, text) for text in wrapper_options(texts)):
        # Some of the variables are there to keep the workspace from choosing programs.
        context.note(CommandClass.DEV, messages.CLEARS_VARIABLES.format(program=program.name))
    context.note(
        program.safety_class, program.why or messages.RUNS_PROGRAM.format(program=program.name)
    )


def classify_shell(
    found: ProgramSpec, given: Sequence[Argument], one: Invocation, context: ArgumentContext
) -> None:
    """Classify a shell that is a wrapper: only `sh -c 'text'` by itself is no more than its text."""
    by_text = any(re.fullmatch(r"-[eux]*c[eux]*", word.text or "") for word in given)
    if not by_text or one.wrapped_by or one.extra_arguments:
        context.note(CommandClass.DEV, found.why)
    for argument in given:
        # The text may print its arguments.
        roles.classify_text(argument, context)
