import json

from handrail.cli import output


def test_json_holds_no_control_character_and_means_the_same():
    hostile = "".join(map(chr, range(0x20))) + "\x7f\x9b\u202e\u200b é"

    text = output.to_json({"text": hostile})

    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text) == {"text": hostile}
