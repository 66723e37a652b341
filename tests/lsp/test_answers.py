"""Answers in forms that no honest server sends."""

import json

import pytest

from handrail.lsp.answers import (
    from_uri,
    read_diagnostics,
    read_edits,
    read_hover,
    read_locations,
    read_symbols,
)

POINT = {"line": 0, "character": 0}
SPAN = {"start": POINT, "end": POINT}


def test_a_uri_that_is_none_names_no_file():
    assert from_uri("file://[") is None
    assert read_locations({"uri": "file://[", "range": SPAN}) == []


@pytest.mark.parametrize("severity", [[1], {"a": 1}, None, 77])
def test_an_unknown_severity_is_an_error(severity):
    [found] = read_diagnostics([{"range": SPAN, "severity": severity, "message": "m"}])

    assert found.severity == "error"


@pytest.mark.parametrize(
    ("given", "kind"),
    [(12, "function"), (0, "symbol"), (-1, "symbol"), (77, "symbol"), ("12", "symbol")],
)
def test_a_kind_that_the_protocol_does_not_have_is_that_of_any_symbol(given, kind):
    [found] = read_symbols([{"name": "f", "kind": given, "selectionRange": SPAN}], "/a.py")

    assert found.kind == kind


def test_a_hover_that_is_nested_too_deeply_says_nothing():
    assert read_hover(json.loads("[" * 900 + "]" * 900)) == ""
    assert read_hover(["a", {"language": "c", "value": "b"}, None]) == "a\n\nb"


@pytest.mark.parametrize("changes", [5, "x", {"a": 1}])
def test_changes_that_are_no_list_change_nothing(changes):
    assert read_edits({"documentChanges": changes}) == []


def test_an_edit_without_a_document_is_refused():
    edit = {"range": SPAN, "newText": "x"}

    with pytest.raises(ValueError, match="without file"):
        read_edits({"documentChanges": [{"textDocument": None, "edits": [edit]}]})


def test_names_of_symbols_are_bounded_also_inside_each_other():
    symbol = {"name": "m" * 10_000, "kind": 6, "selectionRange": SPAN}
    for _ in range(50):
        symbol = {**symbol, "name": "N" * 10_000, "children": [symbol]}

    found = read_symbols([symbol], "/a.py")

    assert len(found) == 51
    assert max(len(one.name) + len(one.container) for one in found) <= 1000
