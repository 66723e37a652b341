"""Names that are suggested for a missing file."""

import pytest

from handrail.host.files.locate import Locator
from handrail.host.files.roots import Roots
from handrail.host.files.suggest import suggest_names


def suggest_in(roots, path):
    opened = Roots(roots, [])
    try:
        return suggest_names(opened, Locator(opened).locate(path))
    finally:
        opened.close()


@pytest.fixture
def suggest(work):
    return lambda path: suggest_in([work], path)


def fill(work, *names):
    for name in names:
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("")


@pytest.mark.parametrize(
    ("names", "wanted", "expected"),
    [
        ([], "a.py", []),
        (["main.py"], "mian.py", ["main.py"]),
        (["README.md"], "readme.md", ["README.md"]),
        (["zzzz.py"], "main.py", []),
        (["src/main.py"], "main.py", ["src/main.py"]),
        (["src/main.py"], "lib/main.py", ["src/main.py"]),
        (["src/main.py"], "src/mian.py", ["src/main.py"]),
        (["source/main.py"], "sources/other.py", ["source"]),
        (["a/b/c/main.py", "main.py/x"], "main.pyx", ["main.py"]),
        (["node_modules/main.py", ".git/main.py", "a/main.py"], "main.py", ["a/main.py"]),
        (["parser.py", "tokenizer.py"], "parsers.py", ["parser.py"]),
        (["config.toml"], "config", ["config.toml"]),
        (["b.txt"], "aaaaaaa.txt", []),
    ],
)
def test_similar_names_and_equal_names_elsewhere_are_suggested(
    work, suggest, names, wanted, expected
):
    fill(work, *names)

    assert suggest(wanted) == expected


def test_a_name_in_the_same_directory_comes_before_equal_names_elsewhere(work, suggest):
    fill(work, "a/main.py", "z/Main.py", "z/mains.py")

    assert suggest("z/main.py") == ["z/Main.py", "z/mains.py", "a/main.py"]


def test_at_most_ten_names_are_suggested(work, suggest):
    fill(work, *[f"folder{at}/main.py" for at in range(15)])

    assert len(suggest("main.py")) == 10


def test_names_of_another_root_are_absolute(tmp_path, work):
    other = tmp_path / "other"
    other.mkdir()
    (other / "main.py").write_text("")

    found = suggest_in([work, other], str(other / "mian.py"))

    assert found == [str(other / "main.py")]
