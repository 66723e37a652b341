"""The message of a diagnostic, which may come from a hostile server."""

import pytest

from handrail.core.ports.language_servers import CodeDiagnostic, CodeSpan
from handrail.core.text.positions import ServerPosition


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("plain", "plain"),
        ("  one\r\n\n\ttwo  ", "one two"),
        ("a\tb", "a\\tb"),
        ("a\rb", "a\\x0db"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("", ""),
    ],
)
def test_a_message_is_one_line_of_visible_characters(message, line):
    start = ServerPosition(0, 0)

    assert CodeDiagnostic(CodeSpan(start, start), "error", message).message_line == line
