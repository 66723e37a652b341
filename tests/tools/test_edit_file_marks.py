"""New texts with marks that the old text lacks, lines quoted at another depth, lost line feeds."""

import pytest

LOOP = "for row in rows:\n    check(row)\n    keep(row)\nfinish()\n"
TWO = "a = 1\nb = 2\nc = 3\n"


@pytest.mark.parametrize(
    "new",
    [
        "1\ta = 5\n2\tb = 2\n",
        "<<<<<<< SEARCH\na = 1\n=======\na = 5\n>>>>>>> REPLACE\n",
        "-a = 1\n+a = 5\n b = 2\n",
        "a = 5\\nb = 2",
        "a = 1\\nb = 2\\nd = 4",
        "```python\na = 5\nb = 2\n```\n",
    ],
)
async def test_marks_are_not_written_to_the_file(workspace, new):
    workspace.write("a.py", TWO)

    problem = await workspace.problem(
        "edit_file", path="a.py", old_string="a = 1\nb = 2\n", new_string=new
    )

    assert problem.code == "invalid_arguments"
    assert workspace.read("a.py") == TWO.encode()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("a.py", "x = [\n'a',\n'b',\n]\n", "x = {\n1: 'a',\n2: 'b',\n}\n"),
        ("a.json", "world", "hello\\nworld"),
        ("a.py", "a = 1\nb = 2", "print('a = 1\\nb = 2')"),
        ("a.sh", "cat <<EOF\nfoo\nbar\nEOF", "printf 'foo\\nbar\\nbaz\\n'"),
        ("a.py", "pass\nrun()\n", "run()\nA = '\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n'\n"),
        ("a.ex", "text\nmore\n", "```elixir\nf()\n```\n"),
        ("a.py", "a\nb\n", f"{'9' * 5000}|a\n{'9' * 5000}|b\n"),
    ],
)
async def test_what_looks_like_a_mark_and_is_content_is_written(workspace, name, old, new):
    workspace.write(name, old)

    await workspace.change("edit_file", path=name, old_string=old, new_string=new)

    assert workspace.read(name) == new.encode()


async def test_a_line_of_several_words_is_not_written_with_an_escaped_line_feed(workspace):
    workspace.write("a.py", TWO)

    problem = await workspace.problem(
        "edit_file", path="a.py", old_string="b = 2", new_string="b = 2\\nd = 4"
    )

    assert problem.code == "invalid_arguments"
    assert workspace.read("a.py") == TWO.encode()


async def test_a_document_may_show_a_diff(workspace):
    workspace.write("a.md", "a = 1\n")

    await workspace.change(
        "edit_file", path="a.md", old_string="a = 1", new_string="-a = 1\n+a = 5"
    )

    assert workspace.read("a.md") == b"-a = 1\n+a = 5\n"


@pytest.mark.parametrize(
    ("name", "text", "old"),
    [
        ("a.py", LOOP, "for row in rows:\n    check(row)\nkeep(row)\n"),
        ("a.py", LOOP, "    check(row)\n    keep(row)\n    finish()\n"),
        ("a.yaml", "a:\n  b: 1\n  c:\n    d: 2\n", "a:\n  b: 1\n  c:\n  d: 2\n"),
    ],
)
async def test_a_line_quoted_outside_its_block_is_another_line(workspace, name, text, old):
    workspace.write(name, text)
    new = old.replace("keep", "drop").replace("d: 2", "d: 3")

    problem = await workspace.problem("edit_file", path=name, old_string=old, new_string=new)

    assert problem.code == "no_match"


async def test_where_braces_decide_a_line_may_be_quoted_at_another_depth(workspace):
    workspace.write("a.js", "while (x) {\n    check(x);\n    keep(x);\n}\n")
    old = "while (x) {\n    check(x);\nkeep(x);\n"

    await workspace.change(
        "edit_file", path="a.js", old_string=old, new_string=old.replace("keep", "drop")
    )

    assert workspace.read("a.js") == b"while (x) {\n    check(x);\n    drop(x);\n}\n"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(("old", "new"), [("b = 2\n", "b = 5"), ("\nb = 2", "b = 5")])
async def test_a_lost_line_feed_does_not_join_lines(workspace, old, new, ending):
    workspace.write("a.py", TWO.replace("\n", ending))
    old = old.replace("\n", ending)

    problem = await workspace.problem("edit_file", path="a.py", old_string=old, new_string=new)

    assert problem.code == "invalid_arguments"


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("a = 1\nb = 2\na = 1\nc = 3\n", "a = 1\n", "a = 5"),
        ("a = 1\n\na = 1\nc = 3\n", "a = 1\n", "a = 5"),
        ("a = 1\r\nb = 2\na = 1\nc = 3\n", "a = 1\n", "a = 5"),
        ("a = 1\nb = 2\na = 1\nb = 2\n", "a = 1\nb = 2", "1\ta = 1\n2\tb = 5"),
        ("a = 1\r\nfoo\r\nb\r\nfoo\r\n", "\r\nfoo", "bar"),
        ("foo\n.\n" * 400 + "foo\nx = 1\n", "foo\n", "bar"),
    ],
    ids=[
        "everywhere",
        "at the second place",
        "mixed endings",
        "line numbers",
        "above",
        "after those that are shown",
    ],
)
async def test_what_is_replaced_everywhere_is_checked_like_one_place(workspace, text, old, new):
    workspace.write("a.py", text)

    problem = await workspace.problem(
        "edit_file", path="a.py", old_string=old, new_string=new, replace_all=True
    )

    assert problem.code == "invalid_arguments"
    assert workspace.read("a.py") == text.encode()


@pytest.mark.parametrize(
    ("text", "old", "new", "right"),
    [
        ("a;\nb;\nc;\n", ";\n", ";", b"a;b;c;"),
        ("One\ntwo\nOne\nten\n", "One\n", "One ", b"One two\nOne ten\n"),
        ("a = 1\n\na = 1\n", "a = 1\n", "a = 5", b"a = 5\na = 5"),
    ],
)
async def test_lines_are_joined_everywhere_where_that_is_meant(workspace, text, old, new, right):
    workspace.write("a.js", text)

    await workspace.change(
        "edit_file", path="a.js", old_string=old, new_string=new, replace_all=True
    )

    assert workspace.read("a.js") == right


async def test_lines_are_joined_where_the_new_text_says_so(workspace):
    workspace.write("a.md", "One\ntwo\n")

    await workspace.change("edit_file", path="a.md", old_string="One\n", new_string="One ")

    assert workspace.read("a.md") == b"One two\n"


@pytest.mark.parametrize("old", ["b = 2\n", "  b = 2\n"])
async def test_a_deleted_line_takes_its_indentation_with_it(workspace, old):
    workspace.write("a.py", "def f():\n    a = 1\n    b = 2\n    return a\n")

    await workspace.change("edit_file", path="a.py", old_string=old, new_string="")

    assert workspace.read("a.py") == b"def f():\n    a = 1\n    return a\n"


async def test_edits_that_undo_each_other_are_refused(workspace):
    workspace.write("a.py", TWO)
    back = {"old_string": "a = 5", "new_string": "a = 1"}

    problem = await workspace.problem(
        "edit_file", path="a.py", old_string="a = 1", new_string="a = 5", edits=[back]
    )

    assert problem.code == "invalid_arguments"


@pytest.mark.parametrize(
    ("text", "old", "new", "right"),
    [
        ("s = '→'\n", "s = '\\u2192'", "s = '\\u2192 '", "s = '→ '\n"),
        ("use `a_b` *x*\n", "use `a\\_b` \\*x\\*", "use `a\\_c` \\*x\\*", "use `a_c` *x*\n"),
        ("x ✔️ y\nend\n", "x ✔ y\nend\n", "x ✔ y\nfin\n", "x ✔️ y\nfin\n"),
        ("a = 1\n", "<old_string>a = 1</old_string>", "<new_string>a = 2</new_string>", "a = 2\n"),
        ("a = 1\n", "`a = 1`", "`a = 2`", "a = 2\n"),
        ("a\n\n\nb\n", "1\ta\n2\n3\n4\tb", "a\n\n\nc", "a\n\n\nc\n"),
        ("a\nb\n", "a\rb\r", "a\rc\r", "a\nc\n"),
        ("a = 1\nb\n", "```\na = 1\n```", "a = 2\n", "a = 2\nb\n"),
    ],
)
async def test_slips_of_passing_on_are_undone(workspace, text, old, new, right):
    workspace.write("a.txt", text)

    await workspace.change("edit_file", path="a.txt", old_string=old, new_string=new)

    assert workspace.read("a.txt").decode() == right


async def test_a_quoted_name_is_not_the_name(workspace):
    workspace.write("a.py", "alpha = 5\nbeta = alpha + 1\n")

    problem = await workspace.problem(
        "edit_file", path="a.py", old_string='"beta"', new_string='"gamma"'
    )

    assert problem.code == "no_match"
