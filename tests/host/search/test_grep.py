"""What a search for text answers, by either engine."""

import os
import subprocess

import anyio
import pytest

from handrail.core.places import Kind, Place
from handrail.core.ports.machine import FilesQuery, GrepMode, GrepQuery, Hit
from handrail.core.problems import ProblemRaised
from handrail.host.search.fallback.python_search import PythonSearch
from handrail.host.search.ripgrep.ripgrep_search import RipgrepSearch


@pytest.mark.feature("E21", "E23")
async def test_files_with_matches_are_sorted_by_path(search, tree):
    for name in ("b.txt", "a/z.txt", "a.txt"):
        tree.write(name)
    tree.write("other.txt", "hay\n")

    found = await search.grep(GrepQuery("needle", tree.place()))

    assert found[:4] == (("a.txt", "a/z.txt", "b.txt"), (), (), None)


@pytest.mark.feature("E20", "E23")
async def test_lines_come_with_numbers_and_merged_context(search, tree):
    tree.write("a.txt", "1\nneedle\n3\nneedle\n5\n6\n7\n8\nneedle")

    query = GrepQuery("needle", tree.place(), mode=GrepMode.CONTENT, before=1, after=1)
    found = await search.grep(query)

    shown = [(hit.line, hit.matched) for hit in found.hits]
    assert shown == [
        (1, False), (2, True), (3, False), (4, True), (5, False), (8, False), (9, True),
    ]  # fmt: skip
    assert found.hits[1] == Hit("a.txt", 2, "needle", matched=True)
    assert (found.files, found.counts) == (("a.txt",), (3,))


async def test_more_context_than_there_are_lines_shows_them_all(search, tree):
    tree.write("a.txt", "1\nneedle\n3\n" * 500)

    query = GrepQuery("needle", tree.place(), mode=GrepMode.CONTENT, before=10**12, after=10**12)
    with anyio.fail_after(15):
        found = await search.grep(query)

    assert [hit.line for hit in found.hits] == list(range(1, 1501))


async def test_millions_of_lines_and_of_matches_in_one_line_come_back(search, tree):
    tree.write("lines.txt", b"\n" * 5_000_000 + b"needle\n")
    tree.write("line.txt", b"needle " * 300_000)

    with anyio.fail_after(30):
        for multiline in (False, True):
            query = GrepQuery("needle", tree.place(), multiline=multiline)
            counted = await search.grep(query._replace(mode=GrepMode.COUNT))
            shown = await search.grep(query._replace(mode=GrepMode.CONTENT, before=1))

            assert (counted.files, counted.counts) == (("line.txt", "lines.txt"), (1, 1))
            assert [hit.line for hit in shown.hits] == [1, 5_000_000, 5_000_001]


@pytest.mark.feature("E23")
async def test_counts_are_of_matching_lines(search, tree):
    tree.write("a.txt", "needle needle\nneedle\n")
    tree.write("b.txt", "needle\r\n")

    found = await search.grep(GrepQuery("needle$", tree.place(), mode=GrepMode.COUNT))

    assert (found.files, found.counts) == (("a.txt", "b.txt"), (2, 1))


@pytest.mark.feature("E21")
async def test_a_literal_pattern_is_taken_as_it_is(search, tree):
    tree.write("a.txt", "a.b(c)\nazb(c)\n")

    query = GrepQuery("a.b(c", tree.place(), mode=GrepMode.CONTENT, literal=True)
    found = await search.grep(query)

    assert [hit.line for hit in found.hits] == [1]


@pytest.mark.feature("E23")
async def test_multiline_patterns_span_lines(search, tree):
    tree.write("a.txt", "x\nbegin\nmiddle\nend\n")

    query = GrepQuery("begin.*end", tree.place(), mode=GrepMode.CONTENT, multiline=True)
    found = await search.grep(query)

    assert [hit.line for hit in found.hits] == [2, 3, 4]


async def test_a_dollar_matches_before_crlf_and_an_explicit_cr_is_found(search, tree):
    tree.write("dos.txt", "one;\r\ntwo\r\n")
    tree.write("unix.txt", "one;\ntwo\n")

    ends = await search.grep(GrepQuery(";$", tree.place()))
    returns = await search.grep(GrepQuery("\\r$", tree.place()))

    assert ends.files == ("dos.txt", "unix.txt")
    assert returns.files == ("dos.txt",)


async def test_text_is_found_in_utf16_and_shown_without_marks_and_endings(search, tree):
    tree.write("wide.txt", "größe\r\n".encode("utf-16"))
    tree.write("marked.txt", "größe\r\n".encode("utf-8-sig"))

    found = await search.grep(GrepQuery("^größe", tree.place(), mode=GrepMode.CONTENT))

    assert [(hit.path, hit.text) for hit in found.hits] == [
        ("marked.txt", "größe"),
        ("wide.txt", "größe"),
    ]


async def test_a_line_of_ten_megabytes_is_cut_with_a_marker(search, tree):
    tree.write("long.txt", "é" * 5_000_000 + "needle\n")

    found = await search.grep(GrepQuery("needle", tree.place(), mode=GrepMode.CONTENT))

    assert found.hits[0].text == "é" * 2000 + "… [line cut at 2000 characters]"


async def test_binary_files_are_passed_over_and_refused_by_name(search, tree):
    tree.write("image.bin", b"\x89PNG\0needle\n")

    everywhere = await search.grep(GrepQuery("needle", tree.place()))
    with pytest.raises(ProblemRaised) as refused:
        await search.grep(GrepQuery("needle", tree.place("image.bin")))

    assert everywhere.files == ()
    assert refused.value.problem.code == "not_text"


async def test_a_text_that_turns_binary_far_down_says_so(search, tree):
    tree.write("log.txt", b"needle one\n" + b"x\n" * 100_000 + b"\0\nneedle two\n")

    found = await search.grep(GrepQuery("needle", tree.place(), mode=GrepMode.CONTENT))

    assert [hit.line for hit in found.hits] == [1]
    assert "where binary data begins" in found.partial


async def test_one_file_can_be_searched_by_its_name_even_if_ignored(search, tree):
    tree.write(".gitignore", "*.log\n")
    tree.write("a.log")

    everywhere = await search.grep(GrepQuery("needle", tree.place()))
    by_name = await search.grep(GrepQuery("needle", tree.place("a.log"), globs=("*.py",)))

    assert everywhere.files == ()
    assert by_name.files == ("a.log",)


@pytest.mark.feature("E23")
async def test_a_glob_narrows_and_never_brings_back_what_is_ignored(search, tree):
    tree.write(".gitignore", "*.log\nbuild/\n")
    for name in ("a.py", "src/b.py", "src/c.js", "a.log", "build/d.py"):
        tree.write(name)

    async def files(*globs: str) -> tuple[str, ...]:
        return (await search.grep(GrepQuery("needle", tree.place(), globs=globs))).files

    assert await files("*.py") == ("a.py", "src/b.py")
    assert await files("*.{py,js}") == ("a.py", "src/b.py", "src/c.js")
    assert await files("*.log") == ()
    assert await files("build/**") == ()
    assert await files("src/**/*.py", "*.js") == ("src/b.py", "src/c.js")
    assert await files("!src") == ("a.py",)
    assert await files("*.py", "!src/") == ("a.py",)


@pytest.mark.feature("E23")
async def test_a_type_and_a_glob_together_must_both_fit(search, tree):
    for name in ("a.py", "test_a.py", "test_a.js"):
        tree.write(name)

    found = await search.grep(GrepQuery("needle", tree.place(), type="py", globs=("test_*",)))

    assert found.files == ("test_a.py",)


@pytest.mark.parametrize("mode", GrepMode)
async def test_git_itself_is_left_out_wherever_it_lies_unless_named(search, tree, mode):
    for number in range(150):
        tree.write(f"many/{number}.txt", "hay\n")
    for name in (".git/config", "many/deep/.git/config", "link/.git", "many/.gitignore", "a.git"):
        tree.write(name)

    async def files(rel: str) -> tuple[str, ...]:
        names = await search.files(FilesQuery(tree.place(rel)))
        found = await search.grep(GrepQuery("needle", tree.place(rel), mode=mode))
        assert not [path for path in names.paths if ".git" in path[len(rel) :].split("/")]
        return found.files

    assert await files("") == ("a.git", "many/.gitignore")
    assert await files("many") == ("many/.gitignore",)
    assert await files("many/deep/.git") == ("many/deep/.git/config",)
    assert await files(".git/config") == (".git/config",)


async def test_nothing_is_found_in_hidden_directories(tree, rg):
    for name in ("state/a.txt", "state/deep/b.txt", "c.txt", "sub/state/d.txt"):
        tree.write(name)
    roots, hidden = [str(tree.root)], [str(tree.root / "state"), "/elsewhere"]

    for search in (RipgrepSearch(roots, rg, hidden=hidden), PythonSearch(roots, hidden=hidden)):
        for place in ("", "state", "state/deep", "state/a.txt"):
            found = await search.grep(GrepQuery("needle", tree.place(place)))
            names = await search.files(FilesQuery(tree.place(place)))
            expected = () if place else ("c.txt", "sub/state/d.txt")
            assert found.files == names.paths == expected, (found.engine, place)
        search.close()


async def test_an_unknown_type_gets_a_suggestion(search, tree):
    with pytest.raises(ProblemRaised) as refused:
        await search.grep(GrepQuery("x", tree.place(), type="pyton"))

    problem = refused.value.problem
    assert (problem.code, problem.field) == ("invalid_arguments", "type")
    assert "'python'" in str(problem.hint)


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("foo(", "literal"),
        ("[a-", "literal"),
        ("a\\nb", "multiline"),
        ("*x", "literal"),
    ],
)
async def test_a_pattern_that_does_not_compile_is_explained(search, tree, pattern, hint):
    tree.write("a.txt")

    with pytest.raises(ProblemRaised) as refused:
        await search.grep(GrepQuery(pattern, tree.place()))

    problem = refused.value.problem
    assert (problem.code, problem.field) == ("invalid_arguments", "pattern")
    assert repr(pattern) in problem.message
    assert len(problem.message) < 200
    assert hint in str(problem.hint)


@pytest.mark.parametrize("pattern", ["a\0b", "x" * 70_000, "\ud800", "two\nlines"])
async def test_a_pattern_that_no_engine_can_take_is_refused(search, tree, pattern):
    with pytest.raises(ProblemRaised) as refused:
        await search.grep(GrepQuery(pattern, tree.place()))

    assert refused.value.problem.code == "invalid_arguments"


@pytest.mark.parametrize("glob", ["../*", "a/../../b", "/etc/*", "{x,../y}"])
async def test_a_glob_that_leads_out_is_refused(search, tree, glob):
    with pytest.raises(ProblemRaised) as refused:
        await search.grep(GrepQuery("root", tree.place(), globs=(glob,)))

    assert refused.value.problem.code == "outside_workspace"


async def test_an_absolute_glob_inside_the_root_is_understood(search, tree):
    tree.write("src/a.py")
    tree.write("a.py")

    found = await search.grep(GrepQuery("needle", tree.place(), globs=(f"{tree.root}/src/*.py",)))

    assert found.files == ("src/a.py",)


@pytest.mark.parametrize("glob", ["", "{a", "a}", "[z-a]", "!", "{a,b}" * 20])
async def test_a_glob_that_cannot_be_read_is_refused(search, tree, glob):
    with pytest.raises(ProblemRaised) as refused:
        await search.grep(GrepQuery("x", tree.place(), globs=(glob,)))

    assert refused.value.problem.code == "invalid_arguments"


async def test_a_place_that_is_missing_or_special_is_refused(search, tree):
    os.mkfifo(tree.root / "pipe")

    for rel, code in (("nowhere", "not_found"), ("pipe", "not_text")):
        with pytest.raises(ProblemRaised) as refused:
            await search.grep(GrepQuery("x", tree.place(rel)))
        assert refused.value.problem.code == code


@pytest.mark.needs_landlock
async def test_ignore_files_of_the_repository_above_the_root_count(tmp_path, tree, rg):
    (tmp_path / ".gitignore").write_text("*.tmp\n")
    repository = tree.root
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    tree.write(".gitignore", "*.log\n/inner/anchored\n")
    for name in ("a.log", "a.tmp", "a.txt", "anchored/b.txt"):
        tree.write(f"inner/{name}")
    inner = str(repository / "inner")
    place = Place(0, "", ".", inner, Kind.DIRECTORY)

    for search in (RipgrepSearch([inner], rg), PythonSearch([inner])):
        found = await search.grep(GrepQuery("needle", place))
        search.close()
        # The .gitignore above the repository's top does not count.
        assert found.files == ("a.tmp", "a.txt"), found.engine


async def test_paths_in_other_roots_are_shown_absolute(tmp_path, tree, rg):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("needle\n")
    roots = [str(tree.root), str(other)]
    place = Place(1, "", str(other), str(other), Kind.DIRECTORY)

    for search in (RipgrepSearch(roots, rg), PythonSearch(roots)):
        found = await search.grep(GrepQuery("needle", place, mode=GrepMode.CONTENT))
        search.close()
        assert found.files == (str(other / "a.txt"),)
        assert found.hits[0].path == str(other / "a.txt")


async def test_one_level_only_when_not_recursive(search, tree):
    tree.write("a.txt")
    tree.write("deep/b.txt")

    found = await search.grep(GrepQuery("needle", tree.place(), recursive=False))

    assert found.files == ("a.txt",)


async def test_links_and_special_files_are_passed_over_without_waiting(search, tree, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("needle\n")
    tree.write("a.txt")
    (tree.root / "link.txt").symlink_to(outside)
    (tree.root / "loop").symlink_to(".")
    os.mkfifo(tree.root / "pipe")

    with anyio.fail_after(10):
        found = await search.grep(GrepQuery("needle", tree.place()))

    assert found.files == ("a.txt",)


@pytest.mark.feature("E20")
async def test_a_pattern_made_to_backtrack_for_ever_returns(search, tree):
    tree.write("a.txt", "a" * 50_000 + "!\n")

    with anyio.fail_after(15):
        found = await search.grep(GrepQuery("(a+)+$", tree.place()))

    assert found.files == ()


async def test_globs_and_ignore_lines_made_to_backtrack_return(search, tree):
    name = "a" * 250
    tree.write(".gitignore", "*a" * 60 + "b\n" + "**/a/" * 40 + "b\n")
    tree.write(name)
    tree.write("a/" * 200 + "x")

    with anyio.fail_after(15):
        found = await search.grep(
            GrepQuery("needle", tree.place(), globs=("*a" * 60 + "b", "a*", "**/a/" * 40 + "b"))
        )

    assert found.files == (name,)


NOTICE = 'binary file matches (found "\\0" byte around offset 5)\n.'


async def contents(search, tree, pattern="eval|checked"):
    found = await search.grep(GrepQuery(pattern, tree.place(), mode=GrepMode.CONTENT))
    return [(hit.path, hit.line) for hit in found.hits], found.partial


async def test_a_name_that_looks_like_a_notice_forges_no_lines(search, tree):
    tree.write("auth.py", "def check():\n    return eval(x)\n")
    tree.write(f"a: {NOTICE}/auth.py", "x\nx\nall input is checked\n")

    lines, partial = await contents(search, tree)

    assert ("auth.py", 2) in lines
    assert ("auth.py", 3) not in lines
    assert partial in (None, "left out 1 file with a misleading name")


async def test_a_name_that_looks_like_a_notice_hides_no_lines(search, tree):
    tree.write("auth.py", "def check():\n    return eval(x)\n")
    tree.write(f"auth.py: {NOTICE}/zz.py", "checked\n")

    lines, partial = await contents(search, tree)

    assert lines == [("auth.py", 2), (f"auth.py: {NOTICE}/zz.py", 1)]
    assert partial is None


async def test_a_name_with_line_breaks_is_found_whole_even_behind_a_notice(search, tree):
    tree.write("b.bin", b"eval\n" + b"x\n" * 100_000 + b"\0")
    tree.write("x\nauth.py", "eval\n")
    tree.write("x\n./auth.py", "eval\neval\n")

    lines, partial = await contents(search, tree)

    assert lines == [("b.bin", 1), ("x\n./auth.py", 1), ("x\n./auth.py", 2), ("x\nauth.py", 1)]
    assert "where binary data begins" in partial


@pytest.mark.parametrize("mode", [GrepMode.FILES, GrepMode.COUNT])
async def test_names_with_line_breaks_are_whole_in_every_mode(search, tree, mode):
    names = ["a.py", "x\n./a.py", f"a.py: {NOTICE}/a.py"]
    for name in names:
        tree.write(name, "needle\n")

    found = await search.grep(GrepQuery("needle", tree.place(), mode=mode))

    assert found.files == tuple(sorted(names))
