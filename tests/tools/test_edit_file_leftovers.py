"""What only the new text of an edit has and would be written: tags, half fences, marks, escapes, lost
indentation; and texts that look like it and are content.
"""

import pytest

CODE = (
    'def f(a, b):\n    x = load("a")\n    if x < b and a > 1:\n        return x\n    return None\n'
)
LOAD = '    x = load("a")'
TEST = "    if x < b and a > 1:\n        return x"
PLAIN = "def f():\n    x = load()\n    if x:\n        y = 2\n        z = 3\n    return x\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (TEST, "    if x < b and a > 1:\n+        log(x)\n        return x"),
        (TEST, "     if x < b and a > 1:\n+        log(x)\n         return x"),
        (TEST, "+    if x <= b:\n+        return x"),
        (TEST, "    if x &lt;= b and a &gt; 1:\n        return x"),
        (TEST, "3:     if x < b and a > 1:\n4:         return 2 * x"),
        (LOAD, '    x = load(\\"b\\")'),
        (LOAD, '    x = load("b")</new_string>'),
        (LOAD, '    x = load("b")\n</parameter>'),
        (LOAD, '<new_string>    x = load("b")</new_string>'),
        (LOAD, '<![CDATA[    x = load("b")]]>'),
        (LOAD, '```python\n    x = load("b")'),
        (LOAD, '    x = load("b")\n```'),
        (LOAD, '    x = load("b")<|im_end|>'),
        (LOAD, '    x = load("b")\n>>>>>>> REPLACE'),
        (LOAD, '+    x = load("b")'),
        (LOAD, '     2\t    x = load("b")'),
        (LOAD + "\n", '     2→    x = load("b")\n'),
    ],
)
async def test_leftovers_of_the_call_are_not_written(workspace, old, new):
    workspace.write("a.py", CODE)

    problem = await workspace.problem("edit_file", path="a.py", old_string=old, new_string=new)

    assert problem.code == "invalid_arguments"
    assert workspace.read("a.py") == CODE.encode()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("a.js", "let s = a;", "let s = a\n+ b\n+ c;"),
        ("a.js", "  s = a\n  f()", "  s = a\n+ b\n  f()"),
        ("a.yml", "- x", "- x\n- z"),
        ("a.patch", " a\n b", " a\n+c\n b"),
        ("a.tsx", "return <p>a</p>;", "return <p>a &lt; b</p>;"),
        ("a.html", "<p>a < b</p>", "<p>a &lt; b</p>"),
        ("a.py", 's = "<b>"', 's = "&lt;b&gt;"'),
        ("A.java", " * a < b", " * a &lt; b"),
        ("a.py", 's = "a"', 's = "say \\"a\\""'),
        ("a.sh", 'echo "a"', 'echo \\"a\\"'),
        ("a.xml", "<invoke>", "<invoke>\n<a/>\n</invoke>"),
        ("a.xml", "<invoke>\n<b/>", "<a/>\n</invoke>"),
        ("a.py", 'END = "x"', 'END = "<|im_end|>"'),
        ("a.py", "    f()", "    f()\n    ```"),
        ("a.py", "x\n", "1\ta\n2\tb\n"),
    ],
)
async def test_what_looks_like_a_leftover_and_is_content_is_written(workspace, name, old, new):
    workspace.write(name, f"{old}\nend\n")

    await workspace.change("edit_file", path=name, old_string=old, new_string=new)

    assert workspace.read(name) == f"{new}\nend\n".encode()


async def test_half_a_line_may_get_escaped_quotes(workspace):
    workspace.write("a.py", 's = "<a name="x">"\n')

    await workspace.change(
        "edit_file", path="a.py", old_string='name="x"', new_string='name=\\"x\\"'
    )

    assert workspace.read("a.py") == b's = "<a name=\\"x\\">"\n'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        y = 2\n        z = 3", "y = 2\nz = 4"),
        ("        y = 2\n        z = 3", "y = 2\n        z = 4"),
        ("    x = load()", "x = open()"),
    ],
)
async def test_lines_do_not_leave_their_block_by_lost_indentation(workspace, old, new):
    workspace.write("a.py", PLAIN)

    problem = await workspace.problem("edit_file", path="a.py", old_string=old, new_string=new)

    assert problem.code == "invalid_arguments"
    assert workspace.read("a.py") == PLAIN.encode()


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("def f():\n    a()\n    b()\n\nc()\n", "    b()", "b()"),
        ('T = """\n  a\n  b\n"""\n', "  a", "a"),
        ("x = [\n    1,\n    2,\n]\n", "    1,", "1,"),
        ("def f():\n    a()\n    b()\n", "    a()", "# a()"),
        ("def f():\n    a()\n    b()\n\n\nc()\n", "    b()", "class A:\n    b()"),
    ],
)
async def test_lines_may_be_moved_to_the_margin(workspace, text, old, new):
    workspace.write("a.py", text)

    await workspace.change("edit_file", path="a.py", old_string=old, new_string=new)

    assert workspace.read("a.py") == text.replace(old, new).encode()


@pytest.mark.parametrize("mark", ["\t", "→", " | "])
async def test_a_new_line_among_numbered_ones_may_have_no_number(workspace, mark):
    workspace.write("a.py", "a = 1\nb = 2\n")
    old = f"     1{mark}a = 1\n     2{mark}b = 2"
    new = f"     1{mark}a = 1\n      {mark}c = 0\n     2{mark}b = 2"

    await workspace.change("edit_file", path="a.py", old_string=old, new_string=new)

    assert workspace.read("a.py") == b"a = 1\nc = 0\nb = 2\n"


@pytest.mark.parametrize("number", ["     +", "    1a"])
async def test_something_else_in_the_place_of_a_number_is_not_written(workspace, number):
    workspace.write("a.py", "a = 1\nb = 2\n")

    problem = await workspace.problem(
        "edit_file",
        path="a.py",
        old_string="     1→a = 1\n     2→b = 2",
        new_string=f"     1→a = 1\n{number}→c = 0\n     2→b = 2",
    )

    assert problem.code == "no_match"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("a = 1", "a = 10"), ("a = 1", "a = 2")),
        (("count", "counter"), ("count", "total")),
        (("item", "subitem"), ("item", "entry")),
    ],
)
async def test_a_later_edit_does_not_cut_what_an_earlier_one_wrote(workspace, first, second):
    text = "a = 1\nb = count\nc = item\n"
    workspace.write("a.py", text)
    edits = [dict(zip(("old_string", "new_string"), pair, strict=True)) for pair in (first, second)]

    problem = await workspace.problem("edit_file", path="a.py", edits=edits)

    assert problem.code == "ambiguous"
    assert workspace.read("a.py") == text.encode()


@pytest.mark.parametrize(
    ("name", "text", "old", "new"),
    [
        ("a.py", 'print("a, b")\n', 'print("a,b")', 'print("c")'),
        ("a.py", 'print("a  b")\n', 'print("a b")', 'print("c")'),
        ("a.sh", "rm -rf $a/ *.o\n", "rm -rf $a/*.o", "rm -f $a/*.o"),
        ("a.css", ".a .b {\n  x: 1;\n}\n", ".a.b {\n  x: 1;", ".a.b {\n  x: 2;"),
        ("a.txt", "10² = 100\n", "102 = 100", "102 = 1"),
    ],
)
async def test_a_line_that_means_something_else_is_another_line(workspace, name, text, old, new):
    workspace.write(name, text)

    problem = await workspace.problem("edit_file", path=name, old_string=old, new_string=new)

    assert problem.code == "no_match"
    assert workspace.read(name) == text.encode()


@pytest.mark.parametrize(
    ("name", "text", "old", "new", "right"),
    [
        ("a.sh", "a|b ; c\n", "a | b; c", "a | b; d", "a|b ; d\n"),
        ("a.css", ".a{\n  x:1;\n}\n", ".a {\n  x: 1;\n}", ".a {\n  x: 1;\n  y: 2;\n}", None),
        ("a.py", 'd = {"a":1}\ne = 1\n', 'd = {"a": 1}\ne = 1', 'd = {"a": 1}\ne = 2', None),
    ],
)
async def test_spacing_without_meaning_is_ignored(workspace, name, text, old, new, right):
    workspace.write(name, text)
    if right is None:
        right = {"a.css": ".a{\n  x:1;\n  y: 2;\n}\n", "a.py": 'd = {"a":1}\ne = 2\n'}[name]

    await workspace.change("edit_file", path=name, old_string=old, new_string=new)

    assert workspace.read(name).decode() == right


@pytest.mark.parametrize(("unit", "depth"), [(4, 8), (2, 4)])
async def test_a_tab_of_the_call_is_one_step_of_the_file(workspace, unit, depth):
    step, base = " " * unit, " " * depth
    head = f"class A {{\n{step}void f() {{\n{base}one();\n"
    workspace.write("A.java", f"{head}{base}two();\n{step}}}\n}}\n")

    await workspace.change(
        "edit_file",
        path="A.java",
        old_string="\tone();\n\ttwo();",
        new_string="\tone();\n\tif (x) {\n\t\ttwo();\n\t}",
    )

    assert workspace.read("A.java").decode() == (
        f"{head}{base}if (x) {{\n{base}{step}two();\n{base}}}\n{step}}}\n}}\n"
    )
