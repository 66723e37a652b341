"""Text for a terminal: what is shown as it is, and what is escaped."""

import pytest

from handrail.core.text.safe_text import safe_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("plain ~ text\n\twith lines", "plain ~ text\n\twith lines"),
        ("\u00e9 \u4f60 \U0001f600\n", "\u00e9 \u4f60 \U0001f600\n"),
        ("a\x1b[1m~", "a\\x1b[1m~"),
        ("\x00\x1f \x7f\x80\x9f\xa1", "\\x00\\x1f \\x7f\\x80\\x9f\xa1"),
        ("a\rb", "a\\x0db"),
        ("\u202e\u200b\u2028\u2029", "\\u{202e}\\u{200b}\\u{2028}\\u{2029}"),
        ("\ue000\ud800\u0378", "\\u{e000}\\u{d800}\\u{378}"),
        ("\U000e0041", "\\u{e0041}"),
        ("\u3164", "\\u{3164}"),
        ("\u00a0", "\u00a0"),
    ],
)
def test_what_is_not_visible_is_escaped(text, shown):
    assert safe_text(text) == shown
    # A second time, from what is known by then.
    assert safe_text(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a b", "a b"), ("a\nb\tc", "a\\nb\\tc"), ("\x1b\n", "\\x1b\\n"), ("\u00e9\n", "\u00e9\\n")],
)
def test_one_line_has_no_line_ends(text, shown):
    assert safe_text(text, one_line=True) == shown
