"""Edits whose old text is not quite the file's; each has one right outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tests.tools.editing_cases.model import (
    Case,
    Change,
    changed,
    common_change,
    data,
    edit_case,
    naming_change,
    patch_case,
    pick,
)
from tests.tools.editing_cases.sources import Source, sources

# How a line is in the file, and how a call writes it.
DRIFTS: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    "trailing": (lambda line: f"{line}  ", str),
    "curly": (lambda line: f"{line} \u201cq\u201d it\u2019s", lambda line: f'{line} "q" it\'s'),
    "dash": (lambda line: f"{line} x \u2014 y", lambda line: f"{line} x - y"),
    "no-break": (lambda line: f"{line} one\u00a0two", lambda line: f"{line} one two"),
    "inner": (lambda line: f"{line} a  =   b", lambda line: f"{line} a = b"),
    "tight": (lambda line: f"{line} f(a,b)", lambda line: f"{line} f(a, b)"),
    "unseen": (lambda line: f"{line} zero\u200bwidth", lambda line: f"{line} zerowidth"),
}


def edit_cases() -> Iterator[Case]:
    """All of them."""
    for number, source in enumerate(sources()):
        for make in _MAKERS:
            yield from make(source, number)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines)


def _depth(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _clean(source: Source, number: int) -> Iterator[Case]:
    change = naming_change(source, number)
    at = change.first
    old = _joined(source.lines[at - 1 : at + 2])
    new = _joined([source.lines[at - 1], *change.new, source.lines[at + 1]])
    for how, ending in {"LF": "\n", "CRLF": "\r\n"}.items():
        yield edit_case(
            "clean edit",
            f"{how} {source.path}",
            source.path,
            data(source.lines, ending),
            (old, new),
            data(changed(source.lines, change), ending),
        )
    marked = b"\xef\xbb\xbf" + data(source.lines)
    yield edit_case(
        "clean edit",
        f"mark {source.path}",
        source.path,
        marked,
        (old + " ", new),
        b"\xef\xbb\xbf" + data(changed(source.lines, change)),
    )


def _kept(source: Source, number: int) -> Iterator[Case]:
    """A line that the call writes otherwise stays, moves, or is wrapped: its bytes stay."""
    at = source.naming(*pick(number))
    depth = _depth(source.lines[at])
    for step, (how, (own, said)) in enumerate(DRIFTS.items()):
        name = f"{how} {source.path}"
        file = [*source.lines[: at + 1], own(f"{depth}note {number}"), *source.lines[at + 1 :]]
        call = [*source.lines[: at + 1], said(f"{depth}note {number}"), *source.lines[at + 1 :]]
        old = call[at - 1 : at + 3]
        before = data(file)
        fresh = f"{depth}fresh line"
        stays = [*old[:3], fresh, *old[3:]]
        after = data([*file[: at + 2], fresh, *file[at + 2 :]])
        yield edit_case(
            "kept beside an insertion",
            name,
            source.path,
            before,
            (_joined(old), _joined(stays)),
            after,
        )
        changes = [old[0], f"{depth}other", *old[2:]]
        yield edit_case(
            "kept beside a change",
            name,
            source.path,
            before,
            (_joined(old), _joined(changes)),
            data(changed(file, Change(at, 1, (f"{depth}other",)))),
        )
        moves = [old[0], old[2], old[1], old[3]]
        swapped = [*file[:at], file[at + 1], file[at], *file[at + 2 :]]
        yield edit_case(
            "moved line", name, source.path, before, (_joined(old), _joined(moves)), data(swapped)
        )
        if step % 2 == number % 2:
            continue
        block = [f"{depth}first()", own(f"{depth}second"), f"{depth}third()", f"{depth}fourth()"]
        spoken = [block[0], said(f"{depth}second"), *block[2:]]
        whole = data([*source.lines[:at], *block, *source.lines[at:]])
        moved = [*spoken[2:], *spoken[:2]]
        right = data([*source.lines[:at], *block[2:], *block[:2], *source.lines[at:]])
        yield edit_case(
            "moved block", name, source.path, whole, (_joined(spoken), _joined(moved)), right
        )
        unit = "\t" if depth.startswith("\t") else "    "
        wraps = [f"{depth}when ready:", *[unit + line for line in spoken]]
        # Whoever indents a line anew does not keep blanks at its end.
        deeper = [unit + line.rstrip() for line in block]
        right = data([*source.lines[:at], wraps[0], *deeper, *source.lines[at:]])
        yield edit_case(
            "wrapped lines", name, source.path, whole, (_joined(spoken), _joined(wraps)), right
        )


def _changed_inside(source: Source, number: int) -> Iterator[Case]:
    """One word of a line changes that the call writes otherwise: the rest keeps its bytes."""
    at = source.naming(*pick(number))
    depth = _depth(source.lines[at])
    for how, (own, said) in DRIFTS.items():
        if how == "trailing":
            continue
        before, new = f"{depth}put({number})", f"{depth}take({number})"
        file = [*source.lines[:at], own(before), *source.lines[at:]]
        around = source.lines[at - 1], source.lines[at]
        pair = (
            _joined([around[0], said(before), around[1]]),
            _joined([around[0], said(new), around[1]]),
        )
        after = data(changed(file, Change(at, 1, (own(new),))))
        name = f"{how} {source.path}"
        yield edit_case("changed inside a line", name, source.path, data(file), pair, after)
        patch = [
            f"--- a/{source.path}",
            f"+++ b/{source.path}",
            "@@ @@",
            f" {around[0]}",
            f"-{said(before)}",
            f"+{said(new)}",
            f" {around[1]}",
        ]
        yield patch_case(
            "changed inside a line",
            f"patch {name}",
            patch,
            {source.path: data(file)},
            {source.path: after},
        )
        # Both ends of the line change, and one line becomes two.
        ends = f"{said(new)} end"
        pair = (pair[0], _joined([around[0], ends, f"{depth}fresh()", around[1]]))
        after = data(changed(file, Change(at, 1, (f"{own(new)} end", f"{depth}fresh()"))))
        yield edit_case("changed at both ends", name, source.path, data(file), pair, after)


def _twins(source: Source, number: int) -> Iterator[Case]:
    block = ("begin shared()", "mark = 1", "finish shared()")
    shapes: dict[str, Callable[[str], str]] = {
        "trailing": lambda line: f"    {line}  ",
        "deeper": lambda line: f"        {line}",
        "tabs": lambda line: f"\t{line}",
        "wide": lambda line: "    " + line.replace(" = ", "  =  "),
    }
    at = source.common(*pick(number))
    said = ["  " + block[0], "    " + block[1], "    " + block[2]]
    new = [said[0], "    mark = 2", said[2]]
    pairs = [("trailing", "deeper"), ("deeper", "tabs"), ("tabs", "trailing"), ("wide", "deeper")]
    for one, two in pairs:
        first, second = ([shapes[shape](line) for line in block] for shape in (one, two))
        whole = [*source.lines[:3], *first, *source.lines[3:at], *second, *source.lines[at:]]
        yield edit_case(
            "edit: twins but for blanks",
            f"{one}, {two} {source.path}",
            source.path,
            data(whole),
            (_joined(said), _joined(new)),
            None,
        )
    plain = ["    " + line for line in block]
    twin = [shapes["trailing"](line) for line in block]
    whole = [*source.lines[:3], *plain, *source.lines[3:at], *twin, *source.lines[at:]]
    yield edit_case(
        "edit: literal beside a twin",
        source.path,
        source.path,
        data(whole),
        (_joined(plain), _joined(plain).replace("1", "2")),
        data(changed(whole, Change(4, 1, ("    mark = 2",)))),
    )


def _refused(source: Source, number: int) -> Iterator[Case]:
    change = naming_change(source, number)
    at = change.first
    around = source.lines[at - 1 : at + 2]
    new = [around[0], *change.new, around[2]]
    pair = (_joined(around), _joined(new))
    drifted = changed(source.lines, Change(at, 1, (source.lines[at] + " otherwise",)))
    yield edit_case(
        "edit: changed since",
        f"target {source.path}",
        source.path,
        data(drifted),
        (_joined([around[0] + " ", *around[1:]]), pair[1]),
        None,
    )
    yield edit_case(
        "edit: changed since",
        f"applied {source.path}",
        source.path,
        data(changed(source.lines, change)),
        pair,
        None,
    )
    common = common_change(source, *pick(number))
    lines = source.lines[common.first - 1 : common.first + 2]
    yield edit_case(
        "edit: changed since",
        f"twelve places {source.path}",
        source.path,
        data(source.lines),
        (_joined(lines), _joined([lines[0], *common.new, lines[2]])),
        None,
    )
    invented = [around[0], source.lines[at].replace("e", "a"), around[2]]
    yield edit_case(
        "edit: changed since",
        f"invented {source.path}",
        source.path,
        data(source.lines),
        (_joined(invented), pair[1]),
        None,
    )


_MAKERS = (_clean, _kept, _changed_inside, _twins, _refused)
