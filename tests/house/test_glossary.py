"""The glossary names classes that exist, each word once."""

import ast
import re
from pathlib import Path

from tests.support.sources import source_trees

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(
    r"^\| ([^|`]+) \| (.+) \|$", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE
)
WORDS = {word: meaning for word, meaning in ROWS if word not in ("word", "---")}


def test_every_class_in_the_glossary_exists():
    classes = {
        node.name
        for tree in source_trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    named = {
        name for meaning in WORDS.values() for name in re.findall(r"`([A-Z][A-Za-z]+)`", meaning)
    }

    assert named - classes == set()


def test_the_glossary_has_each_word_once():
    assert 70 <= len(WORDS) <= 110
    assert len([word for word, _ in ROWS if word not in ("word", "---")]) == len(WORDS)
