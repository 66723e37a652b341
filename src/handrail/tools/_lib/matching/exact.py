"""Finds a text in a file exactly, and makes the bytes that replace it.

A newline in the text matches any line ending of the file, because the model sees lines without
their endings; everything else must agree byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, NamedTuple

from handrail.core.names.caller_words import arg_name, shown_arg
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.byte_text import ByteText, Splice
from handrail.tools._lib.matching.joining import joins_any_lines, joins_lines, joins_neighbours
from handrail.tools._lib.matching.lines import diff_lines

MOST_COUNTED: Final = 1_000
_LINES_NAMED: Final = 10
# Each place with a separate replacement takes some hundred bytes of memory.
_MOST_SINGLE: Final = 100_000


@dataclass(frozen=True, slots=True)
class FoundEdit:
    """The splices of an edit, how the text matched, and a note on that unless it matched exactly."""

    splices: tuple[Splice, ...]
    tier: str = "exact"
    how: str = ""
    replacements: int = 1
    # The new bytes of the file, if `splices` has only the first of many.
    result: bytes | None = None


def keep_mark(file: ByteText, edit: FoundEdit) -> FoundEdit:
    """Return the edit with the file's byte order mark kept once, before the text.

    The mark belongs to the file, not to its first line; only an edit of the mark alone removes it.
    """
    mark, first = file.form.bom, edit.splices[0]
    if not mark or not file.data.startswith(mark):
        return edit
    new = first.new.removeprefix(mark)
    if first.start == 0 and first.end > len(mark):
        new = mark + new
    elif first.start != len(mark):
        return edit
    result = edit.result and mark + edit.result.removeprefix(mark).removeprefix(mark)
    splices = (Splice(first.start, first.end, new), *edit.splices[1:])
    return replace(edit, splices=splices, result=result)


class Match(NamedTuple):
    """Bytes `start` to `end`, with their line endings in order; None if the text has its endings
    written out, as its replacement then does.
    """

    start: int
    end: int
    endings: tuple[bytes, ...] | None


def find_exact(file: ByteText, path: str, old: str, new: str) -> FoundEdit | None:
    """Return the edit of the only exact occurrence of the old text.

    None if there is none, or only where the edit would split lines that the call does not show.
    Raises `ambiguous` or `already_applied`, and `invalid_arguments` if whole lines would be joined.
    """
    matches = list_matches(file, old, MOST_COUNTED)
    if len(matches) > 1:
        raise ambiguous_text_problem(file, path, [match.start for match in matches])
    if not matches:
        return None
    if is_applied_around(file, matches[0], old, new):
        raise already_applied_problem(path, file.lines_between(0, matches[0].start) + 1)
    if splits_lines(file, matches[0], old, new):
        return None
    if "\n" in old and (joins_neighbours(old, new) or joins_lines(file, *matches[0][:2], old, new)):
        raise _frame_problem()
    return FoundEdit((make_splice(file, matches[0], old, new),))


def _frame_problem() -> ProblemRaised:
    old, new = arg_name("old_string"), arg_name("new_string")
    return ProblemRaised(
        "invalid_arguments",
        f"{old} begins or ends with a line feed and {new} does not, so its lines would be joined with "
        "the lines above or below",
        hint=f"begin and end {new} with line feeds as {old} does, or leave them out of both",
        field="new_string",
    )


def list_matches(file: ByteText, text: str, most: int) -> list[Match]:
    """Return the matches of the text; none if the encoding of the file lacks its characters."""
    try:
        return find_matches(file, text, most)
    except ProblemRaised:
        return []


def find_matches(file: ByteText, text: str, most: int) -> list[Match]:
    """Return up to `most` matches of the text, in order, overlapping ones included."""
    if "\r" in text:
        exact = list(islice(_exact(file, file.encode(text), None), most))
        if exact:
            return exact
        text = text.replace("\r\n", "\n")
    if "\n" not in text:
        return list(islice(_exact(file, file.encode(text), ()), most))
    lines = [file.encode(line) for line in text.split("\n")]
    if file.find(file.cr) < 0:
        endings = (file.lf,) * (len(lines) - 1)
        return list(islice(_exact(file, file.lf.join(lines), endings), most))
    return list(islice(_by_lines(file, lines), most))


def replace_everywhere(
    file: ByteText, path: str, old: str, new: str, most: int
) -> FoundEdit | None:
    """Return the edit of all exact occurrences of the old text; None if there are none.

    If all occurrences get the same bytes, `FoundEdit.splices` has only the first `most`. Raises
    `too_large` if each occurrence needs different bytes and there are too many, and
    `invalid_arguments` if whole lines would be joined.
    """
    first = next(iter(list_matches(file, old, 1)), None)
    if first is None:
        return None
    if _is_uniform(file, first, new):
        edit = _replace_alike(file, first, old, new, most)
    else:
        edit = _replace_one_by_one(file, path, old, new)
    if joins_any_lines(file, edit.splices, old, new, more=edit.result is not None):
        raise _frame_problem()
    return edit


def _replace_alike(file: ByteText, first: Match, old: str, new: str, most: int) -> FoundEdit:
    """Replace every occurrence of the bytes of the first match by the same bytes."""
    before, after = file.data[first.start : first.end], encode_replacement(file, first, old, new)
    splices: list[Splice] = []
    at = first.start
    while at >= 0 and len(splices) < most:
        splices.append(Splice(at, at + len(before), after))
        at = file.find(before, at + len(before))
    if at < 0:
        return FoundEdit(tuple(splices), replacements=len(splices))
    result = file.replace_all(before, after)
    return FoundEdit(tuple(splices), replacements=file.count(before), result=result)


def _is_uniform(file: ByteText, match: Match, new: str) -> bool:
    """Return whether all matches of a text have the bytes of this match and get the same bytes."""
    if match.endings is None:
        return True
    return ("\n" not in new and not match.endings) or file.has_one_ending


def _replace_one_by_one(file: ByteText, path: str, old: str, new: str) -> FoundEdit:
    matches = drop_overlaps(list_matches(file, old, _MOST_SINGLE + 1))
    if len(matches) > _MOST_SINGLE:
        raise ProblemRaised(
            "too_large",
            f"{arg_name('old_string')} occurs more than {_MOST_SINGLE:,} times in {path!r}, whose lines end in "
            "different ways",
            hint=f"leave line breaks out of {arg_name('old_string')} and {arg_name('new_string')}",
            field="old_string",
        )
    splices = [
        Splice(match.start, match.end, encode_replacement(file, match, old, new))
        for match in matches
    ]
    return FoundEdit(tuple(splices), replacements=len(splices))


def ambiguous_text_problem(
    file: ByteText, path: str, starts: Sequence[int], what: str | None = None
) -> ProblemRaised:
    """Return the problem of a text that occurs several times, with the lines."""
    numbers: list[int] = []
    line, at = 1, 0
    for start in starts[:_LINES_NAMED]:
        line += file.lines_between(at, start)
        at = start
        numbers.append(line)
    listed = ", ".join(map(str, numbers))
    more = ", …" if len(starts) > _LINES_NAMED else ""
    at_least = "at least " if len(starts) == MOST_COUNTED else ""
    everywhere = shown_arg("replace_all")
    alternative = f", or set {everywhere}" if everywhere else ""
    return ProblemRaised(
        "ambiguous",
        f"{what or arg_name('old_string')} is not unique in {path!r}: it occurs {at_least}{len(starts)} times, "
        f"lines {listed}{more}",
        hint=f"include more surrounding lines so that it is unique{alternative}",
        field="old_string",
    )


def already_applied_problem(path: str, line: int | None = None) -> ProblemRaised:
    """The problem of a change that was already made."""
    return ProblemRaised(
        "already_applied",
        f"{path!r} already has exactly this text" + (f", at line {line}" if line else ""),
        hint="nothing is left to do; read the file if in doubt",
    )


def is_applied_around(file: ByteText, match: Match, old: str, new: str) -> bool:
    """Return whether the new text, which contains the old text, is already around the match."""
    above, separator, below = new.partition(old)
    if not separator or not (above + below).strip():
        return False
    for result in find_matches(file, new, 2):
        if result.start <= match.start and match.end <= result.end:
            return not file.splits_word(result.end)
    return False


def drop_overlaps(matches: Sequence[Match]) -> list[Match]:
    """Return the matches that a replacement from left to right finds."""
    kept: list[Match] = []
    for match in matches:
        if not kept or match.start >= kept[-1].end:
            kept.append(match)
    return kept


def make_splice(file: ByteText, match: Match, old: str, new: str) -> Splice:
    """Return the splice that replaces one match."""
    match = _from_line_start(file, match, old, new)
    if match.endings and "\n" in new:
        # Including the ending below, lines that move to the end keep their endings.
        below = file.ending_at(match.end)
        if below is not None and len({*match.endings, below}) > 1:
            match = Match(match.start, match.end + len(below), (*match.endings, below))
            old, new = old + "\n", new + "\n"
    return Splice(match.start, match.end, encode_replacement(file, match, old, new))


def _from_line_start(file: ByteText, match: Match, old: str, new: str) -> Match:
    """The match with the indentation before it, if only the old text's first line lacks it.

    The new text brings it along, and would have it twice; below a deleted line it would be left.
    """
    deleted = not new and old.endswith("\n")
    if not (deleted or (new[:1].isspace() and not old[:1].isspace() and "\n" in old + new)):
        return match
    start = file.line_start(match.start) or 0
    before = file.shown(file.data[start : match.start])
    if not before or before.strip():
        return match
    whole = deleted or _has_whole_lines(before, old.split("\n"), new.split("\n"))
    return Match(start, match.end, match.endings) if whole else match


def _has_whole_lines(indent: str, old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether the new text has whole lines: its indented lines are unchanged, its first line
    is indented as in the file and no other is deeper, or the old line is now inside a new one.
    """
    below = [line for line in new[1:] if line.strip()]
    unchanged = set(old[1:])
    if any(line in unchanged and line[:1].isspace() for line in below):
        return True
    depth = len(new[0]) - len(new[0].lstrip())
    deepest = _smallest_indent(old[1:]) if any(map(str.strip, old[1:])) else depth
    whole = bool(below) or (len(old) > 1 and new[0] == indent + old[0])
    if whole and new[0][:depth] == indent and new[0].strip() and _smallest_indent(below) <= deepest:
        return True
    return any(
        line.strip() == old[0].strip() and _smallest_indent([line]) > depth for line in below
    )


def _smallest_indent(lines: Sequence[str]) -> int:
    return min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)


def splits_lines(file: ByteText, match: Match, old: str, new: str) -> bool:
    """Return whether the match begins or ends inside a line that the edit would split.

    A single line may be matched in part. Several lines are meant whole: the call does not show the
    rest of the first and the last line.
    """
    before, after = old.split("\n"), new.split("\n")
    if len(before) < 2:
        return False
    start = file.line_start(match.start) or 0
    end = file.line_end(match.end) or len(file.data)
    head = file.shown(file.data[start : match.start]).strip()
    rest = file.shown(file.data[match.end : end]).strip()
    return bool(
        (head and _needs_whole_line(before, after, file.splits_word(match.start)))
        or (rest and _needs_whole_line(before[::-1], after[::-1], file.splits_word(match.end)))
    )


def _needs_whole_line(before: Sequence[str], after: Sequence[str], inside_word: bool) -> bool:
    """Return whether the change of the first line needs the whole line."""
    if not before[0].strip() or before[0] == after[0]:
        return False
    first = before[0].strip()
    moved = any(line.strip() == first for line in after[1:])
    return inside_word or moved or after[0] in before[1:]


def encode_replacement(file: ByteText, match: Match, old: str, new: str) -> bytes:
    """Encode the new text for the file. Unchanged lines keep their endings; new lines take those of
    the lines that they replace, or of the line above.
    """
    encode = file.encode
    before, after = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if before == after or "\n" not in after:
        # Only the endings change, so they are written as given.
        return encode(new if before == after else after)
    endings = match.endings
    if endings is None:
        marks = ["\r\n" if line.endswith("\r") else "\n" for line in old.split("\n")[:-1]]
        endings = tuple([encode(mark) for mark in marks])
    endings = endings or (file.ending_near(match.start, match.end),)
    *lines, rest = after.split("\n")
    if len(set(endings)) == 1:
        encoded = [encode(line) + endings[0] for line in lines]
    else:
        own = _line_endings(before, after, endings)
        encoded = [encode(line) + ending for line, ending in zip(lines, own, strict=False)]
    return b"".join([*encoded, encode(rest)])


def _line_endings(before: str, after: str, endings: tuple[bytes, ...]) -> Iterator[bytes]:
    free: list[bytes] = []
    last, at = endings[0], 0
    for op in diff_lines(before.split("\n"), after.split("\n"), str).ops:
        if op.kind == "insert":
            last = free.pop(0) if free else last
            yield last
            continue
        ending = endings[at] if at < len(endings) else last
        at += 1
        if op.kind == "delete":
            free.append(ending)
        else:
            last, free = ending, []
            yield ending


def _exact(file: ByteText, needle: bytes, endings: tuple[bytes, ...] | None) -> Iterator[Match]:
    for at in file.find_all(needle):
        yield Match(at, at + len(needle), endings)


def _by_lines(file: ByteText, lines: list[bytes]) -> Iterator[Match]:
    # The longest line is searched at full speed, then its neighbours are compared.
    anchor = max(range(len(lines)), key=lambda index: len(lines[index]))
    if lines[anchor]:
        places = file.find_all(lines[anchor])
    else:
        anchor = 1
        places = (at + file.width for at in file.find_all(file.endings[-1]))
    for at in places:
        above = _upwards(file, lines[:anchor], at)
        below = _downwards(file, lines[anchor + 1 :], at + len(lines[anchor]))
        if above is not None and below is not None:
            yield Match(above.edge, below.edge, above.endings + below.endings)


class _Side(NamedTuple):
    edge: int
    endings: tuple[bytes, ...]


def _upwards(file: ByteText, lines: list[bytes], position: int) -> _Side | None:
    endings: list[bytes] = []
    for line in reversed(lines):
        ending = file.ending_before(position)
        if ending is None:
            return None
        endings.append(ending)
        position -= len(ending) + len(line)
        if position < 0 or not file.data.startswith(line, position):
            return None
    return _Side(position, tuple(reversed(endings)))


def _downwards(file: ByteText, lines: list[bytes], position: int) -> _Side | None:
    endings: list[bytes] = []
    for line in lines:
        ending = file.ending_at(position)
        if ending is None or not file.data.startswith(line, position + len(ending)):
            return None
        endings.append(ending)
        position += len(ending) + len(line)
    return _Side(position, tuple(endings))
