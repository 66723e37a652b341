"""How `handrail config` writes values, their sources and their names."""

from pathlib import Path

import pytest

from handrail.cli.commands.setup.config import _is_below, _text, source_text
from handrail.config.layers.sources import Layer, SettingSource


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("é", '"é"'),
        (["a"], '["a"]'),
        ({"rule": "a", "examples": []}, '"a"'),
        ({"rule": "a", "examples": ["b"]}, '{"rule": "a", "examples": ["b"]}'),
        ({"rule": "a"}, '{"rule": "a"}'),
        ({"examples": []}, '{"examples": []}'),
        ({}, "{}"),
    ],
)
def test_a_rule_without_examples_is_written_as_text(value, text):
    assert _text(value) == text


@pytest.mark.parametrize(
    ("name", "below"),
    [("a.b", True), ("a[0]", True), ("a", False), ("ab", False), ("ab.c", False), ("b.a.c", False)],
)
def test_what_is_below_a_key(name, below):
    assert _is_below(name, "a") is below


@pytest.mark.parametrize(
    ("file", "line", "text"),
    [
        ("/w/.handrail/config.toml", 3, ".handrail/config.toml:3"),
        ("/w/.handrail/config.toml", None, ".handrail/config.toml"),
        ("/home/config.toml", 3, "/home/config.toml:3"),
        ("/workspace/config.toml", 3, "/workspace/config.toml:3"),
    ],
)
def test_a_file_is_named_from_the_workspace(file, line, text):
    source = SettingSource(next(iter(Layer)), Path(file), line)
    assert source_text(source, Path("/w")) == text


def test_a_value_without_a_file_names_its_layer():
    for layer in Layer:
        assert source_text(SettingSource(layer), Path("/w")) == layer.value
