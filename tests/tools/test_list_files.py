import pytest


@pytest.fixture
def project(workspace):
    for path in ("src/a.py", "src/sub/b.py", "src/sub/c.ts", "README.md", ".env", ".git/HEAD"):
        workspace.write(path, "x")
    (workspace.root / "empty").mkdir()
    return workspace


@pytest.mark.feature("E12")
async def test_a_directory_is_listed_with_slashes_after_directories(project):
    output = await project.run("list_files")

    assert output.text == ".env\n.git/\nREADME.md\nempty/\nsrc/"
    assert output.data == output.text.split("\n")


@pytest.mark.feature("E12")
async def test_names_are_relative_to_the_workspace(project):
    output = await project.run("list_files", path="src")

    assert output.data == ["src/a.py", "src/sub/"]


@pytest.mark.feature("E12")
@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"pattern": "*.md"}, ["README.md"]),
        ({"pattern": "s*"}, ["src/"]),
        ({"pattern": "*.{md,env}"}, [".env", "README.md"]),
        ({"pattern": "**/*.py"}, ["src/a.py", "src/sub/b.py"]),
        ({"pattern": "src/**/*.ts"}, ["src/sub/c.ts"]),
        ({"pattern": "sub/*.py", "path": "src"}, ["src/sub/b.py"]),
        ({"pattern": "*.py", "recursive": True}, ["src/a.py", "src/sub/b.py"]),
        ({"path": "src", "recursive": True}, ["src/a.py", "src/sub/b.py", "src/sub/c.ts"]),
    ],
)
async def test_a_pattern_chooses_names(project, arguments, names):
    output = await project.run("list_files", **arguments)

    assert output.data == names


@pytest.mark.feature("E12")
@pytest.mark.parametrize("pattern", ["../*", "src/../../*", "/etc/*", "~/x", "{..,src}/*", "!../x"])
@pytest.mark.parametrize("recursive", [False, True])
async def test_a_pattern_that_points_outside_is_refused(project, pattern, recursive):
    problem = await project.problem("list_files", pattern=pattern, recursive=recursive)

    assert (problem.code, problem.field) == ("invalid_arguments", "pattern")


async def test_an_empty_directory_says_so(project):
    output = await project.run("list_files", path="empty")

    assert (output.text, output.data) == ("[nothing in empty]", [])


async def test_at_most_a_thousand_names_are_shown_and_the_rest_counted(workspace):
    for number in range(1003):
        workspace.write(f"f{number:04}", "")

    output = await workspace.run("list_files")

    assert len(output.data) == 1000
    assert output.text.endswith("with path or pattern]")


async def test_a_file_and_a_missing_directory_are_refused(project):
    file = await project.problem("list_files", path="README.md")
    missing = await project.problem("list_files", path="nope")

    assert (file.code, missing.code) == ("invalid_arguments", "not_found")
