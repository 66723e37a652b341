"""What programs print, where their arguments and input decide it.

A guess is allowed: the result only ever serves to find a catastrophe.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from handrail.shell.blocklist.interpreters import interpreter_language
from handrail.shell.echo import printed_text
from handrail.shell.expand import UNKNOWN, plain_text
from handrail.shell.languages import awk
from handrail.shell.languages.code_folding import printed_literals
from handrail.shell.languages.decoders import decode_text, is_decoder
from handrail.shell.languages.process_names import matches_every_name, option_letters
from handrail.shell.simulate.known_answers import known_answer
from handrail.shell.simulate.shell_state import DOWNLOADED, ShellState
from handrail.shell.tables.catastrophes import fetches_text
from handrail.shell.tables.word_list import word_set

_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|0?([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|([abefnrtv\\]))"
)
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "e": "\x1b", "a": "\a", "b": "\b"}
# They pass text on, or most of it.
_FILTERS: Final = word_set("cat head tail sort uniq tee tac fold nl sponge pv less more")
_PRINTERS: Final = frozenset(("echo", "printf", "pwd", "which", "command", "type"))
_UNPACKERS: Final = frozenset(("gzip", "gunzip", "zcat", "xz", "bzip2", "zstd", "uudecode", "gpg"))
# What stands for the many names of a directory whose loss is a catastrophe.
_LISTINGS: Final = {
    "/": ("etc", "usr", "home"),
    "/home": ("user",),
    "/etc": ("passwd", "fstab"),
    "/var/lib": ("dpkg", "postgresql"),
    "/usr": ("bin", "lib"),
    "/dev": ("sda", "nvme0n1"),
}
_HOME_LISTING: Final = (".ssh", ".config", "Documents")
_SUBSTITUTE: Final = re.compile(r"s([^\w\s\\])((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1([gpIi\d]*)")
_CUT_BY: Final = re.compile(r"-d ?(\S)|--delimiter=(\S)")
_COLUMN: Final = re.compile(r"(?:NR\s*[>!]=?\s*\d+\s*)?\{\s*print\s+\$([1-9])\s*;?\s*\}")
_CUT_FIELD: Final = re.compile(r"-f ?(\d+-\d*|-\d+|\d+)(?![\d,-])")
_JQ_TEXT: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_JQ_TEXTS: Final = re.compile(rf"\s*{_JQ_TEXT.pattern}(?:\s*[+,]\s*{_JQ_TEXT.pattern})*\s*")
_LONGEST: Final = 20_000
# Longer than a command can be; ten times `cat` in each stage of a pipe would go on for long.
_LONGEST_PRINTED: Final = 200_000


def guess_output(fields: Sequence[str], stdin: str | None, state: ShellState) -> str | None:
    """What a program prints; None if nothing is known about it."""
    text = _output(fields, stdin, state)
    return None if text is None else text[:_LONGEST_PRINTED]


def _output(fields: Sequence[str], stdin: str | None, state: ShellState) -> str | None:
    name, arguments = fields[0].rpartition("/")[2], list(fields[1:])
    if fetches_text(name, arguments):
        return DOWNLOADED
    answer = known_answer(fields, state)
    if answer is not None or is_decoder(name, arguments):
        return answer or _decoded(name, arguments, stdin, state)
    if name in _PROGRAMS:
        return _PROGRAMS[name](arguments, stdin, state)
    if name in _FILTERS:
        return _passed_on(name, arguments, stdin, state)
    return _printed(name, arguments, state) if name in _PRINTERS else _by_code(fields, stdin)


def _by_code(fields: Sequence[str], stdin: str | None) -> str | None:
    name = fields[0].rpartition("/")[2]
    return stdin if name in _UNPACKERS else _printed_by_code(name, fields[1:])


def _openssl(arguments: Sequence[str], _: str | None, __: ShellState) -> str | None:
    return DOWNLOADED if arguments[:1] == ["s_client"] else None


def _printed_by_code(name: str, arguments: Sequence[str]) -> str | None:
    """What inline code prints: `python -c 'print("x")'`."""
    code = [after for one, after in pairwise(arguments) if re.fullmatch(r"-\w*[cer]", one)]
    return printed_literals(code[0]) if code and interpreter_language(name) else None


def decode_escapes(text: str) -> str:
    """The text with the escapes of `printf` and `echo -e` replaced."""
    return _ESCAPE.sub(_unescaped, text)


def _unescaped(match: re.Match[str]) -> str:
    hexadecimal, octal, point, letter = match.groups()
    if letter:
        return _LETTERS.get(letter, "")
    code = int(octal, 8) if octal else int(hexadecimal or point, 16)
    return chr(code)


def _printed(name: str, arguments: list[str], state: ShellState) -> str | None:
    arguments = arguments[1:] if name == "printf" and arguments[:1] == ["--"] else arguments
    if name == "printf" and arguments:
        shape, values = arguments[0], arguments[1:]
        if "%b" in shape:
            shape, values = shape.replace("%b", "%s"), list(map(decode_escapes, values))
        return printed_text(["printf", decode_escapes(shape), *values], state.cwd)
    text = printed_text([name, *arguments], state.cwd)
    if text is None:
        return None
    escapes = bool(arguments) and re.fullmatch(r"-[nE]*e[neE]*", arguments[0]) is not None
    return (decode_escapes(text) if escapes else text) + "\n"


def _passed_on(
    name: str, arguments: Sequence[str], stdin: str | None, state: ShellState
) -> str | None:
    paths = [one for one in arguments if not one.startswith("-") or one == "-"]
    if name in ("head", "tail"):
        paths = [one for one in paths if not one.lstrip("+").isdigit()]
    if name == "tee" or not paths:
        return stdin
    texts = [stdin if one == "-" else state.files.get(state.absolute(one)) for one in paths]
    known = [text for text in texts if text is not None]
    return "".join(known) if known else None


def _decoded(
    name: str, arguments: Sequence[str], stdin: str | None, state: ShellState
) -> str | None:
    text = _passed_on(name, arguments, stdin, state)
    if name == "openssl" or (text is None and stdin is not None):
        text = stdin
    if text is None or DOWNLOADED in text:
        nothing = None if name == "xxd" else UNKNOWN
        return nothing if text is None else DOWNLOADED
    return decode_text(name, arguments, text)


def _rev(_: Sequence[str], stdin: str | None, __: ShellState) -> str | None:
    return None if stdin is None else "\n".join(line[::-1] for line in stdin.split("\n"))


def _tr(arguments: Sequence[str], stdin: str | None, _: ShellState) -> str | None:
    if stdin is None:
        return None
    if len(arguments) == 2 and not arguments[0].startswith("-"):
        source, target = map(_character_set, arguments)
        if source and target:
            target += target[-1] * max(0, len(source) - len(target))
            return stdin.translate(dict(zip(map(ord, source), target, strict=False)))
    if len(arguments) == 2 and arguments[0] == "-d":
        return stdin.translate(dict.fromkeys(map(ord, _character_set(arguments[1]))))
    return stdin


def _character_set(text: str) -> str:
    classes = {"[:upper:]": "A-Z", "[:lower:]": "a-z", "[:alpha:]": "A-Za-z", "[:digit:]": "0-9"}
    for name, letters in classes.items():
        text = text.replace(name, letters)
    return re.sub(
        r"(.)-(.)",
        lambda m: "".join(map(chr, range(ord(m[1]), ord(m[2]) + 1))),
        decode_escapes(text),
    )[:_LONGEST]


def _sed(arguments: Sequence[str], stdin: str | None, _: ShellState) -> str | None:
    """The text after the substitutions of a script that has nothing else."""
    scripts = [one for one in arguments if not one.startswith("-")]
    if stdin is None or len(scripts) != 1:
        return stdin
    text = stdin[:_LONGEST]
    for one in scripts[0].split(";"):
        match = _SUBSTITUTE.fullmatch(one.strip())
        if match is None:
            return stdin
        new = re.sub(r"(?<!\\)&", lambda _: r"\g<0>", match[3].replace("\\/", "/"))
        pattern = match[2].replace("\\/", "/").replace("\\(", "(").replace("\\)", ")")
        try:
            text = "\n".join(
                re.sub(pattern, new, line, count=0 if "g" in match[4] else 1) if line else line
                for line in text.split("\n")
            )
        except (re.error, IndexError):
            return stdin
    return text


def _git(arguments: Sequence[str], _: str | None, __: ShellState) -> str | None:
    """What a format prints where it is plain text."""
    for one, after in pairwise((*arguments, "")):
        name, equals, value = one.partition("=")
        if name in ("--format", "--pretty"):
            return (value if equals else after).removeprefix("format:").removeprefix(
                "tformat:"
            ) + "\n"
    return None


def _find(arguments: Sequence[str], _: str | None, __: ShellState) -> str | None:
    starts = []
    for one in arguments:
        if one.startswith(("-", "(", "!")):
            break
        starts.append(one)
    narrowed = any(one in ("-name", "-iname", "-path", "-regex", "-newer") for one in arguments)
    if narrowed:
        # In the system nothing that is found is one's own.
        found = [f"/etc{one.rstrip('/')}/found" for one in starts if one in ("/", "/etc", "/usr")]
        return "\n".join(one.replace("/etc/etc", "/etc") for one in found) + "\n" if found else None
    return "\n".join(starts or ["."]) + "\n"


def _ls(arguments: Sequence[str], _: str | None, state: ShellState) -> str | None:
    paths = [one for one in arguments if not one.startswith("-")] or ["."]
    path = state.absolute(paths[0])
    folder = path.removesuffix("*").rstrip("/")
    at_home = folder == state.home or re.fullmatch(r"/(?:home|Users)/[^/]+|/root", folder)
    names = _HOME_LISTING if at_home else _LISTINGS.get(folder or "/")
    # What lies around the workspace has any names.
    above = any(root.startswith(f"{folder}/") and folder for root in state.roots)
    names = ("*",) if above and names is None else names
    if names is None:
        return None
    return "\n".join(f"{folder}/{one}" if path.endswith("*") else one for one in names) + "\n"


def _processes(arguments: Sequence[str], _: str | None, __: ShellState) -> str | None:
    """Every process, the first one too: `ps -e -o pid=`, `ps aux`. A filter may leave it out."""
    everybody = any(re.fullmatch(r"-[a-zA-Z]*[Ae][a-zA-Z]*", one) for one in arguments)
    if not everybody and not re.fullmatch(r"[a-z]*x[a-z]*", "".join(arguments[:1])):
        return None
    if any(one.lstrip("-o").rstrip("=") == "pid" for one in arguments):
        return "1\n"
    with_user = any(re.fullmatch(r"-?\w*[uf]\w*", one) for one in arguments)
    return "root 1 0 init\n" if with_user else "1 ? 0 init\n"


def _printed_column(arguments: Sequence[str], stdin: str | None, _: ShellState) -> str | None:
    """`awk '{print $2}'`, for all lines or all but the first ones."""
    match = _COLUMN.fullmatch(arguments[-1].strip()) if arguments else None
    if stdin is None or match is None:
        program, values = awk.program_argument(arguments)
        texts = awk.likely_output(program, values) if program is not None else ()
        return "\n".join(texts) or None
    rows = (line.split() for line in stdin[:_LONGEST].splitlines())
    return "\n".join("".join(row[int(match[1]) - 1 : int(match[1])]) for row in rows) + "\n"


def _jq(arguments: Sequence[str], _: str | None, __: ShellState) -> str | None:
    """`jq -nr '"text"'`: a program that is nothing but texts."""
    raw = any(re.fullmatch(r"-\w*[rj]\w*|--(?:raw|join)-output", one) for one in arguments)
    programs = [one for one in arguments if _JQ_TEXTS.fullmatch(one)]
    return "\n".join(_JQ_TEXT.findall(programs[0])) + "\n" if raw and programs else None


def _matching(arguments: Sequence[str], _: str | None, __: ShellState) -> str | None:
    """The first process, where `pgrep` means every one, or all but some."""
    fields = [plain_text(one) for one in arguments]
    letters = option_letters(fields)
    patterns = [one for one in fields if not one.startswith("-")]
    everything = patterns and all(
        matches_every_name(one, full="f" in letters, ignore_case="i" in letters) for one in patterns
    )
    return "1\n" if everything or "v" in letters else None


def _open_files(arguments: Sequence[str], _: str | None, __: ShellState) -> str | None:
    """The first process, where `lsof -t` lists those of the whole file system or of everybody."""
    terse = any(re.fullmatch(r"-[a-zA-Z]*t", one) for one in arguments)
    narrowed = any(re.match(r"-[a-zA-Z]*[icpu+]", one) for one in arguments)
    places = [one for one in arguments if not one.startswith("-")]
    everything = not places or any(one in ("/", "/usr", "/home", "/var") for one in places)
    return "1\n" if terse and everything and not narrowed else None


def _basename(arguments: Sequence[str], _: str | None, __: ShellState) -> str | None:
    return arguments[0].rstrip("/").rpartition("/")[2] + "\n" if arguments else None


def _dirname(arguments: Sequence[str], _: str | None, __: ShellState) -> str | None:
    if not arguments:
        return None
    folder, slash, _name = arguments[0].rstrip("/").rpartition("/")
    return (folder or slash or ".") + "\n"


def _account(arguments: Sequence[str], _: str | None, state: ShellState) -> str | None:
    """`getent passwd NAME`: the home directory is the user's, whoever is asked for."""
    if arguments[:1] != ["passwd"]:
        return None
    return f"user:x:1000:1000:user:{state.home}:/bin/sh\n"


def _cut(arguments: Sequence[str], stdin: str | None, state: ShellState) -> str | None:
    """`cut -d: -f6`, `cut -d/ -f1-2`: one field, or fields that follow each other."""
    joined = " ".join(arguments)
    separator, number = _CUT_BY.search(joined), _CUT_FIELD.search(joined)
    if stdin is None or separator is None or number is None:
        return stdin
    sign = separator[1] or separator[2]
    first, dash, last = number[1].partition("-")
    start = int(first[:3] or 1) - 1
    end = (int(last[:3]) if last else None) if dash else start + 1
    lines = (line.split(sign)[max(start, 0) : end] for line in stdin[:_LONGEST].splitlines())
    return "\n".join(map(sign.join, lines)) + "\n"


def _paste(arguments: Sequence[str], stdin: str | None, state: ShellState) -> str | None:
    """`paste -sd' '`: all lines in one; `paste - -`: so many lines in each."""
    signs, paths = "\t", []
    for before, one in pairwise(("", *arguments)):
        given = re.fullmatch(r"-s?d(.+)|--delimiters=(.+)", one, re.DOTALL)
        if re.fullmatch(r"-s?d|--delimiters", before):
            signs = one
        elif given is not None:
            signs = given[1] or given[2]
        elif one == "-" or not one.startswith("-"):
            paths.append(one)
    text = _passed_on("paste", paths[:1], stdin, state)
    lines = (text or "")[:_LONGEST].splitlines()
    serial = any(re.fullmatch(r"-s.*|--serial", one) for one in arguments)
    columns = len(lines) if serial else paths.count("-")
    if text is None or columns < 2:
        return text
    rows = (lines[start : start + columns] for start in range(0, len(lines), columns))
    return "\n".join(decode_escapes(signs)[:1].join(row) for row in rows) + "\n"


def _in_one_line(arguments: Sequence[str], stdin: str | None, _: ShellState) -> str | None:
    """`xargs` without a command, `fmt`: the words, with blanks between them."""
    options = all(one.startswith("-") for one in arguments)
    return " ".join(stdin.split()) + "\n" if stdin is not None and options else None


def _same_path(arguments: Sequence[str], _: str | None, state: ShellState) -> str | None:
    paths = [one for one in arguments if not one.startswith("-")]
    return state.absolute(paths[-1]) + "\n" if paths else None


_PROGRAMS: Final[Mapping[str, Callable[[Sequence[str], str | None, ShellState], str | None]]] = {
    "openssl": _openssl,
    "lsof": _open_files,
    "rev": _rev,
    "tr": _tr,
    **dict.fromkeys(("sed", "gsed"), _sed),
    "git": _git,
    **dict.fromkeys(("jq", "gojq", "jaq", "yq"), _jq),
    "find": _find,
    "ls": _ls,
    "getent": _account,
    "cut": _cut,
    "paste": _paste,
    **dict.fromkeys(("xargs", "fmt"), _in_one_line),
    "ps": _processes,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _printed_column),
    "pgrep": _matching,
    "pidof": _matching,
    "basename": _basename,
    "dirname": _dirname,
    "realpath": _same_path,
    "readlink": _same_path,
    **dict.fromkeys(
        ("whoami", "logname"), lambda _, __, state: posixpath.basename(state.home) + "\n"
    ),
    "mktemp": lambda _, __, ___: "/tmp/tmp.simulated\n",  # noqa: S108 - no file is made
    "true": lambda _, __, ___: "",
    ":": lambda _, __, ___: "",
}
