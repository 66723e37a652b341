import io
import json
import logging
import sys

import pytest

from handrail.cli.render import output


def test_json_holds_no_control_character_and_means_the_same():
    hostile = "".join(map(chr, range(0x20))) + "\x7f\x9b\u202e\u200b é"

    text = output.to_json({"text": hostile})

    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text) == {"text": hostile}


class Plain(io.StringIO):
    """A stream that a program has put in place of its own; it cannot be reconfigured."""


def test_characters_that_the_locale_lacks_are_escaped_and_other_streams_left_alone(monkeypatch):
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    plain = Plain()
    monkeypatch.setattr(sys, "stdout", ascii_only)
    monkeypatch.setattr(sys, "stderr", plain)

    output.prepare_streams()
    print("é", flush=True)
    print("é", file=sys.stderr)

    assert ascii_only.buffer.getvalue() == b"\\xe9\n"
    assert plain.getvalue() == "é\n"


def test_our_own_log_is_lines_without_tracebacks_unless_asked(capsys, monkeypatch):
    output.install_log_handler()
    log = logging.getLogger("handrail")

    try:
        int("not a number")
    except ValueError:
        log.exception("it broke \x1b[2J")
        quiet = capsys.readouterr().err
        monkeypatch.setenv("HANDRAIL_DEBUG", "1")
        log.exception("it broke")
        loud = capsys.readouterr().err

    assert quiet == "error: it broke \\x1b[2J\n"
    assert "Traceback" in loud


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        ("48", ["test the model:", "    handrail models test a-service:a-long-name"]),
        ("80", ["test the model: handrail models test a-service:a-long-name"]),
    ],
)
def test_a_command_to_copy_is_in_one_piece(capsys, monkeypatch, columns, lines):
    monkeypatch.setenv("COLUMNS", columns)

    output.print_command("test the model", "handrail models test a-service:a-long-name")

    assert capsys.readouterr().out.splitlines() == lines
