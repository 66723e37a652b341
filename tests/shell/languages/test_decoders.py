"""Programs that decode text."""

import pytest

from handrail.shell.languages.decoders import decode_text, decoded_texts, is_decoder


@pytest.mark.parametrize(
    ("command", "text", "decoded"),
    [
        ("base64 -d", "cm0gLXJmIH4=", "rm -rf ~"),
        ("base64 --decode", "cm0gLXJm\nIH4=", "rm -rf ~"),
        ("base32 -d", "OJWSALLSMYQH4===", "rm -rf ~"),
        ("basenc --base16 -d", "726D202D7266207E", "rm -rf ~"),
        ("basenc --base64url -d", "cm0gLXJmIH4", "rm -rf ~"),
        ("openssl base64 -d", "cm0gLXJmIH4=", "rm -rf ~"),
        ("xxd -r -p", "726d202d7266207e", "rm -rf ~"),
        ("xxd -r -p", "no digits", None),
        ("base32 -d", "1", None),
        ("base64", "cm0gLXJmIH4=", None),
        ("cat -d", "cm0gLXJmIH4=", None),
    ],
)
def test_what_a_decoder_prints(command, text, decoded):
    name, *arguments = command.split()

    assert decode_text(name, arguments, text) == decoded


def test_only_decoding_makes_a_decoder():
    assert is_decoder("base64", ["-d"])
    assert not is_decoder("base64", ["-w0"])
    assert not is_decoder("openssl", ["dgst", "-d"])


def test_a_text_may_be_in_any_code():
    assert "rm -rf ~" in decoded_texts("726d202d7266207e")
    assert "rm -rf ~" in decoded_texts("cm0gLXJmIH4=")
    assert decoded_texts("?") == []
