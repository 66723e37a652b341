"""Whether the output of a command consists of workspace paths found by a search.

Such output may be passed on as arguments; other text may not. A program or option that is not
listed here prints text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Final

from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.analyze.shells import SHELLS
from handrail.shell.classify.arguments import Argument
from handrail.shell.classify.options import ParsedCommandLine, parse_arguments
from handrail.shell.parse.syntax import (
    PipelineCommand,
    Script,
    SimpleCommand,
    Statement,
    Substitution,
)
from handrail.shell.tables.program_table import ProgramSpec
from handrail.shell.tables.word_list import word_set

Lookup = Callable[[str], ProgramSpec | None]
_NAMES: Final = word_set("""
    -l -L --files --files-with-matches --files-without-match --files-without-matches --name-only
""")
# Options with which a search prints, or lets the caller write, something else.
_OTHERWISE: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(options.split())
    for names, options in {
        "find gfind": "-printf -fprintf -ls -fls -fprint -fprint0 -exec -execdir -ok -okdir",
        "fd fdfind": "-l --list-details --format",
        "grep egrep fgrep": "--label",
        "rg": "--path-separator --json --generate --type-list --pcre2-version -V",
        "ag ack": "-g -f",
    }.items()
    for name in names.split()
}
_LS: Final = word_set("""
    -a -A -1 -d -R -r -t -S -U -X -f -v --all --almost-all --recursive --reverse --directory
""")
_DIFF: Final = word_set("""
    --name-only --cached --staged --diff-filter -z --no-renames -R --merge-base
""")
# They leave lines as they are, or leave them out; with these options they do not.
_SIEVES: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("cat", "head", "tail", "sort", "uniq"), frozenset()),
    **dict.fromkeys(("grep", "egrep", "fgrep"), frozenset({"-o", "--only-matching", "--label"})),
    "rg": frozenset({"-o", "--only-matching", "-r", "--replace", "--json", "--passthru"}),
}
# Options of find that leave out some of the files.
NARROWING: Final = word_set("""
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -newer -newermt
    -mtime -mmin -ctime -cmin -atime -amin -size -empty -perm -user -group -inum -samefile -links
    -nouser -nogroup
""")
# They run programs on what they find.
FINDERS: Final = frozenset({"find", "gfind", "fd", "fdfind"})
_STARTS: Final = frozenset((".", "./", "*", "./*"))
_HIDDEN: Final = re.compile(
    r"-[a-zA-Z1]*[aAfHu.][a-zA-Z1.]*|--(?:all|almost-all|hidden|unrestricted)"
)
_FD_HIDDEN: Final = re.compile(r"-[a-zA-Z]*[Hu][a-zA-Z]*|--(?:hidden|unrestricted)")
_ANY_NAME: Final = frozenset(("*", "?*", "./*"))
_ANYTHING: Final = frozenset(("", ".", "^", "$", ".*"))
_FILES: Final = frozenset({"read", "tree", "write", "output"})
_TREES: Final = frozenset({"-r", "-R", "--recursive", "--dereference-recursive", "--files"})
_LINES: Final = re.compile(r"[\d,$;pqd{} !]*")
_BREAKS: Final = frozenset({"\\n", "\n", " ", "\\0", "\\r", "-d", "-s"})


def lists_workspace_paths(piped_from: Sequence[Invocation], find: Lookup) -> bool:
    """Whether all of the output is paths that a search found."""
    return bool(piped_from) and all(_lists(one, find) for one in piped_from)


def has_found_argument(one: Invocation) -> bool:
    """Whether it stands in a shell text for which a search fills in paths."""
    shell, search = one.wrapped_by[-1:], one.wrapped_by[-2:-1]
    return not (SHELLS.isdisjoint(shell) or FINDERS.isdisjoint(search))


def is_found_path(argument: Argument, find: Lookup, *, fills_in: bool) -> bool:
    """Whether an argument becomes paths that a search finds. `fills_in`: placeholders do."""
    if argument.text is not None or argument.leaves_directory:
        return False
    if argument.is_placeholder:
        return fills_in
    lists = (substitution_lists_paths(part, find) for part in argument.substitutions)
    return bool(argument.substitutions) and not argument.unknown_variables and all(lists)


def finds_everything(one: Invocation, flat: FlatCommand) -> bool:
    """Whether the search whose paths a program gets finds all that is in the directory."""
    search = one.wrapped_by[-2:-1] if has_found_argument(one) else one.wrapped_by[-1:]
    if not {"fd", "fdfind"}.isdisjoint(search):
        return True
    if search == ("find",):
        searches = [each for each in flat.invocations if each.is_wrapper and each.program == "find"]
    else:
        searches = list(one.piped_from)
    return bool(searches) and any(map(_finds_all, searches))


def _finds_all(one: Invocation) -> bool:
    words = [word.value or "" for word in one.words]
    given = [word for word in words[1:] if word.startswith("-")]
    operands = [word for word in words[1:] if not word.startswith("-")]
    if one.program in ("find", "gfind"):
        starts = list(takewhile(lambda word: word[:1] not in ("-", "(", "!"), words[1:])) or ["."]
        return not is_narrowed(one) and not _STARTS.isdisjoint(starts)
    if one.program == "ls":
        return not operands or not _STARTS.isdisjoint(operands)
    if one.program == "git":
        return operands[:1] == ["ls-files"] and operands[1:] in ([], ["."])
    return one.program == "rg" and "--files" in given and not operands and "-g" not in given


def is_narrowed(one: Invocation) -> bool:
    """Whether find leaves out most of the files; one that only excludes some (`! -name x`) does not."""
    words = [word.value or "" for word in one.words]
    return any(
        word in NARROWING and before not in ("!", "-not") and after not in _ANY_NAME
        for before, word, after in zip(("", *words), words, (*words[1:], ""), strict=False)
    )


def finds_hidden_files(one: Invocation) -> bool:
    """Whether the program lists every file, those whose names begin with a dot too."""
    words = [word.value or "" for word in one.words]
    given = [word for word in words[1:] if word.startswith("-")]
    operands = [word for word in words[1:] if not word.startswith("-")]
    hidden = any(_HIDDEN.fullmatch(word) for word in given)
    anything = not operands or operands[0] in _ANYTHING
    found = {
        **dict.fromkeys(("find", "gfind"), not is_narrowed(one)),
        "ls": hidden,
        # Its pattern may match anywhere in a name.
        **dict.fromkeys(
            ("fd", "fdfind"), (hidden and anything) or any(map(_FD_HIDDEN.fullmatch, given))
        ),
        "rg": hidden and ("--files" in given or anything),
        **dict.fromkeys(("grep", "egrep", "fgrep"), bool(operands) and anything),
        "git": operands[:1] == ["ls-files"] and not {"-o", "--others"}.isdisjoint(given),
    }
    return found.get(one.program or "", False)


def sought_names(one: Invocation, text: str) -> Sequence[str]:
    """The names, as patterns, that a search may mean by an argument."""
    if one.program not in ("fd", "fdfind"):
        return (text,)
    # It may be an ending (`-e pem`), or a pattern for any part of a name.
    plain = re.sub(r"^\.\*|[\\^$]", "", text)
    return (text, f"*.{plain}", f"*{plain}" if plain.startswith(".") else plain)


def substitution_lists_paths(part: Substitution, find: Lookup) -> bool:
    """Whether all of the output of `$(…)` is paths that a search found."""
    stages = _stages(part.script)
    piped_from: tuple[Invocation, ...] = ()
    for stage in stages:
        command = stage.command
        if not isinstance(command, SimpleCommand) or command.assignments or stage.redirects:
            return False
        piped_from = (Invocation(command.words, stage.source, piped_from=piped_from),)
    return lists_workspace_paths(piped_from, find)


def _stages(script: Script) -> Sequence[Statement]:
    if len(script.statements) != 1:
        return ()
    command = script.statements[0].command
    return command.stages if isinstance(command, PipelineCommand) else script.statements


def _lists(one: Invocation, find: Lookup) -> bool:
    name = one.program or ""
    program = find(name)
    if program is None:
        return False
    given = [
        Argument(word.value, word.source, glob=word.globs, may_split=word.globs)
        for word in one.words[1:]
    ]
    if any(argument.text is None for argument in given):
        return False
    if name == "git":
        return _git(program, given)
    parsed = parse_arguments(program.grammar, given)
    return _searches(name, parsed, one) or (
        _sifts(name, parsed, one) and lists_workspace_paths(one.piped_from, find)
    )


def _searches(name: str, parsed: ParsedCommandLine, one: Invocation) -> bool:
    if name == "ls":
        return parsed.given <= _LS
    otherwise = _OTHERWISE.get(name)
    if otherwise is None or not parsed.given.isdisjoint(otherwise):
        return False
    if name in ("find", "gfind", "fd", "fdfind"):
        return True
    return not one.piped_from and not parsed.given.isdisjoint(_NAMES)


def _git(program: ProgramSpec, given: Sequence[Argument]) -> bool:
    """Whether a git command prints only paths; `git log --name-only` also prints messages."""
    name = given[0].text if given else None
    inner = program.subcommands.get(name or "")
    if inner is None:
        return False
    options = parse_arguments(inner.grammar, given[1:]).given
    if name == "diff":
        return "--name-only" in options and options <= _DIFF
    return name == "ls-files" and "--format" not in options


def _sifts(name: str, parsed: ParsedCommandLine, one: Invocation) -> bool:
    """Whether the program passes on lines of its input, and nothing from a file."""
    if any(redirect.operator.startswith("<") for redirect in one.redirects):
        return False
    named = (meant.role for meant in (*parsed.operands, *parsed.shifted))
    if not _FILES.isdisjoint(named) or not parsed.given.isdisjoint(_TREES):
        return False
    texts = [meant.argument.text or "" for meant in (*parsed.values, *parsed.operands)]
    if name == "sed":
        return all(_LINES.fullmatch(text) for text in texts)
    if name == "tr":
        return all(text in _BREAKS for text in texts)
    otherwise = _SIEVES.get(name)
    return otherwise is not None and parsed.given.isdisjoint(otherwise)
