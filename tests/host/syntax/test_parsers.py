"""Each parser by itself: what it calls an error, and that nothing in a file can break it."""

import json
import sys
import threading
import tomllib
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handrail.host.syntax import json_text, python, toml_text, yaml_text
from handrail.host.syntax.source import SourceText

PARSERS = {
    "python": python.faults,
    "json": json_text.faults,
    "comments": json_text.faults_with_comments,
    "toml": toml_text.faults,
    "yaml": yaml_text.faults,
}
DEEP = 100_000


def faults(parser, text):
    source = SourceText.of(text if isinstance(text, bytes) else text.encode())
    return None if source is None else PARSERS[parser](source)


@pytest.mark.parametrize(
    ("parser", "text", "expected"),
    [
        ("python", "def f(:\n    pass\n", (1, 7, "invalid syntax", "def f(:")),
        ("python", "x = (1,\n\ny = 2\n", (1, 5, "'(' was never closed", "x = (1,")),
        ("python", "if a:\nb\n", (2, 1, "expected an indented block after 'if'", "b")),
        ("python", "# é\nx = 'é\n", (2, 5, "unterminated string literal", "x = 'é")),
        ("python", b"x = '\xff'\n", (1, 1, "", "x = '")),
        ("python", "# coding: nope\nx = 1\n", (1, 1, "unknown encoding: nope", "# coding: nope")),
        ("json", '{"a": 1\n "b": 2}', (2, 2, "Expecting ',' delimiter", '"b": 2}')),
        ("json", "[1,\n 2,]", (2, 4, "", "2,]")),
        ("json", "", (1, 1, "Expecting value", "")),
        ("json", "[1] // c", (1, 5, "Extra data", "[1] // c")),
        ("json", '["a\tb"]', (1, 4, "Invalid control character", '["a\tb"]')),
        ("comments", "[1, /* ] */ 2 3]", (1, 15, "Expecting ','", "[1, /* ] */ 2 3]")),
        ("comments", '{"a": "// b", // c\n 1}', (2, 2, "", "1}")),
        ("comments", "[1] /* ", None),
        ("toml", "a = 1\nb = \n", (2, 5, "Invalid value", "b =")),
        ("toml", "a = [1,\n", (2, 1, "Invalid value", "")),
        ("toml", "[a]\n[a]\n", (2, 3, "Cannot declare ('a',) twice", "[a]")),
        ("yaml", "a: b: c\n", (1, 5, "mapping values are not allowed here", "a: b: c")),
        ("yaml", "a:\n\t- b\n", (2, 1, "found character '\\t'", "- b")),
        ("yaml", "a: [1, 2\n", (2, 1, "expected ',' or ']'", "")),
        ("yaml", "a: 1\nb: *nope\n", (2, 4, "found undefined alias 'nope'", "b: *nope")),
        ("yaml", "a: &x 1\n---\nb: *x\n", (3, 4, "found undefined alias 'x'", "b: *x")),
        ("yaml", "a: 1\nb: \x01\n", (2, 4, "the character U+0001 is not allowed", "b: \x01")),
    ],
)
def test_an_error_is_found_with_its_place(parser, text, expected):
    found = faults(parser, text)

    if expected is None:
        assert found == []
        return
    line, column, message, shown = expected
    assert len(found) == 1
    assert (found[0].line, found[0].text[: len(shown)]) == (line, shown)
    assert found[0].message.startswith(message)
    assert not message or found[0].column == column


@pytest.mark.parametrize(
    ("parser", "text"),
    [
        ("python", ""),
        ("python", "\ufeffx = 1\r\n"),
        ("python", b"# coding: latin-1\nx = '\xff'\n"),
        ("python", "match a:\n    case 1:\n        pass\n"),
        ("python", "try:\n    pass\nexcept* A:\n    pass\n"),
        ("python", "x = '\\d'\n"),
        ("python", "x = 1 is 1\n"),
        ("python", "await f()\nreturn 1\n"),
        ("json", "\ufeff[1, NaN]\r\n"),
        ("json", "9" * 5_000),
        ("json", '["' + "[{" * 500 + '"]'),
        ("json", "[1]".encode("utf-16")),
        ("comments", '{// a\n"b": [1, 2, /* "c" */],}'),
        ("comments", '{"a": ",}", "b": "//"}'),
        ("toml", "a = 1\r\n[b.c]\nd = 2024-01-01\n"),
        ("toml", 'a = "' + "." * 30 + '"\n'),
        ("yaml", ""),
        ("yaml", "a: 1\n---\nb: 2\n...\n"),
        ("yaml", "a: !Ref b\nc: !vault |\n  x\nd: !!python/object:os.system e\n"),
        ("yaml", "a: &x 1\nb: *x\n"),
        ("yaml", "if: ${{ github.ref == 'a' }}\n"),
        ("yaml", "on: push\ny: no\n"),
        ("yaml", "a: 1\na: 2\n"),
        ("yaml", "emoji: \U0001f600\n"),
    ],
)
def test_what_is_valid_is_no_error(parser, text):
    assert faults(parser, text) == []


NEWER = [
    ((3, 12), 'f"{x["a"]}"'),
    ((3, 12), 'log(f"a {d["k"]} b {e}")'),
    ((3, 12), 'f"{", ".join(x)}"'),
    ((3, 12), "f\"{'\\n'.join(a)}\""),
    ((3, 12), 'f"{"\\n".join(a)}"'),
    ((3, 12), 'f"a{b\n}"'),
    ((3, 12), "type X = int"),
    ((3, 12), "type X[T] = list[T]"),
    ((3, 12), "def f[T](x): pass"),
    ((3, 12), "async def f[T: int](x): pass"),
    ((3, 12), "class A[T]: pass"),
    ((3, 14), "try:\n    pass\nexcept A, B:\n    pass"),
    ((3, 14), 'x = t"a"'),
    ((3, 15), "lazy import x"),
    ((3, 15), "[*x for x in y]"),
]


@pytest.mark.parametrize(("since", "text"), NEWER)
def test_what_a_newer_python_reads_is_not_called_an_error(since, text):
    assert faults("python", text) == ([] if sys.version_info >= since else None)


@pytest.mark.parametrize(
    "text",
    [
        'f"{x"',
        'f"{a b}"',
        'f"{}"',
        'print(f"{x}"',
        "type = = 1",
        "class A(: pass",
        "x = 'unterminated",
        "f'{a[\"b\"]}' + (",
    ],
)
def test_what_no_python_reads_is_an_error(text):
    assert len(faults("python", text)) == 1


def test_warnings_of_the_parser_are_neither_shown_nor_errors():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("error")
        assert faults("python", "x = '\\d'\n") == []
        assert faults("python", "x = '\\d'\n") == []
        own = [one for one in warnings.filters if "handrail" in str(one[3])]

    assert seen == []
    assert len(own) == 1


def test_a_stack_too_small_for_the_parser_is_no_answer():
    old = threading.stack_size(256 * 1024)
    try:
        assert faults("python", "x = (\n") is None
    finally:
        threading.stack_size(old)
    assert len(faults("python", "x = (\n")) == 1


def test_yaml_that_takes_too_long_is_no_answer(monkeypatch):
    monkeypatch.setattr(yaml_text, "_MAX_S", -1.0)

    assert faults("yaml", "a: 1\n") is None


def test_the_python_file_is_not_run(tmp_path):
    trace = tmp_path / "trace"

    assert faults("python", f"open({str(trace)!r}, 'w')\n") == []
    assert not trace.exists()


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        "{" * DEEP,
        "(" * DEEP,
        "[" * DEEP + "]" * DEEP,
        '{"a":' * DEEP,
        "a = " + "[" * DEEP,
        '["]",' * DEEP,
        "- " * DEEP,
        "? " * DEEP,
        "a: " * DEEP,
        "{a: " * 20_000,
        "not " * DEEP,
        "-" * DEEP,
        "lambda: " * 50_000,
        "a." * DEEP + "a = 1",
        "[" + "a." * DEEP + "a]",
        "x if y else " * 20_000,
        "".join(" " * level + "if a:\n" for level in range(700)),
        "/*" * DEEP,
        "//" * DEEP,
        '"' * DEEP,
        "'" * DEEP,
        "," * DEEP,
        "\\" * DEEP,
        "&a " * DEEP,
        "*a " * DEEP,
        "!a " * DEEP,
        "9" * DEEP,
        "a = " + "9" * DEEP,
        "a: " + "9" * DEEP,
        "%YAML " + "9" * DEEP,
        "\0" * 10,
        '"\\UFFFFFFFF"',
        '"\\ud800"',
        "\ud800".encode("utf-8", "surrogatepass"),
        b"\xff\xfe\x00\xd8",
        "f'{" * 10_000,
        "#" * DEEP,
        "\n" * DEEP,
        "\r" * DEEP,
        " " * DEEP,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_hostile_text_is_answered(parser, text):
    found = faults(parser, text)

    assert found is None or len(found) <= 1


TEXTS = (
    st.text(st.sampled_from("ab01.=:,-?&*!|>'\"`%@#[]{}()\\/ \t\n\r\x00\x85\u2028\ud800é"))
    | st.text()
)


@pytest.mark.parametrize("parser", PARSERS)
@given(content=TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary())
@example(content=b"")
def test_any_content_is_answered_with_places_inside_the_file(parser, content):
    source = SourceText.of(content)
    found = faults(parser, content)

    for fault in found or ():
        assert 1 <= fault.line <= len(source.lines)
        assert fault.column >= 1
        assert fault.message
        (fault.message + fault.text).encode("utf-8")


@given(TEXTS)
def test_json_is_judged_as_json_does(text):
    source = SourceText(b"", text)
    try:
        json.loads(text)
        expected = 0
    except ValueError:
        expected = 1

    assert len(json_text.faults(source) or ()) == expected
    assert len(json_text.faults_with_comments(source) or ()) <= expected


@given(TEXTS)
def test_toml_is_judged_as_tomllib_does(text):
    try:
        tomllib.loads(text)
        expected = 0
    except ValueError:
        expected = 1

    assert len(toml_text.faults(SourceText(b"", text)) or ()) == expected


@pytest.mark.parametrize(("dots", "is_checked"), [(40, True), (41, False)])
def test_toml_with_many_dots_in_a_line_is_not_checked(dots, is_checked):
    found = toml_text.faults(SourceText(b"", f"x = '{'.' * dots}\n"))

    assert (found is not None) is is_checked
