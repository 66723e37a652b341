"""Patches that say where they belong, in ways that models write; each has one right outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.tools.editing_cases.model import (
    Case,
    Change,
    body,
    changed,
    common_change,
    data,
    envelope,
    hunk,
    naming_change,
    patch_case,
    pick,
    text,
    unified,
    update,
)
from tests.tools.editing_cases.sources import INNERS, OUTERS, Source, sources

PLAIN = {"src/app.txt": b"alpha\nbeta\ngamma\n"}


def patch_cases() -> Iterator[Case]:
    """All of them."""
    for number, source in enumerate(sources()):
        for make in _MAKERS:
            yield from make(source, number)


def _clean(source: Source, number: int) -> Iterator[Case]:
    change = naming_change(source, number)
    after = {source.path: data(changed(source.lines, change))}
    before = {source.path: data(source.lines)}
    yield patch_case(
        "clean",
        f"unified {source.path}",
        unified(source.path, hunk(source.lines, change)),
        before,
        after,
    )
    part = update(source.path, ["@@"], body(source.lines, change, 2, 2))
    yield patch_case("clean", f"envelope {source.path}", envelope(part), before, after)


def _stacked(source: Source, number: int) -> Iterator[Case]:
    """Two anchors, the outer and the inner part; the lines themselves occur twelve times."""
    before = {source.path: data(source.lines)}
    for outer, inner in [
        (OUTERS[0], INNERS[number % 4]),
        (OUTERS[1], INNERS[(number + 1) % 4]),
        (OUTERS[2], INNERS[(number + 2) % 4]),
    ]:
        change = common_change(source, outer, inner)
        lines = body(source.lines, change, 1, 1)
        after = {source.path: data(changed(source.lines, change))}
        top, low = source.outer_line(outer).strip(), source.inner_line(outer, inner).strip()
        name = f"{source.path} {outer}.{inner}"
        for how, anchors in {
            "two lines": [f"@@ {top}", f"@@ {low}"],
            "one line": [f"@@ {top} @@ {low}"],
            "indented": [f"@@ {source.outer_line(outer)}", f"@@ {source.inner_line(outer, inner)}"],
        }.items():
            patch = envelope(update(source.path, anchors, lines))
            yield patch_case(f"anchors stacked, {how}", name, patch, before, after)
        third = f"@@ {source.lines[change.first - 1].strip()}"
        patch = envelope(
            update(source.path, [f"@@ {top}", f"@@ {low}", third], body(source.lines, change, 0, 1))
        )
        yield patch_case("anchors stacked, three", name, patch, before, after)


def _stacked_wrong(source: Source, number: int) -> Iterator[Case]:
    before = {source.path: data(source.lines)}
    outer, inner = pick(number)
    lines = body(source.lines, common_change(source, outer, inner), 1, 1)
    top, low = source.outer_line(outer).strip(), source.inner_line(outer, inner).strip()
    last = source.outer_line(OUTERS[-1]).strip()
    stacks = {
        "outer missing": [f"@@ {top.replace(outer, 'Refund')}", f"@@ {low}"],
        "inner missing": [f"@@ {top}", f"@@ {low.replace(inner, 'archive')}"],
        "outer below inner": [f"@@ {last}", f"@@ {source.outer_line(OUTERS[0]).strip()}"],
        "only the outer": [f"@@ {top}"],
        "only the inner": [f"@@ {low}"],
    }
    for how, anchors in stacks.items():
        patch = envelope(update(source.path, anchors, lines))
        yield patch_case("anchors that do not decide", f"{how} {source.path}", patch, before, None)
    # The lines are there twice beneath the last anchor.
    at = common_change(source, outer, inner)
    twice = [
        *source.lines[: at.first + 2],
        *source.lines[at.first - 1 : at.first + 2],
        *source.lines[at.first + 2 :],
    ]
    patch = envelope(update(source.path, [f"@@ {top}", f"@@ {low}"], lines))
    yield patch_case(
        "anchors that do not decide",
        f"twice beneath {source.path}",
        patch,
        {source.path: data(twice)},
        None,
    )


def _without_context(source: Source, number: int) -> Iterator[Case]:
    """Diffs with no context lines, over several files; their line numbers are right."""
    other = sources()[(number + 3) % 10]
    before = {
        source.path: data(source.lines),
        other.path: data(other.lines),
        "src/app.txt": PLAIN["src/app.txt"],
    }
    here, there = naming_change(source, number), naming_change(other, number + 1)
    plain = unified("src/app.txt", ["@@ -2 +2 @@", "-beta", "+BETA"])
    files = {
        source.path: data(changed(source.lines, here)),
        other.path: data(changed(other.lines, there)),
        "src/app.txt": b"alpha\nBETA\ngamma\n",
    }
    patch = [
        *unified(source.path, hunk(source.lines, here, 0, 0)),
        *unified(other.path, hunk(other.lines, there, 0, 0)),
        *plain,
    ]
    yield patch_case("no context, several files", f"replace {source.path}", patch, before, files)
    # One of twelve equal lines: only its number tells which.
    common = common_change(source, *pick(number + 1))
    patch = [
        *unified(source.path, hunk(source.lines, common, 0, 0), git=True),
        *unified(other.path, hunk(other.lines, there, 0, 0), git=True),
    ]
    yield patch_case(
        "no context, several files",
        f"twin {source.path}",
        patch,
        before,
        {source.path: data(changed(source.lines, common)), other.path: files[other.path]},
    )
    added = Change(source.common(*pick(number)) + 1, 0, ("added line one", "added line two"))
    patch = [*plain, *unified(source.path, hunk(source.lines, added, 0, 0))]
    yield patch_case(
        "no context, several files",
        f"insert {source.path}",
        patch,
        before,
        {source.path: data(changed(source.lines, added)), "src/app.txt": files["src/app.txt"]},
    )
    both = changed(source.lines, here, Change(0, 0, ("first",)))
    patch = unified(
        source.path, ["@@ -0,0 +1 @@", "+first"], hunk(source.lines, here, 0, 0, grown=1)
    )
    yield patch_case(
        "no context, several files", f"top {source.path}", patch, before, {source.path: data(both)}
    )
    bare = envelope(update(source.path, ["@@"], body(source.lines, common, 0, 0)))
    yield patch_case("no context and no place", f"twin {source.path}", bare, before, None)
    off = unified(source.path, hunk(source.lines, common, 0, 0))
    yield patch_case(
        "no context and no place",
        f"wrong number {source.path}",
        [off[0], off[1], off[2].replace(f"-{common.first + 1},", "-9999,"), *off[3:]],
        before,
        None,
    )
    nowhere = unified(source.path, ["@@ @@", "+added line one"])
    yield patch_case("no context and no place", f"insert {source.path}", nowhere, before, None)


def _wrong_counts(source: Source, number: int) -> Iterator[Case]:
    """Counts that are wrong, in diffs of several files."""
    other = sources()[(number + 4) % 10]
    before = {source.path: data(source.lines), other.path: data(other.lines)}
    here, there = naming_change(source, number), naming_change(other, number + 2)
    after = {
        source.path: data(changed(source.lines, here)),
        other.path: data(changed(other.lines, there)),
    }
    for off in [(1, 1), (2, 2), (-1, -1), (1, 0), (0, 1), (5, 9), (-2, 1)]:
        patch = [
            *unified(source.path, hunk(source.lines, here, off=off), git=number % 2 == 1),
            *unified(other.path, hunk(other.lines, there, off=off), git=number % 2 == 1),
        ]
        yield patch_case(
            "wrong counts, several files", f"{off} {source.path}", patch, before, after
        )
    patch = [
        *unified(source.path, hunk(source.lines, here, off=(1, 1))),
        "",
        *unified(other.path, hunk(other.lines, there, off=(1, 1))),
    ]
    yield patch_case(
        "wrong counts, several files", f"blank between {source.path}", patch, before, after
    )
    patch = [
        *unified(source.path, body(source.lines, here, 2, 2)),
        *unified(other.path, body(other.lines, there, 2, 2)),
    ]
    yield patch_case(
        "wrong counts, several files", f"no @@ line {source.path}", patch, before, after
    )


def _marks(line: str, put: Callable[[str], str]) -> str:
    return put(line) if line.startswith("***") else line


def _lowered(line: str) -> str:
    head, colon, name = line.partition(":")
    return head.lower() + colon + name


DECORATIONS: dict[str, Callable[[str], str]] = {
    "stars behind": lambda line: f"{line} ***",
    "bold": lambda line: f"**{line}**",
    "code": lambda line: f"`{line}`",
    "indented": lambda line: f"    {line}",
    "two blanks": lambda line: f"  {line}",
    "no blank": lambda line: line.replace("*** ", "***"),
    "lower case": _lowered,
    "quoted": lambda line: f"> {line}",
    "more stars": lambda line: f"**{line}",
    "blanks behind": lambda line: f"{line}   ",
    "tab inside": lambda line: line.replace("*** ", "***\t"),
    "comment": lambda line: f"# {line}",
    "slashes": lambda line: f"// {line}",
}


def _decorated(source: Source, number: int) -> Iterator[Case]:
    change = naming_change(source, number)
    before = {source.path: data(source.lines)}
    after = {source.path: data(changed(source.lines, change))}
    part = update(source.path, ["@@"], body(source.lines, change, 2, 2))
    for at, (how, put) in enumerate(DECORATIONS.items()):
        if (at + number) % 3:
            continue
        patch = [_marks(line, put) for line in envelope(part)]
        yield patch_case("decorated marks", f"{how} {source.path}", patch, before, after)
    new = {"new/file.txt": b"one\n*** two\n"}
    added = ["*** Add File: new/file.txt", "+one", "+*** two"]
    how, put = list(DECORATIONS.items())[number % len(DECORATIONS)]
    patch = [_marks(line, put) for line in envelope(part, added)]
    yield patch_case(
        "decorated marks", f"{how}, add {source.path}", patch, before, {**after, **new}
    )


def _wrapped(source: Source, number: int) -> Iterator[Case]:
    change = naming_change(source, number)
    before = {source.path: data(source.lines)}
    after = {source.path: data(changed(source.lines, change))}
    lines = envelope(update(source.path, ["@@"], body(source.lines, change, 2, 2)))
    diff = unified(source.path, hunk(source.lines, change))
    for how, patch in {
        "fence": ["```diff", *lines, "```"],
        "tildes and prose": ["Here is the patch:", "", "~~~", *lines, "~~~", "", "Done."],
        "quoted": [f"> {line}" for line in lines],
        "quoted diff": [f"> {line}" for line in diff],
        "prompt": ["$ apply_patch <<'EOF'", *lines, "EOF"],
        "apply_patch, fence": ["```bash", 'apply_patch <<"PATCH"', *lines, "PATCH", "```"],
        "indented": [f"    {line}" for line in lines],
    }.items():
        yield patch_case("wrapped", f"{how} {source.path}", patch, before, after)


def _blank_twins(source: Source, number: int) -> Iterator[Case]:
    """A block and its twin, which differ in nothing but blanks."""
    outer, inner = pick(number)
    at = source.common(outer, inner)
    lines = source.lines
    block = [f"{line}" for line in ("begin shared()", "mark = 1", "finish shared()")]
    depth = "    "
    new = ("begin shared()", "mark = 2", "finish shared()")

    def both(one: list[str], two: list[str]) -> list[str]:
        return [*lines[:3], *one, *lines[3:at], *two, *lines[at:]]

    def lines_of(how: Callable[[str], str]) -> list[str]:
        return [how(line) for line in block]

    shapes: dict[str, Callable[[str], str]] = {
        "plain": lambda line: depth + line,
        "trailing": lambda line: f"{depth}{line}  ",
        "deeper": lambda line: depth * 2 + line,
        "tabs": lambda line: "\t" + line,
        "wide": lambda line: depth + line.replace(" = ", "  =  "),
        "tight": lambda line: depth + line.replace(" = ", "="),
        "one trailing": lambda line: depth + line + (" " if "mark" in line else ""),
    }
    pairs = [
        ("trailing", "deeper"),
        ("trailing", "tabs"),
        ("deeper", "tabs"),
        ("wide", "trailing"),
        ("tight", "deeper"),
        ("one trailing", "tabs"),
        ("wide", "tight"),
    ]
    for step, pair in enumerate(pairs):
        one, two = pair[:: -1 if (step + number) % 2 else 1]
        # As given it is at neither place.
        said = [f"  {line}" if line == block[0] else f"{depth}{line}" for line in block]
        patch = [f" {said[0]}", f"-{said[1]}", f"+{said[1].replace('1', '2')}", f" {said[2]}"]
        files = {source.path: data(both(lines_of(shapes[one]), lines_of(shapes[two])))}
        yield patch_case(
            "twins but for blanks",
            f"{one}, {two} {source.path}",
            envelope(update(source.path, ["@@"], patch)),
            files,
            None,
        )
    # A blank line inside one of them, the other indented otherwise.
    spread = [depth + block[0], "", depth + block[1], depth + block[2]]
    patch = [
        f" {depth}{block[0]}",
        f"-{depth}{block[1]}",
        f"+{depth}{new[1]}",
        f" {depth}{block[2]}",
    ]
    for two in ("trailing", "deeper", "tabs"):
        files = {source.path: data(both(spread, lines_of(shapes[two])))}
        yield patch_case(
            "twins but for blanks",
            f"blank line, {two} {source.path}",
            unified(source.path, ["@@ @@", *patch]),
            files,
            None,
        )
    # Literally at one of them: that one, unless the stated line is the other's.
    for two in ("trailing", "deeper", "wide"):
        whole = both(lines_of(shapes["plain"]), lines_of(shapes[two]))
        right = changed(whole, Change(4, 1, (depth + new[1],)))
        files = {source.path: data(whole)}
        yield patch_case(
            "literal beside a twin",
            f"{two} {source.path}",
            unified(source.path, ["@@ @@", *patch]),
            files,
            {source.path: data(right)},
        )
        yield patch_case(
            "literal, but the line is the twin's",
            f"{two} {source.path}",
            unified(source.path, [f"@@ -{at + 4},3 +{at + 4},3 @@", *patch]),
            files,
            None,
        )
        near = [*lines[:3], *lines_of(shapes["plain"]), *lines_of(shapes[two]), *lines[3:]]
        yield patch_case(
            "literal, but the line is the twin's",
            f"near {two} {source.path}",
            unified(source.path, ["@@ -7,3 +7,3 @@", *patch]),
            {source.path: data(near)},
            None,
        )


def _kept_bytes(source: Source, number: int) -> Iterator[Case]:
    """Context lines that the file has otherwise than the patch: they keep their bytes."""
    change = naming_change(source, number)
    at = change.first
    clean = body(source.lines, change, 2, 2)
    own = {at - 1: source.lines[at - 1] + "  \t", at + 1: source.lines[at + 1] + " "}
    trailing = [own.get(index, line) for index, line in enumerate(source.lines)]
    yield patch_case(
        "context keeps its bytes",
        f"trailing {source.path}",
        unified(source.path, ["@@ @@", *clean]),
        {source.path: data(trailing)},
        {source.path: data(changed(trailing, change))},
    )
    for how, mark in {
        "dash": "left \u2013 right",
        "quotes": "say \u201cyes\u201d, don\u2019t",
        "blank": "a\u00a0b c",
    }.items():
        plain = (
            mark.replace("\u2013", "-")
            .replace("\u201c", '"')
            .replace("\u201d", '"')
            .replace("\u2019", "'")
            .replace("\u00a0", " ")
        )
        file = [*source.lines[:at], mark, *source.lines[at:]]
        seen = [*source.lines[:at], plain, *source.lines[at:]]
        moved = change._replace(first=at + 1)
        yield patch_case(
            "context keeps its bytes",
            f"{how} {source.path}",
            envelope(update(source.path, ["@@"], body(seen, moved, 2, 2))),
            {source.path: data(file)},
            {source.path: data(changed(file, moved))},
        )
        # Taken out and put back one line further down: it is the file's own line.
        swap = [
            f" {seen[at - 1]}",
            f"-{plain}",
            f" {seen[at + 1]}",
            f"+{plain}",
            f" {seen[at + 2]}",
        ]
        after = [*source.lines[: at + 1], mark, *source.lines[at + 1 :]]
        yield patch_case(
            "moved lines keep their bytes",
            f"{how} {source.path}",
            unified(source.path, ["@@ @@", *swap]),
            {source.path: data(file)},
            {source.path: data(after)},
        )
    crlf = data(source.lines, "\r\n")
    yield patch_case(
        "context keeps its bytes",
        f"CRLF {source.path}",
        unified(source.path, hunk(source.lines, change)),
        {source.path: crlf},
        {source.path: data(changed(source.lines, change), "\r\n")},
    )
    yield patch_case(
        "context keeps its bytes",
        f"CRLF patch {source.path}",
        text(unified(source.path, hunk(source.lines, change))).replace("\n", "\r\n"),
        {source.path: data(source.lines)},
        {source.path: data(changed(source.lines, change))},
    )
    ended = data(source.lines)[:-1]
    yield patch_case(
        "context keeps its bytes",
        f"no newline {source.path}",
        unified(source.path, hunk(source.lines, change)),
        {source.path: ended},
        {source.path: data(changed(source.lines, change))[:-1]},
    )


def _refused(source: Source, number: int) -> Iterator[Case]:
    change = naming_change(source, number)
    before = {source.path: data(source.lines)}
    clean = unified(source.path, hunk(source.lines, change))
    drifted = [
        *source.lines[: change.first],
        source.lines[change.first].replace(" ", " old ", 2),
        *source.lines[change.first + 1 :],
    ]
    yield patch_case(
        "changed since", f"target {source.path}", clean, {source.path: data(drifted)}, None
    )
    yield patch_case(
        "changed since",
        f"applied {source.path}",
        clean,
        {source.path: data(changed(source.lines, change))},
        None,
    )
    common = common_change(source, *pick(number))
    one_gone = changed(source.lines, Change(common.first, 1, ("something else",)))
    yield patch_case(
        "changed since",
        f"twin left {source.path}",
        unified(source.path, hunk(source.lines, common, 1, 1)),
        {source.path: data(one_gone)},
        None,
    )
    missing = [*clean, *unified("no/such.txt", ["@@ -1 +1 @@", "-a", "+b"])]
    yield patch_case("changed since", f"second file {source.path}", missing, before, None)


_MAKERS = (
    _clean,
    _stacked,
    _stacked_wrong,
    _without_context,
    _wrong_counts,
    _decorated,
    _wrapped,
    _blank_twins,
    _kept_bytes,
    _refused,
)
