"""What `scripts/mutate.py` breaks, and which tests it finds nearest to a line."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '''
LIMIT = 3

def judge(text: str = "", most: int = 4) -> bool:
    """Compare 1 == 2."""
    if len(text) > most and text:
        log.warning("long: %s", text)
        return False
    for _ in range(2):
        send(text, timeout=7)
    return not text

class Box:
    def __repr__(self):
        return "Box" if self.open == 1 else "?"
'''


@pytest.fixture
def scripts(monkeypatch):
    """The scripts as modules; forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    yield
    for name in set(sys.modules) - before:
        if name in (
            "mutations",
            "block_counter",
            "mutation_map",
            "nearest_tests",
            "mutant_runner",
            "word_nearness",
        ):
            del sys.modules[name]


def test_only_what_a_user_could_notice_is_broken(scripts):
    from mutations import find_mutations

    found = find_mutations("x.py", SOURCE)
    broken = [SOURCE[: one.start] + one.text + SOURCE[one.end :] for one in found]

    assert sorted((one.line, one.what) for one in found) == [
        (6, "comparison is '>='"),
        (6, "condition negated"),
        (6, "joined by 'or'"),
        (8, "False is True"),
        (9, "2 is 3"),
        (10, "statement dropped"),
        (11, "negation dropped"),
        (11, "returns None"),
    ]
    assert len({ast.dump(ast.parse(one)) for one in [*broken, SOURCE]}) == len(found) + 1


def test_a_seed_draws_the_same_mutations_again(scripts):
    import random

    from mutations import draw_mutations

    first = draw_mutations(random.Random(7), 5, "core/places.py")

    assert len(set(first)) == 5
    assert draw_mutations(random.Random(7), 5, "core/places.py") == first


def test_blocks_are_named_by_their_function_from_the_outside_to_the_inside(scripts):
    from block_counter import find_blocks

    found = [(one.name, one.statements[0].lineno) for one in find_blocks(ast.parse(SOURCE), "x.py")]

    assert found == [
        ("x.py:judge#0", 5),
        ("x.py:judge#1", 7),
        ("x.py:judge#2", 10),
        ("x.py:Box:__repr__#0", 15),
    ]


@pytest.fixture
def tree(tmp_path):
    """A repository with the scripts and a package of the same name, and its environment."""
    files = {
        "src/handrail/__init__.py": "",
        "src/handrail/sums.py": (
            "def add(a, b):\n    if a:\n        return a + b\n    return b\n\n\n"
            "def count(many):\n    return len(many) > 3\n"
        ),
        # As this project's own tests do.
        "tests/conftest.py": "import gc\n\n\ndef pytest_collection_finish():\n    gc.freeze()\n",
        "tests/test_here.py": (
            "from handrail.sums import add, count\n\n\n"
            "def test_zero():\n    assert add(0, 2) == 2\n\n\n"
            "def test_few():\n    assert count('a') is False\n"
        ),
        "tests/test_child.py": (
            "import subprocess, sys\n\ndef test_child():\n"
            "    code = 'from handrail.sums import add; print(add(1, 2))'\n"
            "    assert subprocess.check_output([sys.executable, '-c', code]) == b'3\\n'\n"
        ),
    }
    for name, text in files.items():
        tmp_path.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(name).write_text(text)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    tmp_path.joinpath(".gitignore").write_text("__pycache__\n.mutation-map\n")
    for words in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, timeout=60)
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    commit = ["git", *author, "commit", "-qm", "all"]
    subprocess.run(commit, cwd=tmp_path, check=True, timeout=60)
    path = os.pathsep.join(str(tmp_path / one) for one in ("src", "scripts"))
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("PYTEST_XDIST_WORKER", None)

    def run(*words):
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        return done.stdout + done.stderr

    return run


def test_the_map_knows_what_tests_enter_also_in_processes_they_start(tree):
    query = (
        "from mutation_map import CodeMap\n"
        "for line in (3, 4):\n"
        "    print(*[test.id for test in CodeMap().find_tests('src/handrail/sums.py', line)])\n"
    )

    tree("-m", "pytest", "-q", "-p", "mutation_map", "tests")

    inner, outer = tree("-c", query).splitlines()
    assert inner == "tests/test_child.py::test_child"
    assert set(outer.split()) == {
        "tests/test_child.py::test_child",
        "tests/test_here.py::test_zero",
    }


def test_mutations_are_caught_by_the_tests_of_their_behaviour(tree):
    printed = tree("scripts/mutate.py", "--seed", "1", "--require", "10")

    found = sorted(line[:35] for line in printed.splitlines() if "src/handrail/sums.py" in line)
    assert found == [
        "caught   src/handrail/sums.py:2 con",
        "caught   src/handrail/sums.py:3 ret",
        "caught   src/handrail/sums.py:4 ret",
        "caught   src/handrail/sums.py:8 ret",
        "survived src/handrail/sums.py:8 3 i",
        "survived src/handrail/sums.py:8 com",
    ]


def test_test_files_are_ranked_by_name_folder_imports_and_mentions(scripts, tmp_path):
    from nearest_tests import FileRanking

    files = {
        "src/handrail/tools/_lib/matching.py": "def find_match(): pass\n",
        "src/handrail/tools/edit_file.py": "from handrail.tools._lib import matching\n",
        "src/handrail/store/rows.py": "def read_row(): pass\n",
        "tests/tools/_lib/test_matching.py": "import handrail\n",
        "tests/tools/test_other.py": "from handrail.tools import edit_file\n",
        "tests/spec/test_edit_file.py": "import handrail\n",
        "tests/spec/test_mentions.py": "wanted = 'find_match'\n",
        "tests/store/test_rows.py": "from handrail.store import rows\n",
    }
    for name, text in files.items():
        tmp_path.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(name).write_text(text)

    ranked = FileRanking(tmp_path).rank("src/handrail/tools/_lib/matching.py")

    assert ranked[0] == "tests/tools/_lib/test_matching.py"
    assert set(ranked[1:4]) == {
        "tests/tools/test_other.py",
        "tests/spec/test_edit_file.py",
        "tests/spec/test_mentions.py",
    }
    assert ranked[4] == "tests/store/test_rows.py"


def test_a_test_is_near_by_rare_words_of_the_function_around_a_line(scripts, tmp_path):
    from word_nearness import WordNearness

    source = (
        "def fold_case(name):\n    return name.casefold()\n\n\n"
        "def count_words(name):\n    return len(name.split())\n"
    )
    tests = (
        "def test_a_name_is_folded():\n    assert module.fold_case('A') == 'a'\n\n\n"
        "def test_a_name_has_words():\n    assert module.count_words('a b') == 2\n\n\n"
        "def test_a_name_is_kept():\n    assert module.keep('a') == 'a'\n"
    )
    tmp_path.joinpath("names.py").write_text(source)
    tmp_path.joinpath("test_names.py").write_text(tests)
    nearness = WordNearness(tmp_path, ["test_names.py"])

    def nearest(line):
        found = nearness.measure("names.py", line)
        return max(found, key=found.get)

    assert nearest(2) == "test_names.py::test_a_name_is_folded"
    assert nearest(6) == "test_names.py::test_a_name_has_words"


def test_test_functions_take_turns_with_cases_from_their_whole_tables(scripts):
    from mutant_runner import BETWEEN, TURN, take_turns

    table = [str(number) for number in range(2 * TURN)]
    others = [[f"other {number}"] for number in range(BETWEEN)]

    order = take_turns([table, *others])

    first, second = order[:TURN], order[-TURN - 1 :]
    assert order[TURN : TURN + BETWEEN - 1] == [one for [one] in others[:-1]]
    assert {*first, *second} == {*table, others[-1][0]}
    assert max(map(int, first)) >= TURN


@pytest.mark.parametrize(
    ("seconds", "left", "taken"),
    [
        ([0.0] * 100, 60.0, 50),
        ([0.0] * 100, 0.02, 4),
        ([0.1, 0.1, 0.1], 60.0, 2),
        ([3.0, 3.0], 60.0, 1),
        ([3.0], 2.0, 0),
        ([], 60.0, 0),
    ],
    ids=["quick", "little time", "some", "slow", "too slow", "none"],
)
def test_a_turn_of_a_file_is_limited_by_time(scripts, seconds, left, taken):
    from mutation_map import TimedTest
    from nearest_tests import take_turn

    tests = [TimedTest(f"t{n}", "test_a.py", one) for n, one in enumerate(seconds)]

    assert take_turn(tests, left) == tests[:taken]
