"""Patches that git wrote: after apply_patch every byte is what git says it should be."""

import os
import random
import shutil
import subprocess

import pytest

# Lines that look like parts of a patch, and lines that occur again and again.
LINES = [
    *("", "a", "b", "  x = 1", "    return x", "def f():", "}", "\t tab", "é ü", "trailing  "),
    *("--- a/x", "+++ b/y", "-- sql", "++ inc", "@@ -1 +1 @@", "-", "+", " lead", "  "),
    *("*** End Patch", "\\ No newline at end of file", "diff --git a/x b/x", "new mode 100644"),
    *("Index: x", "rename from a", "“quoted”", "```"),
]
NAMES = ["a.txt", "dir/b.py", "sp ace.txt", "dir/é.txt", 'q"uote.txt', "b/deep.c", "tab\tname"]
FORMS = [
    *([], [], ["-U1"], ["-U5"], ["--no-prefix"], ["--src-prefix=i/", "--dst-prefix=w/"]),
    *(["--function-context"], ["--minimal"], ["--full-index"]),
]


def git(root, *arguments):
    who = {
        f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    none = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *arguments],
        cwd=root,
        env={**os.environ, **who, **none},
        check=True,
        capture_output=True,
    )
    return done.stdout.decode()


def tree(root):
    return {
        str(path.relative_to(root)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".git" not in path.parts
    }


class Author:
    """Writes and changes files, the same ones for the same seed."""

    def __init__(self, seed, root):
        self.dice = random.Random(seed)
        self.root = root
        self.lines = self.dice.sample(LINES, self.dice.randrange(3, len(LINES)))
        self.ending = self.dice.choice(["\n", "\n", "\r\n"])
        self.texts = {}

    def some(self, most):
        dice = self.dice
        return [
            dice.choice(self.lines) if dice.random() < 0.7 else f"line {dice.randrange(999)}"
            for _ in range(dice.randrange(most))
        ]

    def write(self, name, lines):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        text = self.ending.join(lines) + (self.ending if self.dice.random() < 0.8 else "")
        path.write_bytes(text.encode() if lines else b"")
        self.texts[name] = lines

    def begin(self):
        for name in self.dice.sample(NAMES, self.dice.randrange(1, 4)):
            # Two lines at least, so that a file shows how its lines end.
            self.write(name, ["first", "second", *self.some(40)])
            if self.dice.random() < 0.2:
                (self.root / name).chmod(0o755)

    def edited(self, lines):
        lines = list(lines)
        for _ in range(self.dice.randrange(1, 4)):
            at = self.dice.randrange(1, len(lines) + 1)
            lines[at : at + self.dice.randrange(3)] = self.some(4)
        return lines

    def go_on(self):
        for name, lines in list(self.texts.items()):
            path, what = self.root / name, self.dice.random()
            if what < 0.7:
                self.write(name, self.edited(lines))
            elif what < 0.8:
                path.unlink()
            elif what < 0.9:
                moved = self.root / "moved" / name.replace("/", "_")
                moved.parent.mkdir(exist_ok=True)
                path.rename(moved)
            else:
                path.chmod(path.stat().st_mode ^ 0o111)
        if self.dice.random() < 0.3:
            self.write("new.txt", self.some(9))


async def same_as_git(workspace, source, seed):
    git(source, "init", "--quiet")
    author = Author(seed, source)
    author.begin()
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "--message", "x")
    shutil.copytree(source, workspace.root, dirs_exist_ok=True, ignore=lambda *_: [".git"])
    author.go_on()
    git(source, "add", "--all")
    form = author.dice.choice(FORMS)
    diff = git(source, "diff", "--cached", "HEAD", "--find-renames", "--find-copies", *form)
    if diff:
        await workspace.change("apply_patch", patch=diff)
    assert tree(workspace.root) == tree(source), diff


@pytest.mark.feature("E18")
@pytest.mark.parametrize("seed", range(20))
async def test_a_diff_of_gits_does_what_git_would_do(workspace, tmp_path, seed):
    source = tmp_path / "source"
    source.mkdir()

    await same_as_git(workspace, source, seed)


@pytest.mark.torture
@pytest.mark.parametrize("start", range(20, 1020, 50))
async def test_a_thousand_diffs_of_gits(workspace, tmp_path, start):
    for seed in range(start, start + 50):
        source = tmp_path / f"source-{seed}"
        source.mkdir()
        await same_as_git(workspace, source, seed)
        shutil.rmtree(source)
        for path in workspace.root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


async def test_the_mail_of_format_patch_is_a_patch(workspace, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "--quiet")
    (source / "x").write_text("a\nb\n")
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "--message", "one")
    (source / "x").write_text("a\nc\n")
    git(source, "commit", "--quiet", "--all", "--message", "two\n\n- a list\n- in the message")
    workspace.write("x", "a\nb\n")

    await workspace.change("apply_patch", patch=git(source, "format-patch", "--stdout", "-1"))

    assert workspace.read("x") == b"a\nc\n"
