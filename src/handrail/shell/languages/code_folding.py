"""Code of another language with its constants computed, as far as that needs no interpreter.

Joined, encoded and reversed texts, names that are looked up by a text, simple variables and the
home directory are replaced. A guess is allowed: the result only serves to find a catastrophe.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Final

from handrail.shell.tables.catastrophes import SHELLS
from handrail.shell.tables.text_arguments import takes_text_as_data
from handrail.shell.tables.word_list import word_set

_DELETES_FILES: Final = word_set("rm dd shred wipefs find chmod chown mv truncate mkfs")
_TEXT: Final = r"""[rbu]{0,2}(?:"([^"\n]*)"|'([^'\n]*)')"""
_MOST_ROUNDS: Final = 4
_LONGEST: Final = 10_000
_MOST_VARIABLES: Final = 12
_HOME: Final = re.compile(
    r"(?:os\.path\.)?expanduser\(\s*[\"']~[\"']\s*\)|(?:pathlib\.)?Path\.home\(\)|(?:require\([\"']os[\"']\)|\bos)\.homedir\(\)"
    r"|process\.env(?:\.HOME\b|\[[\"']HOME[\"']\])|(?:os\.)?environ(?:\[[\"']HOME[\"']\]|\.get\([\"']HOME[\"'][^)]*\))"
    r"|(?:os\.)?getenv\(\s*[\"']HOME[\"']\s*\)|ENV(?:\[[\"']HOME[\"']\]|\.fetch\([\"']HOME[\"'][^)]*\))|\$ENV\{[\"']?HOME[\"']?\}"
    r"|\bDir\.home\b|System\.getProperty\([\"']user\.home[\"']\)|Deno\.env\.get\([\"']HOME[\"']\)|\$_(?:SERVER|ENV)\[[\"']HOME[\"']\]"
    r"|\$(?:::)?env\(HOME\)|\$env\{[\"']?HOME[\"']?\}|\(\s*(?:sys:|posix-|os\.)?get-?env(?:ironment-variable)?\s+[\"']HOME[\"']\s*\)"
    r"|\(\s*user-homedir-pathname\s*\)|\bos\.UserHomeDir\(\)|\bSys\.getenv\([\"']HOME[\"']\)"
    r"|\$HOME\b|%USERPROFILE%|\$env:(?:USERPROFILE|HOME)\b"
)
_HERE: Final = re.compile(
    r"(?:os\.)?getcwdb?\(\)|process\.cwd\(\)|(?:pathlib\.)?Path\.cwd\(\)|\bDir\.pwd\b|\bDeno\.cwd\(\)|\bcwd\(\)"
)
_ABOVE: Final = re.compile(
    r"(?:os\.path\.|path\.|File\.|require\([\"'](?:node:)?path[\"']\)\.)?dirname\(\s*+['\"](\.{1,2}(?:/\.\.)*+)['\"]\s*+\)|['\"](\.{1,2}(?:/\.\.)*+)['\"]\.parent\b"
)
# `$env(HOME)/x`: a path without quotes goes on behind the home directory.
_BELOW_HOME: Final = re.compile(r"'~'((?:/[\w.*-]+)+)")
# `"$ENV{HOME}/x"`: the text had quotes already.
_TWICE_QUOTED: Final = re.compile(r"\"'(~[^\"'\n]*)'\"")
_ESCAPE: Final = re.compile(r"\\x([0-9A-Fa-f]{2})|\\u00([0-9A-Fa-f]{2})|\\([0-7]{3})")
_LINE_END: Final = re.compile(r"(?<!\\)(?<!\\[rn])(?:\\[rn])+(?=[\"'])")
# `"rm -rf #{Dir.home}"`.
_FILLED_IN: Final = re.compile(rf"[#$]\{{\s*{_TEXT}\s*\}}")
_IMPORT: Final = re.compile(rf"(?:__import__|importlib\.import_module)\(\s*{_TEXT}\s*\)")
_GETATTR: Final = re.compile(rf"getattr\(\s*([\w.]+)\s*,\s*{_TEXT}\s*\)")
_MEMBER: Final = re.compile(rf"(?<=[\w)])\[\s*{_TEXT}\s*\](?=\s*\()")
_REQUIRED: Final = re.compile(rf"require\(\s*{_TEXT}\s*\)(?=[.\[])")
_CHR: Final = re.compile(r"\b(?:chr|String\.fromCharCode)\(\s*((?:\d{2,3}\s*,?\s*)+)\)")
_JOINED: Final = re.compile(rf"{_TEXT}\s*(?:\+|\.(?=\s*[\"'])|\.\.|<<)\s*{_TEXT}")
_JOIN_LIST: Final = re.compile(r"[\"'](.?)[\"']\.join\(\s*[\[(]([^\])]*)[\])]\s*\)")
_PATH_JOIN: Final = re.compile(rf"(?:path|File)\.join\(\s*{_TEXT}\s*,\s*{_TEXT}\s*\)")
_PATH_SLASH: Final = re.compile(rf"Path\(\s*{_TEXT}\s*\)\s*/\s*{_TEXT}")
_HOME_SLASH: Final = re.compile(rf"'(~[\w./-]*+)'\s*+/\s*+{_TEXT}")
_BASE64: Final = re.compile(
    rf"(?:base64\.)?(?:b64decode|decode_base64|base64_decode|decode64|atob|standard_b64decode)\(\s*{_TEXT}\s*\)(?:\.decode\([^)]*\))?"
    rf"|Buffer\.from\(\s*{_TEXT}\s*,\s*[\"']base64[\"']\s*\)(?:\.toString\([^)]*\))?"
    rf"|{_TEXT}\.unpack1?\([\"']m0?[\"']\)(?:\.first|\[0\])?"
)
_HEX: Final = re.compile(
    rf"(?:bytes\.fromhex|(?:binascii\.)?unhexlify|hex2bin)\(\s*{_TEXT}\s*\)(?:\.decode\([^)]*\))?"
    rf"|pack\(?\s*[\"']H\*[\"']\s*,\s*{_TEXT}\s*\)?|\[\s*{_TEXT}\s*\]\.pack\([\"']H\*[\"']\)"
    rf"|Buffer\.from\(\s*{_TEXT}\s*,\s*[\"']hex[\"']\s*\)(?:\.toString\([^)]*\))?"
)
_REVERSED: Final = re.compile(
    rf"{_TEXT}(?:\[::-1\]|\.reverse\b(?:\(\))?|\.split\([\"']{{2}}\)\.reverse\(\)\.join\([\"']{{2}}\))"
    rf"|(?:scalar\s+reverse|strrev|string\.reverse)\s*\(?\s*{_TEXT}\s*\)?"
)
_ROTATED: Final = re.compile(rf"codecs\.decode\(\s*{_TEXT}\s*,\s*[\"']rot_?13[\"']\s*\)")
_ASSIGNED: Final = re.compile(
    rf"(?:^|[;\n{{(,\s])(?:my\s+|let\s+|const\s+|var\s+|local\s+)?(\$?[A-Za-z_]\w*)\s*:?=\s*{_TEXT}\s*(?=[;\n)}}]|$)"
)
_ANY_TEXT: Final = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`")
# `from os import system as s`, `{execSync: e} = …`.
_RENAMED: Final = re.compile(r"\b(\w+)(?:\s+as\s+|\s*:\s*)(\w+)(?=\s*[;,}\n])")
# `f = os.system`.
_BOUND: Final = re.compile(r"(?:^|[;\n{,\s])(\w+)\s*=\s*(\w+(?:\.\w+)+)\s*(?=[;\n,]|$)")
_CALLED_BY_TEXT: Final = re.compile(r"[\"'](\w+)[\"'](?=\s*\()")
_PRINTED: Final = re.compile(
    rf"(?:\bprint(?:f|ln)?!?|\bputs|\becho|\bsay|console\.log|(?:sys|process)\.stdout\.write|Write-Output)\s*\(?\s*{_TEXT}\s*\)?\s*(?:;|$|\n|\}})"
)
_PATH_TEXT: Final = re.compile(rf"(?:str|fspath)\(\s*(?:pathlib\.)?Path\(\s*{_TEXT}\s*\)\s*\)")
_PATH_METHOD: Final = re.compile(
    rf"(?:pathlib\.)?Path\(\s*{_TEXT}\s*\)\.(?:resolve|absolute|expanduser)\(\)"
)
# Calls of other programs, under the names that languages have for them.
_STARTS: Final = re.compile(
    r"(?i)\b(?:\w*system2?|\w*exec\w*|\w*spawn\w*|\w*popen\w*|\w*process\w*|shell\w*+(?!\.)|\w*\.?command|capture\w*|run\w*|cmd|os:cmd)\b|\.!"
)
# `import x.shell as y`, `from x.shell import`; what is imported by name may be a call. A module
# that is there to start programs says that code does so.
_STARTER: Final = r"(?![\w.]*(?:process\b|popen|spawn|exec|system|command\b|capture|\brun|cmd))"
_IMPORTED: Final = re.compile(
    rf"\bimport\s+{_STARTER}[\w.]+(?:\s+as\s+\w+)?(?=\s*(?:[;,\n]|$))|\bfrom\s+{_STARTER}[\w.]+"
)
# Words of programs after which a text is a command, and not one that is recorded or sent.
_RUNS_TEXT: Final = re.compile(
    r"-[cx]|(?:--?)?(?:\w+-)*(?:exec\w*|run|foreach|filter|cmd|command|shell)"
)
# What stands between two words that one program is given.
_SAME_LIST: Final = re.compile(r"\s*+(?:,\s*+(?:[\w.$]++\s*+,\s*+)*+\[?\s*+)?")
_LITERAL: Final = re.compile(rf"(?<![\w)]){_TEXT}")
_MOST_LITERALS: Final = 40
_MOST_JOINED: Final = 5
_EXECUTED: Final = re.compile(rf"\b(?:exec|eval|Function|iex)\s*\(?\s*{_TEXT}")


def fold_code(code: str, *, decodes: bool = True) -> str:
    """The code with its constants computed; with `decodes` also those that are encoded."""
    if len(code) > _LONGEST:
        return code
    text = _BELOW_HOME.sub(r"'~\1'", _HOME.sub("'~'", _HERE.sub("'.'", code)))
    text = _TWICE_QUOTED.sub(r"'\1'", text)
    for _ in range(_MOST_ROUNDS):
        before = text
        for pattern, replace in (*_RULES, *(_DECODERS if decodes else ())):
            text = pattern.sub(replace, text)
        text = _with_variables(_with_original_names(text))
        if text == before or len(text) > _LONGEST:
            break
    return text


def without_line_ends(code: str) -> str:
    """The code without the ends of lines at the ends of its texts."""
    return _LINE_END.sub("", code)


def printed_literals(code: str) -> str | None:
    """The texts that code prints where they are constant; None if it prints none."""
    found = [_value(match) for match in _PRINTED.finditer(fold_code(code))]
    return "\n".join(found) + "\n" if found else None


def starts_programs(code: str) -> bool:
    """Whether code calls what could start another program; the name of a module is no call."""
    return _STARTS.search(_IMPORTED.sub("", _ANY_TEXT.sub("''", code))) is not None


def command_literals(code: str) -> Iterator[str]:
    """The texts of code that starts programs which read as commands, alone or with those behind them."""
    if not starts_programs(code):
        return
    found = list(islice(_LITERAL.finditer(code), _MOST_LITERALS))
    texts = [_value(match) for match in found]
    words: list[str] = []
    for number, (text, match) in enumerate(zip(texts, found, strict=True)):
        first = (text.split() or [""])[0].rpartition("/")[2]
        between = code[found[number - 1].end() : match.start()] if number else ""
        # Another list or call has words of its own.
        words = words if _SAME_LIST.fullmatch(between) else []
        # What a program records, prints or searches for is no command.
        said = (
            bool(words)
            and takes_text_as_data(words[0])
            and words[0] not in SHELLS
            and not any(map(_RUNS_TEXT.fullmatch, words))
        )
        if first in _DELETES_FILES and not said:
            yield text
            yield " ".join(texts[number : number + _MOST_JOINED])
        words.append(first)


def executed_literals(code: str) -> list[str]:
    """The texts that code runs as code, where they are constant."""
    return [_value(match) for match in _EXECUTED.finditer(code)]


def _with_variables(code: str) -> str:
    for number, match in enumerate(_ASSIGNED.finditer(code)):
        if number == _MOST_VARIABLES:
            break
        name, value = match[1], match[2] or match[3] or ""
        called = "" if name[0] == "$" else "("
        name_used = re.compile(rf"(?<![\w$.'\"]){re.escape(name)}(?![\w{called}]|\s*:?=[^=])")
        bare = re.escape(name.removeprefix("$"))
        # In a text: `#{x}`, `${x}`, `{x}`, and `$x` where variables begin so.
        inside = rf"[#$]?\{{{bare}\}}" + (rf"|\${bare}\b" if name[0] == "$" else "")
        fill = partial(re.sub, inside, partial(_constant, value))
        rest = _ANY_TEXT.sub(partial(_filled, fill), code[match.end() :])
        code = code[: match.end()] + name_used.sub(partial(_constant, _quoted(value)), rest)
    return code


def _with_original_names(code: str) -> str:
    """The code with functions called by the names that they have, not by those it gives them."""
    renamed = [(match[1], match[2]) for match in _RENAMED.finditer(code)]
    renamed += [(match[2], match[1]) for match in _BOUND.finditer(code)]
    for original, name in renamed[:_MOST_VARIABLES]:
        code = re.sub(rf"(?<![\w.]){re.escape(name)}(?=\s*\()", original, code)
    return code


def _filled(fill: Callable[[str], str], match: re.Match[str]) -> str:
    return fill(match[0])


def _constant(text: str, _: re.Match[str]) -> str:
    return text


def _value(match: re.Match[str]) -> str:
    return next((one for one in match.groups() if one is not None), "")


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text else f'"{text}"'


def _decoded(text: str, raw: bytes) -> str:
    """The decoded text; the original one if it is not printable."""
    try:
        result = raw.decode()
    except UnicodeDecodeError:
        return text
    return _quoted(result.strip("\n")) if result.strip("\n").isprintable() else text


def _base64(match: re.Match[str]) -> str:
    try:
        return _decoded(match[0], base64.b64decode(_value(match) + "=="))
    except (binascii.Error, ValueError):
        return match[0]


def _hex(match: re.Match[str]) -> str:
    try:
        return _decoded(match[0], bytes.fromhex(_value(match)))
    except ValueError:
        return match[0]


def _joined(match: re.Match[str]) -> str:
    first, second, third, fourth = match.groups()
    return _quoted((first or second or "") + (third or fourth or ""))


def _path_joined(match: re.Match[str]) -> str:
    first, second, third, fourth = match.groups()
    return _quoted(f"{(first or second or '').rstrip('/')}/{(third or fourth or '').lstrip('/')}")


def _characters(match: re.Match[str]) -> str:
    codes = [int(one) for one in re.findall(r"\d+", match[1])]
    return _quoted("".join(map(chr, codes)))


def _listed(match: re.Match[str]) -> str:
    parts = [one or two for one, two in re.findall(_TEXT, match[2])]
    return _quoted(match[1].join(parts))


def _unescaped(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    code = int(digits, 16) if digits else int(match[3], 8)
    return chr(code) if 32 <= code < 127 and chr(code) not in "'\"\\" else match[0]


_RULES: Final[tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...]] = (
    (_ESCAPE, _unescaped),
    (_ABOVE, lambda match: f"'{match[1] or match[2]}/..'"),
    (_FILLED_IN, _value),
    (_CHR, _characters),
    (_JOIN_LIST, _listed),
    (_JOINED, _joined),
    (_REVERSED, lambda match: _quoted(_value(match)[::-1])),
    (_ROTATED, lambda match: _quoted(codecs.decode(_value(match), "rot13"))),
    (_PATH_JOIN, _path_joined),
    (_HOME_SLASH, lambda match: f"'{match[1]}/{match[2] or match[3] or ''}'"),
    (_PATH_SLASH, lambda match: f"Path({_path_joined(match)})"),
    (_IMPORT, _value),
    (_REQUIRED, _value),
    (_GETATTR, lambda match: f"{match[1]}.{match[2] or match[3] or ''}"),
    (_PATH_TEXT, lambda match: _quoted(_value(match))),
    (_PATH_METHOD, lambda match: f"Path({_quoted(_value(match))})"),
    (_MEMBER, lambda match: f".{_value(match)}"),
    (_CALLED_BY_TEXT, _value),
)
_DECODERS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (_BASE64, _base64),
    (_HEX, _hex),
)
