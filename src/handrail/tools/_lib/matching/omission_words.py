"""Comments that say in words, without dots, that lines are left out.

Only the deleted lines beside such a comment make it an omission. One that says what the lines do
("rest unchanged") means lines anywhere; one that only names them ("existing code") may be a heading,
and means lines only where it is all that replaces them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import PurePosixPath
from typing import Final

_MAX_LINE: Final = 120
_PROSE: Final = frozenset({".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".org"})
# Most new texts have none of these words, and are looked at no further.
_TELLING: Final = re.compile(
    r"unchanged|untouched|unmodified|same (?:as|code|implementation|logic)|\bremain|\brest\b|existing"
    r"|omitted|elided|\bsnip|as before|brevity|as[ -]is\b|no (?:other |further |more )?changes?\b|not changed|continues?\b"
    r"|unverändert|restlich|übrige|inchangé|le reste|sans changement|sin cambios|resto d[eo]|existente"
    r"|inalterad|invariat|immutat|без изменений|остальн|不变|不變|其余|其餘|剩余|省略|変更なし|残り"
    r"|既存|나머지|동일|기존|same|previous|original|other|before|above|everything|truncated",
    re.IGNORECASE,
)
_STATES: Final = re.compile(
    r"unchanged|untouched|unmodified|intact|identical|same|as before|as[ -]is\b|as (?:it|they)\b|omitted|elided"
    r"|skipped|truncated|snip|not shown|brevity|no (?:other |further |more )?changes?\b",
    re.IGNORECASE,
)
# Words that say nothing else, and those of languages whose grammar is not below.
_PLAIN: Final = re.compile(
    r"\b(?:unchanged|untouched|unmodified)\b|existing (?:code|lines|content)\b|\brest (?:stays|remains)\b|not changed"
    r"|unverändert|restlich|übrige|inchangé|le reste|sans changement|sin cambios|resto d[eo]|inalterad|invariat"
    r"|immutat|без изменений|остальн|不变|不變|其余|其餘|剩余|省略|変更なし|残り|既存|나머지|동일|기존",
    re.IGNORECASE,
)
# A comment about lines that are gone on purpose.
_GONE: Final = re.compile(
    r"remov|delet|moved|drop|replac|deprecat|no longer|\bsee\b|\bnow\b|instead|\bwas\b|\bwere\b",
    re.IGNORECASE,
)
_MOST_WORDS: Final = 8
# A mark that may also begin code, such as `*rest`, `--flag` or `'key'`, stands alone before a comment.
_MARKED: Final = re.compile(
    r"\{?/\*+|//+!?|<!--+|\(\*|\{-|\{#|<%--|@\*|\"{3}|'{3}|(?:#+|--+|;+|%+|\*+|!|'|rem|dnl)(?=\s|$)",
    re.IGNORECASE,
)
_HIDDEN: Final = re.compile(r"<!--+|\{/\*+")
_CLOSING: Final = re.compile(r"(?:\*+/\}?|--+%?>|\*\)|-\}|#\}|\*@|\"{3}|'{3}|[#*/-]+)\s*$")
_BRACKETED: Final = re.compile(r"[\[(<{](?P<words>[^\[\](){}<>]*)[\])>}]")
_EDGES: Final = " \t.,:;!…-=_*~()[]{}<>"

_WHOSE: Final = r"(?:(?:all|of|the|your|this|that|my|our|its|their)\s+)*"
_LEFT: Final = r"(?:existing|previous|original|current|old|prior|other|others|remaining|same)"
_STATE: Final = r"""(?:
    (?:(?:is|are|was|were|remains?|stays?|kept|keeps?|left|continues?|goes|go|follows?)\s+)*
    (?:
        (?:completely\s+|entirely\s+|exactly\s+)?(?:unchanged|untouched|unmodified|identical|intact|alone)
        | (?:exactly\s+)?(?:the\s+)?same(?:\s+(?:as|like)\s+{whose}(?:before|above|original|previous|now))?
        | as\s*-?\s*(?:before|above|is|was|(?:it|they)\s+(?:is|are|was|were)|in\s+{whose}original)
        | omitted | elided | skipped | truncated | snipped | not\s+shown | here | above | below
    )
    (?:\s+(?:as\s+(?:before|is)|from\s+before|for\s+(?:brevity|clarity)|here|below|above))*
)""".replace("{whose}", _WHOSE)
_THING: Final = r"""(?:
    (?:source\s+)?code | file | functions? | methods? | class(?:es)? | implementations? | contents?
    | lines? | logic | body | blocks? | statements? | cases? | branches | fields? | entries | items
    | keys | values | columns | rules | steps | tests? | imports? | routes? | handlers? | markup
    | definitions? | declarations? | properties | props | styles? | text | queries | query | page
    | component | template | config(?:uration)? | settings | options | section | document | script
    | module | program | loop | stuff | parts? | checks | arguments | parameters | everything
    | jsx | html | elements? | nodes | children | attributes | rows | state | variables | constants
    | types | exports
)"""
_ANY: Final = r"(?:\s+[\w'`]+){0,3}"


@cache
def _compiled() -> Callable[[str], bool]:
    # Compiled on first use: it takes milliseconds, and most processes never need it.
    rest = rf"{_WHOSE}(?:rest|remainder)(?:\s+of{_ANY}(?:\s+{_THING})?)?"
    listed = rf"{_WHOSE}{_LEFT}(?:\s+{_LEFT})?(?:\s+[\w'`]+)?\s+{_THING}(?:\s+{_THING})?"
    regex = re.compile(
        rf"""(?:and\s+)?(?:
            {rest}(?:[\s,:(-]+{_STATE})?
            | {listed}(?:[\s,:(-]+{_STATE})?
            | {_WHOSE}{_LEFT}(?:\s+[\w'`]+){{1,2}}[\s,:(-]+{_STATE}
            | {_WHOSE}{_THING}[\s,:(-]+{_STATE} | (?!(?:here|above|below)\b){_STATE}
            | everything(?:\s+else)?[\s,:(-]+{_STATE}
            | (?:keep|leave|retain|preserve|insert|include)s?\s+(?:{rest}|{listed}|everything(?:\s+else)?
              |{_WHOSE}{_LEFT})(?:[\s,:(-]+{_STATE})?
            | no\s+(?:other\s+|further\s+|more\s+)?changes?(?:\s+(?:here|below|above|needed|required)|\s+in{_ANY})*
            | (?:identical|same)\s+(?:to|as)\s+{_WHOSE}(?:before|above|original|previous|old)(?:\s+{_THING})?
            | snip(?:ped)? | truncated | for\s+brevity
        )\)?""",
        re.VERBOSE | re.IGNORECASE,
    )
    return lambda words: regex.fullmatch(words) is not None


def may_leave_out(text: str) -> bool:
    """Whether any line of a text can be such a comment; cheap."""
    return _TELLING.search(text) is not None


def says_left_out(line: str, path: str) -> bool:
    """Whether a line is a comment, or words in brackets, that say that lines are as they were."""
    words = _comment_words(line, path)
    return words is not None and _STATES.search(words) is not None and _compiled()(words)


def hints_at_omission(line: str, path: str) -> bool:
    """Whether a line is a short comment that names lines; in place of lines, it means them."""
    words = _comment_words(line, path)
    if words is None or len(words.split()) > _MOST_WORDS or _GONE.search(words):
        return False
    return _PLAIN.search(words) is not None or _compiled()(words)


def is_comment(line: str, path: str) -> bool:
    """Whether a line is a comment by its mark."""
    return _mark(line.strip(), path) is not None


def _mark(text: str, path: str) -> re.Match[str] | None:
    prose = PurePosixPath(path).suffix.lower() in _PROSE
    return (_HIDDEN if prose else _MARKED).match(text)


def _comment_words(line: str, path: str) -> str | None:
    if len(line) > _MAX_LINE or not may_leave_out(line):
        return None
    text = line.strip()
    mark = _mark(text, path)
    if mark is not None:
        text = _CLOSING.sub("", text[mark.end() :])
    elif (inside := _BRACKETED.fullmatch(text)) is not None and " " in inside["words"].strip():
        # One word in brackets is code: `{...rest}`, `[rest]`.
        text = inside["words"]
    else:
        return None
    return re.sub(r"\s+", " ", text.strip(_EDGES))
