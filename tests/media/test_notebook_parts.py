"""Cells of notebooks: their source, outputs and limits."""

import base64
import io
import json

import pytest

from handrail.media.decoded import MAX_TEXT, MOST_IMAGES, MediaError
from handrail.media.notebook_parts import show_notebook

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def code(source="x", outputs=(), **more):
    return {"cell_type": "code", "source": source, "outputs": list(outputs), **more}


def show(*cells, first=1, count=0):
    return show_notebook(json.dumps({"cells": cells}).encode(), first, count)


def parts(*cells, **options):
    return [(title, text) for title, text, _ in show(*cells, **options).parts]


@pytest.mark.parametrize(
    ("cell", "title", "source"),
    [
        (code(), "--- cell 0: code ---", "x"),
        (code(["a\n", "b"]), "--- cell 0: code ---", "a\nb"),
        (code(id="abc"), "--- cell abc: code ---", "x"),
        (code(id="a b"), '--- cell "a b": code ---', "x"),
        (code(id="i" * 99), f"--- cell {'i' * 64}: code ---", "x"),
        (code(execution_count=3), "--- cell 0: code, run 3 ---", "x"),
        (code(execution_count=0), "--- cell 0: code, run 0 ---", "x"),
        (code(execution_count=-1), "--- cell 0: code ---", "x"),
        (code(execution_count=10**9), "--- cell 0: code ---", "x"),
        (code(execution_count="3"), "--- cell 0: code ---", "x"),
        (
            {"cell_type": "code", "input": "y", "prompt_number": 2},
            "--- cell 0: code, run 2 ---",
            "y",
        ),
        ({"cell_type": "m" * 30}, f"--- cell 0: {'m' * 20} ---", ""),
        ({"cell_type": "a\nb"}, '--- cell 0: "a\\nb" ---', ""),
    ],
)
def test_the_source_of_a_cell(cell, title, source):
    assert parts(cell) == [(title, source)]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"output_type": "stream", "text": ["a\n", "b\n"]}, [("stdout:", "a\nb")]),
        ({"output_type": "stream", "name": "stderr", "text": "x"}, [("stderr:", "x")]),
        ({"output_type": "stream", "stream": "a b", "text": "x"}, [('"a b":', "x")]),
        ({"output_type": "error", "traceback": ["\x1b[31ma\x1b[0m", "b"]}, [("error:", "a\nb")]),
        ({"output_type": "pyerr", "traceback": "one"}, [("error:", "one")]),
        ({"output_type": "error"}, [("error:", "")]),
        ({"data": {"text/plain": "x"}}, [("output:", "x")]),
        (
            {"text": "x", "html": "<b>"},
            [("output:", "x"), ("[output not shown: text/html, 3 characters]", None)],
        ),
        ({"data": {"text/html": "<b>"}}, [("[output not shown: text/html, 3 characters]", None)]),
        (
            {"svg": "s", "latex": "l"},
            [
                ("[output not shown: image/svg+xml, 1 characters]", None),
                ("[output not shown: text/latex, 1 characters]", None),
            ],
        ),
        ({"json": {"a": 1}}, [("[output not shown: application/json, 8 characters]", None)]),
        ({"data": {"image/png": "?"}}, None),
        ({"data": {"image/png": PICTURE}}, [("output: [image/png: picture 1]", None)]),
        ({"png": PICTURE}, [("output: [image/png: picture 1]", None)]),
        ("text", []),
        ({"data": {"text/plain": "x" * 4000}}, [("output:", "x" * 4000)]),
        (
            {"data": {"text/plain": "x" * 4001}},
            [("output: [the first 4,000 of 4,001 characters]", "x" * 4000)],
        ),
    ],
)
def test_the_outputs_of_a_cell(output, expected):
    found = parts(code(outputs=[output]))[1:]

    if expected is None:
        assert found[0][0].startswith("output: [image/png that cannot")
    else:
        assert found == expected


def test_what_was_left_out_is_noted_once():
    shown = show(code(outputs=[{"data": {"text/html": "x"}}]), code(outputs=[{"html": "y"}]))

    assert len(shown.notes) == 1
    assert show(code()).notes == []


def test_some_cells_are_shown():
    cells = [code(str(at)) for at in range(5)]
    shown = show(*cells, first=2, count=3)

    assert [text for _, text, _ in shown.parts] == ["1", "2", "3"]
    assert (shown.first, shown.last, shown.total) == (2, 4, 5)
    assert [text for _, text, _ in show(*cells, first=4).parts] == ["3", "4"]
    assert show(*cells, first=5).last == 5
    assert (show().first, show().last, show().total) == (1, 0, 0)
    for first, number in ((6, 5), (2, 0)):
        with pytest.raises(MediaError) as raised:
            show(*cells[:number], first=first)
        assert raised.value.problem == "past_the_end"


def test_text_is_limited_to_whole_cells():
    half = code("x" * (MAX_TEXT // 2))
    shown = show(half, half, half)

    assert (shown.last, len(shown.parts)) == (1, 1)
    assert show(code("x" * 100), code("y" * 100)).last == 2


def test_a_cell_that_is_too_long_is_cut():
    shown = show(code("x" * (MAX_TEXT + 5), [{"data": {"text/plain": "later"}}]), code())

    assert [len(text) for _, text, _ in shown.parts] == [MAX_TEXT]
    assert len(shown.notes) == 1
    assert shown.last == 1
    fits = show(code("x" * (MAX_TEXT - len("--- cell 0: code ---"))), code())
    assert fits.notes == []


def test_pictures_are_limited():
    picture = {"data": {"image/png": PICTURE}}
    shown = show(code(outputs=[picture] * (MOST_IMAGES + 1)))

    assert len(shown.images) == MOST_IMAGES
    assert "not shown: image/png" in shown.parts[-1][0]
    assert shown.images[0][0] == "image/png"
    assert base64.b64decode(PICTURE)[:8] == io.BytesIO(shown.images[0][1]).read(8)


def test_a_notebook_of_format_three():
    sheets = {"worksheets": [{"cells": [code("a")]}, {"cells": [code("b")]}]}

    assert [text for _, text, _ in show_notebook(json.dumps(sheets).encode(), 1, 0).parts] == [
        "a",
        "b",
    ]


@pytest.mark.parametrize(
    "text", ["", "[]", "1", "{}", '{"cells": 1}', '{"cells": [1]}', '{"cells": [{}]}', "[" * 99999]
)
def test_what_is_no_notebook_is_an_error(text):
    with pytest.raises(MediaError) as raised:
        show_notebook(text.encode(), 1, 0)

    assert raised.value.problem == "not_a_notebook"
