"""A reader for jq programs: whether a program only computes, and ends.

jq runs no programs. What it can do besides is to read modules and the environment, and to go on
without end.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from handrail.shell.tables.word_list import word_set

_TOKEN: Final = re.compile(
    r"(?P<space>\s+|#[^\n]*)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<variable>\$(?:__loc__|[A-Za-z_]\w*(?:::\w+)*))|(?P<format>@\w+)"
    r"|(?P<field>\.(?:[A-Za-z_]\w*))|(?P<name>[A-Za-z_]\w*(?:::\w+)*)"
    r"|(?P<sign>\?//=?|//=|\|=|\+=|-=|\*=|/=|%=|==|!=|<=|>=|//|\.\.|[-+*/%<>=|,.;:?(){}\[\]])"
)
_KEYWORDS: Final = word_set("""
    def if then elif else end as reduce foreach and or not try catch label break __loc__ null true
    false
""")
_FUNCTIONS: Final = word_set("""
    IN INDEX abs acos acosh add all any arrays ascii ascii_downcase ascii_upcase asin asinh
    atan atan2 atanh booleans bsearch builtins capture cbrt ceil combinations contains cos
    cosh date dateadd dateiso8601 datesub debug del delpaths drem empty endswith error exp
    exp10 exp2 explode fabs first flatten floor fmax fmin fmod format frexp from_entries fromdate
    fromdateiso8601 fromjson fromstream gamma getpath gmtime group_by gsub halt halt_error has
    have_decnum have_literal_numbers implode in index indices input input_line_number inputs
    inside isempty isinfinite isnan isnormal isvalid iterables join keys keys_unsorted last
    ldexp leaf_paths length lgamma limit localtime log log10 log2 logb ltrim ltrimstr map
    map_values match max max_by min min_by mktime modf nan nearbyint normals not now nth nulls
    numbers objects path paths pick pow range reverse rindex rint round rtrim rtrimstr scalars scalb scan
    select setpath significand sin sinh skip sort sort_by split splits sqrt startswith stderr
    strflocaltime strftime strings strptime sub tan tanh test tgamma to_entries toarray
    toboolean todate todateiso8601 tojson tonumber tostream tostring transpose trim trimstr
    trunc truncate_stream type unique unique_by utf8bytelength values walk with_entries
""")
# What jq has besides. A definition of such a name holds for a part of the program or for another
# number of arguments only, so it does not make the name harmless.
_NOT_LISTED: Final = word_set("""
    JOIN copysign env erf erfc expm1 fdim finites fma get_jq_origin get_prog_origin
    get_search_list getenv hypot infinite input_filename isfinite j0 j1 jn lgamma_r log1p modulemeta
    nextafter nexttoward pow10 recurse recurse_down remainder repeat repl
    scalars_or_empty scalbln until while y0 y1 yn
""")
_CLOSED_BY: Final = ("(", "[", "{")
_MOST: Final = 1_000_000
_LONGEST: Final = 20_000
_DEEPEST: Final = 20


class _Token(NamedTuple):
    kind: str
    text: str


def only_computes(program: str) -> bool:
    """Whether a program neither reads more than its input nor can go on without end."""
    if len(program) > _LONGEST or "\r" in program:
        return False
    tokens = _tokens(program, 0)
    return tokens is not None and _is_harmless(tokens)


def _tokens(program: str, depth: int) -> list[_Token] | None:
    """The tokens, those inside the interpolations of strings included; None if they are not jq."""
    found: list[_Token] = []
    at = 0
    while at < len(program):
        if program[at] == '"':
            end = _string(program, at + 1, found, depth)
            if end is None:
                return None
            at = end
            continue
        match = _TOKEN.match(program, at)
        if match is None:
            return None
        if match.lastgroup != "space":
            found.append(_Token(match.lastgroup or "", match[0]))
        at = match.end()
    return found


def _string(program: str, at: int, found: list[_Token], depth: int) -> int | None:
    """The end of a string; the tokens of its interpolations are added to `found`."""
    found.append(_Token("string", ""))
    while at < len(program):
        if program[at] == '"':
            return at + 1
        if program[at] != "\\":
            at += 1
        elif program[at + 1 : at + 2] == "(":
            end = _closing(program, at + 2)
            inner = _tokens(program[at + 2 : end], depth + 1) if end and depth < _DEEPEST else None
            if inner is None or end is None:
                return None
            found += [_Token("sign", "("), *inner, _Token("sign", ")")]
            at = end + 1
        else:
            at += 2
    return None


def _closing(program: str, at: int) -> int | None:
    """The position that closes an interpolation; None if a string in it holds another one."""
    depth = 1
    while at < len(program):
        if program[at] == '"':
            end = re.compile(r'"(?:[^"\\]|\\[^(])*"').match(program, at)
            if end is None:
                return None
            at = end.end()
            continue
        depth += {"(": 1, ")": -1}.get(program[at], 0)
        if not depth:
            return at
        at += 1
    return None


def _is_harmless(tokens: Sequence[_Token]) -> bool:
    known = set(_FUNCTIONS)
    brackets: list[str] = []
    for number, token in enumerate(tokens):
        before = tokens[number - 1].text if number else ""
        if token.text in _CLOSED_BY:
            brackets.append(token.text)
        elif token.text in (")", "]", "}"):
            del brackets[-1:]
        if before == "def":
            names = _definition(tokens, number)
            if names is None or token.text in _FUNCTIONS or names & _NOT_LISTED:
                return False
            known |= names
        elif not _is_allowed(token, known) and not (
            brackets[-1:] == ["{"] and _is_key(tokens, number)
        ):
            return False
    return not any(_calls_itself(tokens, n) for n in range(1, len(tokens)))


def _is_allowed(token: _Token, known: Collection[str]) -> bool:
    match token.kind:
        case "number":
            return float(token.text) <= _MOST
        case "variable":
            return token.text == "$__loc__" or not token.text.startswith(("$ENV", "$__"))
        case "name":
            return token.text in _KEYWORDS or token.text in known
    return True


def _is_key(tokens: Sequence[_Token], number: int) -> bool:
    """Whether a name directly inside braces is the key of an object: `{a: 1}`, `{a, b}`."""
    after = tokens[number + 1].text if number + 1 < len(tokens) else ""
    return tokens[number].kind == "name" and (
        tokens[number - 1].text in ("{", ",") and after in (":", ",", "}")
    )


def _definition(tokens: Sequence[_Token], at: int) -> set[str] | None:
    """The name that is defined at a position, and its parameters."""
    names = {tokens[at].text}
    rest = tokens[at + 1 :]
    if rest and rest[0].text == "(":
        for token in rest[1:]:
            if token.text == ")":
                break
            if token.kind == "name":
                names.add(token.text)
            elif token.kind != "variable" and token.text != ";":
                return None
    return names


def _calls_itself(tokens: Sequence[_Token], number: int) -> bool:
    """Whether a definition at this position mentions its own name in its body."""
    if tokens[number - 1].text != "def":
        return False
    name, depth, inner, body = tokens[number].text, 0, 0, False
    for token in tokens[number + 1 :]:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.text, 0)
        if not body:
            body = token.text == ":" and depth == 0
        elif token.kind == "name" and token.text == name:
            return True
        elif token.text == "def":
            inner += 1
        elif token.text == ";" and depth == 0:
            if not inner:
                return False
            inner -= 1
    return False
