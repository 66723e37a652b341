"""The builtins that change a simulated shell: variables, arguments, the directory;
and what downloads and interpreters do with files.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Final

from handrail.core.commands import UnreadableCommand
from handrail.shell.blocklist.interpreters import interpreter_language
from handrail.shell.echo import format_printf
from handrail.shell.expand import UNKNOWN, plain_text
from handrail.shell.languages.code_downloads import downloaded_files
from handrail.shell.parse.syntax import CommandGroup, Opaque, Script, Statement, Word
from handrail.shell.simulate.expansion import concrete_word
from handrail.shell.simulate.program_output import decode_escapes
from handrail.shell.simulate.shell_state import DOWNLOADED, InputText, ShellState
from handrail.shell.tables.catastrophes import FETCHERS, LANGUAGES, SHELLS

_OUTPUTS: Final = {
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "wget2": ("-O", "--output-document"),
    "aria2c": ("-o", "--out"),
    "axel": ("-o", "--output"),
    "http": ("-o", "--output"),
    "https": ("-o", "--output"),
    "fetch": ("-o", "--output"),
}
_COPIERS: Final = frozenset(("scp", "rsync", "aws", "gsutil", "gcloud", "rclone", "sftp"))
_REMOTE_FILE: Final = re.compile(r"[\w.@-]+::?[^:]|(?:s3|gs|rsync|sftp|https?|az)://")
# They save a file under the last name in its address.
_SAVES: Final = frozenset(("wget", "wget2", "aria2c", "axel"))
_FOLDER: Final = re.compile(r"-\w*P(.*)|-d|--(?:directory-prefix|output-dir|dir)(?:=(.*))?")

# A variable that no command can name: whether the last `read` found the end of its input.
AT_END: Final = " end"
_READ_VALUES: Final = frozenset("dinNptu")


def run_builtin(
    fields: Sequence[str], state: ShellState, stdin: InputText | None, separators: str | None
) -> str | None:
    """Run a builtin and return what it prints; None for any other program.

    `separators` is the value of IFS if it is set for the builtin alone.
    """
    if fields[0] == "printf" and fields[1:2] == ["-v"] and len(fields) > 3:
        state.assign(fields[2], format_printf(decode_escapes(fields[3]), fields[4:]))
        return ""
    builtin = _BUILTINS.get(fields[0])
    if builtin is None:
        return None
    before = state.variables.get("IFS")
    if separators is not None:
        state.assign("IFS", separators)
    builtin(fields[1:], state, stdin)
    if separators is not None:
        state.variables.pop("IFS", None)
        state.variables |= {} if before is None else {"IFS": before}
    return ""


def _cd(arguments: Sequence[str], state: ShellState, _: InputText | None) -> None:
    targets = [one for one in arguments if one not in ("-L", "-P", "-e", "--")]
    if targets and targets[0].startswith("-"):
        state.cwd = UNKNOWN
    else:
        state.enter(targets[0] if targets else state.home)


def _set(arguments: Sequence[str], state: ShellState, _: InputText | None) -> None:
    for number, one in enumerate(arguments):
        if one == "--":
            state.arguments = list(arguments[number + 1 :])
            return
        if not re.fullmatch(r"[-+]\w*", one):
            state.arguments = list(arguments[number:])
            return


def _shift(arguments: Sequence[str], state: ShellState, _: InputText | None) -> None:
    number = int(arguments[0]) if arguments and arguments[0].isdigit() else 1
    del state.arguments[:number]


def _unset(arguments: Sequence[str], state: ShellState, _: InputText | None) -> None:
    for one in arguments:
        state.variables.pop(one, None)
        if "-f" in arguments:
            state.functions.pop(one, None)


def _read(arguments: Sequence[str], state: ShellState, stdin: InputText | None) -> None:
    names, end, array, left = [], "\n", None, list(arguments)
    while left:
        one = left.pop(0)
        if not one.startswith("-"):
            names.append(one)
            continue
        letter = next((char for char in one[1:] if char in _READ_VALUES or char == "a"), None)
        if letter is None:
            continue
        given = one.partition(letter)[2] or (left.pop(0) if left else "")
        end = (given[:1] or "\0") if letter == "d" else end
        array = given if letter == "a" else array
    line = stdin.read_line(end) if stdin is not None else UNKNOWN
    state.variables[AT_END] = "yes" if line is None else "no"
    if line is None:
        # What was read before stays; what never was is empty.
        for name in names:
            state.variables.setdefault(name, "")
        return
    if array is not None:
        state.assign_elements(array, [(None, word) for word in line.split(_separator(state))])
        return
    _assign_words(names or ["REPLY"], line, state)


def _assign_words(names: Sequence[str], line: str, state: ShellState) -> None:
    words = line.split(_separator(state), len(names) - 1) if len(names) > 1 else [line.strip()]
    for number, name in enumerate(names):
        state.assign(name, words[number] if number < len(words) else "")


def _separator(state: ShellState) -> str | None:
    """What separates the words of a line; None for blanks."""
    values = state.values("IFS")
    return values[0].strip()[:1] or None if values else None


def _mapfile(arguments: Sequence[str], state: ShellState, stdin: InputText | None) -> None:
    names = [one for one in arguments if not one.startswith("-")] or ["MAPFILE"]
    lines = stdin.peek().splitlines() if stdin is not None else [UNKNOWN]
    state.assign_elements(names[-1], [(None, line) for line in lines])


_BUILTINS: Final[Mapping[str, Callable[[Sequence[str], ShellState, InputText | None], None]]] = {
    **dict.fromkeys(("cd", "pushd", "chdir"), _cd),
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "read": _read,
    **dict.fromkeys(("mapfile", "readarray"), _mapfile),
}


def callbacks(fields: Sequence[str]) -> list[str]:
    """The commands that a builtin runs by itself: `mapfile -C command`."""
    if fields[0] not in ("mapfile", "readarray", "compgen"):
        return []
    return [plain_text(after) for one, after in pairwise(fields) if one == "-C"]


def define_aliases(
    definitions: Sequence[str], state: ShellState, parse: Callable[[str], Script]
) -> None:
    """Define aliases. Each is a function that passes its arguments on."""
    for name, _, value in (one.partition("=") for one in definitions):
        with suppress(UnreadableCommand):
            script = parse(f'{value} "$@"')
            state.functions[name] = Statement(CommandGroup(script, subshell=False), value)


def record_files(fields: Sequence[str], stdin: str | None, state: ShellState) -> None:
    """Record the files and directories that a program downloads, links, moves or writes."""
    _record_downloads(fields, stdin, state)
    if interpreter_language(fields[0]) in LANGUAGES:
        for text in (*fields[1:], stdin or ""):
            for path in downloaded_files(text):
                state.write(path, DOWNLOADED)
    state.record_link(fields)
    if posixpath.basename(fields[0]) == "tee" and stdin is not None:
        for one in filter(lambda field: not field.startswith("-"), fields[1:]):
            state.write(one, stdin)


def _record_downloads(fields: Sequence[str], stdin: str | None, state: ShellState) -> None:
    """Record the file or the directory that a program brings from another machine."""
    copies = posixpath.basename(fields[0]) in _COPIERS
    target = _copied_file(fields[1:]) if copies else _downloaded_file(fields)
    if target is not None:
        state.write(target, DOWNLOADED)
    tree = _downloaded_tree(fields, stdin, state)
    if tree is not None:
        state.trees.add(state.absolute(tree))


def _downloaded_file(fields: Sequence[str]) -> str | None:
    """The file that a program saves from another machine; None if it saves none."""
    name, arguments = posixpath.basename(fields[0]), fields[1:]
    options = _OUTPUTS.get(name)
    if options is None or name not in FETCHERS:
        return None
    given = _named_output(arguments, options, joined=name != "curl")
    if given is not None:
        folder = _output_folder(arguments) if name == "curl" else ""
        return None if given in ("", "-") else posixpath.join(folder, given)
    remote = name == "curl" and any(
        one == "--remote-name" or (_is_cluster(one) and "O" in one) for one in arguments
    )
    if name not in _SAVES and not remote:
        return None
    addresses = [one for one in arguments if not one.startswith("-")]
    addresses = [one for one in addresses if "://" in one] or addresses
    if not addresses:
        return None
    saved = posixpath.basename(addresses[-1].partition("?")[0].rstrip("/"))
    return posixpath.join(_output_folder(arguments), saved)


def _output_folder(arguments: Sequence[str]) -> str:
    """The directory in which a program saves what it downloads, if it is told one."""
    for one, after in pairwise([*arguments, ""]):
        given = _FOLDER.fullmatch(one)
        if given is not None:
            return given[1] or given[2] or after
    return ""


def _named_output(
    arguments: Sequence[str], options: tuple[str, str], *, joined: bool
) -> str | None:
    """The value of an output option, `-` for standard output; None if it is not given."""
    short, long = options
    for number, one in enumerate(arguments):
        if one.startswith(f"{long}="):
            return one.partition("=")[2]
        if one == long or (_is_cluster(one) and one.endswith(short[1])):
            return "".join(arguments[number + 1 : number + 2])
        if _is_cluster(one) and one.endswith(f"{short[1]}-"):
            return "-"
        if joined and one.startswith(short):
            return one[len(short) :]
    return None


def _is_cluster(word: str) -> bool:
    """Whether a word is made of options with one letter."""
    return word[:1] == "-" and word[:2] != "--"


def _copied_file(arguments: Sequence[str]) -> str | None:
    """The file that `scp host:file target` and its like bring here."""
    operands = [one for one in arguments if not one.startswith("-")]
    remote = [one for one in operands[:-1] if _REMOTE_FILE.match(one)]
    if not remote or _REMOTE_FILE.match(operands[-1]):
        return None
    target = operands[-1]
    name = posixpath.basename(remote[-1].rpartition(":")[2])
    return posixpath.join(target, name) if target.endswith(("/", ".")) else target


def _downloaded_tree(fields: Sequence[str], stdin: str | None, state: ShellState) -> str | None:
    """The directory that a clone or an archive from another machine fills; None for none."""
    name, arguments = posixpath.basename(fields[0]), fields[1:]
    operands = [one for one in arguments if not one.startswith("-")]
    if name == "git" and operands[:1] == ["clone"] and len(operands) > 1:
        if "://" not in operands[1] and not _REMOTE_FILE.match(operands[1]):
            return None
        given = operands[2:3] or [posixpath.basename(operands[1].rstrip("/")).removesuffix(".git")]
        return given[0]
    fetched = [stdin or "", *(state.content(one) or "" for one in operands)]
    if name in ("tar", "bsdtar", "unzip", "cpio", "7z") and DOWNLOADED in "".join(fetched):
        places = [after for one, after in pairwise([*arguments, ""]) if one in ("-C", "-d")]
        return places[0] if places else "."
    return None


def interpreted_file(fields: Sequence[str]) -> str | None:
    """The file that a program runs as code, `-` for standard input; None if it runs none."""
    name = fields[0]
    if interpreter_language(name) is None:
        return name if "/" in name else None
    if any(one in ("-c", "-e", "-m", "--eval", "-E", "-r", "-p") for one in fields[1:]):
        return None
    operands = [one for one in fields[1:] if not one.startswith("-") or one == "-"]
    return operands[0] if operands else "-"


def with_inline_code(program: str, code: str) -> tuple[str, ...] | None:
    """The words that run `code` as an argument of the interpreter; None for a shell or a program."""
    language = interpreter_language(program)
    if language is None or language in SHELLS or not LANGUAGES[language][0]:
        return None
    return program, f"-{LANGUAGES[language][0][0]}", code


def argument_file(fields: Sequence[str]) -> str | None:
    """The file from which `xargs` or `parallel` takes arguments; None for standard input."""
    if posixpath.basename(fields[0]) not in ("xargs", "parallel"):
        return None
    for one, after in pairwise([*fields[1:], ""]):
        if one in ("-a", "--arg-file", "::::"):
            return after
        if one.startswith(("--arg-file=", "-a")):
            return one.removeprefix("--arg-file=").removeprefix("-a")
        if not one.startswith("-"):
            return None
    return None


def argument_lines(given: str, *, one_by_one: bool) -> list[str]:
    """What `xargs` reads, for one run each; all of it at once unless it is `one_by_one`."""
    lines = given.replace("\0", "\n").split("\n") if one_by_one else [given.replace("\0", " ")]
    return [one for one in lines if one.strip()]


def entered_directory(fields: Sequence[str], state: ShellState) -> ShellState:
    """The state in which `env -C DIR` or `make -C DIR` runs; the same for other programs."""
    if posixpath.basename(fields[0]) not in ("env", "make", "gmake"):
        return state
    for one, after in pairwise([*fields[1:], ""]):
        if not one.startswith("-") and "=" not in one:
            break
        if one in ("-C", "--chdir", "--directory") or one.startswith(("--chdir=", "--directory=")):
            state = state.fork()
            state.enter(one.partition("=")[2] or after)
            break
    return state


def is_placeholder(word: Word) -> bool:
    """Whether the word contains the place for an argument, such as `{}`."""
    return any(isinstance(part, Opaque) and part.is_placeholder for part in word.parts)


def fill_placeholder(word: Word, line: str) -> Word:
    """The word with every placeholder replaced by a line of the input."""
    parts = [
        concrete_word(line).parts if isinstance(part, Opaque) and part.is_placeholder else (part,)
        for part in word.parts
    ]
    return Word(word.source, tuple(part for group in parts for part in group))
