import pytest
from pydantic import ValidationError

from handrail.host.search.fallback.python_search import PythonSearch
from handrail.tools.files.list_files import ListFiles
from handrail.tools.search.find_files import FindFiles
from handrail.tools.search.grep import Grep, GrepParams


@pytest.fixture
def project(workspace):
    workspace.write("src/a.py", "import os\n\ndef run():\n    return os.getcwd()\n")
    workspace.write("src/b.ts", "const os = 1\n")
    workspace.write("docs/c.md", "os\nOS\nos.path\n")
    return workspace


@pytest.mark.feature("E23", "E27")
async def test_by_default_the_files_that_match_are_named(project):
    output = await project.run("grep", pattern=r"\bos\b")

    assert output.text == "docs/c.md\nsrc/a.py\nsrc/b.ts"
    assert output.data["paths"] == ["docs/c.md", "src/a.py", "src/b.ts"]


@pytest.mark.feature("E23")
async def test_content_shows_matching_lines_with_path_and_number(project):
    output = await project.run("grep", pattern="os", path="src", output_mode="content")

    assert output.text == (
        "src/a.py:1:import os\nsrc/a.py:4:    return os.getcwd()\nsrc/b.ts:1:const os = 1"
    )
    assert output.data["hits"][0] == {
        "path": "src/a.py",
        "line": 1,
        "text": "import os",
        "matched": True,
    }


@pytest.mark.feature("E23")
async def test_count_shows_how_many_lines_match_per_file(project):
    output = await project.run("grep", pattern="os", output_mode="count")

    assert output.text == "docs/c.md:2\nsrc/a.py:2\nsrc/b.ts:1"


@pytest.mark.feature("E20", "E23")
async def test_context_is_marked_apart_and_groups_are_separated(workspace):
    workspace.write("a", "one\nHIT\ntwo\nthree\nfour\nHIT\nfive\n")

    both = await workspace.run("grep", pattern="HIT", output_mode="content", context=1)
    before = await workspace.run("grep", pattern="HIT", output_mode="content", before=1)
    after = await workspace.run("grep", pattern="HIT", output_mode="content", after=1)

    assert both.text == "a-1-one\na:2:HIT\na-3-two\n--\na-5-four\na:6:HIT\na-7-five"
    assert before.text == "a-1-one\na:2:HIT\n--\na-5-four\na:6:HIT"
    assert after.text == "a:2:HIT\na-3-two\n--\na:6:HIT\na-7-five"


@pytest.mark.feature("E23")
async def test_a_page_of_content_counts_matches_and_brings_only_their_context(workspace):
    workspace.write("a", "".join(f"{n}\nHIT\n" for n in range(6)))

    arguments = {"pattern": "HIT", "output_mode": "content", "context": 1, "limit": 2}
    first = await workspace.run("grep", **arguments)
    second = await workspace.run("grep", **arguments, offset=2)
    last = await workspace.run("grep", **arguments, offset=4)

    assert first.text == (
        "a-1-0\na:2:HIT\na-3-1\na:4:HIT\na-5-2\n\n"
        "[6 matching lines in all, shown: 1-2; go on with offset=2]"
    )
    assert second.text.startswith("a-5-2\na:6:HIT\na-7-3\na:8:HIT\na-9-4\n\n")
    assert last.text == (
        "a-9-4\na:10:HIT\na-11-5\na:12:HIT\n\n[the last of 6 matching lines in all]"
    )


async def test_the_context_of_the_next_match_belongs_to_the_next_page(workspace):
    workspace.write("a", "one\nHIT\ntwo\nthree\nfour\nHIT\nfive\n")

    arguments = {"pattern": "HIT", "output_mode": "content", "context": 1, "limit": 1}
    first = await workspace.run("grep", **arguments)
    second = await workspace.run("grep", **arguments, offset=1)

    assert first.text.startswith("a-1-one\na:2:HIT\na-3-two\n\n[")
    assert second.text.startswith("a-5-four\na:6:HIT\na-7-five\n\n[")


@pytest.mark.feature("E23")
async def test_pages_of_files_lead_from_one_to_the_next(project):
    first = await project.run("grep", pattern="os", limit=2)
    second = await project.run("grep", pattern="os", limit=2, offset=first.data["next_offset"])

    assert first.data["paths"] + second.data["paths"] == ["docs/c.md", "src/a.py", "src/b.ts"]
    assert second.data["next_offset"] is None


@pytest.mark.feature("E21")
async def test_literal_text_is_no_pattern(project):
    literal = await project.run("grep", pattern="run()", literal=True)
    regex = await project.run("grep", pattern="run()")

    assert literal.data["paths"] == regex.data["paths"] == ["src/a.py"]
    assert (await project.run("grep", pattern="o.p", literal=True)).data["paths"] == []
    assert (await project.run("grep", pattern="o.\\.p")).data["paths"] == ["docs/c.md"]


@pytest.mark.feature("E21", "E23")
async def test_case_can_be_ignored(project):
    output = await project.run("grep", pattern="^OS$", ignore_case=True, output_mode="count")

    assert output.text == "docs/c.md:2"


@pytest.mark.feature("E21")
async def test_only_the_directory_itself_is_searched_when_asked(project):
    project.write("top.txt", "os\n")

    output = await project.run("grep", pattern="os", recursive=False)

    assert output.data["paths"] == ["top.txt"]


@pytest.mark.feature("E20", "E22", "E23")
@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"glob": "*.py"}, ["src/a.py"]),
        ({"glob": ["*.py", "*.ts"]}, ["src/a.py", "src/b.ts"]),
        ({"type": "md"}, ["docs/c.md"]),
        ({"path": "docs"}, ["docs/c.md"]),
        ({"path": "src/b.ts"}, ["src/b.ts"]),
    ],
)
async def test_files_are_chosen_by_glob_type_and_path(project, arguments, paths):
    output = await project.run("grep", pattern="os", **arguments)

    assert output.data["paths"] == paths


@pytest.mark.feature("E23")
async def test_a_match_may_span_lines_when_asked(project):
    output = await project.run(
        "grep", pattern=r"run\(\):\n\s+return", multiline=True, output_mode="content"
    )

    assert output.text == "src/a.py:3:def run():\nsrc/a.py:4:    return os.getcwd()"


@pytest.mark.feature("E23")
async def test_line_numbers_can_be_left_out(project):
    output = await project.run("grep", pattern="const", output_mode="content", line_numbers=False)

    assert output.text == "src/b.ts:const os = 1"


async def test_no_match_says_what_was_searched(project):
    output = await project.run("grep", pattern="nowhere", path="src", glob="*.py", type="py")

    assert "*.py, type py (ignored files" in output.text
    assert output.data == {"paths": [], "total": 0, "next_offset": None, "partial": None}


@pytest.mark.feature("E23")
@pytest.mark.parametrize("pattern", ["--help", "--pre=touch pwned", "-f/etc/passwd", "--files"])
async def test_a_pattern_is_never_an_option(project, pattern):
    project.write("opt.txt", f"x {pattern} y\n")

    output = await project.run("grep", pattern=pattern, literal=True)

    assert output.data["paths"] == ["opt.txt"]
    assert not (project.root / "pwned").exists()


async def test_a_pattern_that_does_not_compile_is_refused(project):
    problem = await project.problem("grep", pattern="(")

    assert (problem.code, problem.field) == ("invalid_arguments", "pattern")


@pytest.mark.parametrize("glob", ["../*", "/etc/*", ["*.py", "a/../../*"]])
async def test_a_glob_that_points_outside_is_refused(project, glob):
    problem = await project.problem("grep", pattern="x", glob=glob)

    assert (problem.code, problem.field) == ("invalid_arguments", "glob")


@pytest.mark.parametrize("wrong", [{"pattern": ""}, {"before": -1}, {"limit": 0}, {"offset": -1}])
def test_arguments_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValidationError):
        GrepParams.model_validate({"pattern": "x", **wrong})


@pytest.mark.feature("B09")
async def test_a_result_that_would_not_fit_ends_early_and_says_how_to_go_on(workspace):
    workspace.write("a", ("needle " + "x" * 900 + "\n") * 90)

    output = await workspace.run("grep", pattern="needle", output_mode="content")

    assert len(output.text) <= workspace.tools["grep"].max_chars == 20_000
    assert output.data["next_offset"] == len(output.data["hits"])
    assert f"go on with offset={output.data['next_offset']}]" in output.text
    assert "more characters in this line]" in output.text


async def test_a_search_that_ran_out_of_time_says_so(project):
    search = PythonSearch(project.files.roots, deadline_s=0.0)
    project.tools["grep"] = Grep(search)
    project.tools["find_files"] = FindFiles(search)
    project.tools["list_files"] = ListFiles(project.files, search)

    outputs = [
        await project.run("grep", pattern="os"),
        await project.run("find_files", pattern="*"),
        await project.run("list_files", recursive=True),
    ]

    search.close()
    why = outputs[0].data["partial"]
    assert why
    assert all(f"[incomplete: {why}]" in output.text for output in outputs)
