"""Tables that are added to settings and removed: the parser reads what was meant, the rest stays."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.config.files.toml_edit import append_table, remove_table

SETTINGS = """\
# The first remark.
top = 1

[servers.one]  # behind a header
command = "a"

[servers.one.env]
KEY = "x"

# Above two.
[servers.two]
command = "b"
"""
names = st.text(min_size=1, max_size=5)
texts = st.text(max_size=10).filter(lambda text: "\x00" not in text)
values = st.one_of(
    st.booleans(), texts, st.lists(texts, max_size=3), st.dictionaries(names, texts, max_size=3)
)


@given(st.lists(names, min_size=1, max_size=3), st.dictionaries(st.sampled_from("abc"), values))
def test_what_was_added_is_read_back(key, table):
    expected = table
    for name in reversed(key):
        expected = {name: expected}

    assert tomllib.loads(append_table("", key, table)) == expected


@pytest.mark.parametrize(
    ("text", "begins"), [("", "[a]"), ("x = 1", "x = 1\n\n[a]"), ("x = 1\n", "x = 1\n\n[a]")]
)
def test_a_table_is_added_at_the_end(text, begins):
    assert append_table(text, ["a"], {"b": True, "c": False}) == f"{begins}\nb = true\nc = false\n"


@pytest.mark.parametrize(
    ("text", "key"),
    [("[a]\nx = 1\n", ["a"]), ("a = 1\n", ["a"]), ("a = 1\n", ["a", "b"]), ("a = [", ["b"])],
)
def test_a_table_that_cannot_be_added_is_an_error(text, key):
    with pytest.raises(ValueError):
        append_table(text, key, {"x": "y"})


def test_a_table_goes_with_those_inside_of_it_and_remarks_above_the_next_stay():
    assert remove_table(SETTINGS, ["servers", "one"]) == (
        '# The first remark.\ntop = 1\n\n# Above two.\n[servers.two]\ncommand = "b"\n'
    )


def test_the_last_table_goes_with_its_lines_only():
    kept = remove_table(SETTINGS, ["servers", "two"])

    assert kept == SETTINGS.partition("[servers.two]")[0]


def test_a_remark_inside_a_table_goes_with_it():
    text = "[a]\n# Of x.\nx = 1\n\n[b]\ny = 2\n"

    assert remove_table(text, ["a"]) == "[b]\ny = 2\n"


@pytest.mark.parametrize("header", ["[a.b]", "[ a . b ]", '["a"."b"]', "[a.'b'] # remark"])
def test_a_header_has_many_spellings(header):
    assert remove_table(f"{header}\nx = 1\n[c]\ny = 2\n", ["a", "b"]) == "[c]\ny = 2\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[b]\nx = 1\n", KeyError),
        ("a = { x = 1 }\n", ValueError),
        ("a.x = 1\n", ValueError),
        ("[[a]]\nx = 1\n", ValueError),
        ("a = [", ValueError),
    ],
)
def test_a_table_that_cannot_be_removed_is_an_error(text, error):
    with pytest.raises(error):
        remove_table(text, ["a"])


@given(st.lists(names, min_size=2, max_size=4, unique=True))
def test_adding_and_removing_leaves_the_text(added):
    text = SETTINGS
    for name in added:
        text = append_table(text, ["more", name], {"x": "y"})
    for name in reversed(added):
        text = remove_table(text, ["more", name])

    assert text.rstrip("\n") == SETTINGS.rstrip("\n")
