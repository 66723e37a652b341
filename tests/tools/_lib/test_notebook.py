"""Any notebook, in any style, any edit: the right notebook comes out and nothing else moves."""

import json
import re
from itertools import count

import nbformat
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.notebook import find_cell, parse_notebook
from handrail.tools._lib.notebook_cells import apply_pieces, delete_cell, insert_cell, replace_cell

SOURCES = st.text('ab"\\é\U0001f600\t\n\r []{},:', max_size=12)
OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["]}\n", '"cells": [']}


@st.composite
def cells(draw, minor):
    kind = draw(st.sampled_from(["code", "markdown", "raw"]))
    source = draw(SOURCES)
    listed = source.splitlines(keepends=True)
    cell = {"cell_type": kind, "metadata": draw(st.sampled_from([{}, {"tags": ["a", "b"]}]))}
    if kind == "code":
        cell["execution_count"] = draw(st.sampled_from([None, 3]))
        cell["outputs"] = draw(st.sampled_from([[], [OUTPUT], [OUTPUT, OUTPUT]]))
    elif draw(st.booleans()):
        cell["attachments"] = {"a.png": {"image/png": "aGk="}}
    cell["source"] = draw(st.sampled_from([source, listed]))
    if minor >= 5:
        cell["id"] = "?"
    return cell


@st.composite
def notebooks(draw):
    minor = draw(st.sampled_from([2, 4, 5]))
    found = draw(st.lists(cells(minor), max_size=4))
    names = count(10)
    style = draw(st.sampled_from(["%08x", "%012x", "cell_%d", "%08x-0000-4000-8000-000000000000"]))
    for cell in found:
        if "id" in cell:
            cell["id"] = style % next(names)
    return {"cells": found, "metadata": {"é": "é"}, "nbformat": 4, "nbformat_minor": minor}


STYLES = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 2, "\t"]),
        "ensure_ascii": st.booleans(),
        "sort_keys": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (",", ": "), (", ", ": ")]),
    }
)


def written(notebook, style, newline="\n", bom=False, end="\n"):
    text = json.dumps(notebook, **style).replace("\n", newline) + end
    return (b"\xef\xbb\xbf" if bom else b"") + text.encode()


def spans(data):
    """The bytes of every cell, found by Python's own scanner."""
    text = data.decode("utf-8-sig")
    decoder = json.JSONDecoder()
    at = re.search(r'"cells"\s*:\s*\[\s*', text).end()
    found = []
    while text[at] != "]":
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = re.compile(r"\s*,?\s*").match(text, end).end()
    return found


@given(st.data(), notebooks(), STYLES, st.sampled_from(["\n", "\r\n"]), st.booleans(), SOURCES)
def test_an_edit_gives_the_notebook_that_was_asked_for(data, before, style, newline, bom, source):
    raw = written(before, style, newline, bom, data.draw(st.sampled_from(["", "\n"])))
    notebook = parse_notebook("a.ipynb", raw)
    old = before["cells"]
    mode = data.draw(st.sampled_from(["replace", "insert", "delete"] if old else ["insert"]))
    index = data.draw(st.integers(-1 if mode == "insert" else 0, len(old) - 1))
    kind = data.draw(st.sampled_from(["code", "markdown"]))
    cell = None if index < 0 else notebook.cells[index]

    if mode == "replace":
        kind = data.draw(st.sampled_from([cell.type, kind]))
        pieces = replace_cell(notebook, cell, source, kind)
    elif mode == "insert":
        pieces = [insert_cell(notebook, cell, source, kind).piece]
    else:
        pieces = [delete_cell(notebook, cell)]
    after = notebook.form.encode(apply_pieces(notebook.text, pieces))

    new = json.loads(after.decode("utf-8-sig"))
    assert new["cells"] == expected(old, new["cells"], mode, index, source, kind)
    assert {**new, "cells": None} == {**before, "cells": None}
    kept = spans(raw)
    now = spans(after)
    if mode == "insert":
        del now[index + 1]
    else:
        del kept[index]
        if mode == "replace":
            del now[index]
    assert now == kept
    nbformat.validate(new)
    assert after.startswith(b"\xef\xbb\xbf") == bom
    assert after[-1:] == raw[-1:]
    assert (b"\r" in after) == (b"\r" in raw)
    assert newline == "\r\n" or b"\r" not in after
    tail = len(raw) - raw.rindex(b"]")
    assert after[-tail:] == raw[-tail:]
    head = raw.index(b"[")
    assert after[:head] == raw[:head]


def expected(old, new, mode, index, source, kind):
    if mode == "delete":
        return old[:index] + old[index + 1 :]
    if mode == "insert":
        made = new[index + 1]
        wanted = {"cell_type": kind, "metadata": {}, "source": made["source"]}
        assert "".join(made["source"]) == source
        if "id" in made:
            wanted["id"] = made["id"]
            assert made["id"] not in [cell["id"] for cell in old]
        if kind == "code":
            wanted |= {"outputs": [], "execution_count": None}
        return [*old[: index + 1], wanted, *old[index + 1 :]]
    wanted = {**old[index], "cell_type": kind, "source": new[index]["source"]}
    assert "".join(new[index]["source"]) == source
    assert type(new[index]["source"]) is type(old[index]["source"])
    for name in ("outputs", "execution_count"):
        wanted.pop(name, None)
    if kind == "code":
        wanted.pop("attachments", None)
        wanted |= {"outputs": [], "execution_count": None}
    return [*old[:index], wanted, *old[index + 1 :]]


@pytest.mark.parametrize("indent", [None, 1, 2, 4, "\t"])
@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize("sort_keys", [True, False])
@pytest.mark.parametrize("where", [-1, 0, 1])
def test_an_inserted_cell_is_written_as_the_program_that_wrote_the_notebook_would(
    indent, ensure_ascii, sort_keys, where
):
    style = {"indent": indent, "ensure_ascii": ensure_ascii, "sort_keys": sort_keys}
    old = {"execution_count": 1, "metadata": {}, "outputs": [], "cell_type": "code"}
    old_cells = [{**old, "source": ["é\n", "b"], "id": name} for name in ("0a0b0c0d", "1a1b1c1d")]
    rest = {"metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    notebook = parse_notebook("a", written({"cells": old_cells, **rest}, style))

    made = insert_cell(notebook, notebook.cells[where] if where >= 0 else None, "x\né", "code")

    new = {**old, "execution_count": None, "source": ["x\n", "é"], "id": made.id}
    wanted = [*old_cells[: where + 1], new, *old_cells[where + 1 :]]
    assert apply_pieces(notebook.text, [made.piece]).encode() == written(
        {"cells": wanted, **rest}, style
    )
    assert re.fullmatch("[0-9a-f]{8}", made.id)


@pytest.mark.parametrize("indent", [None, 1, "\t"])
@pytest.mark.parametrize("kind", ["code", "markdown"])
def test_the_first_cell_of_all_follows_the_style_of_the_file(indent, kind):
    rest = {"metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    notebook = parse_notebook("a", written({"cells": [], **rest}, {"indent": indent}))

    made = insert_cell(notebook, None, "a\nb", kind)

    code = {"execution_count": None, "metadata": {}, "outputs": [], "source": ["a\n", "b"]}
    text = {"metadata": {}, "source": ["a\n", "b"]}
    cell = {"cell_type": kind, **(code if kind == "code" else text)}
    assert apply_pieces(notebook.text, [made.piece]).encode() == written(
        {"cells": [cell], **rest}, {"indent": indent}
    )
    assert made.id is None


def test_one_character_left_alone_shows_that_none_is_escaped():
    cell = '{"cell_type": "raw", "metadata": {}, "source": "é \\u2028"}'
    notebook = parse_notebook("a", f'{{"cells": [{cell}], "nbformat": 4}}'.encode())

    new = apply_pieces(notebook.text, replace_cell(notebook, notebook.cells[0], "ä", "raw"))

    assert '"source": "ä"' in new


def test_a_second_cell_stands_where_the_first_does_whatever_the_rest_does():
    cell = '{"cell_type": "raw", "metadata": {}, "source": ""}'
    text = '{\n "cells": [\n        %s],\n "nbformat": 4}'
    notebook = parse_notebook("a", (text % cell).encode())

    made = insert_cell(notebook, notebook.cells[0], "", "markdown")

    new = cell.replace("raw", "markdown")
    assert apply_pieces(notebook.text, [made.piece]) == text % f"{cell},\n        {new}"


@pytest.mark.parametrize("source", ["", "one", "a\nb\n"])
def test_a_replaced_source_is_written_as_the_old_one_was(source):
    rest = {"metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    cell = {"cell_type": "markdown", "metadata": {}}
    text = '{"cells": [\n {"cell_type": "markdown", "metadata": {}, "source": ["x\\n", "y"]}\n]'
    text += ', "metadata": {}, "nbformat": 4, "nbformat_minor": 4}'
    notebook = parse_notebook("a", text.encode())

    new = apply_pieces(notebook.text, replace_cell(notebook, notebook.cells[0], source, "markdown"))

    lines = source.splitlines(keepends=True)
    assert new == text.replace('["x\\n", "y"]', json.dumps(lines))
    assert json.loads(new) == {"cells": [{**cell, "source": lines}], **rest}


@given(st.binary(max_size=40) | st.text('{}[]":, \n0a', max_size=40).map(str.encode))
@example(b"[" * 100_000)
@example(b'{"cells":' * 100_000)
@example(b'{"nbformat": 4, "cells": [{"source": ' + b"[" * 500 + b"]" * 500 + b"}]}")
@example(b'{"nbformat": 4, "cells": [1]}')
@example(b'{"nbformat": 4, "cells": {}}')
@example(b'{"nbformat": NaN, "cells": []}')
@example(b'{"nbformat": Infinity, "cells": []}')
@example(b'{"nbformat": 3, "cells": []}')
@example(b'{"nbformat": "4", "cells": []}')
@example(b'{"nbformat": 4, "worksheets": []}')
@example(b"\xff\xfe{\0}\0")
def test_what_is_no_notebook_is_refused_in_a_sentence(data):
    with pytest.raises(ProblemRaised) as raised:
        parse_notebook("a.ipynb", data)

    assert raised.value.problem.code == "not_text"
    assert raised.value.problem.hint


def test_a_name_is_an_id_first_and_an_index_second():
    cell = {"cell_type": "raw", "metadata": {}, "source": ""}
    names = ["1", "b", "b", "cell-0"]
    notebook = {"cells": [{**cell, "id": name} for name in names]}
    read = parse_notebook("a", json.dumps({**notebook, "nbformat": 4}).encode())

    found = {name: find_cell(read, name).index for name in ("1", "0", "cell-0", "cell-2", " 3 ")}

    assert found == {"1": 0, "0": 0, "cell-0": 3, "cell-2": 2, " 3 ": 3}
    for name, code in {
        "b": "ambiguous",
        "4": "no_match",
        "-1": "no_match",
        "²": "no_match",
    }.items():
        with pytest.raises(ProblemRaised) as raised:
            find_cell(read, name)
        assert raised.value.problem.code == code
