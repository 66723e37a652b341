"""Splits a command that cannot be parsed at blanks and operators.

Good enough to recognise a catastrophe in malformed text; never used to call a command safe.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.blocklist.program_calls import program_basename
from handrail.shell.parse.syntax import Redirect, Text, Variable, Word
from handrail.shell.tables.catastrophes import SHELLS, WRAPPERS

_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t]+)|(?P<redirect>\d*(?:&>>?|>>|>\||>&|>|<))|(?P<operator>\n|\|&|[|&;(){}`]+)"""
    r"""|(?P<single>'[^']*'?)|(?P<double>"(?:[^"\\]|\\.)*"?)|\\(?P<escaped>.|\n)"""
    r"""|\$\{?(?P<name>[A-Za-z_]\w*)\}?|(?P<plain>[^\s'"\\$|&;(){}`<>]+|.)""",
    re.DOTALL,
)
# The names are bounded and never given back: foreign text must not make this slow.
_BOMB: Final = re.compile(
    r"(?<![^\s(){}|&;])(?P<name>[^\s(){}|&;]{1,64}+)\s{0,9}+\(\s{0,9}+\)\s{0,9}+\{\s{0,9}+"
    r"(?P=name)\s{0,9}+[|&]\s{0,9}+(?P=name)\s{0,9}+&?\s{0,9}+;?\s{0,9}+\}"
)
_LOOP: Final = re.compile(
    r"\b(?:while\s{1,9}(?:true|:|\[ 1 \]|\(\(1\)\))|until\s{1,9}false|for\s{0,9}\(\(\s{0,9};\s{0,9};"
    r"\s{0,9}\)\))\s{0,9};?\s{0,9}do\b"
)
_SPAWNS: Final = re.compile(r"[^&>|<]&(?![&>])")
_WAITS: Final = re.compile(r"\b(?:wait|sleep|read|break|exit)\b")
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=.*")
_DEEPEST: Final = 3
_LONGEST: Final = 100_000


def is_fork_bomb(text: str) -> bool:
    """Whether the text contains a fork bomb: the classic function, or an endless loop that forks."""
    if _BOMB.search(text) is not None:
        return True
    bodies = [text[loop.end() :].partition("done")[0] for loop in islice(_LOOP.finditer(text), 9)]
    return any(_SPAWNS.search(body) and not _WAITS.search(body) for body in bodies)


def parse_fallback(text: str, depth: int = 0) -> FlatCommand:
    """The programs that the text seems to start."""
    found = tuple(_invocations(text[:_LONGEST], depth))
    moves = any(one.program in ("cd", "pushd") for one in found)
    if moves:
        found = tuple(replace(one, cwd=None) for one in found)
    return FlatCommand(found, changes_directory=moves)


def _invocations(text: str, depth: int) -> Iterator[Invocation]:
    piped_from: tuple[Invocation, ...] = ()
    for piped, given_words, redirects in _segments(text):
        words = _unwrapped(given_words)
        source = " ".join(word.source for word in words)
        given = piped_from if piped else ()
        one = Invocation(tuple(words), source, redirects=tuple(redirects), piped_from=given)
        piped_from = (one,)
        if words or redirects:
            yield one
        if (
            depth < _DEEPEST
            and words
            and program_basename(words[0].value or "") in (*SHELLS, "eval")
        ):
            for word in words[1:]:
                if " " in (word.value or ""):
                    yield from _invocations(word.value or "", depth + 1)


def _segments(text: str) -> Iterator[tuple[bool, list[Word], list[Redirect]]]:
    words: list[Word] = []
    redirects: list[Redirect] = []
    word: list[Text | Variable] = []
    waiting, piped = "", False

    def close() -> None:
        nonlocal waiting
        if word:
            made = Word("".join(getattr(part, "text", "$") for part in word), tuple(word))
            if waiting:
                redirects.append(Redirect(waiting, made))
            else:
                words.append(made)
            waiting = ""
            word.clear()

    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind in ("space", "redirect", "operator"):
            close()
        if kind == "redirect":
            waiting = match.group(0).lstrip("0123456789")
        elif kind == "operator":
            yield piped, words, redirects
            words, redirects = [], []
            piped = match.group(0).strip() in ("|", "|&")
        elif kind != "space":
            word += _part(match)
    close()
    yield piped, words, redirects


def _part(match: re.Match[str]) -> list[Text | Variable]:
    kind, text = match.lastgroup, match.group(0)
    if kind == "single":
        return [Text(text.strip("'"), quoted=True)]
    if kind == "double":
        return [Text(text.strip('"'), quoted=True)]
    if kind == "escaped":
        return [] if text == "\\\n" else [Text(text[1:], quoted=True)]
    if kind == "name":
        return [Variable(match.group("name"), quoted=False, plain=True)]
    return [Text(text)]


def _unwrapped(words: list[Word]) -> list[Word]:
    start = 0
    while start < len(words):
        text = words[start].value or ""
        wrapper = program_basename(text) in WRAPPERS and program_basename(text) not in (
            "sudo",
            "doas",
        )
        detail = start > 0 and (text.startswith("-") or text.isdigit())
        if not (wrapper or detail or _ASSIGNED.fullmatch(text)):
            break
        start += 1
    return words[start:]
