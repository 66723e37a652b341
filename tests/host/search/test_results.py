"""Results of a search: their order, their limits, and which patterns are refused."""

import os

import pytest

from handrail.core.places import Kind
from handrail.core.ports.machine import GrepQuery
from handrail.core.problems import ProblemRaised
from handrail.host.search import results
from handrail.host.search.decode import (
    PIECE,
    Binary,
    binary_behind,
    contains_nul,
    read_all,
    to_utf8,
)
from handrail.host.search.search_roots import SearchRoot

WORKSPACE = SearchRoot("/w", -1, "")
ELSEWHERE = SearchRoot("/x", -1, "/x/")


@pytest.fixture
def three(monkeypatch):
    monkeypatch.setattr(results, "MAX_HITS", 3)


def test_files_keep_their_order_and_are_shown_by_their_root():
    assert results.found_files(WORKSPACE, ["b", "a"], [], "e").paths == ("b", "a")
    assert results.found_files(ELSEWHERE, ["b", "a"], [], "e").paths == ("/x/b", "/x/a")
    assert results.found_files(WORKSPACE, ["\udcff"], [], "e").paths == ("\ufffd",)


@pytest.mark.parametrize(("count", "whole"), [(3, True), (4, False)])
def test_files_have_a_limit(three, count, whole):
    found = results.found_files(WORKSPACE, [str(n) for n in range(count)], [], "e")

    assert found.paths == ("0", "1", "2")
    assert (found.partial is None) is whole


def test_a_note_makes_a_result_partial():
    assert results.found_files(WORKSPACE, ["a"], ["stopped"], "e").partial == "stopped"
    assert results.found_files(WORKSPACE, ["a"], [None], "e").partial is None


@pytest.mark.parametrize(("names", "whole"), [("cba", True), ("dcba", False)])
def test_counts_are_sorted_by_path_and_have_a_limit(three, names, whole):
    found = results.found_counts(WORKSPACE, dict.fromkeys(names, 2), [], "e")

    assert found.files == ("a", "b", "c")
    assert found.counts == (2, 2, 2)
    assert (found.partial is None) is whole


def test_a_count_of_zero_was_not_counted():
    found = results.found_counts(WORKSPACE, {"a": 0, "b": 1}, [], "e")

    assert found.files == ("a", "b")
    assert found.counts == (1,)


@pytest.mark.parametrize(("more", "whole"), [(0, True), (1, False)])
def test_lines_are_sorted_by_path_and_have_a_limit(three, more, whole):
    lines = {
        "b": [(1, True, "x"), (2, False, "y")][: 1 + more],
        "a": [(5, True, "p"), (6, False, "q")],
        "c": [],
    }

    found = results.found_lines(WORKSPACE, lines, [], "e")

    assert [(hit.path, hit.line, hit.text, hit.matched) for hit in found.hits] == [
        ("a", 5, "p", True),
        ("a", 6, "q", False),
        ("b", 1, "x", True),
    ]
    assert found.files == ("a", "b")
    assert found.counts == (1, 1)
    assert (found.partial is None) is whole


def test_the_newest_file_comes_first_and_only_files_come(tmp_path):
    for name, time in (("old", 1), ("new", 3), ("b", 2), ("a", 2)):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (time, time))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("new")
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        root = SearchRoot(str(tmp_path), handle, "")
        found = results.newest_first(root, ["a", "b", "old", "new", "folder", "link", "gone"])
    finally:
        os.close(handle)

    assert found == ["new", "a", "b", "old"]


@pytest.mark.parametrize(
    ("pattern", "multiline", "refused"),
    [
        ("a", False, False),
        ("a\0", False, True),
        ("a\nb", False, True),
        ("a\nb", True, False),
        ("ä", False, False),
        ("\ud800", False, True),
        ("\udfff", False, True),
        ("\ud7ff\ue000", False, False),
        ("a" * 65536, False, False),
        ("a" * 65537, False, True),
    ],
)
def test_patterns_that_no_engine_takes_are_refused(pattern, multiline, refused):
    query = GrepQuery(pattern, None, multiline=multiline)
    try:
        results.check_pattern(query)
        code = None
    except ProblemRaised as raised:
        code = raised.problem.code

    assert code == ("invalid_arguments" if refused else None)


@pytest.mark.parametrize(
    ("pattern", "literal", "expected"),
    [("a$", False, True), ("a$", True, False), ("a", False, False), ("a\\r$", False, False)],
)
def test_an_end_of_line_may_have_a_carriage_return(pattern, literal, expected):
    assert results.understands_crlf(GrepQuery(pattern, None, literal=literal)) is expected


class SomePlace:
    path = "a"

    def __init__(self, kind):
        self.kind = kind


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (Kind.MISSING, "not_found"),
        (Kind.SPECIAL, "not_text"),
        (Kind.FILE, None),
        (Kind.DIRECTORY, None),
    ],
)
def test_what_cannot_be_searched_is_a_problem(kind, code):
    try:
        results.check_place(SomePlace(kind))
        found = None
    except ProblemRaised as raised:
        found = raised.problem.code

    assert found == code


def opened(path, data):
    path.write_bytes(data)
    return os.open(path, os.O_RDONLY)


UTF16 = "\ufefftext\n".encode("utf-16-le")
TEXT = b"x" * PIECE


@pytest.mark.parametrize(
    ("data", "offset", "where", "has_nul"),
    [
        (b"text\n", 0, Binary.NOWHERE, False),
        (b"te\0xt", 2, Binary.AT_ONCE, True),
        (TEXT[1:] + b"\0", PIECE, Binary.AT_ONCE, True),
        (TEXT + b"\0", PIECE, Binary.LATER, True),
        (TEXT * 3 + b"\0", 3 * PIECE, Binary.LATER, True),
        (TEXT * 3 + b"\0", PIECE, Binary.NOWHERE, True),
        (UTF16, 0, Binary.LATER, False),
        (UTF16 + b"\0\0", 0, Binary.AT_ONCE, True),
    ],
)
def test_where_a_file_begins_to_be_binary(tmp_path, data, offset, where, has_nul):
    handle = opened(tmp_path / "a", data)
    try:
        assert binary_behind(handle, offset) is where
        assert contains_nul(handle) is has_nul
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"text", b"text"),
        (b"\xef\xbb\xbftext", b"text"),
        (UTF16, b"text\n"),
        ("\ufeffä".encode("utf-16-be"), "ä".encode()),
        (b"\xff", b"\xff"),
        (TEXT * 2 + b"\0", TEXT * 2 + b"\0"),
        (b"a\0", b"\0"),
    ],
)
def test_a_file_is_read_as_utf_8(tmp_path, data, text):
    handle = opened(tmp_path / "a", data)
    try:
        assert read_all(handle) == text
    finally:
        os.close(handle)
    assert to_utf8(data) == (data if text == b"\0" else text)
