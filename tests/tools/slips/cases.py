"""Calls as models make them, with the one right answer to each: the bytes after, or a code.

The project's own small set: `fits` must be applied, `refused` must change nothing.
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


GO = (
    "package main\n\nfunc add(a, b int) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn a + b\n}\n"
)
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
