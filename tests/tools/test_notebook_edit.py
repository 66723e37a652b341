import json
import os

import nbformat
import pytest

CELLS = """\
 "cells": [
  {
   "cell_type": "markdown",
   "id": "aaaa0001",
   "metadata": {},
   "source": [
    "# Title"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "aaaa0002",
   "metadata": {"odd":   "spacing"},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "1\\n"
     ]
    }
   ],
   "source": [
    "x = 1\\n",
    "print(x)"
   ]
  },
  {
   "cell_type": "raw",
   "id": "aaaa0003",
   "metadata": {},
   "source": "one string \\u00e9"
  }
 ],
"""
NOTEBOOK = f'{{\n{CELLS} "metadata": {{}},\n "nbformat": 4,\n "nbformat_minor": 5\n}}\n'


def valid(workspace, path="a.ipynb"):
    text = workspace.read(path).decode("utf-8-sig")
    nbformat.validate(json.loads(text))
    return text


@pytest.mark.feature("E38")
async def test_replacing_a_code_cell_clears_its_outputs_and_moves_nothing_else(workspace):
    workspace.write("a.ipynb", NOTEBOOK)

    plan = await workspace.change(
        "notebook_edit", path="a.ipynb", cell="aaaa0002", new_source="x = 2\nprint(x)"
    )

    start = NOTEBOOK.index('    {\n     "name": "stdout"')
    end = NOTEBOOK.index('   ],\n   "source": [\n    "x = 1')
    wanted = NOTEBOOK[:start].removesuffix("\n") + NOTEBOOK[end:].removeprefix("   ")
    wanted = wanted.replace("x = 1", "x = 2").replace(
        '"execution_count": 7', '"execution_count": null'
    )
    assert valid(workspace) == wanted
    assert plan.text == (
        "a.ipynb: replaced the source of cell 1 (id aaaa0002); 1 output went with it\n"
        "--- a/a.ipynb [cell 1]\n"
        "+++ b/a.ipynb [cell 1]\n"
        "@@ -1,2 +1,2 @@\n"
        "-x = 1\n"
        "+x = 2\n"
        " print(x)"
    )
    assert plan.preview == plan.text
    assert plan.data == {
        "path": "a.ipynb",
        "edit_mode": "replace",
        "cell": 1,
        "cell_id": "aaaa0002",
    }


@pytest.mark.feature("E38")
@pytest.mark.parametrize("cell", ["aaaa0001", "0", "cell-0"])
async def test_a_cell_is_named_by_id_or_by_index(workspace, cell):
    workspace.write("a.ipynb", NOTEBOOK)

    await workspace.change("notebook_edit", path="a.ipynb", cell=cell, new_source="# New")

    assert valid(workspace) == NOTEBOOK.replace("# Title", "# New")


@pytest.mark.feature("E38")
async def test_a_new_cell_comes_after_the_named_one(workspace):
    workspace.write("a.ipynb", NOTEBOOK)

    plan = await workspace.change(
        "notebook_edit", path="a.ipynb", cell="0", new_source='a\n"b"', edit_mode="insert"
    )

    made = plan.data["cell_id"]
    inserted = f"""\
  {{
   "cell_type": "code",
   "execution_count": null,
   "id": "{made}",
   "metadata": {{}},
   "outputs": [],
   "source": [
    "a\\n",
    "\\"b\\""
   ]
  }},
"""
    second = NOTEBOOK.index('  {\n   "cell_type": "code"')
    assert valid(workspace) == NOTEBOOK[:second] + inserted + NOTEBOOK[second:]
    assert plan.text == (
        f"a.ipynb: inserted code cell 1 (id {made}) after cell 0 (id aaaa0001)\n"
        '--- /dev/null\n+++ b/a.ipynb [cell 1]\n@@ -0,0 +1,2 @@\n+a\n+"b"'
    )


async def test_without_a_cell_the_new_one_comes_first(workspace):
    workspace.write("a.ipynb", NOTEBOOK)

    plan = await workspace.change(
        "notebook_edit", path="a.ipynb", new_source="é", cell_type="markdown", edit_mode="insert"
    )

    first = json.loads(valid(workspace))["cells"][0]
    assert first == {
        "cell_type": "markdown",
        "id": plan.data["cell_id"],
        "metadata": {},
        "source": ["é"],
    }
    assert "\\u00e9" in workspace.read("a.ipynb").decode()
    assert workspace.read("a.ipynb").endswith(NOTEBOOK[NOTEBOOK.index("  {\n") :].encode())


@pytest.mark.feature("E38")
@pytest.mark.parametrize("cell", ["0", "1", "2"])
async def test_deleting_takes_out_one_cell(workspace, cell):
    workspace.write("a.ipynb", NOTEBOOK)
    cells = json.loads(NOTEBOOK)["cells"]

    plan = await workspace.change("notebook_edit", path="a.ipynb", cell=cell, edit_mode="delete")

    del cells[int(cell)]
    assert json.loads(valid(workspace))["cells"] == cells
    assert plan.text.startswith(f"a.ipynb: deleted cell {cell} (id aaaa000{int(cell) + 1})")


async def test_deleting_the_only_cell_leaves_an_empty_list(workspace):
    text = '{"cells": [ {"cell_type": "raw", "metadata": {}, "source": ""} ], "nbformat": 4}'
    workspace.write("a.ipynb", text)

    await workspace.change("notebook_edit", path="a.ipynb", cell="0", edit_mode="delete")

    assert workspace.read("a.ipynb") == b'{"cells": [], "nbformat": 4}'


async def test_another_type_takes_what_belongs_to_it(workspace):
    workspace.write("a.ipynb", NOTEBOOK)

    plan = await workspace.change(
        "notebook_edit", path="a.ipynb", cell="1", new_source="text", cell_type="markdown"
    )
    await workspace.change(
        "notebook_edit", path="a.ipynb", cell="0", new_source="1", cell_type="code"
    )

    code, text, _ = json.loads(valid(workspace))["cells"]
    assert plan.text.startswith("a.ipynb: made cell 1")
    assert list(text) == ["cell_type", "id", "metadata", "source"]
    assert '"metadata": {"odd":   "spacing"}' in workspace.read("a.ipynb").decode()
    assert code == {
        "cell_type": "code",
        "execution_count": None,
        "id": "aaaa0001",
        "metadata": {},
        "outputs": [],
        "source": ["1"],
    }


async def test_a_raw_cell_stays_raw_and_its_source_a_string(workspace):
    workspace.write("a.ipynb", NOTEBOOK)

    await workspace.change("notebook_edit", path="a.ipynb", cell="2", new_source="ä\nb")

    assert valid(workspace) == NOTEBOOK.replace("one string \\u00e9", "\\u00e4\\nb")


@pytest.mark.feature("E38")
async def test_the_same_source_changes_nothing(workspace):
    workspace.write("a.ipynb", NOTEBOOK)

    plan = await workspace.plan(
        "notebook_edit", path="a.ipynb", cell="1", new_source="x = 1\nprint(x)", cell_type="code"
    )

    assert plan.changes == ()
    assert plan.text.startswith("a.ipynb is unchanged: cell 1 (id")
    assert "aaaa0002)" in plan.text
    assert plan.text.endswith("has this source already")


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
async def test_line_endings_and_the_mark_at_the_start_are_kept(workspace, bom):
    before = bom + NOTEBOOK.rstrip().replace("\n", "\r\n").encode()
    workspace.write("a.ipynb", before)

    await workspace.change(
        "notebook_edit", path="a.ipynb", cell="0", new_source="# A\nB", edit_mode="replace"
    )

    wanted = before.replace(b'"# Title"', b'"# A\\n",\r\n    "B"')
    assert workspace.read("a.ipynb") == wanted


async def test_a_new_id_looks_like_the_others_and_is_the_same_when_planned_again(workspace):
    uuids = "01234567-89ab-4cde-8f01-23456789abcd"
    workspace.write("a.ipynb", NOTEBOOK.replace("aaaa0003", uuids))
    arguments = {"path": "a.ipynb", "new_source": "x", "edit_mode": "insert"}

    one = await workspace.plan("notebook_edit", **arguments)
    two = await workspace.plan("notebook_edit", **arguments)
    other = await workspace.plan("notebook_edit", **{**arguments, "new_source": "y"})

    assert len(one.data["cell_id"]) == len(uuids)
    assert one.hash == two.hash
    assert one.data["cell_id"] != other.data["cell_id"]


async def test_the_same_cell_inserted_twice_gets_two_ids(workspace):
    workspace.write("a.ipynb", NOTEBOOK)

    for _ in range(3):
        await workspace.change("notebook_edit", path="a.ipynb", new_source="x", edit_mode="insert")

    ids = [cell["id"] for cell in json.loads(valid(workspace))["cells"]]
    assert len(set(ids)) == len(ids) == 6


async def test_only_an_insert_by_id_does_without_knowing_the_notebook(workspace):
    workspace.write("a.ipynb", NOTEBOOK)
    calls = [
        {"cell": "aaaa0001", "edit_mode": "insert"},
        {"edit_mode": "insert"},
        {"cell": "0", "edit_mode": "insert"},
        {"cell": "aaaa0001"},
        {"cell": "aaaa0001", "edit_mode": "delete"},
    ]

    plans = [
        await workspace.plan("notebook_edit", path="a.ipynb", new_source="x", **call)
        for call in calls
    ]

    assert [plan.relies_on for plan in plans] == ["part", "part", "all", "all", "all"]


async def test_an_unknown_cell_is_answered_with_those_that_are_near(workspace):
    workspace.write("a.ipynb", NOTEBOOK)

    near = await workspace.problem("notebook_edit", path="a.ipynb", cell="aaaa0009", new_source="")
    far = await workspace.problem("notebook_edit", path="a.ipynb", cell="3", new_source="")

    assert (near.code, near.field) == ("no_match", "cell")
    assert "aaaa0002  code  x" in near.message
    assert (far.code, far.field) == ("no_match", "cell")
    assert "aaaa0001  markdown  # Title" in (far.message)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"new_source": "x"}, "cell"),
        ({"edit_mode": "delete"}, "cell"),
        ({"cell": "0"}, "new_source"),
        ({"edit_mode": "insert"}, "new_source"),
    ],
)
async def test_what_the_mode_needs_must_be_given(workspace, arguments, field):
    workspace.write("a.ipynb", NOTEBOOK)

    problem = await workspace.problem("notebook_edit", path="a.ipynb", **arguments)

    assert (problem.code, problem.field) == ("invalid_arguments", field)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("x = 1\n", "Expecting '{' at line 1, column 1"),
        (NOTEBOOK.replace('"nbformat": 4,', '"nbformat": 4'), "Expecting ',' at line 39, column 2"),
        ('{"a": 1}', "it has no list of `cells` or no `nbformat`"),
        ('{"cells": [], "nbformat": 3}', "its format 3 is too old"),
        ("[" * 100_000, "nested more than 200 levels deep"),
        (b"\xff\xfe" + NOTEBOOK.encode("utf-16-le"), "not UTF-8 text"),
        (b"\0\1\2", "not UTF-8 text"),
    ],
)
async def test_a_file_that_is_no_notebook_is_told_apart(workspace, content, said):
    target = workspace.write("a.ipynb", content)
    before = target.read_bytes()

    problem = await workspace.problem("notebook_edit", path="a.ipynb", cell="0", new_source="x")

    assert problem.code == "not_text"
    assert said in problem.message
    assert "edit_file" in problem.hint
    assert target.read_bytes() == before


async def test_a_cell_without_a_readable_source_can_only_be_deleted(workspace):
    damaged = '{"cells": [{"cell_type": "code", "source": [1]}], "nbformat": 4}'
    workspace.write("a.ipynb", damaged)

    problem = await workspace.problem("notebook_edit", path="a.ipynb", cell="0", new_source="x")
    await workspace.change("notebook_edit", path="a.ipynb", cell="0", edit_mode="delete")

    assert problem.code == "not_text"
    assert workspace.read("a.ipynb") == b'{"cells": [], "nbformat": 4}'


async def test_halves_of_characters_in_a_cell_are_said_in_a_way_that_can_be_sent(workspace):
    workspace.write("a.ipynb", NOTEBOOK.replace("# Title", "\\ud800 \\u001b"))

    plan = await workspace.plan("notebook_edit", path="a.ipynb", cell="0", new_source="x")

    assert "-\ufffd" in plan.text


async def test_a_missing_notebook_is_not_found(workspace):
    problem = await workspace.problem("notebook_edit", path="no.ipynb", cell="0", new_source="x")

    assert problem.code == "not_found"


async def test_a_directory_or_a_file_too_large_is_refused(workspace):
    target = workspace.write("big.ipynb", "")
    os.truncate(target, 600_000_000)
    (workspace.root / "folder").mkdir()

    large = await workspace.problem("notebook_edit", path="big.ipynb", cell="0", new_source="x")
    folder = await workspace.problem("notebook_edit", path="folder", cell="0", new_source="x")

    assert (large.code, folder.code) == ("too_large", "not_text")
