"""Programs that download a file, and programs that run one."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final

from handrail.shell.blocklist.interpreters import interpreter_language
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
# They save a file under the last name in its address.
_SAVES: Final = frozenset(("wget", "wget2", "aria2c", "axel"))
_REMOTE_NAME: Final = frozenset(
    ("-O", "--remote-name", "-LO", "-OL", "-sSLO", "-fsSLO", "-sLO", "-JLO")
)


def downloaded_file(fields: Sequence[str]) -> str | None:
    """The file that a program saves from another machine; None if it saves none."""
    name, arguments = posixpath.basename(fields[0]), fields[1:]
    options = _OUTPUTS.get(name)
    if options is None or name not in FETCHERS:
        return None
    short, long = options
    for number, one in enumerate(arguments):
        if one.startswith(f"{long}="):
            return one.partition("=")[2]
        clustered = one[:1] == "-" and one[:2] != "--" and one.endswith(short[1])
        if one in options or (clustered and name != "curl") or (clustered and short == "-o"):
            given = "".join(arguments[number + 1 : number + 2])
            return None if given == "-" else given or None
        if one.startswith(short) and len(one) > len(short) and name != "curl":
            return None if one[len(short) :] == "-" else one[len(short) :]
    remote = name == "curl" and any(
        one in _REMOTE_NAME or (one[:1] == "-" and one[:2] != "--" and "O" in one)
        for one in arguments
    )
    if name not in _SAVES and not remote:
        return None
    addresses = [one for one in arguments if not one.startswith("-")]
    return posixpath.basename(addresses[-1].partition("?")[0].rstrip("/")) if addresses else None


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
