"""Places an (old, new) pair of texts that is not in the file exactly, and makes its splices.

The order is fixed: blanks ignored, then the pair with a transcription error repaired, then
typography, then elisions, then comments. The first reading that fits anywhere decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from handrail.core.names.caller_words import arg_name
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.byte_text import ByteText, Splice
from handrail.tools._lib.matching.candidates import Tier, find_candidates_over
from handrail.tools._lib.matching.ellipsis import find_elided
from handrail.tools._lib.matching.escape_repairs import Repair
from handrail.tools._lib.matching.exact import (
    FoundEdit,
    Match,
    already_applied_problem,
    ambiguous_text_problem,
    encode_replacement,
    find_exact,
    list_matches,
)
from handrail.tools._lib.matching.indent_mapping import map_indents
from handrail.tools._lib.matching.input_repairs import find_repairs
from handrail.tools._lib.matching.lines import (
    FileLines,
    LineBlock,
    LineOp,
    PairLines,
    PlacementHints,
    diff_lines,
    diff_texts,
    shared_ends,
    split_pair,
)
from handrail.tools._lib.matching.normalize import (
    DASHES,
    DOUBLE,
    SINGLE,
    UNSEEN,
    SpelledPair,
    fold_typography,
    respell,
)
from handrail.tools._lib.matching.placement import (
    LEAST_EVIDENCE,
    Placement,
    ambiguous_problem,
    find_block,
    find_comment_drift,
    made_before_problem,
    no_match_problem,
)
from handrail.tools._lib.matching.replay import replay_block

# The lines of a file take several times its size in memory.
_MOST_BYTES: Final = 20_000_000


def find_similar(file: ByteText, path: str, old: str, new: str) -> FoundEdit:
    """Return the edit of the only place of a pair whose old text is not in the file exactly.

    Raises `no_match`, `ambiguous` or `already_applied`.
    """
    if len(file.data) > _MOST_BYTES:
        raise ProblemRaised(
            "no_match",
            f"{arg_name('old_string')} is not in {path!r}, which is too large to look for anything like it",
            hint="copy the text exactly, blanks and punctuation included",
            field="old_string",
        )
    lines = FileLines(file, path)
    texts = split_pair(old, new)
    block = diff_lines(*texts)
    if not block.changes:
        raise _no_change(path)
    repairs = list(find_repairs(old, new))
    edit = (
        _by_lines(lines, texts, repairs, find_block(lines, block, loosest=Tier.WHITESPACE))
        or _place_pair(lines, texts, find_block(lines, block))
        or _repaired(lines, texts, repairs, Tier.TYPOGRAPHY)
        or _fragment(lines, old, new)
        or _find_elided_pair(lines, texts)
        or _place_pair(lines, texts, find_comment_drift(lines, block))
    )
    if edit is None:
        raise _parts_of_lines(file, path, list_matches(file, old, 1)) or _nowhere(
            lines, block, old, new
        )
    return edit


def _nowhere(lines: FileLines, block: LineBlock, old: str, new: str) -> ProblemRaised:
    missing = no_match_problem(lines, block, f"{arg_name('old_string')} was")
    if missing.problem.code != "no_match" or not is_distinctive(old, new):
        return missing
    line = find_single_line(lines.file, list_matches(lines.file, new, 2))
    return (
        made_before_problem(lines.path, line, f"{arg_name('old_string')} was")
        if line is not None
        else missing
    )


def _parts_of_lines(file: ByteText, path: str, matches: Sequence[Match]) -> ProblemRaised | None:
    if not matches:
        return None
    line = file.lines_between(0, matches[0].start) + 1
    return ProblemRaised(
        "no_match",
        f"{arg_name('old_string')} was found at line {line} of {path!r} only as a part of longer lines, which "
        "the edit would tear apart",
        hint="read the lines and give the first and the last one whole",
        field="old_string",
    )


def _place_pair(
    lines: FileLines, texts: PairLines, placement: Placement | None, how: str = ""
) -> FoundEdit | None:
    if placement is None:
        return None
    if is_applied_at(lines, *texts, placement):
        raise already_applied_problem(lines.path, placement.first + 1)
    splices = map_indents(lines, texts, placement, repaired=bool(how))
    if not splices:
        raise already_applied_problem(lines.path, placement.first + 1)
    words = [f"{how} undone"] if how else []
    if placement.tier is not Tier.EXACT:
        words.append(f"{placement.tier.words} ignored")
    tier = placement.tier.name.lower()
    return FoundEdit(splices, f"repaired+{tier}" if how else tier, ", ".join(words))


def _by_lines(
    lines: FileLines, texts: PairLines, repairs: Sequence[list[Repair]], as_given: Placement | None
) -> FoundEdit | None:
    """Return the edit of the text as given or with errors undone, whichever agrees more exactly."""
    if as_given is not None and as_given.tier < Tier.INDENTATION:
        return _place_pair(lines, texts, as_given)
    stricter = Tier.WHITESPACE if as_given is None else Tier(as_given.tier - 1)
    return (
        _repaired(lines, texts, repairs, stricter, as_given)
        or _place_pair(lines, texts, as_given)
        or _inside_line(lines, repairs)
    )


def _repaired(
    lines: FileLines,
    texts: PairLines,
    repairs: Sequence[list[Repair]],
    loosest: Tier,
    as_given: Placement | None = None,
) -> FoundEdit | None:
    """Return the edit with one error undone, or else with two; raises `ambiguous` if the best
    repairs have different places.
    """
    for alternatives in repairs:
        placed = [
            (repair, at) for repair in alternatives if (at := _repair(lines, repair, loosest))
        ]
        if not placed:
            continue
        tier = min(at.tier for _, at in placed)
        best = [pair for pair in placed if pair[1].tier is tier]
        places = {at.first for _, at in best} | ({as_given.first} if as_given else set())
        if len(places) > 1:
            raise ambiguous_problem(lines, diff_lines(*texts), sorted(places))
        return _one_reading(lines, best)
    return None


def _one_reading(lines: FileLines, best: Sequence[tuple[Repair, Placement]]) -> FoundEdit | None:
    """The edit that all repairs of a place result in; raises `no_match` if the results differ."""
    edits: list[FoundEdit | None] = []
    for repair, at in best:
        texts = split_pair(repair.old, repair.new)
        if not diff_lines(*texts).changes:
            raise _no_change(lines.path)
        edits.append(_place_pair(lines, texts, at, repair.how))
    if len({edit.splices for edit in edits if edit is not None}) > 1:
        raise ProblemRaised(
            "no_match",
            f"{arg_name('old_string')} fits line {best[0][1].first + 1} of {lines.path!r}, but what {arg_name('new_string')} "
            "means there can be read in two ways",
            hint="give both exactly as they stand, or should stand, in the file",
            field="new_string",
        )
    return edits[0]


def _repair(lines: FileLines, repair: Repair, loosest: Tier) -> Placement | None:
    block = diff_texts(repair.old, repair.new)
    placed = find_block(lines, block, PlacementHints(line=repair.line), loosest=loosest)
    if placed is None or (repair.there and placed.first + 1 != repair.line):
        return None
    return placed


def _inside_line(lines: FileLines, undone: Sequence[list[Repair]]) -> FoundEdit | None:
    """A repaired text that is a part of a line, and is in one place."""
    for repair in [
        one for several in undone for one in several if one.line is None and not one.whole
    ]:
        found = find_exact(lines.file, lines.path, repair.old, repair.new)
        if found is not None and repair.old != repair.new:
            return FoundEdit(found.splices, "repaired+exact", f"{repair.how} undone")
    return None


def _fragment(lines: FileLines, old: str, new: str) -> FoundEdit | None:
    splices = find_fragments(lines, old, new)
    if len(splices) > 1:
        raise ambiguous_text_problem(lines.file, lines.path, [splice.start for splice in splices])
    if not splices:
        return None
    return FoundEdit(
        tuple(splices), Tier.TYPOGRAPHY.name.lower(), f"{Tier.TYPOGRAPHY.words} ignored"
    )


def _find_elided_pair(lines: FileLines, texts: PairLines) -> FoundEdit | None:
    pieces = find_elided(lines, texts)
    if not pieces:
        return None
    if any(is_applied_at(lines, block.old, block.new, placed) for block, placed in pieces):
        raise already_applied_problem(lines.path, pieces[0][1].first + 1)
    splices = [splice for block, placed in pieces for splice in replay_block(lines, block, placed)]
    return FoundEdit(tuple(splices), "elided", "pieces placed around what was left out")


def _no_change(path: str) -> ProblemRaised:
    return ProblemRaised(
        "invalid_arguments",
        f"{arg_name('old_string')} and {arg_name('new_string')} differ only in blanks at line ends, so {path!r} would not "
        "change",
        field="new_string",
    )


def is_distinctive(old: str, new: str) -> bool:
    """Return whether the new text of a part of one line is unlikely to be in a file by chance."""
    fresh = different_part(old, new).strip()
    return "\n" not in old + new and len(new.strip()) >= LEAST_EVIDENCE and bool(fresh)


def find_single_line(file: ByteText, matches: Sequence[Match]) -> int | None:
    """Return the line of the only match, unless a word continues at one of its ends."""
    if len(matches) != 1 or file.splits_word(matches[0].start) or file.splits_word(matches[0].end):
        return None
    return file.lines_between(0, matches[0].start) + 1


def is_applied_at(
    file: FileLines, old: Sequence[str], new: Sequence[str], placement: Placement
) -> bool:
    """Return whether the new lines, which include all old ones, are already at a place."""
    block = diff_lines(old, new, str.strip)
    added = [op for op in block.ops if op.kind == "insert" and op.text.strip()]
    if not added or any(op.kind == "delete" for op in block.ops):
        return False
    result = LineBlock(tuple([LineOp("keep", line) for line in new]))
    loosest = max(Tier.LINE_ENDS, placement.tier)
    candidates = find_candidates_over(file, result, placement.first, placement.last)
    return any(candidate.tier <= loosest for candidate in candidates)


_LEAST: Final = 4
_MOST: Final = 1_000
_UNSEEN: Final = f"[{UNSEEN}]*"
_ALSO: Final = {
    "'": f"['{SINGLE}]",
    '"': f'["{DOUBLE}]',
    "-": f"[-{DASHES}]",
    " ": "[ \u00a0\u2000-\u200a\u202f\u205f\u3000]",
}


def find_fragments(file: FileLines, old: str, new: str) -> list[Splice]:
    """Return the splices of each place of the text, ignoring typography."""
    if "\n" in old or len(old.strip()) < _LEAST or (file.text.isascii() and old.isascii()):
        return []
    head, rest = shared_ends(old, new)
    tail = len(old) - rest
    parts = (old[:head], old[head:tail], old[tail:])
    pattern = re.compile("".join([f"({_spelled(part)})" for part in parts]))
    return list(islice(_splices(file, pattern, old, different_part(old, new)), _MOST))


def different_part(old: str, new: str) -> str:
    """Return the part of the new text that differs from the old text."""
    head, rest = shared_ends(old, new)
    return new[head : len(new) - rest]


def _splices(file: FileLines, pattern: re.Pattern[str], old: str, fresh: str) -> Iterator[Splice]:
    encode = file.file.form.encode_part
    for hit in pattern.finditer(file.text):
        if _is_word_boundary(file.text, hit.start()) and _is_word_boundary(file.text, hit.end()):
            start = file.starts[0] + len(encode(file.text[: hit.start(2)]))
            match = Match(start, start + len(encode(hit[2])), ())
            text = respell([fresh], [SpelledPair(old, hit[0])])[0]
            yield Splice(match.start, match.end, encode_replacement(file.file, match, hit[2], text))


def _spelled(text: str) -> str:
    return "".join([_ALSO.get(char, re.escape(char)) + _UNSEEN for char in fold_typography(text)])


def _is_word_boundary(text: str, position: int) -> bool:
    """Return whether no word continues across a position."""
    pair = text[max(position - 1, 0) : position + 1]
    return not (0 < position < len(text) and all(char.isalnum() or char == "_" for char in pair))
