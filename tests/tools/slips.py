"""Calls as models make them, with the one right answer to each: the bytes after, or a code.

The project's own small set. `FITS` must be applied, `REFUSED` must change nothing.
"""

from __future__ import annotations

from typing import NamedTuple


class Slip(NamedTuple):
    """One call on one file; `after` is the content that is right."""

    name: str
    path: str
    before: str | bytes
    old: str
    new: str
    after: str | bytes


class Refusal(NamedTuple):
    """One call that must be refused, and how."""

    name: str
    path: str
    before: str | bytes
    old: str
    new: str
    code: str


GO = "package main\n\nfunc add(a, b int) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn a + b\n}\n"
RUST = 'fn main() {\n    let x = vec![1, 2];\n    println!("{}", x.len());\n}\n'
YAML = "on:\n  push:\n    branches: [main]\njobs:\n  test:\n    steps:\n      - run: make\n"
MAKE = "all: build\n\tcc -o app main.c\n\tstrip app\n\nclean:\n\trm -f app\n"
SQL = "SELECT id, name\nFROM users\nWHERE active = 1\nORDER BY name;\n"
LISP = "(defun add (a b)\n  ;; adds two numbers\n  (+ a b))\n\n(defun sub (a b)\n  (- a b))\n"
HTML = '<ul class="menu">\n  <li><a href="/">Home</a></li>\n  <li>&copy; 2024</li>\n</ul>\n'
PYTHON = (
    "class Cart:\n"
    "    def total(self):\n"
    '        """The sum of all prices."""\n'
    "        # prices are in cents here\n"
    "        return sum(self.prices)\n"
    "\n"
    "    def clear(self):\n"
    "        self.prices = []\n"
)

FITS = [
    # Blanks
    Slip(
        "trailing blanks in the call, none in the file",
        "a.go", GO,
        "\tif a > b {  \n\t\treturn a \n\t}", "\tif a >= b {  \n\t\treturn a \n\t}",
        GO.replace("a > b", "a >= b"),
    ),
    Slip(
        "trailing blanks in the file survive on lines that stay",
        "a.sql", "SELECT 1  \nFROM a \nWHERE x\n",
        "SELECT 1\nFROM a\nWHERE x", "SELECT 1\nFROM a\nWHERE y",
        "SELECT 1  \nFROM a \nWHERE y\n",
    ),
    Slip(
        "blank lines dropped by the call stay in the file",
        "a.lisp", LISP,
        "  (+ a b))\n(defun sub (a b)\n  (- a b))", "  (+ a b))\n(defun sub (x y)\n  (- x y))",
        LISP.replace("sub (a b)\n  (- a b)", "sub (x y)\n  (- x y)"),
    ),
    Slip(
        "a blank line in the call that the file does not have",
        "Makefile", MAKE,
        "all: build\n\n\tcc -o app main.c", "all: build\n\n\tcc -O2 -o app main.c",
        MAKE.replace("cc -o", "cc -O2 -o"),
    ),
    Slip(
        "blank edges that both texts have",
        "a.rs", RUST,
        "\n\n    let x = vec![1, 2];\n\n", "\n\n    let x = vec![1, 2, 3];\n\n",
        RUST.replace("2]", "2, 3]"),
    ),
    # Indentation
    Slip(
        "dedented in old and new",
        "a.py", PYTHON,
        "def clear(self):\n    self.prices = []",
        "def clear(self):\n    if self.prices:\n        self.prices = []",
        PYTHON.replace("        self.prices = []", "        if self.prices:\n            self.prices = []"),
    ),
    Slip(
        "tabs in the file, blanks in the call",
        "a.go", GO,
        "    if a > b {\n        return a\n    }",
        "    if a > b {\n        if a > 9 {\n            return 9\n        }\n        return a\n    }",
        GO.replace("\t\treturn a\n", "\t\tif a > 9 {\n\t\t\treturn 9\n\t\t}\n\t\treturn a\n"),
    ),
    Slip(
        "blanks in the file, tabs in the call",
        "a.rs", RUST,
        "\tlet x = vec![1, 2];\n\tprintln!(\"{}\", x.len());",
        "\tlet x = vec![1, 2];\n\tif x.len() > 1 {\n\t\treturn;\n\t}\n\tprintln!(\"{}\", x.len());",
        RUST.replace("2];\n", "2];\n    if x.len() > 1 {\n        return;\n    }\n"),
    ),
    Slip(
        "another unit of indentation",
        "a.yaml", YAML,
        "jobs:\n    test:\n        steps:\n            - run: make",
        "jobs:\n    test:\n        needs: lint\n        steps:\n            - run: make",
        YAML.replace("    steps:", "    needs: lint\n    steps:"),
    ),
    Slip(
        "only the old text is shifted and the new one fits the file",
        "a.py", PYTHON,
        "        def clear(self):\n            self.prices = []",
        "    def clear(self):\n        self.prices = None",
        PYTHON.replace("self.prices = []", "self.prices = None"),
    ),
    Slip(
        "only the first line lost its indentation, in both texts",
        "a.py", PYTHON,
        "def clear(self): \n        self.prices = []", "def clear(self):\n        self.prices.clear()",
        PYTHON.replace("self.prices = []", "self.prices.clear()"),
    ),
    Slip(
        "only the old text's first line lost its indentation",
        "a.py", PYTHON,
        "def clear(self):\n        self.prices = []", "    def clear(self):\n        self.prices = ()",
        PYTHON.replace("self.prices = []", "self.prices = ()"),
    ),
    Slip(
        "flattened, but only one line is replaced",
        "a.go", GO,
        "if a > b {\nreturn a\n}", "if a > b {\nreturn b\n}",
        GO.replace("return a\n\t}", "return b\n\t}"),
    ),
    # Line endings and encodings
    Slip(
        "CRLF in the file",
        "a.sql", SQL.replace("\n", "\r\n"),
        "FROM users\nWHERE active = 1", "FROM users\nJOIN roles USING (id)\nWHERE active = 1",
        SQL.replace("WHERE", "JOIN roles USING (id)\nWHERE").replace("\n", "\r\n"),
    ),
    Slip(
        "CRLF in the call",
        "a.sql", SQL,
        "FROM users\r\nWHERE active = 1", "FROM users\r\nWHERE active = 0",
        SQL.replace("active = 1", "active = 0"),
    ),
    Slip(
        "mixed endings: lines that stay keep their own",
        "a.txt", b"one\r\ntwo\nthree\r\nfour\n",
        "one\ntwo\nthree", "zero\none\ntwo\nthree",
        b"zero\r\none\r\ntwo\nthree\r\nfour\n",
    ),
    Slip(
        "mixed endings: the line that moves to the end keeps its own",
        "a.txt", b"one\r\ntwo\nthree\r\n",
        "one\ntwo\nthree", "one\ntwo",
        b"one\r\ntwo\n",
    ),
    Slip(
        "UTF-16 with a mark, shifted",
        "a.txt", b"\xff\xfe" + "  alpha\r\n  beta\r\n".encode("utf-16-le"),
        "alpha\nbeta", "alpha\nb\u00eata\ngamma",
        b"\xff\xfe" + "  alpha\r\n  b\u00eata\r\n  gamma\r\n".encode("utf-16-le"),
    ),
    Slip(
        "Latin-1, trailing blanks",
        "a.txt", "caf\u00e9 \nth\u00e9\n".encode("latin-1"),
        "caf\u00e9\nth\u00e9", "caf\u00e9\nth\u00e9 vert",
        "caf\u00e9 \nth\u00e9 vert\n".encode("latin-1"),
    ),
    Slip(
        "a byte order mark stays, also before a changed first line",
        "a.py", b"\xef\xbb\xbfx = 1 \ny = 2\n",
        "x = 1\ny = 2", "x = 3\ny = 2",
        b"\xef\xbb\xbfx = 3\ny = 2\n",
    ),
    Slip(
        "no newline at the end of the file",
        "a.txt", "alpha\nbeta",
        "alpha\nbeta\n", "alpha\ngamma\n",
        "alpha\ngamma",
    ),
    Slip(
        "lines added behind the last one, which stays without an ending",
        "a.txt", b"alpha \r\nbeta",
        "alpha\nbeta", "alpha\nbeta\ngamma",
        b"alpha \r\nbeta\r\ngamma",
    ),
    # Typography
    Slip(
        "typographic quotes in the file stay",
        "a.md", "It\u2019s the \u201cfirst\u201d line.\nThe second line.\n",
        "It's the \"first\" line.\nThe second line.", "It's the \"first\" line.\nThe 2nd line.",
        "It\u2019s the \u201cfirst\u201d line.\nThe 2nd line.\n",
    ),
    Slip(
        "typographic quotes in the call",
        "a.js", "const a = 'x'\nconst b = \"y\"\n",
        "const a = \u2018x\u2019\nconst b = \u201cy\u201d", "const a = \u2018x\u2019\nlet b = 2",
        "const a = 'x'\nlet b = 2\n",
    ),
    Slip(
        "a typographic part of a line keeps its signs",
        "a.md", "We don\u2019t ship on Fridays \u2013 ever.\n",
        "don't ship on Fridays - ever", "don't ship on Mondays - ever",
        "We don\u2019t ship on Mondays \u2013 ever.\n",
    ),
    Slip(
        "no-break blanks, zero-width characters and long dashes",
        "a.md", "a\u00a0b \u2014 c\nd\u200be\nend\n",
        "a b - c\nde\nend", "a b - c\nde\nthe end",
        "a\u00a0b \u2014 c\nd\u200be\nthe end\n",
    ),
    Slip(
        "blanks around punctuation",
        "a.c", "int f(int a, int b)\n{\n\treturn g(a, b);\n}\n",
        "int f( int a,int b )\n{\n\treturn g(a, b);", "int f( int a,int b )\n{\n\treturn h(a, b);",
        "int f(int a, int b)\n{\n\treturn h(a, b);\n}\n",
    ),
    Slip(
        "the other kind of quotes in a line that stays",
        "a.js", "import a from 'a'\nrun(a)\n",
        'import a from "a"\nrun(a)', 'import a from "a"\nrun(a, 1)',
        "import a from 'a'\nrun(a, 1)\n",
    ),
    # Ways of handing over
    Slip(
        "line numbers as cat -n has them, in both texts",
        "a.go", GO,
        "     3\tfunc add(a, b int) int {\n     4\t\tif a > b {",
        "     3\tfunc add(a, b int) int {\n     4\t\tif a >= b {",
        GO.replace("a > b", "a >= b"),
    ),
    Slip(
        "line numbers with a bar, in the old text only",
        "a.yaml", YAML,
        " 4 | jobs:\n 5 |   test:", "jobs:\n  check:",
        YAML.replace("  test:", "  check:"),
    ),
    Slip(
        "one numbered line that is that line",
        "a.sql", SQL,
        "2: FROM users", "FROM people",
        SQL.replace("users", "people"),
    ),
    Slip(
        "line numbers decide between twins",
        "a.txt", "x = 1\ny = 2\n--\nx = 1\ny = 2\n",
        "4:x = 1\n5:y = 2", "x = 1\ny = 3",
        "x = 1\ny = 2\n--\nx = 1\ny = 3\n",
    ),
    Slip(
        "a code fence around both",
        "a.rs", RUST,
        "```rust\n    let x = vec![1, 2];\n```", "```rust\n    let x = vec![7];\n```",
        RUST.replace("1, 2", "7"),
    ),
    Slip(
        "a CDATA wrapper",
        "a.html", HTML,
        "<![CDATA[  <li>&copy; 2024</li>]]>", "<![CDATA[  <li>&copy; 2025</li>]]>",
        HTML.replace("2024", "2025"),
    ),
    Slip(
        "line feeds escaped",
        "a.py", PYTHON,
        "    def clear(self):\\n        self.prices = []",
        "    def clear(self):\\n        self.prices = None",
        PYTHON.replace("= []", "= None"),
    ),
    Slip(
        "line feeds escaped around a string that has one of its own",
        "a.py", 'print("a\\n")\nrun()\n',
        'print("a\\n")\\nrun()', 'print("a\\n")\\nwalk()',
        'print("a\\n")\nwalk()\n',
    ),
    Slip(
        "the whole text as JSON would hold it",
        "a.py", 'x = "a\\tb"\ny = 1\n',
        'x = \\"a\\\\tb\\"\\ny = 1', 'x = \\"a\\\\tb\\"\\ny = \\"2\\"',
        'x = "a\\tb"\ny = "2"\n',
    ),
    Slip(
        "quotes escaped",
        "a.html", HTML,
        '<ul class=\\"menu\\">', '<ul class=\\"menu\\" id=\\"top\\">',
        HTML.replace('"menu"', '"menu" id="top"'),
    ),
    Slip(
        "entities for signs, in part of a line",
        "a.go", GO,
        "a &gt; b", "a &gt;= b",
        GO.replace("a > b", "a >= b"),
    ),
    Slip(
        "an entity that the file has loses one level only",
        "a.html", HTML,
        "  &lt;li&gt;&amp;copy; 2024&lt;/li&gt;", "  &lt;li&gt;&amp;copy; 2025&lt;/li&gt;",
        HTML.replace("2024", "2025"),
    ),
    Slip(
        "diff marks",
        "Makefile", MAKE,
        " clean:\n-\trm -f app", " clean:\n+\trm -rf app build",
        MAKE.replace("rm -f app", "rm -rf app build"),
    ),
    Slip(
        "diff marks, only additions",
        "Makefile", MAKE,
        " all: build\n \tcc -o app main.c", " all: build\n \tcc -o app main.c\n+\tsize app",
        MAKE.replace("main.c\n", "main.c\n\tsize app\n"),
    ),
    Slip(
        "a line feed in a string that came as a real one",
        "a.c", 'void f(void)\n{\n\tputs("a\\nb");\n\tend();\n}\n',
        '\tputs("a\nb");\n\tend();', '\tputs("a\nb");\n\tstop();',
        'void f(void)\n{\n\tputs("a\\nb");\n\tstop();\n}\n',
    ),
    # Left out, and misremembered
    Slip(
        "dots for lines left out",
        "a.py", PYTHON,
        "    def total(self):\n        # ...\n        return sum(self.prices)",
        "    def total(self):\n        # ...\n        return sum(self.prices) / 100",
        PYTHON.replace("sum(self.prices)", "sum(self.prices) / 100"),
    ),
    Slip(
        "a mistyped comment beside the change",
        "a.py", PYTHON,
        PYTHON[: PYTHON.index("\n\n")].replace("cents", "cetns"),
        PYTHON[: PYTHON.index("\n\n")].replace("cents", "cetns").replace("sum(", "fsum("),
        PYTHON.replace("sum(", "fsum("),
    ),
    # Literal
    Slip(
        "signs of other tools' replacements are text",
        "a.txt", "a X b \nc\n",
        "a X b\nc", "a $& \\1 \\g<0> $' b\nc",
        "a $& \\1 \\g<0> $' b\nc\n",
    ),
]

TWINS = (
    "def save_user(store, user):\n    check(store)\n    store.users.add(user)\n    return user\n"
    "\n\n"
    "def save_order(store, order):\n    check(store)\n    store.orders.add(order)\n    return order\n"
)

REFUSED = [
    Refusal("exact text twice", "a.txt", "x\ny\nx\n", "x", "z", "ambiguous"),
    Refusal("overlapping twice", "a.txt", "aXaXa\n", "aXa", "b", "ambiguous"),
    Refusal(
        "two places that differ in blanks only",
        "a.py", "if a:\n    run()\n\nfor b in c:\n    if a:\n        run()\n",
        "  if a:\n      run()", "  if a:\n      walk()", "ambiguous",
    ),
    Refusal(
        "ambiguous in a strict reading, unique in a loose one",
        "a.py", "  f(x)\n    f(x)\nf( x )\n",
        "f(x)  ", "g(x)", "ambiguous",
    ),
    Refusal(
        "the twin of a block that is gone",
        "a.py", TWINS,
        TWINS.split("\n\n\n")[0].replace("user", "item"),
        TWINS.split("\n\n\n")[0].replace("user", "item").replace("check", "verify"),
        "no_match",
    ),
    Refusal(
        "the head of one twin and the body of the other",
        "a.py", TWINS,
        "def save_user(store, user):\n    check(store)\n    store.orders.add(order)",
        "def save_user(store, user):\n    store.orders.add(order)", "no_match",
    ),
    Refusal(
        "a line to be deleted has another number",
        "a.py", "a = 1\nb = 22\nc = 3\n", "a = 1\nb = 2\nc = 3", "a = 1\nc = 3", "no_match",
    ),
    Refusal(
        "a line to be deleted goes on where the call ends",
        "a.py", "def f(x):\n    return value_of\n",
        "def f(x):\n    return value", "def f(x):\n    return 1", "no_match",
    ),
    Refusal(
        "the last line has more to say and would be left behind",
        "a.txt", "# one\n# two\n# three\n", "# one\n# two\n#", "# one\n# two", "no_match",
    ),
    Refusal(
        "code between lines that the call says are neighbours",
        "a.go", GO, "\tif a > b {\n\t}", "\tif a >= b {\n\t}", "no_match",
    ),
    Refusal(
        "the other kind of quotes in a line that goes",
        "a.sh", "echo \"$HOME\"\nexit\n", "echo '$HOME'\nexit", "exit 1\nexit", "no_match",
    ),
    Refusal(
        "a comment with another word beside the change",
        "a.py",
        "# handles the vendor records\na = load()\nb = check(a)\nc = store(b)\n",
        "# handles the device records\na = load()\nb = check(a)\nc = store(b)",
        "# handles the device records\na = load()\nb = check(a)\nc = put(b)",
        "no_match",
    ),
    Refusal(
        "a mistyped comment that goes",
        "a.py",
        "# handles the vendor records\na = load()\nb = check(a)\nc = store(b)\n",
        "# handles the vendro records\na = load()\nb = check(a)\nc = store(b)",
        "a = load()\nb = check(a)\nc = store(b)",
        "no_match",
    ),
    Refusal(
        "mistyped code beside the change",
        "a.py",
        "first = load()\na = load()\nb = check(a)\nc = store(b)\n",
        "frist = load()\na = load()\nb = check(a)\nc = store(b)",
        "frist = load()\na = load()\nb = check(a)\nc = put(b)",
        "no_match",
    ),
    Refusal(
        "line numbers that do not follow each other",
        "a.txt", "alpha\nbeta\n", "1: alpha\n3: beta", "alpha\ngamma", "no_match",
    ),
    Refusal(
        "one numbered line that is another line",
        "a.txt", "alpha\nbeta\n", "7: beta", "gamma", "no_match",
    ),
    Refusal(
        "an inserted line whose escapes can be read in two ways",
        "a.py", "run()\nstop()\n",
        "run()\\nstop()", 'run()\\nprint("a\\n")\\nstop()', "no_match",
    ),
    Refusal(
        "dots whose second piece is not there",
        "a.py", PYTHON,
        "    def total(self):\n        ...\n        return None",
        "    def total(self):\n        ...\n        return 0", "no_match",
    ),
    Refusal(
        "dots whose second piece belongs to another function",
        "a.py", "def f():\n    a = 1\n    b = 2\n\ndef g():\n    return compute(1)\n",
        "def f():\n    ...\n    return compute(1)", "def f():\n    ...\n    return compute(2)",
        "no_match",
    ),
    Refusal(
        "a spread operator is no elision",
        "a.js", "const a = {\n  ...b,\n  x: 1,\n  kind: two,\n}\n",
        "const a = {\n  ...b,\n  kind: two,", "const a = {\n  ...b,\n  kind: three,", "no_match",
    ),
    Refusal(
        "new lines of a flattened text that may be nested",
        "a.py", PYTHON,
        "def clear(self):\nself.prices = []",
        "def clear(self):\nif self.prices:\nself.prices = []", "no_match",
    ),
    Refusal(
        "old and new in two frames, neither the file's",
        "a.py", PYTHON,
        "  def clear(self):\n      self.prices = []",
        "            def clear(self):\n                self.prices = None", "no_match",
    ),
    Refusal(
        "lines that were inserted before",
        "a.py", "import os\nimport sys\n\nrun()\n",
        "import os", "import os\nimport sys", "already_applied",
    ),
    Refusal(
        "lines that were inserted before, found by blanks",
        "a.py", "import os\nimport sys\nimport re\n\nrun()\n",
        "import os \nimport sys", "import os\nimport sys\nimport re", "already_applied",
    ),
    Refusal(
        "a name that got its ending before",
        "a.py", "def f():\n    return total_new\n",
        "def f():\n    return total", "def f():\n    return total_new", "already_applied",
    ),
    Refusal(
        "what should come stands there, what should go does not",
        "a.sql", SQL.replace("users", "people"),
        "FROM users\nWHERE active = 1", "FROM people\nWHERE active = 1", "already_applied",
    ),
    Refusal(
        "a short text somewhere is no proof",
        "a.txt", "x\nalpha\n", "old", "x", "no_match",
    ),
    Refusal("blanks alone", "a.py", PYTHON, "            \n", "x", "no_match"),
    Refusal(
        "only blanks at line ends would change, and they are gone",
        "a.txt", "alpha\nbeta\n", "alpha  \nbeta", "alpha\nbeta", "invalid_arguments",
    ),
]
