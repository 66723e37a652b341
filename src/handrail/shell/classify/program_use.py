"""How a program is used: defaults and properties of its parsed arguments."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from handrail.core.commands import CommandClass
from handrail.core.names.sensitive import is_sensitive
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.analyze.wrappers import wrapper_option_names
from handrail.shell.classify import effects, listing, messages, path_location, roles, sed
from handrail.shell.classify.argument_context import ArgumentContext
from handrail.shell.classify.arguments import Argument
from handrail.shell.classify.options import ParsedArgument, ParsedCommandLine, parse_arguments
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

_SEARCHES: Final = frozenset({"find", "gfind", "fd", "fdfind", "ls", "rg", "git", "grep"})
_DECLARING: Final = frozenset({"declare", "typeset"})
_EXPORTS: Final = re.compile(r"[-+]\w*x")
_UNARY: Final = re.compile(r"-[a-hknprstuwxzGLNOS]")
_BINARY: Final = re.compile(r"==?|!=|[<>]|-(?:nt|ot|ef|eq|ne|lt|le|gt|ge)")
_NOTHING: Final = re.compile(r"(?!)")
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


def find_use(program: ProgramSpec, given: Sequence[Argument], one: Invocation) -> ProgramSpec:
    """The use of the program that these arguments make: one that only reads if nothing is among
    them that such a use does not know.
    """
    for options, use in () if has_unseen_arguments(one) else program.looks:
        parsed = parse_arguments(use.grammar, add_option_dashes(use, given))
        strange = parsed.unknown_options or parsed.surplus_operands or parsed.may_overflow
        least = sum(slot.least for slot in use.grammar.slots)
        if (
            not strange
            and len(parsed.operands) >= least
            and (options & parsed.given or not options)
        ):
            return use
    return program


# They print what is in the files that they are given, without looking for anything.
_PRINTERS: Final = word_set("""
    cat tac head tail nl less more bat batcat sed awk gawk mawk strings xxd od hexdump base64 base32
    cut paste sort uniq column fold fmt expand unexpand rev zcat jq yq diff pr tee hexyl gron choose
    xq difft comm join mapfile readarray read exec xargs dd tr envsubst
""")


def secret_search(flat: FlatCommand) -> Callable[[str], bool]:
    """Whether a program, by its name, may get secrets from a search of the command.

    A search that names such files does so for every reader; one that lists all files, hidden ones
    too, for those that print what they get.
    """
    names = (
        name
        for one in flat.invocations
        if one.program in _SEARCHES
        for word in one.words[1:]
        if word.value and not word.value.startswith("-")
        for name in listing.sought_names(one, word.value)
    )
    named = any(is_sensitive(name, glob=True) for name in names)
    lists_all = any(map(listing.finds_hidden_files, flat.invocations))
    # Without a program the shell itself gives what is in a file to something: `$(<"$1")`, a loop.
    return lambda program: named or (lists_all and (not program or program in _PRINTERS))


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


def classify_arguments(
    program: ProgramSpec, parsed: ParsedCommandLine, context: ArgumentContext
) -> None:
    """Add the reasons and effects of all parsed arguments to the collector."""
    least = sum(slot.least for slot in program.grammar.slots)
    if "needs" in program.traits and len(parsed.operands) < least:
        context.danger(messages.LACKS_OPERANDS.format(program=program.name))
    given = (*parsed.values, *parsed.operands, *parsed.shifted)
    # A label may be in one expression and the jump to it in another.
    scripts = [meant.argument.text or "" for meant in given if meant.role == "sed"]
    if sed.may_loop_forever("\n".join(scripts)):
        context.danger(messages.ENDLESS_SCRIPT.format(program=program.name))
    for meant in _without_operators(program, given):
        if meant.role == "into":
            sources = [one.argument for one in parsed.operands if one is not meant]
            roles.classify_target(meant.argument, sources, context)
        else:
            roles.classify_argument(meant.role, meant.argument, context)


def _without_operators(
    program: ProgramSpec, given: Sequence[ParsedArgument]
) -> Sequence[ParsedArgument]:
    """The arguments of `test` as text where the number of them says which is the operator."""
    arguments = [meant.argument for meant in given]
    if program.name == "[" and arguments and arguments[-1].text == "]":
        arguments = arguments[:-1]
    if program.name not in ("test", "[") or any(one.may_split for one in arguments):
        return given
    operators = {2: (0, _UNARY), 3: (1, _BINARY)}
    at, known = operators.get(len(arguments), (0, _NOTHING))
    if not arguments or not known.fullmatch(arguments[at].text or ""):
        return given
    return [ParsedArgument("text", one) for one in arguments]


def classify_wrapper(
    program: ProgramSpec, given: Sequence[Argument], one: Invocation, context: ArgumentContext
) -> None:
    """Classify the options of a wrapper; the program that it runs is another invocation."""
    names = sorted(wrapper_option_names(one.words))
    texts = [*names, *(argument.text or "" for argument in given)]
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
    by_search = (
        len(one.wrapped_by) == 1
        and not listing.FINDERS.isdisjoint(one.wrapped_by)
        and any(argument.is_placeholder for argument in given)
    )
    if not by_text or ((one.wrapped_by or one.extra_arguments) and not by_search):
        context.note(CommandClass.DEV, found.why)
    for argument in given:
        # The text may print its arguments.
        roles.classify_text(argument, context)


def apply_traits(
    program: ProgramSpec,
    given: Sequence[Argument],
    one: Invocation,
    context: ArgumentContext,
) -> None:
    """Add the reasons and effects that a program has whatever its arguments are."""
    traits = program.traits
    if "open" in traits:
        context.collector.open_ended = True
    if "git" in traits:
        context.collector.git = True
    _apply_dangerous_traits(program, given, one, context)
    if not traits.isdisjoint(("net", "fetches")):
        context.collector.network = True
    if "net" in traits:
        effects.collect_hosts(given, context.collector, program=program.name)
    if "host" in traits:
        effects.collect_first_host(given, context.collector)
    if has_unseen_arguments(one) and context.found_by_search and reads_files(program):
        context.collector.reads_found_files = True
        if context.seeks_secrets:
            context.danger(messages.SEARCHES_SECRETS)
    only_text = all(slot.role == "text" for slot in program.grammar.slots)
    by_search = context.found_by_search and not has_unseen_arguments(one)
    harmless = ("any" in traits or _only_operands_follow(program, given)) and (
        context.found_by_search or only_text
    )
    if one.extra_arguments and not by_search and not harmless:
        least = CommandClass.DEV if context.found_by_search else CommandClass.DANGEROUS
        context.note(least, messages.UNSEEN_ARGUMENTS.format(program=program.name))


def _apply_dangerous_traits(
    program: ProgramSpec,
    given: Sequence[Argument],
    one: Invocation,
    context: ArgumentContext,
) -> None:
    if "processes" in program.traits and not context.where.hides_processes():
        context.danger(messages.SHOWS_PROCESSES.format(program=program.name))
    if "endless" in program.traits and not (one.feeds_head and "head" not in context.functions):
        context.danger(messages.ENDLESS_PROGRAM.format(program=program.name))
    # `declare -x` prints as much as `declare`; for `set` flags are arguments.
    has_flags = program.grammar.style != "none"
    if "bare" in program.traits and all(has_flags and _is_option(one) for one in given):
        context.danger(program.why or f"{program.name} alone")


def _only_operands_follow(program: ProgramSpec, given: Sequence[Argument]) -> bool:
    """Whether what is added behind these arguments is the name of a file, and no option."""
    if "rest" not in program.traits:
        return False
    operands = parse_arguments(program.grammar, given).operands
    return bool(operands) and operands[0].argument.text is not None


def _is_option(argument: Argument) -> bool:
    return argument.text is not None and argument.text.startswith("-") and argument.text != "-"


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
        elif path is not None and name != "rustup" and _is_shim(path):
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


def classify_denied(
    program: ProgramSpec, given: Sequence[Argument], context: ArgumentContext
) -> None:
    """Add a reason for each argument that makes the program dangerous."""
    for argument in given:
        if program.deny and argument.text and re.search(program.deny, argument.text):
            context.danger(
                messages.DENIED_ARGUMENT.format(argument=argument.source, program=program.name)
            )


def sets_own_variables(one: Invocation) -> bool:
    """Whether the variables of a command stay with the shell: no program is started with them."""
    if not one.words:
        return True
    return one.program in _DECLARING and not any(
        word.value is None or _EXPORTS.match(word.value) for word in one.words[1:]
    )
