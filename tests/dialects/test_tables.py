"""The dialect tables against the tools they show: complete, consistent, and pinned.

Set HANDRAIL_UPDATE_SNAPSHOTS=1 to write the snapshots anew, then read the diff.
"""

import json
import os
import re
from pathlib import Path

import pytest
from tests.dialects.builtin import PARAMS, TOOLS, entries

from handrail.core.problems import ProblemRaised
from handrail.dialects.declare import PROVIDERS, declarations
from handrail.dialects.known import DIALECTS, find_vocabulary
from handrail.dialects.spellings import ARGUMENTS, NAMES, SPELLINGS

# A name of a tool or an argument that is no word of the language.
NAME = re.compile(r"(?<![\w./-])[a-z]+(?:_[a-z]+)+(?![\w(])")
SNAPSHOTS = Path(__file__).parent / "snapshots"
VIEWS = [
    pytest.param(dialect, view, id=f"{dialect.name}-{view.name}")
    for dialect in DIALECTS.values()
    for view in dialect.views
]


@pytest.mark.feature("A19", "C21")
@pytest.mark.parametrize("name", DIALECTS)
def test_what_a_model_is_shown_is_exactly_the_snapshot(name):
    vocabulary = find_vocabulary(name)
    now = {
        "dialect": name,
        "version": vocabulary.dialect.version,
        "tools": declarations("openai", entries(vocabulary)),
    }
    text = json.dumps(now, indent=1, ensure_ascii=False) + "\n"
    file = SNAPSHOTS / f"{name}.json"
    if os.environ.get("HANDRAIL_UPDATE_SNAPSHOTS"):
        file.write_text(text, encoding="utf-8")

    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize(("dialect", "view"), VIEWS)
def test_an_example_goes_to_canonical_and_back_and_is_valid(dialect, view):
    vocabulary = find_vocabulary(dialect.name)

    translated = vocabulary.translate(vocabulary.resolve(view.name), view.example)

    assert vocabulary.resolve(view.name) is view
    assert translated.ignored == {}
    TOOLS[view.tool].params.model_validate(translated.arguments)
    assert vocabulary.spell(view, translated.arguments) == view.example
    assert set(view.example) <= {arg.name for arg in view.shown_args(PARAMS[view.tool])}


@pytest.mark.parametrize(("dialect", "view"), VIEWS)
def test_a_table_names_only_tools_and_arguments_that_exist(dialect, view):
    named = {arg.canonical for arg in view.args if arg.canonical} | set(view.defaults)

    assert view.tool in TOOLS
    assert named - PARAMS[view.tool] == set()


@pytest.mark.parametrize(("dialect", "view"), VIEWS)
def test_every_argument_that_must_be_given_is_shown(dialect, view):
    shown = {arg.canonical for arg in view.shown_args(PARAMS[view.tool])}
    required = {
        name for name, field in TOOLS[view.tool].params.model_fields.items() if field.is_required()
    }

    assert required - shown - set(view.defaults) == set()


@pytest.mark.parametrize(("dialect", "view"), VIEWS)
def test_defaults_of_a_view_are_values_that_the_tool_takes(dialect, view):
    example = find_vocabulary(dialect.name).translate(view, view.example).arguments

    TOOLS[view.tool].params.model_validate({**example, **view.defaults})


@pytest.mark.parametrize("name", DIALECTS)
def test_names_within_a_dialect_are_unique_and_providers_take_them(name):
    vocabulary = find_vocabulary(name)
    shown = [view.name for tool in TOOLS for view in vocabulary.views(tool)]

    assert len(set(shown)) == len(shown)
    assert all(one.replace("_", "").isalnum() and len(one) <= 64 for one in shown)


def test_no_spelling_hides_an_argument_of_the_same_tool():
    views = [view for one in (*DIALECTS.values(), SPELLINGS) for view in one.views]
    clashes = [
        (view.name, arg.name)
        for view in views
        for arg in view.args
        if arg.name in PARAMS[view.tool] and arg.canonical != arg.name
    ]

    assert clashes == []


def test_no_spelling_means_two_things_within_one_tool():
    meanings: dict[tuple[str, str], set[str | None]] = {}
    for dialect in (*DIALECTS.values(), SPELLINGS):
        for view in dialect.views:
            for arg in view.args:
                meanings.setdefault((view.tool, arg.name), set()).add(arg.canonical)

    assert {spelling: found for spelling, found in meanings.items() if len(found) > 1} == {}


def test_the_spelling_tables_name_only_what_exists():
    assert set(ARGUMENTS) <= set(TOOLS)
    assert set(NAMES) <= set(ARGUMENTS)
    assert {tool: set(table) - PARAMS[tool] for tool, table in ARGUMENTS.items()} == {
        tool: set() for tool in ARGUMENTS
    }


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_placeholder_is_left_in_what_a_model_reads(name, provider):
    assert "[[" not in json.dumps(declarations(provider, entries(find_vocabulary(name))))


def _parts(schema, key):
    """Every value of a key in a schema, at any depth."""
    if isinstance(schema, list):
        return [found for one in schema for found in _parts(one, key)]
    if not isinstance(schema, dict):
        return []
    own = [schema[key]] if key in schema else []
    return own + [found for one in schema.values() for found in _parts(one, key)]


@pytest.mark.finding("F50", "F51")
@pytest.mark.parametrize("name", DIALECTS)
def test_no_description_names_what_the_dialect_does_not_show(name):
    known = {word for word in {*TOOLS}.union(*PARAMS.values()) if "_" in word}
    listed = entries(find_vocabulary(name))
    shown = {entry.view.name for entry in listed}
    wrong = []
    for declared in declarations("openai", listed):
        function = declared["function"]
        schema = function["parameters"]
        own = {word for properties in _parts(schema, "properties") for word in properties}
        texts = [one for one in _parts(function, "description") if isinstance(one, str)]
        named = {word for text in texts for word in NAME.findall(text)}
        wrong += [(function["name"], word) for word in sorted(named & known - shown - own)]

    assert wrong == []


@pytest.mark.parametrize(("dialect", "view"), VIEWS)
def test_what_a_view_requires_is_shown_and_in_its_example(dialect, view):
    vocabulary = find_vocabulary(dialect.name)
    shown = {arg.name for arg in view.shown_args(PARAMS[view.tool])}

    assert set(view.required) <= shown & set(view.example)
    for name in view.required:
        given = {key: value for key, value in view.example.items() if key != name}
        with pytest.raises(ProblemRaised) as raised:
            vocabulary.translate(view, given)
        assert (raised.value.problem.code, raised.value.problem.field) == (
            "invalid_arguments",
            name,
        )
