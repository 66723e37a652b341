"""Names are the words that a reader would search for; folders stay small."""

import ast
import re
from collections import Counter

import pytest
from tests.support.sources import SOURCE, source_trees

from handrail.tools.builtin import BUILTIN_NAMES

FILES = sorted(SOURCE.rglob("*.py"))
MOST_MODULES = 20
FREE_MODULES = ("__init__", "__main__", "messages")
# Words that end like a participle and are nouns.
NOUNS = frozenset({"Setting", "Finding", "Listing", "Ordering", "Docstring", "Binding"})
PARTICIPLES = frozenset(
    {
        *("Told", "Heard", "Kept", "Left", "Given", "Said", "Found", "Held", "Made", "Seen", "Ran"),
        *("Gone", "Done", "Sent", "Built", "Known", "Meant", "Shown", "Drawn", "Taken", "Written"),
        *("Begun", "Torn", "Stuck", "Lost", "Met", "Put", "Spoken", "Thrown", "Hidden", "Chosen"),
    }
)


def top_level(kinds):
    for name, tree in source_trees().items():
        for node in tree.body:
            if isinstance(node, kinds):
                yield name, node.name


def test_a_class_name_is_used_once():
    """A leading underscore does not make another name: a search finds both."""
    counts = Counter(name.lstrip("_") for _, name in top_level(ast.ClassDef))

    assert sorted(name for name, count in counts.items() if count > 1) == []


def test_a_class_is_a_noun_and_not_a_participle():
    found = sorted(f"{where}: {name}" for where, name in top_level(ast.ClassDef) if bare(name))

    assert found == []


def bare(name):
    """Whether a class name is one word, and that word a participle."""
    word = name.lstrip("_")
    if not re.fullmatch(r"[A-Z][a-z]+", word) or word in NOUNS:
        return False
    return word in PARTICIPLES or bool(re.search(r"[^aeiou](ed|ing)$", word) and len(word) > 4)


def test_functions_are_not_named_by_a_preposition():
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = sorted(
        f"{where}: {name}"
        for where, name in top_level(kinds)
        if re.search(r"_(of|by)$", name) or re.match(r"_?as_", name)
    )

    assert found == []


def test_a_module_name_is_used_once_in_its_package():
    counts = Counter(
        (path.relative_to(SOURCE).parts[0], path.stem)
        for path in FILES
        if path.stem not in FREE_MODULES
    )

    assert sorted(key for key, count in counts.items() if count > 1) == []


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in FILES}), ids=lambda one: one.name
)
def test_a_folder_has_few_modules_and_no_three_share_a_prefix(folder):
    names = [path.stem for path in folder.glob("*.py") if path.stem not in FREE_MODULES]
    # The module of a tool has the name of the tool.
    own = [name for name in names if folder.parent.name != "tools" or name not in BUILTIN_NAMES]
    prefixes = Counter(name.split("_")[0] for name in own if "_" in name)
    prefixes.update(name for name in own if name in prefixes)

    assert len(names) <= MOST_MODULES
    assert {prefix for prefix, count in prefixes.items() if count > 2} == set()
