"""New texts that leave lines out: dots, or a comment that says so, where the old text has lines, which
would be deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from handrail.core.names.caller_words import arg_name
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.matching.ellipsis import is_elision
from handrail.tools._lib.matching.lines import LineOp, diff_lines
from handrail.tools._lib.matching.omission_words import (
    hints_at_omission,
    is_comment,
    may_leave_out,
    says_left_out,
)

# Fewer lines than this may really become a line of dots, such as a stub or a remark.
_LEAST_OMITTED: Final = 2
_BARE: Final = re.compile(r"[\[(<]?(?:\.{3,}|…)[\])>]?")
# Dots and words without a comment mark, such as `... rest unchanged`.
_SAID: Final = re.compile(
    r"\s*(?:\.{3}|…)\s?[\w ,'()-]{0,60}\b(?:rest|remaining|unchanged|existing|omitted|same as)\b"
    r"[\w ,'()-]{0,60}(?:\.{3}|…)?\s*",
    re.IGNORECASE,
)
_TELLS: Final = re.compile(
    r"\b(?:rest|remaining|remainder|unchanged|existing|omitted|same|previous|other)\b",
    re.IGNORECASE,
)
_STUB: Final = re.compile(r"\s*(?:pass|\.{3}|return);?\s*(?P<remark>(?:#|//).*)")
_BRACED: Final = re.compile(r".*\{\s*(?:/\*\s*(?:\.{3}|…)[^*]*\*/|\.{3}|…)\s*\}[\s;,)]*")
_TRAILING: Final = re.compile(
    rf".*\S\s+(?://|#|--)\s*(?:\.{{3}}|…)[\w ,'()-]{{0,30}}{_TELLS.pattern}[\w ,'()-]{{0,60}}(?:\.{{3}}|…)?\s*",
    re.IGNORECASE,
)
_PYTHON: Final = frozenset({".py", ".pyi", ".pyw", ".pyx", ".pxd"})
_PROSE: Final = frozenset({".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".org", ".tex"})
_YAML: Final = frozenset({".yaml", ".yml"})
_VARIADIC: Final = frozenset(
    {".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".m", ".mm", ".r"}
)
# Languages in which `...rest` is code.
_SPREADS: Final = frozenset(
    {".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".vue", ".svelte", ".php", ".dart"}
)
_SPREAD: Final = re.compile(r"\s*[\[({]?\.{3}[A-Za-z_$][\w$.]*(?:\([\w$, ]*\))?[\])}]?,?\s*")
_OPENS: Final = re.compile(r".*:\s*(?:#.*)?")
_DOCSTRING: Final = re.compile(r"""[rRuU]?(?:(\"{3}|'{3}).*?\1|"[^"\n]*"|'[^'\n]*')""", re.DOTALL)


class _Gap(NamedTuple):
    """Neighbouring lines that are deleted and inserted; `first` is the index of the first inserted
    line.
    """

    gone: Sequence[str]
    new: Sequence[str]
    first: int
    # Whether a kept line is next to it.
    beside: bool


def find_omission(old: str, new: str, path: str) -> str | None:
    """Return a line of the new text that stands for lines of the old text; None if there is none.

    Dots that are code or text in the language of the file do not count.
    """
    if not ("..." in new or "…" in new or may_leave_out(new)):
        return None
    before, after = old.split("\n"), new.split("\n")
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _SPREADS:
        after = ["" if _SPREAD.fullmatch(line) else line for line in after]
    leaves_out = {
        line
        for line in after
        if _is_omission(line) or says_left_out(line, path) or _is_beside_code(line, path)
    }
    hints = {line for line in after if hints_at_omission(line, path)}
    if not leaves_out and not hints:
        return None
    omitted = 0
    for gap in _gaps(diff_lines(before, after).ops):
        for at, line in enumerate(gap.new, gap.first):
            means_lines = line in leaves_out or (line in hints and _replaces_lines(gap, line))
            if means_lines and not (
                _is_known(line, before) or _is_content(before, after, at, gap, suffix)
            ):
                # A comment in place of comments leaves nothing out.
                code = [one for one in gap.gone if one.strip() and not is_comment(one, path)]
                omitted += len(code)
                if omitted >= _LEAST_OMITTED or (code and _is_all(gap, line, path)):
                    return line.strip()
                break
    return None


def omission_problem(dots: str, where: str) -> ProblemRaised:
    """Return the problem of dots that would delete the lines they stand for; `where` says where
    those lines are.
    """
    return ProblemRaised(
        "invalid_arguments",
        f"{arg_name('new_string')} has {dots!r} where {where} has lines, which would be deleted",
        hint="write out the lines that stay, or leave them out of both texts",
        field="new_string",
    )


def _is_omission(line: str) -> bool:
    return is_elision(line) or _SAID.fullmatch(line) is not None


def _is_beside_code(line: str, path: str) -> bool:
    """Whether dots, or a comment that says so, stand for a body or for more items on a line of code."""
    stub = _STUB.fullmatch(line)
    if stub is not None:
        return says_left_out(stub["remark"], path) or _is_omission(stub["remark"])
    return _BRACED.fullmatch(line) is not None or _TRAILING.fullmatch(line) is not None


def _is_all(gap: _Gap, line: str, path: str) -> bool:
    """Whether a line that says in words that lines are left out is all that replaces a line."""
    alone = [one for one in gap.new if one.strip()] == [line]
    return alone and (
        says_left_out(line, path) or (_is_omission(line) and _TELLS.search(line) is not None)
    )


def _gaps(ops: Sequence[LineOp]) -> Iterator[_Gap]:
    deleted: list[str] = []
    new: list[str] = []
    index, has_kept = 0, False
    for op in ops:
        if op.kind == "delete":
            deleted.append(op.text)
            continue
        index += 1
        if op.kind == "insert" or not op.text.strip():
            new.append(op.text)
        else:
            yield _Gap(deleted, new, index - 1 - len(new), beside=True)
            deleted, new, has_kept = [], [], True
    yield _Gap(deleted, new, index - len(new), beside=has_kept)


def _replaces_lines(gap: _Gap, line: str) -> bool:
    """Whether a line is the last new one where more lines go than other ones come."""
    new = [one for one in gap.new if one.strip()]
    gone = sum(bool(one.strip()) for one in gap.gone)
    return new[-1] == line and gone - (len(new) - 1) >= _LEAST_OMITTED


def _is_known(line: str, before: Sequence[str]) -> bool:
    """Return whether the old text has the line, possibly behind a line number or a mark."""
    dots = line.strip()
    pattern = re.compile(rf"(?:.*[^\w.…])?{re.escape(dots)}\s*")
    return any(pattern.fullmatch(old_line) for old_line in before)


def _is_content(
    before: Sequence[str], after: Sequence[str], at: int, gap: _Gap, suffix: str
) -> bool:
    """Return whether bare dots are code or text here."""
    line = after[at]
    if _BARE.fullmatch(line.strip()) is None:
        return False
    above = [text for text in after[:at] if text.strip()]
    below = next((text for text in after[at + 1 :] if text.strip()), None)
    if _is_prompt(line, above):
        return True
    if suffix in _PROSE:
        alone = all(map(_is_omission, filter(str.strip, gap.new)))
        return not (alone and gap.beside) or _is_body(line, above, below)
    if suffix in _YAML:
        ends = below is None or below.startswith(("---", "%", "#"))
        marked = any(text.startswith("---") for text in (*before, *above))
        return line.rstrip() == "..." and ends and marked
    if suffix in _VARIADIC:
        return _is_last_item(above, below, ")")
    python = not suffix or suffix in _PYTHON
    return python and line.strip() == "..." and _is_statement(line, before, above, below)


def _is_statement(
    line: str, before: Sequence[str], above: Sequence[str], below: str | None
) -> bool:
    """Whether dots are a whole body in Python, with or without its header, or the end of a type."""
    inside = line[0].isspace() or any(text[:1].isspace() for text in before[1:])
    return (
        _is_body(line, above, below)
        or _is_last_item(above, below, "]")
        or (inside and below is None and not any(map(_is_code, above)))
    )


def _is_prompt(line: str, above: Sequence[str]) -> bool:
    """Return whether dots are the second prompt of an interactive example."""
    indent = _indent(line)
    for text in reversed(above):
        if text.startswith(">>>", indent) and _indent(text) == indent:
            return True
        if not text.startswith("...", indent) or _indent(text) != indent:
            return False
    return False


def _is_body(line: str, above: Sequence[str], below: str | None) -> bool:
    """Whether dots are the only statement of a Python block, besides a docstring and comments."""
    indent = _indent(line)
    if below is not None and _indent(below) >= indent:
        return False
    start = len(above)
    while start and _indent(above[start - 1]) >= indent:
        start -= 1
    if not start or _OPENS.fullmatch(above[start - 1]) is None:
        return False
    inside = "\n".join(filter(_is_code, above[start:])).strip()
    return not inside or _DOCSTRING.fullmatch(inside) is not None


def _is_last_item(above: Sequence[str], below: str | None, closing: str) -> bool:
    """Return whether dots are the last item of a list over several lines."""
    return (
        below is not None
        and below.lstrip().startswith(closing)
        and bool(above)
        and above[-1].rstrip().endswith(",")
    )


def _is_code(line: str) -> bool:
    return not line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
