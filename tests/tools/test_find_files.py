import os

import pytest


@pytest.fixture
def project(workspace):
    for number, path in enumerate(("src/b.py", "src/sub/a.py", "c.py", "d.md")):
        target = workspace.write(path, "x")
        os.utime(target, (1_000_000 + number, 1_000_000 + number))
    return workspace


@pytest.mark.feature("E24", "E27")
async def test_a_name_is_found_at_any_depth_in_the_order_of_paths(project):
    output = await project.run("find_files", pattern="*.py")

    assert output.text == "c.py\nsrc/b.py\nsrc/sub/a.py"
    assert output.data == {
        "paths": ["c.py", "src/b.py", "src/sub/a.py"],
        "total": 3,
        "next_offset": None,
    }


@pytest.mark.feature("E24")
async def test_only_the_directory_itself_is_searched_when_asked(project):
    output = await project.run("find_files", pattern="*.py", recursive=False)

    assert output.data["paths"] == ["c.py"]


@pytest.mark.feature("E25")
async def test_several_patterns_are_one_search(project):
    output = await project.run("find_files", pattern=["*.md", "src/*.py"])

    assert output.data["paths"] == ["d.md", "src/b.py"]


@pytest.mark.feature("E26")
async def test_the_newest_come_first_when_sorted_by_time(project):
    output = await project.run("find_files", pattern="*", sort="mtime")

    assert output.data["paths"] == ["d.md", "c.py", "src/sub/a.py", "src/b.py"]


@pytest.mark.feature("E25")
async def test_pages_lead_from_one_to_the_next(project):
    first = await project.run("find_files", pattern="*", limit=3)
    second = await project.run("find_files", pattern="*", limit=3, offset=3)

    assert first.text.endswith("go on with offset=3]")
    assert (first.data["next_offset"], second.data["next_offset"]) == (3, None)
    assert second.text == "src/sub/a.py\n\n[the last of 4 files in all]"


async def test_an_offset_past_the_end_says_how_many_there_are(project):
    output = await project.run("find_files", pattern="*.md", offset=5)

    assert output.text.startswith("[offset 5 is past")
    assert output.text.endswith("1 file in all]")


async def test_nothing_found_says_what_was_looked_for(project):
    output = await project.run("find_files", pattern="*.rs", path="src")

    assert output.text.startswith("[no file matches '*.rs'")
    assert "beneath 'src' (ignored" in output.text


@pytest.mark.parametrize("pattern", ["../*", ["*.py", "a/../../b"], "/etc/passwd"])
async def test_a_pattern_that_points_outside_is_refused(project, pattern):
    problem = await project.problem("find_files", pattern=pattern)

    assert (problem.code, problem.field) == ("invalid_arguments", "pattern")


async def test_a_result_that_would_not_fit_ends_early_and_says_how_to_go_on(workspace):
    for number in range(300):
        workspace.write("x" * 200 + f"{number:03}", "")

    output = await workspace.run("find_files", pattern="*", limit=300)

    shown = len(output.data["paths"])
    assert len(output.text) <= 30_000
    assert 100 < shown == output.data["next_offset"]
    assert f"go on with offset={shown}]" in output.text
