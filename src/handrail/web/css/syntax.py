"""Parses style sheets and `style` attributes by the syntax of CSS: tokens, rules, declarations.

Part of `html_worker`, in linear time. Imports nothing of Handrail.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_ESCAPE: Final = r"\\(?:[0-9a-fA-F]{1,6}(?:\r\n|[ \t\r\n\f])?|[^\n\r\f0-9a-fA-F])"
_NAME_START: Final = rf"(?:[A-Za-z_]|[^\x00-\x7f]|{_ESCAPE})"
_NAME_CHAR: Final = rf"(?:[A-Za-z0-9_-]|[^\x00-\x7f]|{_ESCAPE})"
_IDENT: Final = rf"(?:--|-?{_NAME_START}){_NAME_CHAR}*"
_TOKEN: Final = re.compile(
    rf"""(?P<comment>/\*.*?(?:\*/|\Z)) | (?P<space>[ \t\r\n\f]+) | (?P<cd><!--|-->)
    | (?P<string>"(?:[^"\\\n]|\\.)*(?:"|\Z)?|'(?:[^'\\\n]|\\.)*(?:'|\Z)?)
    | (?P<url>[uU][rR][lL]\([ \t\r\n\f]*(?!["' \t\r\n\f])(?:[^)\\]|\\.)*(?:\)|\Z))
    | (?P<number>[+-]?(?:\d*\.\d+|\d+)(?:[eE][+-]?\d+)?)(?P<unit>%|{_IDENT})?
    | (?P<function>{_IDENT}\() | (?P<ident>{_IDENT}) | (?P<at>@{_IDENT}) | (?P<hash>\#{_NAME_CHAR}+)
    | (?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
_ONE_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\r\n\f])?|(.))", re.DOTALL)
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}


class CssToken(NamedTuple):
    """A token. `kind` is space, string, url, number, function, ident, at, hash, sign or cd. `text`
    is without escapes; that of a number is its unit. `end` is the index after the block that the
    token opens, in its list.
    """

    kind: str
    text: str
    number: float = 0.0
    end: int = 0

    def is_sign(self, signs: str) -> bool:
        """Return whether the token is one of these signs."""
        return self.kind == "sign" and self.text in signs


class CssDeclaration(NamedTuple):
    """One declaration; its value has no spaces at its ends."""

    name: str
    value: tuple[CssToken, ...]
    important: bool


class CssRule(NamedTuple):
    """A rule: `at` is the name of an at-rule or "". `block` is None for one without a block."""

    at: str
    prelude: list[CssToken]
    block: list[CssToken] | None


def read_css_tokens(css: str) -> list[CssToken]:
    """The tokens of a text, without comments."""
    tokens: list[CssToken] = []
    waiting: list[tuple[str, int]] = []
    for found in _TOKEN.finditer(css):
        kind = found.lastgroup or "sign"
        text = found[0]
        if kind == "comment":
            continue
        if kind in ("number", "unit"):
            unit = _unescape(found["unit"] or "").lower()
            tokens.append(CssToken("number", unit, float(found["number"])))
            continue
        if kind == "function":
            text = text[:-1]
        if kind in ("function", "ident", "at", "hash", "string"):
            text = _unescape(text)
        opened = "(" if kind == "function" else text if kind == "sign" else ""
        if opened in _PAIRS:
            waiting.append((_PAIRS[opened], len(tokens)))
        elif waiting and kind == "sign" and text == waiting[-1][0]:
            start = waiting.pop()[1]
            tokens[start] = tokens[start]._replace(end=len(tokens) + 1)
        tokens.append(CssToken(kind, text))
    for _, start in waiting:
        tokens[start] = tokens[start]._replace(end=len(tokens))
    return tokens


def read_rules(tokens: Sequence[CssToken]) -> Iterator[CssRule]:
    """The rules of a style sheet or of a block of rules."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind in ("space", "cd"):
            at += 1
            continue
        name = token.text[1:].lower() if token.kind == "at" else ""
        start = at = at + bool(name)
        while at < len(tokens) and not tokens[at].is_sign("{"):
            if name and tokens[at].is_sign(";"):
                break
            at = max(tokens[at].end, at + 1)
        prelude = slice_tokens(tokens, start, at)
        if at < len(tokens) and tokens[at].is_sign("{"):
            end = tokens[at].end
            closed = tokens[end - 1].is_sign("}") and end - 1 > at
            yield CssRule(name, prelude, slice_tokens(tokens, at + 1, end - closed))
            at = end
        else:
            yield CssRule(name, prelude, None)
            at += 1


def read_declarations(tokens: Sequence[CssToken]) -> Iterator[CssDeclaration]:
    """Return the declarations of a block; rules inside it are left out."""
    at = 0
    while at < len(tokens):
        start = at
        while at < len(tokens) and not tokens[at].is_sign(";{"):
            at = max(tokens[at].end, at + 1)
        if at < len(tokens) and tokens[at].is_sign("{"):
            at = tokens[at].end
            continue
        declaration = _read_declaration(_trim(slice_tokens(tokens, start, at)))
        if declaration is not None:
            yield declaration
        at += 1


def _read_declaration(tokens: list[CssToken]) -> CssDeclaration | None:
    if not tokens or tokens[0].kind != "ident":
        return None
    rest = _trim(slice_tokens(tokens, 1, len(tokens)))
    if not rest or not rest[0].is_sign(":"):
        return None
    value = _trim(slice_tokens(rest, 1, len(rest)))
    depth = 0
    for token in value:
        depth += token.kind == "function" or token.is_sign("([{")
        depth -= token.is_sign(")]}")
        if depth < 0:
            return None
    important = False
    if value and value[-1].kind == "ident" and value[-1].text.lower() == "important":
        before = _trim(value[:-1])
        if before and before[-1].is_sign("!"):
            important, value = True, _trim(before[:-1])
    name = tokens[0].text
    return CssDeclaration(name if name.startswith("--") else name.lower(), tuple(value), important)


def slice_tokens(tokens: Sequence[CssToken], start: int, end: int) -> list[CssToken]:
    """Return some of the tokens, with the ends of blocks counted from the first of them."""
    return [one._replace(end=one.end - start) if one.end else one for one in tokens[start:end]]


def _trim(tokens: list[CssToken]) -> list[CssToken]:
    start = next((at for at, one in enumerate(tokens) if one.kind != "space"), len(tokens))
    end = len(tokens)
    while end > start and tokens[end - 1].kind == "space":
        end -= 1
    return slice_tokens(tokens, start, end)


def split_arguments(tokens: Sequence[CssToken], sign: str) -> list[list[CssToken]]:
    """The parts between a sign, outside functions and brackets, without spaces at their ends."""
    parts: list[list[CssToken]] = []
    start = at = 0
    while at < len(tokens):
        if tokens[at].is_sign(sign) or (sign == " " and tokens[at].kind == "space"):
            parts.append(_trim(slice_tokens(tokens, start, at)))
            start = at + 1
        at = max(tokens[at].end, at + 1)
    return [*parts, _trim(slice_tokens(tokens, start, len(tokens)))]


def function_arguments(value: Sequence[CssToken], at: int = 0) -> list[CssToken]:
    """Return what is inside a function or a pair of brackets."""
    end = value[at].end
    closed = end - 1 > at and value[end - 1].is_sign(")]}")
    return _trim(slice_tokens(value, at + 1, end - closed))


def _unescape(text: str) -> str:
    return _ONE_ESCAPE.sub(_unescape_one, text) if "\\" in text else text


def _unescape_one(found: re.Match[str]) -> str:
    if not found[1]:
        return found[2]
    number = int(found[1], 16)
    valid = 0 < number <= sys.maxunicode and not 0xD800 <= number < 0xE000
    return chr(number) if valid else "\ufffd"
