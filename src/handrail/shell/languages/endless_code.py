"""Code of other languages that prints without end: a loop that never stops and never waits."""

from __future__ import annotations

import re
from typing import Final

# The head of a loop that its condition never ends.
ENDLESS_LOOP: Final = re.compile(
    r"\bwhile\s*\(?\s*(?:1|true|True)\s*\)?|\bfor\s*\(\s*;\s*(?:1|true)?\s*;[^;)]{0,40}\)|\bloop\s*(?:\{|do\b)|\bfor\s*\{"
)
_LOOP: Final = re.compile(
    ENDLESS_LOOP.pattern + r"|\bwhile\s*\(?\s*(?:\[1\]|:)|\buntil\s*\(?\s*(?:0|false)\b|\bforever\b"
)
_PRINTS: Final = re.compile(
    r"\b(?:print\w*|puts|say|echo|write\w*|putStr\w*|fwrite|fputs|console\.log|append\w*|display|syswrite)\b"
)
# It ends, or waits for something.
_STOPS: Final = re.compile(
    r"\b(?:break|last|exit|quit|return|raise|die|throw|sleep|usleep|wait\w*|input|readline|getline|read|recv|accept"
    r"|gets|select|next|setTimeout|await|time|date|counter|count|len|size|stat)\b|<STDIN>|<>|[<>]=?\s*\d"
)
# It opens a file to write to, or names one for its output: `open("x", "w")`, `print > "x"`.
_FILE: Final = re.compile(
    r"\bopen\w*\s*\(?[^;\n]{0,80}?[\"'](?:[wa]b?\+?|>{1,2}[^\"']*)[\"']|\b(?:write|append)File\w*|createWriteStream"
    r"|file_put_contents|write_text|print[^;}\n]{0,200}?>{1,2}\s*[\"']"
)
# It keeps what it makes.
_GROWS: Final = re.compile(
    r"\b(?:append|push|extend|concat|unshift)\s*\(|<<\s*(?:''|\w+\s*\*)|\*=\s*\w|\+=\s*(?:''|\w+\s*[*.])|\b\w*alloc\w*\s*\(|\[\]\s*=\s*(?:''|str_repeat)"
)
_TEXT: Final = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_LONGEST: Final = 4_000


def prints_without_end(code: str) -> bool:
    """Whether code prints in a loop that nothing ends."""
    plain = _TEXT.sub("''", code[:_LONGEST])
    return (
        _LOOP.search(plain) is not None
        and _PRINTS.search(plain) is not None
        and _STOPS.search(plain) is None
    )


def fills_memory(code: str) -> bool:
    """Whether code keeps ever more in a loop that nothing ends."""
    plain = _TEXT.sub("''", code[:_LONGEST])
    loop = _LOOP.search(plain)
    rest = plain[loop.end() :] if loop is not None else ""
    return _GROWS.search(rest) is not None and _STOPS.search(rest) is None


def writes_file(code: str) -> bool:
    """Whether code opens a file to write to."""
    return _FILE.search(code[:_LONGEST]) is not None
