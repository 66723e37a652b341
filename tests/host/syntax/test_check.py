"""What is reported of a change: new errors, and no others."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.text.content import Content
from handrail.host.syntax.check import LocalSyntaxCheck

PYTHON = f"Python {sys.version_info[0]}.{sys.version_info[1]}"


async def errors(path, before, after):
    old, new = (
        text if text is None or isinstance(text, bytes) else text.encode()
        for text in (before, after)
    )
    found = await LocalSyntaxCheck().new_errors(
        path, None if old is None else Content(old), Content(new)
    )
    return [(fault.line, fault.message, fault.text) for fault in found]


@pytest.mark.feature("F17", "R-18")
async def test_an_edit_that_breaks_a_file_is_reported_with_its_place():
    check = LocalSyntaxCheck()

    (fault,) = await check.new_errors(
        "a.py", Content(b"x = 1\ny = f(1)\n"), Content(b"x = 1\n", b"y = f(1\n")
    )

    assert fault == (2, 6, "'(' was never closed", "y = f(1", PYTHON)


@pytest.mark.feature("F17", "R-18")
@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "x = 1\n", "x = 2\n"),
        ("a.json", "[1]", "[2]"),
        ("a.toml", "a = 1\n", "a = 2\n"),
        ("a.yaml", "a: 1\n", "a: 2\n"),
        ("a.py", None, "x = 1\n"),
        ("a.py", "def f(:\n", "def f():\n    pass\n"),
    ],
)
async def test_a_file_that_is_sound_now_is_not_spoken_of(path, before, after):
    assert await errors(path, before, after) == []


@pytest.mark.feature("R-18")
@pytest.mark.parametrize("path", ["a.txt", "a.unknown", "Makefile", "a.md"])
async def test_other_types_pass(path):
    assert await errors(path, None, "def f(:") == []


@pytest.mark.feature("R-18")
@pytest.mark.parametrize("above", ["", "\n", "import os\nimport sys\n"])
@pytest.mark.parametrize(
    ("path", "broken", "added"),
    [
        ("a.py", "def f(:\n    pass\n", "y = 2\n"),
        ("a.py", "def g():\n    if a:\n    b\n", "y = 2\n"),
        ("a.json", '{\n "a": 1\n "b": 2\n}\n', ""),
        ("a.toml", "a =\n", "b = 2\n"),
        ("a.yaml", "a: b: c\n", "d: 1\n"),
    ],
)
async def test_a_file_that_was_broken_before_is_not_blamed_on_the_edit(path, broken, added, above):
    above = "\n" * above.count("\n") if path == "a.json" else above
    if path in ("a.toml", "a.yaml"):
        above = above.replace("import ", "# ")

    assert await errors(path, broken, above + broken + added) == []


@pytest.mark.feature("R-18")
async def test_a_new_error_before_the_old_one_is_reported():
    old = "x = 1\n\n\ny = 2\n\n\ndef f(:\n    pass\n"

    assert await errors("a.py", old, old.replace("x = 1", "x = = 1")) == [
        (1, "invalid syntax", "x = = 1")
    ]


async def test_an_error_that_only_shows_because_another_was_mended_is_not_new():
    old = "def f(:\n    pass\n\n\nz = 1\ny = = 2\nw = 3\n"

    assert await errors("a.py", old, old.replace("(:", "():")) == []


async def test_a_repair_that_fails_is_reported():
    assert await errors("a.py", "def f(:\n    pass\n", "def f()::\n    pass\n") == [
        (1, "invalid syntax", "def f()::")
    ]


async def test_a_new_file_is_all_new():
    assert await errors("a.json", None, "") == [(1, "Expecting value", "")]
    assert len(await errors("a.py", None, "def f(:")) == 1


async def test_an_empty_file_that_gets_broken_content_is_reported():
    assert len(await errors("a.json", "", '{"a" 1}')) == 1


@pytest.mark.parametrize(
    ("path", "before", "after", "count"),
    [
        ("tsconfig.json", None, "// c\n{\n}", 0),
        ("tsconfig.json", None, "// c\n{", 1),
        ("a.json", "// c\n[1]", "// c\n[1, 2,]", 0),
        ("a.json", "// c\n[1]", "// c\n[1, 2", 1),
        ("a.json", "[1]", "// c\n[1]", 1),
        ("a.json", None, "// c\n[1]", 1),
    ],
)
async def test_comments_in_json_are_fine_where_they_are_usual(path, before, after, count):
    assert len(await errors(path, before, after)) == count


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "{{- if .Values.x }}\na: {{ b }}\n"),
        ("a.json", '{"a": {{ b }} }'),
        ("a.toml", "a = {{ b }}\n"),
        ("a.py", "{% if a %}\nimport b\n{% endif %}\n"),
    ],
)
async def test_templates_are_not_judged(path, text):
    assert await errors(path, None, text) == []
    assert await errors(path, "", text) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
async def test_files_in_other_encodings_are_read(encoding):
    before, after = ('["é", 1]'.encode(encoding), '["é" 1]'.encode(encoding))

    assert await errors("a.json", before, before) == []
    assert await errors("a.json", before, after) == [(1, "Expecting ',' delimiter", '["é" 1]')]


async def test_binary_content_is_not_judged():
    assert await errors("a.json", "[1]", b"\0\1\2\3") == []
    assert await errors("a.json", b"\0\1\2\3", "[1") == []
    assert await errors("a.py", None, b"x = (\0") == []


@pytest.mark.parametrize(
    ("path", "size"), [("a.py", 600_000), ("a.json", 1_100_000), ("a.yaml", 300_000)]
)
async def test_large_files_are_not_judged(path, size):
    assert await errors(path, None, "(" + " " * size) == []
    assert await errors(path, " " * size, "(") == []


async def test_a_file_that_could_not_be_judged_before_is_not_judged_now():
    deep = "[" * 500 + "]" * 500

    assert await errors("a.json", deep, "[1") == []


async def test_long_lines_are_cut():
    ((_, _, text),) = await errors("a.json", None, '["' + "x" * 5_000 + '" 1]')

    assert len(text) == 200


@pytest.mark.parametrize("path", ["a.py", "a.json", "tsconfig.json", "a.toml", "a.yaml"])
@given(
    before=st.none() | st.binary(max_size=60),
    after=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8")),
)
async def test_any_change_is_answered(path, before, after):
    found = await errors(path, before, after)

    assert len(found) <= 10


@pytest.mark.parametrize("path", ["a.py", "a.json", "a.toml", "a.yaml"])
@given(st.integers(0, 5), st.data())
async def test_lines_put_above_an_old_error_do_not_make_it_new(path, count, data):
    broken = {"a.py": "x = (\n", "a.json": "[1 2]\n", "a.toml": "a = \n", "a.yaml": "a: b: c\n"}
    above = {"a.py": "y = 1\n", "a.json": "\n", "a.toml": "# a\n", "a.yaml": "# a\n"}[path] * count
    below = data.draw(st.sampled_from(["", "\n", "\n\n"]))

    assert await errors(path, broken[path], above + broken[path] + below) == []
