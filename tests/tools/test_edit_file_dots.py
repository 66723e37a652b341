"""Dots in a new text: code and text of the file's language, or lines that are left out."""

import pytest

BODY = "def f(a):\n    x = 1\n    y = 2\n    return x\n"
CLASS = "class A:\n    def f(self):\n        a()\n        b()\n        c()\n"
CALLS = "a()\nb()\nc()\nd()\ne()\n"

# The file, its text, and what it becomes.
MEANT = {
    "a stub": ("a.py", BODY, "def f(a):\n    ...\n"),
    "a stub behind a docstring": ("a.py", BODY, 'def f(a):\n    """Doc."""\n    ...\n'),
    "a stub behind a long docstring": (
        "a.py",
        BODY,
        'def f(a):\n    """Doc.\n\n    More of it.\n    """\n\n    # A remark.\n    ...\n',
    ),
    "a stub below a remark": ("a.py", BODY, "def f(a):  # stub\n    ...\n"),
    "a stub below a long signature": (
        "a.pyi",
        BODY,
        "def f(\n    a,\n) -> int:  # abstract\n    ...\n",
    ),
    "two stubs": (
        "a.py",
        CLASS,
        "class A:\n    def f(self):\n        ...\n\n    def g(self):\n        ...\n",
    ),
    "a type over several lines": ("a.py", BODY, "X = tuple[\n    int,\n    ...\n]\n"),
    "the end of a YAML document": ("a.yaml", "a: 1\nb: 2\nc: 3\n", "---\nx: 1\n...\n"),
    "prompts of an example": ("a.rst", "a\nb\nc\n", ">>> for i in x:\n...     pass\n...\n"),
    "prompts in a docstring": (
        "a.py",
        BODY,
        'def f(a):\n    """\n    >>> for i in x:\n    ...     f(i)\n    ...\n    """\n    return a\n',
    ),
    "prose": ("a.md", "Once\nthere\nwas\n", "And so on\n...\n"),
    "variadic parameters": (
        "a.c",
        "int f(int a,\n      int b,\n      int c);\n",
        "int f(\n    const char *a,\n    ...\n);\n",
    ),
    "a remark that begins with dots": ("a.py", "a = 1\nb = 2\n", "a = 1\n# ... and then\nb = 3\n"),
    "a remark on what is ignored": ("a.py", BODY, "def f(a):\n    pass  # ignored, as before\n"),
    "dots that were there": ("a.py", "a\n# ...\nb\nc\nd\n", "a\n# ...\n"),
}

LEFT_OUT = {
    "a comment": ("a.py", CALLS, "a()\n# ...\ne()\n"),
    "a comment with words": ("a.py", CALLS, "a()\n# ... existing code ...\ne()\n"),
    "a comment with slashes": ("a.js", CALLS, "a()\n// ...\ne()\n"),
    "a comment with stars": ("a.js", CALLS, "a()\n/* ... */\ne()\n"),
    "a comment in HTML": ("a.html", CALLS, "a()\n<!-- ... -->\ne()\n"),
    "words alone": ("a.js", CALLS, "a()\n... rest unchanged\ne()\n"),
    "words for one line": ("a.sql", "a,\nb\nc\n", "a,\n-- ... existing columns ...\nc\n"),
    "words for the last line": ("a.md", "1. a\n2. b\n", "1. a\n... (rest unchanged)\n"),
    "a comment for one line": ("a.js", "a()\nb()\n", "a()\n// same as before\n"),
    "dots in brackets behind a mark": ("a.py", CALLS, "a()\n# [...]\n"),
    "a remark on a stub": ("a.py", BODY, "def f(a):\n    pass  # implementation unchanged\n"),
    "a body of dots in braces": ("a.js", CALLS, "function f() { /* ... existing code ... */ }\n"),
    "a remark behind an item": ("a.js", CALLS, "a(), // ... other calls\n"),
    "bare dots in JavaScript": ("a.js", CALLS, "a()\n...\ne()\n"),
    "bare dots in brackets": ("a.js", CALLS, "a()\n[...]\ne()\n"),
    "bare dots between statements": ("a.py", CALLS, "a()\n...\ne()\n"),
    "bare dots behind a statement": ("a.py", BODY, "def f(a):\n    x = 2\n    ...\n"),
    "bare dots before a method": (
        "a.py",
        CLASS,
        "class A:\n    ...\n    def g(self):\n        pass\n",
    ),
    "bare dots below a key of YAML": ("a.yaml", "a:\n  b: 1\n  c: 2\n", "a:\n  ...\n"),
    "bare dots between keys of YAML": ("a.yaml", "a: 1\nb: 2\nc: 3\nd: 4\n", "a: 1\n...\nd: 4\n"),
    "bare dots between lines of prose": ("a.md", CALLS, "a()\n\n...\n\ne()\n"),
    "two lines in two places": ("a.py", CALLS, "a()\n# ...\nc()\n# ...\ne()\n"),
    "bare dots beside a line that ends in dots": (
        "a.js",
        "wait...\n" + CALLS,
        "wait...\n...\ne()\n",
    ),
}


@pytest.mark.feature("E17")
@pytest.mark.parametrize("name", MEANT)
async def test_dots_that_belong_to_the_language_are_written(workspace, name):
    path, before, after = MEANT[name]
    workspace.write(path, before)

    await workspace.change("edit_file", path=path, old_string=before, new_string=after)

    assert workspace.read(path) == after.encode()


@pytest.mark.feature("E13")
@pytest.mark.parametrize("name", LEFT_OUT)
async def test_dots_for_lines_of_the_old_text_are_refused(workspace, name):
    path, before, after = LEFT_OUT[name]
    workspace.write(path, before)

    problem = await workspace.problem("edit_file", path=path, old_string=before, new_string=after)

    assert problem.code == "invalid_arguments"
    assert "which would be deleted" in problem.message
    assert workspace.read(path) == before.encode()


@pytest.mark.feature("E17")
async def test_the_whole_body_of_a_function_may_become_dots(workspace):
    workspace.write("a.py", BODY)
    body = BODY.partition("\n")[2]

    await workspace.change("edit_file", path="a.py", old_string=body, new_string="    ...\n")

    assert workspace.read("a.py") == b"def f(a):\n    ...\n"


@pytest.mark.feature("E13")
@pytest.mark.parametrize("name", LEFT_OUT)
async def test_dots_for_lines_that_a_pattern_matches_are_refused(workspace, name):
    path, before, after = LEFT_OUT[name]
    workspace.write(path, before)

    problem = await workspace.problem(
        "edit_file", path=path, old_string=r"(?s:\A.*\z)", new_string=after, regex=True
    )

    assert problem.code == "invalid_arguments"
    assert problem.field == "new_string"
    assert workspace.read(path) == before.encode()


@pytest.mark.feature("E17")
async def test_dots_of_the_file_in_a_group_are_kept(workspace):
    workspace.write("a.js", "f() {\n  a();\n  // ...\n  b();\n}\n")

    await workspace.change(
        "edit_file",
        path="a.js",
        old_string=r"f\(\) \{(?P<body>(?s:.*))\}",
        new_string=r"g() {\g<body>}",
        regex=True,
    )

    assert workspace.read("a.js") == b"g() {\n  a();\n  // ...\n  b();\n}\n"
