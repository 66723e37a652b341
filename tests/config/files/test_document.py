"""Configuration files of three formats: values, lines, and what is refused."""

from pathlib import Path

import pytest

from handrail.config.files.document import (
    Document,
    dotted,
    key_text,
    location,
    parse_document,
)
from handrail.config.files.frontmatter import InvalidFrontmatter, split_frontmatter
from handrail.config.files.reading import FileText
from handrail.config.files.yaml_values import MAX_CHARS, UnsupportedYaml, parse
from handrail.core.problems import ProblemRaised


def document(name, text):
    return parse_document(FileText(name, Path("/w", name), text, ""))


def refused(name, text):
    with pytest.raises(ProblemRaised) as raised:
        document(name, text)
    assert raised.value.problem.code == "invalid_arguments"
    return raised.value.problem.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", "a = 1\n\n[b]\nc = 'x'\n"),
        ("a.conf", "a = 1\n\n[b]\nc = 'x'\n"),
        ("a.yaml", "a: 1\n\nb:\n  c: x\n"),
        ("a.YML", "a: 1\n\nb:\n  c: x\n"),
        ("a.json", '{"a": 1,\n\n"b": {\n"c": "x"}, "$schema": "y"}'),
        ("a.json", '{"a": 1,\n\n"b":\t{\n"c":\t"x"}}'),
    ],
)
def test_a_file_is_read_by_its_ending(name, text):
    found = document(name, text)

    assert found.values == {"a": 1, "b": {"c": "x"}}
    assert [found.line(key) for key in (("a",), ("b",), ("b", "c"))] == [1, 3, 4]


def test_the_line_of_an_unknown_key_is_that_of_the_table_around_it():
    found = Document(Path("a"), {}, {("a",): 3, ("a", "b"): 5})

    assert found.line(("a", "b", 2)) == 5
    assert found.line(("a", "x", "y")) == 3
    assert found.line(("z",)) is None
    assert found.line(()) is None


@pytest.mark.parametrize("name", ["a.yaml", "a.toml"])
def test_an_empty_file_has_no_settings(name):
    assert document(name, "").values == {}


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.yaml", "- 1\n", ":1"),
        ("a.json", "[1]", ":1"),
        ("a.json", '{"a": 1,\n "a": 2}', ":2"),
        ("a.json", '{\n"a": x}', ":2"),
        ("a.toml", "a = 1\nb = x\n", ":2"),
        ("a.toml", "a = 1\nb = [\n", ":3"),
        ("a.toml", "a = 1\na = 2\n", ":"),
        ("a.toml", "a = 1\n" + "b." * 301 + "c = 1\n", ":2"),
        ("a.yaml", "a: 1\nb: &x 2\n", ":2"),
    ],
)
def test_an_error_names_the_line(name, text, line):
    assert f"/w/{name}{line}" in refused(name, text)


def test_limits_of_toml():
    deep = "[" * 32 + "]" * 32

    assert document("a.toml", f"a = {deep}\n").values
    assert "deeper" in refused("a.toml", f"a = [{deep}]\n")
    assert document("a.toml", "a." * 300 + "b = 1\n").values
    assert "quotes" in refused("a.toml", "a = x\n")


@pytest.mark.parametrize(
    ("key", "text"),
    [((), ""), (("a",), "a"), (("a", "b"), "a.b"), (("a", 0, "b"), "a[0].b"), ((1, "a"), "[1].a")],
)
def test_a_key_as_text(key, text):
    assert dotted(key) == text


def test_places_and_keys_in_messages():
    assert location(Path("/a"), 3) == "/a:3"
    assert location(Path("/a"), None) == "/a"
    assert key_text("a\n" * 5) == "a\\n" * 5
    assert key_text("x" * 200) == "x" * 200
    assert key_text("x" * 201) == "x" * 200 + "…"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("True", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("on", "on"),
        ("12", 12),
        ("-3", -3),
        ("+4", 4),
        ("0123", 123),
        ("1.5", 1.5),
        (".5", 0.5),
        ("2.", 2.0),
        ("1.5e3", 1500.0),
        ("1e3", "1e3"),
        ("1" * 18, int("1" * 18)),
        ("1" * 19, "1" * 19),
        ("0x10", "0x10"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("[1, [a, {b: c}]]", [1, ["a", {"b": "c"}]]),
        ("{a: , b: 1}", {"a": None, "b": 1}),
        ("- 1\n- a: 2\n  b: 3\n-\n", [1, {"a": 2, "b": 3}, None]),
        ("a:\n- 1\n- 2\nb: x # y\n", {"a": [1, 2], "b": "x"}),
        ("1: a\n", {"1": "a"}),
        ("[]", []),
        ("{}", {}),
    ],
)
def test_values_of_yaml(text, value):
    found, _ = parse(text)

    assert found == value
    assert type(found) is type(value)


def test_lines_of_yaml():
    _, lines = parse("a:\n  - 1\n  - b: 2\n    c:\n      - 3\nd: [4,\n 5]\n")

    assert lines == {
        ("a",): 1,
        ("a", 0): 2,
        ("a", 1): 3,
        ("a", 1, "b"): 3,
        ("a", 1, "c"): 4,
        ("a", 1, "c", 0): 5,
        ("d",): 6,
        ("d", 0): 6,
        ("d", 1): 7,
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n---\nb: 2\n", 2),
        ("a: &x 1\n", 1),
        ("a: 1\nb: *x\n", 2),
        ("a: 1\nb: !!str x\n", 2),
        ("a: 1\na: 2\n", 2),
        ("a: 1\n? [b]\n: 2\n", 2),
        ("a: 1\nb: [\n", 3),
        ("a: 1\nb: \x01\n", 2),
        ("\ta: 1\n", 1),
    ],
)
def test_yaml_that_is_refused_has_a_line(text, line):
    with pytest.raises(UnsupportedYaml) as raised:
        parse(text)

    assert raised.value.line == line
    assert str(raised.value) == raised.value.why


def test_limits_of_yaml():
    assert parse("#" * MAX_CHARS) == (None, {})
    assert parse("[" * 32 + "]" * 32)[0] is not None
    for text in ("#" * (MAX_CHARS + 1), "[" * 33 + "]" * 33, '"\\U00110000"'):
        with pytest.raises(UnsupportedYaml):
            parse(text)


@pytest.mark.parametrize(
    ("text", "table", "rest"),
    [
        ("---\na: 1\n---\nbody\n", {"a": 1}, "body\n"),
        ("---\na: 1\n---", {"a": 1}, ""),
        ("\ufeff--- \r\na: 1\r\n---\r\nx\r\ny", {"a": 1}, "x\ny"),
        ("---\na: 1\nb:\n  - 2\n---\n---\n", {"a": 1, "b": [2]}, "---\n"),
        ("---\n{}\n---\nx", {}, "x"),
    ],
)
def test_frontmatter_is_a_table_and_a_text(text, table, rest):
    assert split_frontmatter(text, "a.md") == (table, rest)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "a.md"),
        ("a: 1\n---\n", "a.md"),
        ("---\na: 1\n", "does not end"),
        ("---\n- 1\n---\n", "not a table"),
        ("---\n---\n", "not a table"),
        ("---\na: 1\na: 2\n---\n", "line 3"),
        ("---\n" + "#" * 16_000 + "\n---\n", "16,000"),
        ("---\n'\\U00110000\n", "does not end"),
    ],
)
def test_frontmatter_that_cannot_be_read_says_why(text, word):
    with pytest.raises(InvalidFrontmatter, match=word):
        split_frontmatter(text, "a.md")


def test_the_longest_frontmatter_is_read():
    assert split_frontmatter("---\na: 1\n" + "#" * 15_994 + "\n---\n", "a.md") == ({"a": 1}, "")
