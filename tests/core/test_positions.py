import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.text.positions import ServerPosition, TextPosition, TextPositions

TEXTS = st.text(st.sampled_from("ab\n\r é😀\u0301"), max_size=40)
ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])


@given(TEXTS, ENCODINGS, st.data())
def test_a_position_of_a_model_survives_the_way_to_the_server_and_back(text, encoding, data):
    lines = text.split("\n")
    line = data.draw(st.integers(1, len(lines)))
    column = data.draw(st.integers(1, len(lines[line - 1].removesuffix("\r")) + 1))
    positions = TextPositions(text, encoding)

    there = positions.to_server(line, column)

    assert positions.to_model(there) == TextPosition(line, column)


@pytest.mark.parametrize(("encoding", "unit"), [("utf-8", 9), ("utf-16", 5), ("utf-32", 3)])
def test_units_are_counted_in_the_encoding(encoding, unit):
    positions = TextPositions("x\r\n😀😀 y", encoding)

    assert positions.to_server(2, 4) == ServerPosition(1, unit)
    assert positions.to_model(ServerPosition(1, unit)) == TextPosition(2, 4)


def test_positions_outside_of_the_text_mean_its_ends():
    positions = TextPositions("ab\r\ncd", "utf-16")

    assert positions.to_server(1, 99) == ServerPosition(0, 3)
    assert positions.to_server(3, 1) is None
    assert positions.to_model(ServerPosition(9, 9)) == TextPosition(2, 3)
    assert positions.to_model(ServerPosition(0, 99)) == TextPosition(1, 3)


def test_an_unknown_encoding_is_an_error():
    with pytest.raises(ValueError, match="latin"):
        TextPositions("", "latin-1")
