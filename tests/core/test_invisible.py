"""One table of characters that nobody sees, for names, text for people, pages and edits."""

import unicodedata

import pytest

from handrail.core.names.protected_names import fold_name
from handrail.core.text.invisible import FORMAT_CHARACTERS, IGNORABLE, INVISIBLE, drop_invisible
from handrail.core.text.safe_text import safe_text
from handrail.tools._lib.matching.normalize import canonical


def test_every_character_of_the_table_is_dropped_and_written_out():
    text = "".join(map(chr, sorted(INVISIBLE)))

    assert drop_invisible(f"a{text}b") == ("ab", len(INVISIBLE))
    assert not set(safe_text(text)) & set(text)


def test_names_and_edits_use_the_same_table():
    assert fold_name(f"a{''.join(map(chr, sorted(IGNORABLE)))}b") == "ab"
    assert canonical(f"a{''.join(map(chr, sorted(FORMAT_CHARACTERS)))}b") == "ab"


@pytest.mark.parametrize("text", ["plain", "é ö ß", "日本語", "a\u00a0b", "1\u20442", "\u2026"])
def test_what_a_reader_sees_stays(text):
    assert drop_invisible(text) == (text, 0)


def test_nothing_of_the_table_is_a_letter_digit_or_sign_but_fillers():
    """Fillers are letters without a shape."""
    seen = {code for code in INVISIBLE if unicodedata.category(chr(code))[0] in "LNPS"}

    assert seen == {0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800}
