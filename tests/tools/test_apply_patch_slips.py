"""Slips that models make when they write diffs: each is understood, or nothing is changed.

A clean diff of two hunks is written for files of several kinds, spoilt in one way, and
applied. Harmless slips must give exactly what the clean diff gives; harmful ones must refuse.
"""

import json
import re
from dataclasses import dataclass
from textwrap import dedent

import pytest

from handrail.core.problems import ProblemRaised


@dataclass(frozen=True)
class Sample:
    path: str
    before: str
    hunks: tuple[tuple[int, str], ...]

    def diff(self):
        lines = [f"--- a/{self.path}", f"+++ b/{self.path}"]
        grown = 0
        for first, body in self.hunks:
            marks = [line[:1] or " " for line in body.split("\n")]
            old, new = len(marks) - marks.count("+"), len(marks) - marks.count("-")
            lines += [f"@@ -{first},{old} +{first + grown},{new} @@", *body.split("\n")]
            grown += new - old
        return "\n".join(lines) + "\n"


PYTHON = Sample(
    "pkg/shop.py",
    dedent(
        '''\
        """Orders and their totals."""

        from decimal import Decimal


        class Order:
            def __init__(self, items):
                self.items = items
                self.closed = False

            def total(self):
                result = Decimal(0)
                for item in self.items:
                    result += item.price * item.count
                return result

            def close(self):
                if self.closed:
                    raise ValueError("closed twice")
                self.closed = True


        def load(path):
            with open(path) as file:
                return [line.strip() for line in file]
        '''
    ),
    (
        (
            11,
            "     def total(self):\n"
            "-        result = Decimal(0)\n"
            '+        result = Decimal("0.00")\n'
            "         for item in self.items:\n"
            "             result += item.price * item.count\n"
            "         return result\n"
            " ",
        ),
        (
            22,
            " \n"
            " def load(path):\n"
            "-    with open(path) as file:\n"
            '+    with open(path, encoding="utf-8") as file:\n'
            "+        next(file)\n"
            "         return [line.strip() for line in file]",
        ),
    ),
)
MAKEFILE = Sample(
    "Makefile",
    "CC = gcc\nOBJS = a.o b.o\n\nall: $(OBJS)\n\t$(CC) -o app $(OBJS)\n\nclean:\n\trm -f app\n"
    "\trm -f $(OBJS)\n\ntest: all\n\t./app --self-test\n\t@echo done\n",
    (
        (4, " all: $(OBJS)\n-\t$(CC) -o app $(OBJS)\n+\t$(CC) -O2 -o app $(OBJS)\n \n clean:"),
        (11, " test: all\n+\t@echo testing\n \t./app --self-test\n \t@echo done"),
    ),
)
SCRIPT = Sample(
    "web/cart.ts",
    "import { post } from './http'\n\nexport class Cart {\n  private lines: Line[] = []\n\n"
    "  add(line: Line): void {\n    this.lines.push(line)\n    this.changed()\n  }\n\n"
    "  clear(): void {\n    this.lines = []\n    this.changed()\n  }\n\n"
    "  private changed(): void {\n    post('/cart', this.lines)\n  }\n}\n",
    (
        (
            6,
            "   add(line: Line): void {\n-    this.lines.push(line)\n+    this.lines.push({ ...line })\n"
            "     this.changed()\n   }\n ",
        ),
        (
            16,
            "   private changed(): void {\n-    post('/cart', this.lines)\n"
            "+    void post('/cart', this.lines)\n   }\n }",
        ),
    ),
)


def solved(sample):
    """The content that the clean diff means, worked out without the tool."""
    lines = sample.before.split("\n")
    for first, body in reversed(sample.hunks):
        old = [line[1:] for line in body.split("\n") if not line.startswith("+")]
        new = [line[1:] for line in body.split("\n") if not line.startswith("-")]
        assert lines[first - 1 : first - 1 + len(old)] == old
        lines[first - 1 : first - 1 + len(old)] = new
    return "\n".join(lines)


SAMPLES = {sample.path: sample for sample in (PYTHON, MAKEFILE, SCRIPT)}


def each_line(change):
    """Change every line of a diff that belongs to a hunk."""

    def spoil(diff):
        head, rest = diff.split("\n")[:2], diff.rstrip("\n").split("\n")[2:]
        return "\n".join(
            [*head, *(line if line[:2] == "@@" else change(line) for line in rest), ""]
        )

    return spoil


def at_lines(replacement):
    return lambda diff: re.sub(r"@@ -\d+,\d+ \+\d+,\d+ @@", replacement, diff)


def in_envelope(diff):
    path = diff.split("\n")[0].removeprefix("--- a/")
    body = "\n".join(diff.split("\n")[2:])
    return f"*** Begin Patch\n*** Update File: {path}\n{body}*** End Patch\n"


def hunks_turned_round(diff):
    head, one, two = re.split(r"(?m)^(?=@@)", diff)
    return head + two + one


def with_idle_hunk(diff):
    _, one, _ = re.split(r"(?m)^(?=@@)", diff)
    idle = [line for line in one.split("\n") if not line.startswith(("+", "-"))]
    return diff + "\n".join(idle)


def whole_hunks_rewritten(diff):
    """Context given as lines that go and come back."""

    def rewrite(hunk):
        at, *lines = hunk.rstrip("\n").split("\n")
        old = ["-" + line[1:] for line in lines if not line.startswith("+")]
        new = ["+" + line[1:] for line in lines if not line.startswith("-")]
        return "\n".join([at, *old, *new, ""])

    head, *hunks = re.split(r"(?m)^(?=@@)", diff)
    return head + "".join(map(rewrite, hunks))


HARMLESS = {
    "clean": str,
    "no counts": at_lines("@@ @@"),
    "bare at": at_lines("@@"),
    "dots": at_lines("@@ ... @@"),
    "line zero": at_lines("@@ -0,0 +0,0 @@"),
    "line one": at_lines("@@ -1,1 +1,1 @@"),
    "past the end": at_lines("@@ -900,5 +900,5 @@"),
    "no closing at": lambda diff: re.sub(r"(?m)^(@@ .*) @@$", r"\1", diff),
    "no blank in at line": lambda diff: re.sub(r"(?m)^@@ (.*) @@$", r"@@\1@@", diff),
    "heading of nowhere": lambda diff: re.sub(r"(?m)^(@@ .* @@)$", r"\1 class Nowhere:", diff),
    "no at line, one hunk after the other": lambda diff: re.sub(r"(?m)^@@.*\n", "", diff, count=1),
    "no blank before empty context": each_line(lambda line: line.rstrip() or ""),
    "no blank before any context": each_line(lambda line: line.removeprefix(" ")),
    "a blank after every mark": each_line(lambda line: f"{line[:1] or ' '} {line[1:]}"),
    "blanks at line ends": each_line(lambda line: line + ("  " if line[:1] == " " else "")),
    "windows endings": lambda diff: diff.replace("\n", "\r\n"),
    "no last newline": lambda diff: diff.rstrip("\n"),
    "blank lines at the end": lambda diff: diff + "\n\n\n",
    "blank lines before at lines": lambda diff: diff.replace("\n@@", "\n\n@@"),
    "fenced": lambda diff: f"Here you are:\n\n```diff\n{diff}```\n\nThis:\n- fixes it\n+ more\n",
    "indented": lambda diff: "\n".join(f"    {line}" for line in diff.split("\n")),
    "escaped twice": lambda diff: json.dumps(diff)[1:-1],
    "no prefixes": lambda diff: diff.replace("--- a/", "--- ").replace("+++ b/", "+++ "),
    "dotted names": lambda diff: diff.replace("--- a/", "--- ./").replace("+++ b/", "+++ ./"),
    "same prefix twice": lambda diff: diff.replace("+++ b/", "+++ a/"),
    "one prefix": lambda diff: diff.replace("--- a/", "--- "),
    "one name": lambda diff: diff[diff.index("+++") :],
    "original and new": lambda diff: re.sub(r"--- a/(.*)", r"--- a/\1.orig", diff),
    "git header": lambda diff: f"diff --git a/x b/x\nindex 123..456 100644\n{diff}".replace(
        "a/x b/x", diff.split("\n")[0][4:] + " " + diff.split("\n")[1][4:]
    ),
    "times": lambda diff: re.sub(r"(?m)^(--- .*|\+\+\+ .*)$", r"\1\t2026-01-01 10:00:00", diff),
    "hunks turned round": hunks_turned_round,
    "an idle hunk": with_idle_hunk,
    "whole hunks rewritten": whole_hunks_rewritten,
    "end of another format": lambda diff: diff + "*** End Patch\n",
    "envelope": in_envelope,
    "envelope with bare at": lambda diff: in_envelope(at_lines("@@")(diff)),
    "envelope without end": lambda diff: in_envelope(diff).replace("*** End Patch\n", ""),
    "envelope of a diff": lambda diff: in_envelope(diff).replace(
        "@@", "\n".join([*diff.split("\n")[:2], "@@"]), 1
    ),
    "here document": lambda diff: f"apply_patch <<'EOF'\n{in_envelope(diff)}EOF\n",
}


@pytest.mark.parametrize("path", SAMPLES)
@pytest.mark.parametrize("slip", HARMLESS)
async def test_a_harmless_slip_changes_nothing_about_the_result(workspace, path, slip):
    sample = SAMPLES[path]
    workspace.write(path, sample.before)

    await workspace.change("apply_patch", patch=HARMLESS[slip](sample.diff()))

    assert workspace.read(path).decode() == solved(sample)


@pytest.mark.parametrize("path", SAMPLES)
@pytest.mark.parametrize("slip", ["clean", "bare at", "windows endings", "envelope"])
async def test_the_files_own_endings_and_mark_survive_every_slip(workspace, path, slip):
    sample = SAMPLES[path]
    workspace.write(path, b"\xef\xbb\xbf" + sample.before.replace("\n", "\r\n").encode())

    await workspace.change("apply_patch", patch=HARMLESS[slip](sample.diff()))

    after = solved(sample).replace("\n", "\r\n").encode()
    assert workspace.read(path) == b"\xef\xbb\xbf" + after


def first_of(sign, change):
    """Change the first line with a mark."""
    pattern = re.compile(rf"(?m)^{re.escape(sign)}(?![-+]{{2}} )(.*\w.*)$")
    return lambda diff: pattern.sub(lambda found: sign + change(found[1]), diff, count=1)


HARMFUL = {
    "a deleted line has another word": first_of("-", lambda text: text + " more"),
    "a deleted line has another number": first_of("-", lambda text: re.sub(r"\w\b", "9", text)),
    "a deleted line is invented": lambda diff: diff.replace("\n-", "\n-invented()\n-", 1),
    "a context line has another name": first_of(" ", lambda text: re.sub(r"\w\b", "z", text)),
    "another file's hunk": lambda diff: diff + "@@ -1,2 +1,2 @@\n int x;\n-int y;\n+int z;\n",
    "a hunk twice": lambda diff: diff + re.split(r"(?m)^(?=@@)", diff)[1],
    "the second file is missing": lambda diff: (
        diff + diff.replace("a/", "a/no").replace("b/", "b/no")
    ),
    "a missing anchor": at_lines("@@ function nowhere() @@"),
    "garbage between hunks": lambda diff: diff.replace("\n@@", "\n<<<<<<< HEAD\n@@"),
}


@pytest.mark.parametrize("path", SAMPLES)
@pytest.mark.parametrize("slip", HARMFUL)
async def test_a_harmful_slip_changes_nothing_at_all(workspace, path, slip):
    sample = SAMPLES[path]
    workspace.write(path, sample.before)
    spoilt = HARMFUL[slip](sample.diff())
    assert spoilt != sample.diff()

    with pytest.raises(ProblemRaised):
        await workspace.change("apply_patch", patch=spoilt)

    assert workspace.read(path).decode() == sample.before


@pytest.mark.parametrize("path", SAMPLES)
@pytest.mark.parametrize("slip", ["clean", "bare at", "envelope", "line one"])
async def test_a_patch_is_not_applied_a_second_time(workspace, path, slip):
    sample = SAMPLES[path]
    workspace.write(path, solved(sample))

    problem = await workspace.problem("apply_patch", patch=HARMLESS[slip](sample.diff()))

    assert problem.code in ("already_applied", "no_match")


@pytest.mark.parametrize(("path", "fits"), [(PYTHON.path, True), (MAKEFILE.path, False)])
async def test_dots_for_context_are_understood_if_what_is_left_decides(workspace, path, fits):
    sample = SAMPLES[path]
    workspace.write(path, sample.before)
    dotted = each_line(lambda line: "..." if line[:1] == " " else line)(sample.diff())

    if fits:
        await workspace.change("apply_patch", patch=dotted)
    else:
        # The second hunk only adds a line, and nothing says where.
        await workspace.problem("apply_patch", patch=dotted)

    assert workspace.read(path).decode() == (solved(sample) if fits else sample.before)


@pytest.mark.parametrize(
    ("slip", "words"),
    [
        (lambda number, line: f"{line[:1]}{number:6}\t{line[1:]}", "line numbers undone"),
        (lambda _, line: line.replace('"', '\\"'), "escaped quotes undone"),
        (lambda _, line: line.replace('"', "&quot;"), "HTML entities undone"),
    ],
)
async def test_what_happened_to_all_lines_on_the_way_is_undone(workspace, slip, words):
    before = ["def f():", '    a = "1"', '    b = "2"', "    return a + b"]
    workspace.write("x", "\n".join(before) + "\n")
    body = [" def f():", '     a = "1"', '-    b = "2"', "     return a + b"]
    lines = [slip(number, line) for number, line in enumerate(body, 1)]
    lines.insert(3, slip(3, '+    b = "3"'))

    plan = await workspace.change(
        "apply_patch", patch="\n".join(["--- a/x", "+++ b/x", "@@", *lines])
    )

    assert workspace.read("x").decode() == "\n".join(before).replace('"2"', '"3"') + "\n"
    assert words in plan.text


NAMES = {
    "a doubled slash behind the dot": ("a.txt", ".//a.txt"),
    "a star that belongs to the name": ("*.txt", "*.txt"),
    "a name in bold": ("a.txt", "**a.txt**"),
}


@pytest.mark.finding("F61")
@pytest.mark.parametrize("name", NAMES)
async def test_the_name_in_an_envelope_is_the_file_that_is_meant(workspace, name):
    path, spelled = NAMES[name]
    workspace.write(path, "one\ntwo\n")
    patch = f"*** Begin Patch\n*** Update File: {spelled}\n@@\n-two\n+three\n*** End Patch\n"

    await workspace.change("apply_patch", patch=patch)

    assert workspace.read(path) == b"one\nthree\n"


@pytest.mark.finding("F61")
async def test_the_word_file_may_be_missing_in_an_envelope(workspace):
    workspace.write("a.txt", "one\ntwo\n")
    parts = "*** Update: a.txt\n@@\n-two\n+three\n*** Add: b.txt\n+new\n"

    await workspace.change("apply_patch", patch=f"*** Begin Patch\n{parts}*** End Patch\n")

    assert workspace.read("a.txt") == b"one\nthree\n"
    assert workspace.read("b.txt") == b"new\n"
