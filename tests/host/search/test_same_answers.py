"""Both engines give the same answers, over trees and queries drawn at random."""

import os
import random
import shutil

import pytest

from handrail.core.ports.machine import FilesQuery, GrepMode, GrepQuery
from handrail.host.search.fallback.python_search import type_globs, type_names

NAMES = [
    "a.py", "b.py", "main.c", "x.log", "keep.log", "README.md", ".env", ".hidden.py", "Makefile",
    "wide [x].txt", "sp ace.txt", "new\nline.txt", "ünï.py", "-rf", "--help", "a{b}.txt", "!bang.py",
    "#hash.txt", "f.ts", "data.json", "star*.txt",
]  # fmt: skip
FOLDERS = ["src", "build", "docs", "src/deep", "src/deep/er", ".cache", "node_modules", "a/b/c"]
IGNORE_LINES = [
    "*.log", "!keep.log", "build/", "/build", "/docs/*", "!/docs/README.md", "src/deep", "**/er",
    "deep/**", "# comment", "", "   ", "\\#hash.txt", "\\!bang.py", "*.py", "!a.py", "a/**/c",
    "/a/b/", "*.{c,ts}", "x.lo[a-z]", "node_modules", "?akefile", "trailing.txt   ", "er/",
    "**/deep/*.py", ".cache/*", "sp\\ ace.txt", "*", "!*/", "src/*.py", "[!a].py", "star\\*.txt",
    "/*.md", "**", "!*.md", "b.p*y",
]  # fmt: skip
LINES = [
    b"needle", b"Needle in hay", b"two needle needle", b"", b"  indented needle", b"end;", b"end; ",
    b"z\xff\xfe latin \xe9 needle", "größe needle".encode(), b"tab\tneedle", b"nothing", b"n e e d l e",
    b"x" * 2500 + b"needle", "é".encode() * 1800 + b"needle", b"lone\rcr needle", b"}", b"a.b(c)",
]  # fmt: skip
ENDINGS = [b"\n", b"\r\n"]
PATTERNS = [
    ("needle", {}), ("needle", {"literal": True}), ("NEEDLE", {"ignore_case": True}),
    ("^needle", {}), ("needle$", {}), (";$", {}), ("^$", {}), ("n.*e$", {}), ("a.b(c)", {"literal": True}),
    ("need|end", {}), ("[^x]needle", {}), ("needle.*nothing", {"multiline": True}),
    ("needle\\n", {"multiline": True}), ("^}", {}), ("\\s+needle", {}), ("(?i)NeEdLe", {}),
    ("x{10}", {}), ("", {}), ("ö", {"ignore_case": True}), ("end;\\s*\\n", {"multiline": True}),
    ("needle", {"multiline": True}), ("^", {"multiline": True}),
]  # fmt: skip
GLOBS = [
    (), ("*.py",), ("*.{py,c}",), ("src/**",), ("src/**/*.py",), ("**/deep/*",), ("!*.py",),
    ("!src",), ("!build/", "*.log"), ("*.py", "*.md"), ("?.py",), ("[ab].py",), ("docs/",),
    ("./a.py",), ("src/*.py", "!**/b.py"), (".*",), ("star\\*.txt",), ("-*",), ("*[[]x]*",),
]  # fmt: skip


def grow(tree, draw: random.Random) -> None:
    for folder in ["", *draw.sample(FOLDERS, draw.randint(1, len(FOLDERS)))]:
        base = f"{folder}/" if folder else ""
        for name in draw.sample(NAMES, draw.randint(2, 12)):
            tree.write(base + name, content(draw))
        for ignore in (".gitignore", ".ignore", ".rgignore", ".git/info/exclude"):
            if draw.random() < 0.15:
                lines = draw.sample(IGNORE_LINES, draw.randint(1, 4))
                tree.write(base + ignore, "\n".join(lines) + draw.choice(["", "\n"]))
        if draw.random() < 0.2:
            (tree.root / base / "link.py").symlink_to("a.py")
            (tree.root / base / "dirlink").symlink_to(".")
        if draw.random() < 0.1:
            os.mkfifo(tree.root / base / "fifo")
    (tree.root / os.fsdecode(b"bad\xffname.py")).write_bytes(b"needle\n")


def content(draw: random.Random) -> bytes:
    ending = draw.choice(ENDINGS)
    text = ending.join(draw.choices(LINES, k=draw.randint(0, 12)))
    text += draw.choice([b"", ending])
    kind = draw.random()
    if kind < 0.1:
        return text + b"\0binary needle\n"
    if kind < 0.2:
        return text.decode("utf-8", "replace").encode(draw.choice(["utf-16", "utf-8-sig"]))
    return text


def raw(tree, shown: str) -> bytes:
    path = tree.root / shown
    return path.read_bytes() if path.exists() else b""


async def compare(tree, ripgrep, python, draw: random.Random) -> int:
    """Ask both the same random questions; returns how many paths the answers held."""
    paths = 0
    folders = ["", *(f for f in FOLDERS if (tree.root / f).is_dir())]
    for _ in range(8):
        place = tree.place(draw.choice(["", draw.choice(folders)]))
        pattern, options = draw.choice(PATTERNS)
        query = GrepQuery(
            pattern,
            place,
            mode=draw.choice(list(GrepMode)),
            globs=draw.choice([(), draw.choice(GLOBS)]),
            type=draw.choice([None, None, None, "py", "c", "md"]),
            before=draw.choice([0, 0, 1, 2]),
            after=draw.choice([0, 0, 1, 3]),
            recursive=draw.random() < 0.9,
            **options,
        )
        expected = await ripgrep.grep(query)
        if query.mode is GrepMode.FILES:
            # With some patterns ripgrep names a file before it has seen that it is binary.
            files = tuple(f for f in expected.files if b"\0binary" not in raw(tree, f))
            expected = expected._replace(files=files)
        assert (await python.grep(query))[:-1] == expected[:-1], query
        paths += len(expected.files)
    for _ in range(4):
        names = FilesQuery(
            tree.place(draw.choice(["", draw.choice(folders)])),
            draw.choice([(), draw.choice(GLOBS)]),
            sort=draw.choice(["name", "mtime"]),
            recursive=draw.random() < 0.8,
        )
        expected = await ripgrep.files(names)
        assert (await python.files(names))[:-1] == expected[:-1], names
        paths += len(expected.paths)
    return paths


async def compare_on(seeds: range, tree, ripgrep, python) -> int:
    paths = 0
    for seed in seeds:
        draw = random.Random(seed)
        # The root itself stays: the engines hold its handle.
        for entry in tree.root.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        grow(tree, draw)
        paths += await compare(tree, ripgrep, python, draw)
    return paths


@pytest.mark.feature("E21")
async def test_both_engines_give_the_same_answers(tree, ripgrep, python):
    paths = await compare_on(range(10), tree, ripgrep, python)

    assert paths > 500


@pytest.mark.torture
async def test_both_engines_give_the_same_answers_on_many_trees(tree, ripgrep, python):
    paths = await compare_on(range(1000, 1500), tree, ripgrep, python)

    assert paths > 25_000


@pytest.mark.parametrize("name", type_names())
async def test_the_python_engine_means_the_same_files_by_a_type(tree, ripgrep, name):
    listed = await ripgrep._spawn(ripgrep._roots[0], ["--type-list"])
    of_ripgrep = dict(line.split(": ", 1) for line in listed.stdout.decode().splitlines())

    assert sorted(type_globs(name)) == sorted(of_ripgrep[name].split(", "))
