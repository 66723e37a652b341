"""Leftovers of how a new text was passed on, which one of its lines is enough to recognise: tags,
the token that ends a message, half a fence, the marks of added lines, a line number, escapes.

Each counts only if the old text has none, and if the old text shows what is meant without it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from handrail.tools._lib.matching.indentation import leading_blanks

_CALL_TAGS: Final = "new_string|new_str|newString|old_string|old_str|oldString"
_OTHER_TAGS: Final = "parameter|invoke|function_calls|tool_call|tool_use"
_CLOSING: Final = re.compile(rf"</(?P<name>(?:\w+:)?(?:{_CALL_TAGS}|{_OTHER_TAGS}))>\s*")
_OPENING: Final = re.compile(rf"\s*<(?P<name>{_CALL_TAGS})>")
_TOKEN: Final = re.compile(r"<\|[a-z][a-z0-9_]*\|>\s*$")
_HALF_CONFLICT: Final = re.compile(r"<{5,9} ?SEARCH|>{5,9} ?REPLACE")
_FENCE: Final = re.compile(r"(?:`{3,}|~{3,})[\w+#.-]*[ \t]*")
_NUMBER: Final = re.compile(r"[ \t]*L?(\d{1,9})(?:\t|[ \t]*→|[ \t]?[|│][ ]?|:[ ]?)(?P<text>.*)")
_ENTITY: Final = re.compile(r"&(?:lt|gt|amp|quot);")
_CHARACTERS: Final = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"'}
_COMMENT: Final = re.compile(r"\s*(?:[*#]|//|/\*|--|;)")
_WORD: Final = re.compile(r"\s*(?:\w+|\S)")
_MARKUP: Final = re.compile(
    r"\.(?:x?html|htm|xml|xsl|xsd|svg|vue|svelte|xaml|plist|resx|csproj|props|jsp|erb|ejs|hbs|j2|jinja2?|twig|php|po|snap"
    r"|launch|config|tmpl)"
)
# In these, a quote that is escaped outside of a string has a meaning.
_ESCAPING: Final = frozenset({".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".vim", ".el", ""})
# A deeper indentation than that of an operator at the start of a line.
_LEAST_INDENT: Final = 2
_NEAR: Final = 3


class NewText(NamedTuple):
    """The non-blank lines of a pair, in a file with this suffix; `line` is where they begin, and
    `whole` whether they are whole lines there.
    """

    before: Sequence[str]
    after: Sequence[str]
    suffix: str
    line: int | None
    whole: bool


def find_leftover(
    old: str, new: str, path: str, line: int | None = None, *, whole: bool = True
) -> str | None:
    """Return what the new text has left over, in words; None if nothing."""
    before, after = _solid(old), _solid(new)
    if not before or not after:
        return None
    text = NewText(before, after, PurePosixPath(path).suffix.lower(), line, whole)
    return next((what for what, has in _CHECKS.items() if has(text)), None)


def _solid(text: str) -> list[str]:
    return [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]


def _has_tag(text: NewText) -> bool:
    new, old = "\n".join(text.after), "\n".join(text.before)
    opening = _OPENING.match(new)
    if opening is not None and opening[0].strip() not in old:
        return True
    closing = next((one for one in _CLOSING.finditer(new) if one.end() == len(new)), None)
    if closing is None or closing[0].strip() in old:
        return False
    name = closing["name"]
    if _MARKUP.fullmatch(text.suffix) and re.fullmatch(_CALL_TAGS, name) is None:
        return False
    return new.count(f"<{name}") < new.count(f"</{name}>")


def _has_wrapper(text: NewText) -> bool:
    if _MARKUP.fullmatch(text.suffix) or "<![CDATA[" in "".join(text.before):
        return False
    return text.after[0].startswith("<![CDATA[") and text.after[-1].rstrip().endswith("]]>")


def _has_token(text: NewText) -> bool:
    found = _TOKEN.search(text.after[-1])
    return found is not None and not any(found[0].strip() in line for line in text.before)


def _has_half_conflict(text: NewText) -> bool:
    return any(_HALF_CONFLICT.fullmatch(line.strip()) for line in text.after) and not any(
        _HALF_CONFLICT.fullmatch(line.strip()) for line in text.before
    )


def _has_half_fence(text: NewText) -> bool:
    fences = [at for at, line in enumerate(text.after) if _FENCE.fullmatch(line)]
    if len(fences) != 1 or any(_FENCE.fullmatch(line.strip()) for line in text.before):
        return False
    return len(text.after) > 1 and fences[0] in (0, len(text.after) - 1)


def _has_added_marks(text: NewText) -> bool:
    """Whether only lines that are added have a mark, and all others are old lines, with the blank
    before them of a diff or without it.
    """
    marked = [line for line in text.after if line[0] == "+"]
    rest = [line for line in text.after if line[0] != "+"]
    if not marked or not text.whole or any(line[0] == "+" for line in text.before):
        return False
    if rest and all(line in text.before for line in rest):
        return _are_as_deep(marked, text.before)
    if rest:
        return all(line[0] == " " and line[1:] in text.before for line in rest)
    known = {line.strip() for line in text.before}
    return any(line[1:].strip() in known for line in marked) or _are_as_deep(marked, text.before)


def _are_as_deep(marked: Sequence[str], before: Sequence[str]) -> bool:
    depths = [leading_blanks(line[1:]) for line in marked if line[1:].strip()]
    known = {leading_blanks(line) for line in before}
    deep = all("\t" in depth or len(depth) >= _LEAST_INDENT for depth in depths)
    return deep and any(depth in known for depth in depths)


def _has_numbers(text: NewText) -> bool:
    """Whether all lines have their numbers, the first that of its line of the file."""
    found = [_NUMBER.fullmatch(line) for line in text.after]
    marked = [one for one in found if one is not None]
    if len(marked) != len(found) or int(marked[0][1]) != text.line or not text.whole:
        return False
    if any(_NUMBER.fullmatch(line) for line in text.before):
        return False
    if not all(0 < int(two[1]) - int(one[1]) <= _NEAR for one, two in pairwise(marked)):
        return False
    begin = {_begin(line) for line in text.before}
    return any(_begin(one["text"]) in begin for one in marked)


def _begin(line: str) -> str:
    found = _WORD.match(line)
    return found[0] if found else ""


def _has_entities(text: NewText) -> bool:
    """Whether code has an entity for a sign that the old text has as it is in the same place."""
    if _MARKUP.fullmatch(text.suffix) or any(map(_ENTITY.search, text.before)):
        return False
    return any(
        _is_known(line, found, _CHARACTERS[found[0]], text.before)
        for line in text.after
        if _COMMENT.match(line) is None and "</" not in line and "/>" not in line
        for found in _ENTITY.finditer(line)
        if not any(line[: found.start()].count(quote) % 2 for quote in "\"'`")
    )


def _has_escaped_quotes(text: NewText) -> bool:
    """Whether every quote is escaped, and the old text has one that is not in the same place."""
    if text.suffix in _ESCAPING or not text.whole:
        return False
    return any(_is_escaped(text, quote) for quote in "\"'")


def _is_escaped(text: NewText, quote: str) -> bool:
    escaped = re.compile(rf"\\{quote}")
    new = "\n".join(text.after)
    if not escaped.search(new) or any(map(escaped.search, text.before)):
        return False
    if new.count(quote) != len(escaped.findall(new)):
        return False
    return any(
        _is_known(line, found, quote, text.before)
        for line in text.after
        for found in escaped.finditer(line)
    )


def _is_known(line: str, found: re.Match[str], plain: str, before: Sequence[str]) -> bool:
    part = line[max(found.start() - _NEAR, 0) : found.start()] + plain
    return len(part) > 1 and any(part in one for one in before)


_CHECKS: Final[dict[str, Callable[[NewText], bool]]] = {
    "a tag of the call": _has_tag,
    "a CDATA wrapper": _has_wrapper,
    "a token that ends a message": _has_token,
    "the marks of a search and a replacement": _has_half_conflict,
    "one end of a code fence": _has_half_fence,
    "the marks of a diff": _has_added_marks,
    "line numbers": _has_numbers,
    "HTML entities": _has_entities,
    "escaped quotes": _has_escaped_quotes,
}
