"""A search of contents leaves out what no call may read, whatever its name and the query."""

import itertools
import string

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.support.withheld import leave_out

from handrail.core.ports.machine import FilesQuery, GrepMode, GrepQuery
from handrail.core.problems import ProblemRaised
from handrail.host.processes import landlock, spawn

SECRET = "needle of the secret\n"
MODES = list(GrepMode)


async def everything(search, tree, **query):
    """All that the three modes tell about a search, as one text."""
    told = [
        await search.grep(GrepQuery("needle", tree.place(), mode=mode, **query)) for mode in MODES
    ]
    return "\n".join(map(repr, told))


@pytest.mark.parametrize("mode", MODES)
async def test_a_withheld_file_is_in_no_answer_and_its_number_is_told(search, tree, mode):
    tree.write("a.txt")
    for name in (".env", "sub/.env", "keys/one/a.pem", "keys/b.PEM"):
        tree.write(name, SECRET)
    leave_out(search, [tree.root], ".env", "*.pem")

    found = await search.grep(GrepQuery("needle", tree.place(), mode=mode))

    assert found.files == ("a.txt",)
    assert found.counts in ((), (1,))
    assert [hit.path for hit in found.hits] in ([], ["a.txt"])
    assert found.partial == "4 paths withheld by rule"


async def test_the_number_says_nothing_about_what_they_hold(search, tree):
    tree.write("a.txt")
    tree.write(".env", SECRET)
    leave_out(search, [tree.root], ".env")

    notes = {
        (await search.grep(GrepQuery(text, tree.place(), mode=mode))).partial
        for text in ("needle", "secret", "nothing like it")
        for mode in MODES
    }

    assert notes == {"1 path withheld by rule"}


async def test_only_those_are_told_that_the_query_could_mean(search, tree):
    tree.write("src/a.py")
    tree.write("src/.env", SECRET)
    tree.write("secrets/key.py", SECRET)
    leave_out(search, [tree.root], ".env", "secrets/**")

    async def note(rel="", *globs):
        return (await search.grep(GrepQuery("needle", tree.place(rel), globs=globs))).partial

    assert await note() == "2 paths withheld by rule"
    assert await note("src") == "1 path withheld by rule"
    # A folder could hold some of any name, and nobody says which.
    assert await note("", "*.py") == "1 path withheld by rule"
    assert await note("src", "*.py") is None


SPELLINGS = [
    *(".env", ".ENV", ".Env", ".env.", ".env ", ".e\u200cnv", ".en\u0056", ".env/inner", ".ENV/a/b"),
    *("Secrets/key", "SECRETS/KEY", "secrets./key", "\u017fecrets/key", "secrets/deep/er/key"),
    *("x.pem", "X.PEM", "new\nline.pem", "-rf.pem", "--pre=x.pem", "[a].pem", "a{b}.pem"),
    *("wild/a1.key", "wild/A2.KEY", "back\\slash.txt", "star*.txt"),
]  # fmt: skip
PATTERNS = [
    *(".env", "secrets/**", "*.pem", "wild/a[12].key", "back\\\\slash.txt", "star\\*.txt"),
]  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
async def test_no_spelling_of_a_withheld_path_tells_anything(search, tree, name):
    tree.write("a.txt")
    tree.write(name, SECRET)
    leave_out(search, [tree.root], *PATTERNS)

    told = await everything(search, tree)

    assert "of the secret" not in told
    assert "a.txt" in told
    assert name.partition("/")[0] not in told
    assert "1 path withheld by rule" in told


async def test_what_is_asked_for_by_its_own_name_is_refused(search, tree):
    tree.write(".env", SECRET)
    tree.write("secrets/key", SECRET)
    leave_out(search, [tree.root], ".env", "secrets/**")

    for rel in (".env", "secrets", "secrets/key"):
        with pytest.raises(ProblemRaised) as refused:
            await search.grep(GrepQuery("needle", tree.place(rel)))
        assert refused.value.problem.code == "denied"


@pytest.mark.parametrize("glob", [".env", ".e*", "**/.env", ".*", "!a.txt", "{.env,a.txt}", "*"])
async def test_a_glob_brings_nothing_back(search, tree, glob):
    tree.write("a.txt")
    tree.write(".env", SECRET)
    leave_out(search, [tree.root], ".env")

    assert "of the secret" not in await everything(search, tree, globs=(glob,))


async def test_neither_a_type_nor_an_ignore_file_brings_something_back(search, tree):
    tree.write("a.py")
    tree.write("secrets/key.py", SECRET)
    tree.write(".gitignore", "!secrets/\n!secrets/key.py\n")
    tree.write(".ignore", "!*\n")
    leave_out(search, [tree.root], "secrets/**")

    assert "of the secret" not in await everything(search, tree, type="py")
    assert "of the secret" not in await everything(search, tree, multiline=True)
    assert "of the secret" not in await everything(search, tree, recursive=False)


async def test_a_link_to_a_withheld_file_is_not_followed(search, tree):
    tree.write(".env", SECRET)
    tree.write("real/key", SECRET)
    (tree.root / "notes.txt").symlink_to(".env")
    (tree.root / "open").symlink_to("real")
    leave_out(search, [tree.root], ".env", "real/**")

    assert "of the secret" not in await everything(search, tree)


async def test_names_may_be_told(search, tree):
    tree.write(".env", SECRET)
    leave_out(search, [tree.root], ".env")

    assert (await search.files(FilesQuery(tree.place()))).paths == (".env",)


@pytest.mark.parametrize("mode", MODES)
async def test_what_the_engine_was_not_told_to_skip_is_dropped_from_its_answer(
    ripgrep, tree, monkeypatch, mode
):
    """So it goes with a file that appears, or is renamed, while the search runs."""
    tree.write("a.txt")
    tree.write(".env", SECRET)
    leave_out(ripgrep, [tree.root], ".env")
    run = spawn.run
    outputs = []

    async def unskipped(command, **options):
        ended = await run([word for word in command if not word.startswith("--iglob")], **options)
        outputs.append(ended.stdout)
        return ended

    monkeypatch.setattr(spawn, "run", unskipped)
    found = await ripgrep.grep(GrepQuery("needle", tree.place(), mode=mode))

    assert b".env" in outputs[0]
    assert found.files == ("a.txt",)
    assert ".env" not in repr(found)


async def test_the_engine_does_not_even_read_what_is_withheld(ripgrep, tree, monkeypatch):
    tree.write("a.txt")
    for name in (".env", "sub/.ENV", "secrets/key", "x/y.pem"):
        tree.write(name, SECRET)
    leave_out(ripgrep, [tree.root], ".env", "secrets/**", "*.pem")
    run = spawn.run
    outputs = []

    async def noting(command, **options):
        ended = await run(command, **options)
        outputs.append(ended.stdout)
        return ended

    monkeypatch.setattr(spawn, "run", noting)
    await ripgrep.grep(GrepQuery("needle", tree.place(), mode=GrepMode.CONTENT))

    assert b"secret" not in outputs[0]


async def test_without_landlock_nothing_is_told_either(ripgrep, tree, monkeypatch):
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    tree.write(".env", SECRET)
    tree.write("a.txt")
    leave_out(ripgrep, [tree.root], ".env")

    assert "of the secret" not in await everything(ripgrep, tree)


LETTERS = st.text(".eEnNvV*?[]\\{}!-a \u00e9\u212ak", min_size=1, max_size=5)
NAMES = LETTERS.filter(lambda name: name not in (".", ".."))
PARTS = st.sampled_from([*string.ascii_lowercase[:3], ".env", "*.pem", "*", "**", "a*", "K"])


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(PARTS, min_size=1, max_size=3), st.lists(NAMES, min_size=1, max_size=3))
async def test_both_engines_leave_out_the_same_and_nothing_else(
    ripgrep, python, tree, parts, names
):
    for number, rel in enumerate(itertools.accumulate(names, "{}/{}".format)):
        (tree.root / rel).mkdir(exist_ok=True)
        tree.write(f"{rel}/{number}.txt")
        tree.write(f"{rel}/.env")
    roots = [tree.root]
    pattern = "/".join(parts)
    withheld = leave_out(ripgrep, roots, pattern)
    leave_out(python, roots, pattern)
    assume(not withheld.hides(str(tree.root)))
    query = GrepQuery("needle", tree.place())

    found, same = await ripgrep.grep(query), await python.grep(query)
    listed = (await ripgrep.files(FilesQuery(tree.place()))).paths

    assert found.files == same.files
    assert set(found.files) == {rel for rel in listed if not withheld.hides(f"{tree.root}/{rel}")}
