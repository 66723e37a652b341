"""Source files in ten languages, made so that the right outcome of a change is known.

Every file has three outer parts, each with four inner parts of nearly the same lines. In
every inner part, the lines `COMMON` apart are the same everywhere; one line names both parts.
"""

from __future__ import annotations

from typing import NamedTuple

OUTERS = ("Order", "Invoice", "Parcel")
INNERS = ("load", "verify", "store", "close")


class Language(NamedTuple):
    """`body` has one line that names both parts; `common` is the body line that is changed
    in all of them alike, whose neighbours are the same everywhere too.
    """

    path: str
    head: tuple[str, ...]
    outer: str
    inner: str
    body: tuple[str, ...]
    common: int
    changed: str
    inner_end: tuple[str, ...] = ("",)
    outer_end: tuple[str, ...] = ("",)


class Source:
    """One file as lines, and where its parts are."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.path = language.path
        self.lines: list[str] = list(language.head)
        self._starts: dict[tuple[str, str], int] = {}
        for outer in OUTERS:
            self.lines.append(language.outer.format(o=outer))
            for inner in INNERS:
                self.lines.append(language.inner.format(o=outer, i=inner))
                self._starts[outer, inner] = len(self.lines)
                self.lines += [
                    line.replace("<o>", outer).replace("<i>", inner) for line in language.body
                ]
                self.lines += language.inner_end
            self.lines += language.outer_end
        self.lines = _without_last_blanks(self.lines)

    def outer_line(self, outer: str) -> str:
        return self.language.outer.format(o=outer)

    def inner_line(self, outer: str, inner: str) -> str:
        return self.language.inner.format(o=outer, i=inner)

    def common(self, outer: str, inner: str) -> int:
        """The line (0-based) that is changed in this part."""
        return self._starts[outer, inner] + self.language.common

    def naming(self, outer: str, inner: str) -> int:
        """The line (0-based) that names both parts."""
        start = self._starts[outer, inner]
        return next(at for at in range(start, len(self.lines)) if self._names(at, outer, inner))

    def _names(self, at: int, outer: str, inner: str) -> bool:
        return f"{outer} {inner}" in self.lines[at]


def _without_last_blanks(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


LANGUAGES = (
    Language(
        "pkg/records.py",
        ('"""Records of the shop."""', "", "import logging", "", ""),
        "class {o}(Record):",
        "    def {i}(self, value):",
        (
            "        self.check(value)",
            "        total = self.count + 1",
            "        if value is None:",
            '            raise ValueError("<o> <i> needs a value")',
            "        # the name is filled in later",
            '        name = "plain"',
            "        return self.put(value, total, name)",
        ),
        1,
        "        total = self.count + 2",
        ("",),
        ("",),
    ),
    Language(
        "src/records.js",
        ("'use strict'", "", "const log = require('./log')", ""),
        "class {o} extends Record {{",
        "  {i} (value) {{",
        (
            "    this.check(value)",
            "    const total = this.count + 1",
            "    if (value === undefined) {",
            "      throw new TypeError('<o> <i> needs a value')",
            "    }",
            "    // the name is filled in later",
            "    return this.put(value, total, 'plain')",
        ),
        1,
        "    const total = this.count + 2",
        ("  }", ""),
        ("}", ""),
    ),
    Language(
        "src/records.ts",
        ('import { Log } from "./log";', ""),
        "export namespace {o} {{",
        "  export function {i}(value: number): string {{",
        (
            "    check(value);",
            "    const total: number = count + 1;",
            "    if (value < 0) {",
            '      throw new RangeError("<o> <i> needs a value");',
            "    }",
            "    return put(value, total);",
        ),
        1,
        "    const total: number = count + 2;",
        ("  }", ""),
        ("}", ""),
    ),
    Language(
        "records.go",
        ("package records", "", 'import "errors"', ""),
        "var {o} = Service{{",
        "\t{i}: func(value int) error {{",
        (
            "\t\tcheck(value)",
            "\t\ttotal := count + 1",
            "\t\tif value < 0 {",
            '\t\t\treturn errors.New("<o> <i> needs a value")',
            "\t\t}",
            "\t\treturn put(value, total)",
        ),
        1,
        "\t\ttotal := count + 2",
        ("\t},",),
        ("}", ""),
    ),
    Language(
        "Records.java",
        ("package shop;", ""),
        "class {o} extends Record {{",
        "    void {i}(int value) {{",
        (
            "        check(value);",
            "        int total = count + 1;",
            "        if (value < 0) {",
            '            throw new IllegalStateException("<o> <i> needs a value");',
            "        }",
            "        put(value, total);",
        ),
        1,
        "        int total = count + 2;",
        ("    }", ""),
        ("}", ""),
    ),
    Language(
        "src/records.rs",
        ("use crate::log;", ""),
        "impl {o} {{",
        "    pub fn {i}(&self, value: i64) -> Result<(), Error> {{",
        (
            "        self.check(value)?;",
            "        let total = self.count + 1;",
            "        if value < 0 {",
            '            return Err(Error::new("<o> <i> needs a value"));',
            "        }",
            "        self.put(value, total)",
        ),
        1,
        "        let total = self.count + 2;",
        ("    }", ""),
        ("}", ""),
    ),
    Language(
        "records.css",
        ("/* Records of the shop */", ""),
        "@media (prefers-layout: {o}) {{",
        "  .{i} {{",
        (
            "    display: grid;",
            "    margin-top: 12px;",
            "    padding: 0;",
            '    content: "<o> <i> panel";',
            "    color: black;",
        ),
        1,
        "    margin-top: 16px;",
        ("  }",),
        ("}", ""),
    ),
    Language(
        "records.yaml",
        ("version: 3", ""),
        "{o}:",
        "  {i}:",
        (
            "    image: base",
            "    retries: 3",
            "    timeout: 30",
            "    label: <o> <i> job",
            "    shell: bash",
        ),
        1,
        "    retries: 5",
        (),
        ("",),
    ),
    Language(
        "docs/records.md",
        ("# Records", ""),
        "## {o}",
        "### {i}",
        (
            "",
            "Run the check before anything else.",
            "Wait for one minute.",
            "Then go on with the next step.",
            "",
            "The <o> <i> page has more about it.",
            "",
        ),
        2,
        "Wait for five minutes.",
        (),
        (),
    ),
    Language(
        "records.xml",
        ('<?xml version="1.0"?>', "<records>"),
        '  <group name="{o}">',
        '    <entry name="{i}">',
        (
            "      <check/>",
            "      <total>1</total>",
            "      <limit>30</limit>",
            '      <label text="<o> <i> entry"/>',
            "      <done/>",
        ),
        1,
        "      <total>2</total>",
        ("    </entry>",),
        ("  </group>",),
    ),
)


def sources() -> list[Source]:
    """Every language's file."""
    return [Source(language) for language in LANGUAGES]
