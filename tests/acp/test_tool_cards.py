"""Calls as cards of an editor."""

from pathlib import Path

import pytest

from handrail.acp.tool_cards import (
    card_title,
    diff_content,
    ended_content,
    fence,
    find_locations,
    text_content,
    tool_kind,
    truncate,
    verbatim_content,
)
from handrail.assembly.extras.record_reader import EndedCall
from handrail.core.ports.records import CallRecord
from handrail.core.text.content import Content
from handrail.history.call_diffs import ChangedContent

ROOT = Path("/w")


def ended(*contents, **done):
    call = CallRecord("s", "c", 1, 1, {}, None, done, 2)
    return EndedCall(call, [ChangedContent(*one) for one in contents])


def text(content):
    return content.content.text


def test_kinds_and_titles():
    assert tool_kind("read_file") == "read"
    assert tool_kind("unknown") == "other"
    assert card_title("a\nb") == "a\\nb"
    assert card_title("x" * 300) == "x" * 300
    assert card_title("x" * 301) == "x" * 300 + "…"


@pytest.mark.parametrize(
    ("footprint", "paths"),
    [
        ((), []),
        (("write file:/w/a", "read file:/w/b", "read file:/w/a"), ["/w/a", "/w/b"]),
        (("read tree:/w", "write net:x", "file:/w/a"), []),
        (("write file:/w/file:x\n",), ["/w/file:x\\n"]),
    ],
)
def test_the_files_of_a_footprint(footprint, paths):
    assert [one.path for one in find_locations(footprint)] == paths


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a", "```\na\n```"),
        ("a ``` b", "````\na ``` b\n````"),
        ("`````", "``````\n`````\n``````"),
        ("`` x", "```\n`` x\n```"),
    ],
)
def test_a_fence_cannot_be_ended_by_its_text(given, expected):
    assert fence(given) == expected


def test_texts_of_cards():
    assert fence("a", "sh") == "```sh\na\n```"
    assert text(text_content("a\x1b")) == "a\\x1b"
    assert text(verbatim_content("\n\na\n\n")) == "```\na\n```"
    assert truncate("x" * 20_000) == "x" * 20_000
    long = truncate("a" * 10_000 + "b" + "c" * 10_000)
    assert long == "a" * 10_000 + "\n[… 1 characters left out …]\n" + "c" * 10_000


def test_a_diff_has_the_file_before_and_after():
    made = diff_content("a", None, Content(b"new\x1b"), ROOT)
    gone = diff_content("a", Content(b"old"), None, ROOT)

    assert (made.path, made.old_text, made.new_text) == ("/w/a", None, "new\\x1b")
    assert (gone.old_text, gone.new_text) == ("old", "")
    assert diff_content("a", Content(b"\xff"), None, ROOT) is None
    assert diff_content("a", None, Content(b"x" * 1_000_001), ROOT) is None
    assert diff_content("a", None, Content(b"x" * 1_000_000), ROOT) is not None


def test_an_ended_call_shows_its_diffs_or_its_text():
    change, binary = ("a", None, Content(b"x")), ("b", None, Content(b"\xff"))

    assert [one.type for one in ended_content(ended(change, text="done"), ROOT)] == ["diff"]
    assert [one.type for one in ended_content(ended(text="done"), ROOT)] == ["content"]
    assert [one.type for one in ended_content(ended(binary, text="done"), ROOT)] == ["content"]
    failed = ended_content(ended(change, text="failed", is_error=True), ROOT)
    assert [one.type for one in failed] == ["diff", "content"]
    assert ended_content(ended(), ROOT) == []
    assert len(ended_content(ended(change, is_error=True), ROOT)) == 1
