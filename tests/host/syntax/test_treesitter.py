"""The `syntax` extra: its grammars are part of the development environment."""

import subprocess
import sys
from pathlib import Path

import pytest

from handrail.core.text.content import Content
from handrail.host.processes.python_worker import package_directories
from handrail.host.syntax import treesitter
from handrail.host.syntax.check import LocalSyntaxCheck
from handrail.host.syntax.languages import Language, LanguageGrammar, detect_language
from handrail.host.syntax.source import SourceText

# path, sound, broken, where and what
CASES = [
    ("a.js", "f(1);\n", "f(1;\n", 1, "missing ')'"),
    ("a.jsx", "x = <a b={{c: 1}}/>;\n", "x = <a b={{c: 1}/>;\n", 1, ""),
    ("a.ts", "const a: number = 1;\n", "const a: = 1;\n", 1, ""),
    ("a.tsx", "const a = <b c={1 as any}/>;\n", "const a = <b c={1 as}/>;\n", 1, ""),
    ("a.go", "package a\n\nfunc f() {\n}\n", "package a\n\nfunc f( {\n}\n", 3, ""),
    ("a.rs", "fn main() {\n    let x = 1;\n}\n", "fn main() {\n    let x = ;\n}\n", 2, ""),
    ("a.c", "int f(void) {\n  return 0;\n}\n", "int f(void) {\n  return 0\n}\n", 2, "missing ';'"),
    ("a.cpp", "class A { int x; };\n", "class A { int x };\n", 1, "missing ';'"),
    ("a.java", "class A { int x; }\n", "class A { int x }\n", 1, "missing ';'"),
    ("a.cs", "class A { int x; }\n", "class A { int x }\n", 1, ""),
    ("a.rb", "def a\n  1\nend\n", "def a\n  1\n", 1, ""),
    ("a.sh", "if true; then\n  echo a\nfi\n", "if true; then\n  echo a\n", 3, "missing 'fi'"),
    ("a.html", "<p>a</p>\n", "<p", 1, ""),
    ("a.css", "a { b: c; }\n", "a { b: c;\n", 1, ""),
    ("a.php", "<?php echo 1;\n", "<?php echo 1 2;\n", 1, ""),
]


@pytest.mark.feature("R-18")
@pytest.mark.parametrize(("path", "sound", "broken", "line", "message"), CASES)
async def test_a_broken_file_is_noticed_and_a_sound_one_is_not(path, sound, broken, line, message):
    assert await errors(path, None, sound) == ()
    (fault, *_) = await errors(path, sound, broken)

    assert fault.line == line
    assert message in fault.message
    assert fault.reader == f"tree-sitter's grammar of {detect_language(path).name}"


@pytest.mark.feature("R-18")
async def test_an_old_error_that_moved_is_not_new():
    broken = "let a = 1;\nf(1;\nlet b = 2;\n"

    assert await errors("a.js", broken, "// c\n\n" + broken + "let d;\n") == ()
    assert len(await errors("a.js", broken, broken + "g(2;\n")) == 1


async def test_at_most_ten_errors_are_told():
    assert len(await errors("a.js", None, "".join(f"f({n};\n" for n in range(30)))) == 10


async def test_types_in_javascript_are_no_errors():
    assert await errors("a.js", None, "function f(a: number): string { return 'a'; }\n") == ()


async def test_the_grammar_that_read_the_file_before_judges_it_now():
    typed = "function f(a: number) {}\n\n\n\ng(1);\n"

    found = await errors("a.js", typed, typed.replace("a: number", "b: text").replace("1)", "1"))

    assert [(fault.line, fault.message) for fault in found] == [(5, "missing ')'")]


async def test_columns_count_characters():
    (fault,) = await errors("a.js", None, "f('ééé', 1;\n")

    assert (fault.line, fault.column) == (1, 11)


async def test_other_encodings_are_read():
    (fault,) = await errors("a.js", None, "\n\nf('é';\n".encode("utf-16"))

    assert (fault.line, fault.text) == (3, "f('é';")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "{a:" * 170_000),
        ("a.c", "f(|a|" * 3_000),
        ("a.html", "<a>" * 100_000),
        ("a.ts", "\0" * 1_000),
        ("a.rb", "<<A\n" * 10_000),
    ],
    ids=["deep", "slow", "tags", "nul", "heredocs"],
)
async def test_what_crashes_or_stops_a_grammar_is_answered(path, text, monkeypatch):
    monkeypatch.setattr(treesitter, "_MAX_S", 0.7)

    assert len(await errors(path, None, text)) <= 10


async def test_a_grammar_that_is_not_installed_is_no_answer():
    language = Language("Nothing", (LanguageGrammar("tree_sitter_of_nothing"),))

    found = await treesitter.faults(language, None, SourceText.of(b"f("))

    assert found == ([], [])


async def test_a_grammar_that_fails_is_no_answer():
    language = Language("Nothing", (LanguageGrammar("tree_sitter_c", "no_such_function"),))

    found = await treesitter.faults(language, None, SourceText.of(b"f("))

    assert found == ([], [])


def test_the_worker_needs_nothing_of_ours():
    worker = Path(treesitter.__file__).with_name("treesitter_worker.py")
    places = package_directories(("tree_sitter", "tree_sitter_c"))

    done = subprocess.run(
        [sys.executable, "-I", "-S", worker, ":".join(places), "tree_sitter_c:language", "5"],
        input=b"f(1;\nint a;\n",
        capture_output=True,
        check=True,
        timeout=30,
    )

    assert done.stdout == b"now\t1\t4\tmissing ')'\n"


async def errors(path, before, after):
    old, new = (
        text if text is None or isinstance(text, bytes) else text.encode()
        for text in (before, after)
    )
    return await LocalSyntaxCheck().new_errors(
        path, None if old is None else Content(old), Content(new)
    )
